package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// oneCall checks a body over k, j, i with the grids a, b, c (double), p (1-D),
// m (int), f (float), the scalars s and t, and the formal w for a.
func oneCall(t testing.TB, head, body string) (*ir.Program, *CallFacts) {
	t.Helper()
	p := program(t, `parameter N = 20; iterator k, j, i;
double a[N,N,N], b[N,N,N], c[N,N,N], p[N], s = 2, t = 3; int m[N,N,N]; float f[N,N,N], g[N,N,N];
`+head+"\nstencil one () {\n"+body+"\n}\none ();")
	return p, Analyze(p, nil).Calls[0]
}

func TestOps(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{"a[k][j][i] = b[k][j][i]", ""},
		{"a[k][j][i] = -b[k][j][i]", ""},
		{"a[k][j][i] = b[k][j][i] + s*t - 2", "2 add"},
		{"a[k][j][i] = b[k][j][i]*s + t", "1 add, 1 mul, 1 fma"},
		{"a[k][j][i] = t - s*b[k][j][i]", "1 add, 1 mul, 1 fma"},
		{"a[k][j][i] = t*b[k][j][i] - s*b[k][j][i]", "1 add, 2 mul, 1 fma"},
		{"a[k][j][i] = -(t*b[k][j][i]) + 1", "1 add, 1 mul, 1 fma"},
		{"a[k][j][i] = b[k][j][i]^3 + 1", "1 add, 2 mul"},
		{"a[k][j][i] = b[k][j][i]^-2", "1 mul, 1 div"},
		{"a[k][j][i] = b[k][j][i]/s", "1 div"},
		{"a[k][j][i] = sqrt(b[k][j][i]) + sqrt(s)", "1 add, 1 sqrt"},
		{"a[k][j][i] = sin(b[k][j][i])*floor(c[k][j][i])", "1 mul, 2 special"},
		{"a[k][j][i] = abs(b[k][j][i])", ""},
		{"a[k][j][i] = b[k][j][i] > s && !(s > t) ? 1.0 : c[k][j][i]", "3 compare"},
		{"a[k][j][i] = max(b[k][j][i], c[k][j][i], s)", "2 compare"},
		{"m[k][j][i] = (m[k][j][i] + i) % 3 & 1", "3 int"},
		{"m[k][j][i] = abs(m[k][j][i])^3", "3 int"},
		{"f[k][j][i] = 2*g[k][j][i] + 1", "1 add, 1 mul, 1 fma, single"},
		{"a[k][j][i] = f[k][j][i]*g[k][j][i] + b[k][j][i]", "1 add, 1 mul, 1 mul single"},
		{"double r = s*t; a[k][j][i] = r*r + r", ""},
		{"double r = s*b[k][j][i]; a[k][j][i] = r + 1", "1 add, 1 mul"},
		{"double r = s*b[k][j][i]; a[k][j][i] = r + r", "1 add, 1 mul"},
		{"reduce sum s = b[k][j][i]*c[k][j][i]", "1 add, 1 mul"},
		{"reduce max s = abs(b[k][j][i])", "1 compare"},
	} {
		_, call := oneCall(t, "", c.expr+";")
		if got := opsText(call.Ops, call.Single); got != c.want {
			t.Errorf("%s: %q, want %q", c.expr, got, c.want)
		}
	}
}

func opsText(o, single Ops) string {
	if single != (Ops{}) && single != o {
		return opsText(o, Ops{}) + ", " + opsText(single, Ops{}) + " single"
	}
	var parts []string
	for _, p := range []struct {
		n    float64
		name string
	}{{o.Add, "add"}, {o.Mul, "mul"}, {o.Div, "div"}, {o.Sqrt, "sqrt"}, {o.Special, "special"}, {o.Compare, "compare"},
		{o.Int, "int"}, {o.FMA, "fma"}} {
		if p.n != 0 {
			parts = append(parts, fmt.Sprint(p.n, " ", p.name))
		}
	}
	if single != (Ops{}) {
		parts = append(parts, "single")
	}
	return strings.Join(parts, ", ")
}

func TestShape(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"no reads", "a[k][j][i] = 1;", `0 points, order 0, halo k 0, j 0, i 0, corners "", density 0, unique ""`},
		{"pointwise", "a[k][j][i] = b[k][j][i];",
			`1 points, order 0, halo k 0, j 0, i 0, corners "", density 1, unique ""`},
		{"upwind", "a[k][j][i] = b[k][j][i] - b[k][j][i-3];",
			`2 points, order 3, halo k 0, j 0, i 3,0, corners "", density 0.5, unique "i"`},
		{"away from the point", "a[k][j][i] = b[k][j][i+2] - b[k][j][i+3];",
			`2 points, order 3, halo k 0, j 0, i 0,3, corners "", density 1, unique "i"`},
		{"two grids", "a[k][j][i] = b[k+1][j][i] - c[k+1][j][i+1];",
			`2 points, order 1, halo k 0,1, j 0, i 0,1, corners "", density 1, unique "j"`},
		{"corners on k", "a[k][j][i] = b[k+1][j][i-2] - b[k+1][j][i+2];",
			`2 points, order 2, halo k 0,1, j 0, i 2, corners "k", density 0.4, unique ""`},
		{"through temps", "double r = b[k][j][i+1]; double q = r - b[k][j-1][i]; a[k][j][i] = q;",
			`2 points, order 1, halo k 0, j 1,0, i 0,1, corners "", density 0.5, unique ""`},
		{"1-D grid", "a[k][j][i] = b[k][j][i]*p[j-2];",
			`2 points, order 2, halo k 0, j 2,0, i 0, corners "", density 0.6667, unique "j"`},
		{"fixed plane", "a[k][j][i] = b[k][j][i] + b[0][j][i+5];",
			`1 points, order 0, halo k 0, j 0, i 0, corners "", density 1, unique ""`},
	} {
		_, call := oneCall(t, "", c.body)
		if got, _, _ := strings.Cut(summary(call), "\n"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestReach: a call of several statements reaches further than any of them.
func TestReach(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"a[k][j][i] = b[k][j][i+1];", "k 0, j 0, i 0,1"},
		{"double l[N,N,N]; l[k][j][i] = b[k][j][i+1] + b[k-1][j][i]; a[k][j][i] = l[k][j][i+2] - l[k][j][i-1];",
			"k 1,0, j 0, i 1,3"},
		{"double l[N,N,N], d[N,N,N]; l[k][j][i] = b[k][j][i+1]; d[k][j][i] = l[k][j+1][i]; a[k][j][i] = d[k+1][j][i] " +
			"+ c[k][j][i-4];", "k 0,1, j 0,1, i 4,1"},
		{"double l[N,N,N]; l[k][j][i] = b[k][j][i+9]; a[k][j][i] = c[k][j][i-1];", "k 0, j 0, i 1,0"},
		{"a[k][j][i] = b[k][j][i-1]; c[k][j][i] = a[k][j][i-1];", "k 0, j 0, i 2,0"},
	} {
		_, call := oneCall(t, "", c.body)
		if got := haloText(call.Reach); got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}

func TestArrays(t *testing.T) {
	_, call := oneCall(t, "", `double l[N,N,N]; boundary l : clamp;
  l[k][j][i] = b[k][j][i+1] + b[k][j][i-1] + b[k][j+1][i] + b[k][j][i+1];
  a[k][j][i] = l[k][j][i] - l[k-1][j][i] + p[i+1]*p[i];
  c[k][j][i] += 1;`)
	var got []string
	for _, a := range call.Arrays {
		text := fmt.Sprintf("%s %s %s: %d points, %d loads, %d stores, reloads", a.Name, a.Role,
			strings.Join(a.Axes, ""), a.Shape.Points, a.LoadsAsWritten, a.Stores)
		for _, r := range a.Reuse {
			text += fmt.Sprintf(" %s %d", r.Axis, r.Reloads)
		}
		got = append(got, text)
	}
	// b is read at i+1, i-1 and j+1: only i+1 and i-1 share a line, along i.
	want := `b input kji: 3 points, 4 loads, 0 stores, reloads k 0 j 0 i 1
a output kji: 0 points, 0 loads, 1 stores, reloads k 0 j 0 i 0
p input i: 2 points, 2 loads, 0 stores, reloads i 1
c in-out kji: 1 points, 1 loads, 1 stores, reloads k 0 j 0 i 0
l intermediate kji: 2 points, 2 loads, 1 stores, reloads k 1 j 0 i 0`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestWeights: what the numbers per point are with sizes and without.
func TestWeights(t *testing.T) {
	for _, c := range []struct {
		name, body  string
		free, sized string
	}{
		// 20^3 = 8000 points in the main domain.
		{"edge plane", "a[k][j][i] = b[k][j][i]*s; [0:0, 0:N-1, 0:N-1] : a[k][j][i] = 2*b[1][j][i] + 1;",
			"1 flops, 1 loads, 1 stores, bytes 16 16 16",
			// 400 cells more, 2 flops, a load and a store each; one loop does both.
			"1.1 flops, 1.05 loads, 1.05 stores, bytes 16 16 16.8"},
		{"red and black",
			"color (k+j+i) % 2 == 0 : a[k][j][i] = s*b[k][j][i] + a[k][j][i+1]; color (k+j+i) % 2 == 1 : a[k][j][i] " +
				"= s*b[k][j][i] + a[k][j][i+1];",
			"2 flops, 2 loads, 1 stores, bytes 24 48 24",
			// The main domain has 20*20*19 points, and so many cells are loaded.
			"2 flops, 2 loads, 1 stores, bytes 24 48 24"},
		{"1-D", "a[k][j][i] = b[k][j][i]*p[i];",
			"1 flops, 2 loads, 1 stores, bytes 16 16 24",
			"1 flops, 2 loads, 1 stores, bytes 16.02 16.02 24"},
		{"halo", "a[k][j][i] = b[k][j][i+1] + b[k][j][i-1];",
			"1 flops, 2 loads, 1 stores, bytes 16 16 24",
			"1 flops, 2 loads, 1 stores, bytes 16.89 16.89 24"},
		{"forwarded", "a[k][j][i] = b[k][j][i]; c[k][j][i] = a[k][j][i] + b[k][j][i];",
			"1 flops, 1 loads, 2 stores, bytes 24 24 40",
			"1 flops, 1 loads, 2 stores, bytes 24 24 40"},
		{"local grid", "double l[N,N,N]; boundary l : clamp; l[k][j][i] = b[k][j][i]; a[k][j][i] = l[k][j][i+1];",
			"0 flops, 2 loads, 2 stores, bytes 16 32 32",
			"0 flops, 2 loads, 2 stores, bytes 16 32 32"},
		// The local grid has 8000 cells, the grid that is written 20*20*19.
		{"local grid's margin", "double l[N,N,N]; l[k][j][i] = s*b[k][j][i]; a[k][j][i] = l[k][j][i+1];",
			"1 flops, 2 loads, 2 stores, bytes 16 32 32",
			"1.053 flops, 2.053 loads, 2.053 stores, bytes 16.42 32.84 32.84"},
		{"float", "f[k][j][i] = g[k][j][i];",
			"0 flops, 1 loads, 1 stores, bytes 8 8 8",
			"0 flops, 1 loads, 1 stores, bytes 8 8 8"},
		{"dead temp", "double r = b[k][j][i]*s; a[k][j][i] = 1;",
			"0 flops, 0 loads, 1 stores, bytes 8 8 8",
			"0 flops, 0 loads, 1 stores, bytes 8 8 8"},
	} {
		p, free := oneCall(t, "", c.body)
		sized := Analyze(p, bind(t, p, nil)).Calls[0]
		for _, v := range []struct {
			call *CallFacts
			want string
		}{{free, c.free}, {sized, c.sized}} {
			call := v.call
			got := fmt.Sprintf("%.4g flops, %.4g loads, %.4g stores, bytes %.4g %.4g %.4g",
				call.Ops.Flops(), call.Loads,
				call.Stores, call.Traffic.Compulsory, call.Traffic.ByGroup, call.Traffic.AsWritten)
			if got != v.want {
				t.Errorf("%s:\n got %s\nwant %s", c.name, got, v.want)
			}
		}
	}
}

// An update of a grid loads and stores it, which Rawat's I/O arrays count once.
func TestUpdatedGridsCountTwice(t *testing.T) {
	p := irCall(t, "", "(set a (add (load a k j i) (load b k j i)))")
	got := Analyze(p, nil).Calls[0]
	if got.Traffic.Compulsory != 24 || got.Intensity.Compulsory != 1.0/24 {
		t.Errorf("%v bytes, %v flops a byte", got.Traffic.Compulsory, got.Intensity.Compulsory)
	}
}

// TestMaterialisedTraffic: a temp that lives in an array is stored by its own
// group and loaded by the others.
func TestMaterialisedTraffic(t *testing.T) {
	p := irCall(t, "r", "(let r (load a k j i-1)) (set a (temp r)) (set b (temp r))")
	got := Analyze(p, nil).Calls[0].Traffic
	if want := (Traffic{Compulsory: 24, ByGroup: 16 + 24, AsWritten: 24}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

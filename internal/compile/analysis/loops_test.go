package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

func loopText(l *LoopFacts) string {
	text := fmt.Sprintf("%d %s", l.Depth, l.Kind)
	if l.Text != "" {
		text += " " + l.Text
	}
	if l.Count != nil {
		text += fmt.Sprintf(" = %d", *l.Count)
	}
	text += ": " + strings.Join(l.Runs, " ")
	for _, r := range l.Rotates {
		text += "; rotate " + strings.Join(r, " ")
	}
	return text + fmt.Sprintf("; %d steps, %d points, %.4g flops, %.4g bytes", l.Steps, l.Points, l.Ops.Flops(),
		l.Traffic.Compulsory)
}

func TestLoops(t *testing.T) {
	const head = `parameter N = 10, T = 7; iterator j, i;
double a[N,N], b[N,N], c[N,N], r; int n = 3;
stencil heat (out, in) { out[j][i] = in[j][i+1] + in[j][i-1]; }
stencil edge (out) { [0:0, 0:N-1] : out[j][i] = 2*out[j][i]; }
stencil norm (in, r) { reduce max r = in[j][i]; }
`
	for _, c := range []struct {
		name, steps string
		want        []string
		edges       string // of the last loop
	}{
		{"once", "heat (a, b);", []string{"0 once: heat; 1 steps, 80 points, 1 flops, 18 bytes"}, ""},
		{"time loop", "iterate T { heat (a, b); swap (a, b); }",
			[]string{"1 iterate T = 7: heat; rotate a b; 1 steps, 80 points, 1 flops, 18 bytes"},
			// What one step writes the next one reads; it also overwrites what the
			// step read, under the other name.
			"0>0' anti a; 0>0' flow b 0 -1 0 1"},
		{"three levels", "iterate 2 { heat (a, b); rotate (a, b, c); }",
			[]string{"1 iterate 2 = 2: heat; rotate a b c; 1 steps, 80 points, 1 flops, 18 bytes"}, ""},
		{"ping-pong", "iterate n { heat (a, b); heat (b, a); }",
			[]string{"1 iterate n = 3: heat heat.2; 2 steps, 80 points, 1 flops, 18 bytes"},
			"0>1 anti b; 0>1 flow a 0 -1 0 1; 1>0' anti a; 1>0' flow b 0 -1 0 1"},
		// The edge's plane has 10 of 80 points, and loads and stores them.
		{"edge first", "edge (b); iterate 5 { edge (b); heat (a, b); swap (a, b); }",
			[]string{"0 once: edge; 1 steps, 10 points, 1 flops, 16 bytes",
				"1 iterate 5 = 5: edge heat; rotate a b; 1 steps, 80 points, 1.125 flops, 20 bytes"}, ""},
		{"until", "iterate until (r < 0.5) check 10 max 100 { heat (a, b); norm (a, r); swap (a, b); }",
			[]string{"1 until r < 0.5: heat norm; rotate a b; 1 steps, 100 points, 0.8 flops, 22.4 bytes"}, ""},
		{"nested", "iterate 4 { iterate 2 { heat (a, b); } edge (a); }",
			[]string{"1 iterate 4 = 4: edge; 1 steps, 10 points, 1 flops, 16 bytes",
				"2 iterate 2 = 2: heat; 1 steps, 80 points, 1 flops, 18 bytes"}, "0>0' output a"},
	} {
		p := program(t, head+c.steps)
		f := Analyze(p, bind(t, p, nil))
		var got []string
		for _, l := range f.Loops {
			got = append(got, loopText(l))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if e := edgesText(f.Loops[len(f.Loops)-1].Edges); c.edges != "" && e != c.edges {
			t.Errorf("%s: dependences %s, want %s", c.name, e, c.edges)
		}
	}
}

// TestRoofline: figures that are known from elsewhere.
func TestRoofline(t *testing.T) {
	on := func(source, name string) *Bound {
		t.Helper()
		f := Analyze(program(t, source), nil)
		m, err := machine.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		f.On(m)
		return f.Calls[0].Bound
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.005*want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	// The copy bound of an H200: 263 GStencil/s in double, 526 in float.
	b := on(sevenPoint, "h200")
	near("7-point double", b.GStencils, 263)
	near("7-point double, Gflop/s", b.GFlops, 8*263)
	if b.Limit != "memory" || b.Machine != "NVIDIA H200" || b.CacheName != "L1" || b.Seconds != 0 {
		t.Errorf("7-point: %+v", b)
	}
	near("7-point float", on(strings.Replace(sevenPoint, "double", "float", 2), "h200").GStencils, 526)
	// 7 operations once the pair is fused, a peak counting two for each.
	near("7-point arithmetic", b.Arithmetic, 14.0/34000)
	near("7-point balance", b.Balance, 8/(14.0/34000)/4208)
	near("7-point from L1", b.Cache, 33454.0/64)
	// On the P100 a stencil is bound by arithmetic from 6.42 flops a byte if all
	// of them fuse.
	fused := "parameter N; iterator i; double a[N], b[N], s; stencil f () { a[i] = " + strings.Repeat("s*(", 60) +
		"b[i]" + strings.Repeat(" + 1)", 60) + "; } f ();"
	plain := "parameter N; iterator i; double a[N], b[N], s; stencil f () { a[i] = b[i]" + strings.Repeat(" + 1", 60) +
		"; } f ();"
	if b := on(plain, "p100"); b.Limit != "arithmetic" {
		t.Errorf("60 additions for 16 bytes: %+v", b)
	} else {
		near("plain", b.GStencils, 4700.0/120)
		near("plain balance", b.Balance, 6.42/2)
	}
	if b := on(fused, "p100"); b.Limit != "arithmetic" {
		t.Errorf("%+v", b)
	}
	// Sizes give a time: 64^3 points of 16 bytes and the rim's loads.
	p := program(t, sevenPoint)
	f := Analyze(p, bind(t, p, nil))
	m, _ := machine.Builtin("cpu")
	f.On(m)
	near("seconds", f.Calls[0].Bound.Seconds, 8*(66*66*66+64*64*64)/20e9)
	// Its two grids are 4.6 MB.
	if b := f.Calls[0].Bound; b.FitsIn != "L3" || f.Calls[0].WorkingSet != 2*8*66*66*66 ||
		f.Loops[0].Bound.FitsIn != "L3" {
		t.Errorf("fits in %q with %d bytes", b.FitsIn, f.Calls[0].WorkingSet)
	}
	// A call that computes and moves nothing has no bound.
	zero := roofline(m, Ops{}, Ops{}, Traffic{}, 0, 0)
	if zero.GStencils != 0 || zero.Balance != 0 || zero.Seconds != 0 || zero.FitsIn != "" {
		t.Errorf("nothing: %+v", zero)
	}
}

// TestGrids: sizes, boundaries and totals.
func TestGrids(t *testing.T) {
	p := program(t, `parameter M = 6, N = 4; iterator j, i;
double u[N+2,M]; float w[1:N]; byte z[N][M]; int q; double v = 3;
boundary u : clamp on j, periodic on i.low, constant(2*v) on i.high; boundary z : mirror;
copyin u, w; copyout u;
stencil f (u, w, z) { u[j][i] = z[j][i]*w[j]; }
f (u, w, z);`)
	f := Analyze(p, bind(t, p, map[string]string{"N": "5"}))
	var got []string
	for _, g := range f.Grids {
		got = append(got, fmt.Sprint(g.Name, " ", g.Type, " ", g.Dims, " ", g.Shape, " ", g.Bytes, " ", g.CopyIn, " ",
			g.CopyOut, " ", strings.Join(g.Boundary, ", ")))
	}
	want := `u double [0..N+1 0..M-1] [7 6] 336 true true clamp on j, periodic on i.low, constant(2 * v) on i.high
w float [1..N] [5] 20 true false 
z byte [0..N-1 0..M-1] [5 6] 30 false false mirror on j, mirror on i`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if f.Bytes != 386 || len(f.Sizes) != 2 || f.Sizes[1] != (Size{"N", 5}) {
		t.Errorf("%d bytes, sizes %v", f.Bytes, f.Sizes)
	}
}

// TestAnalyzeChangesNothing: the program is the same text afterwards.
func TestAnalyzeChangesNothing(t *testing.T) {
	for _, source := range []string{himeno, elastic, wave} {
		p := program(t, source)
		before := ir.Text(p)
		Analyze(p, bind(t, p, nil))
		if ir.Text(p) != before {
			t.Error("the analysis changed the program")
		}
	}
}

package lower_test

import (
	"fmt"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// shiftedSource is a program whose first call begins its updates at some cell of rows that start at another, and whose
// second call updates all.
func shiftedSource(low, first int, dtype, bound string) string {
	return fmt.Sprintf(`
parameter L, M, N;
iterator k, j, i;
%s u[L,M,%d:N], v[L,M,%d:N], w[L,M,%d:N];
%s
copyin u, w; copyout u, v;
stencil s (out, in, c) {
  [1:L-2, 1:M-2, %d:N-3] : out[k][j][i] = 0.3*in[k][j-1][i-1] + 0.2*in[k][j+1][i+2] + 0.4*in[k-1][j][i+1]
    + 0.1*in[k+1][j][i-1]*c[k][j][i];
}
stencil all (out, in) { out[k][j][i] = 0.5*in[k][j][i] + 0.25*in[k][j][i]; }
s (v, u, w);
all (u, v);`, dtype, low, low, low, bound, first)
}

// Rows that are padded or shifted give the same bits, whatever family reads them and however planes come.
func TestRowLayouts(t *testing.T) {
	plans := []string{
		"family=planes,stream=k,chunk=4,block=4x16,vec=2,rows=2,layout=%s,sizes=literals",
		"family=planes,stream=k,chunk=0,unroll=2,prefetch=1,block=2x64,vec=4,layout=%s",
		"family=planes,stream=k,chunk=7,stages=1,block=4x16,vec=2,layout=%s",
		"family=tile,block=1x4x16,vec=4,stages=1,staging=halos,layout=%s,sizes=literals",
		"family=tile,block=1x2x32,vec=8,rows=1x2,shuffle=yes,layout=%s,sizes=literals",
		"family=tile,block=1x4x16,vec=1,stages=1,layout=%s",
	}
	n := uint64(0)
	for _, c := range []struct {
		low, first int
		dtype      string
		bound      string
	}{
		{0, 2, "double", ""}, {-3, 1, "float", ""}, {0, 1, "double", "boundary u : periodic;"},
		{-1, 0, "float", "boundary u : antimirror on i.low, clamp on i.high;"},
	} {
		p := load(t, "shifted", shiftedSource(c.low, c.first, c.dtype, c.bound))
		for _, text := range plans {
			for _, word := range []string{"packed", "padded", "shifted"} {
				sizes := []string{"L=5 M=6 N=37", "L=4 M=9 N=64", "L=6 M=5 N=71"}[n%3]
				n++
				if word == "shifted" && c.first == 0 {
					word = "padded" // the same place
				}
				w := way{target: lower.GPU, strict: n%2 == 0, plan: plan(t, fmt.Sprintf(text, word))}
				if err := check(bind(t, p, sizes), w, n); err != nil {
					t.Errorf("%+v, %s: %v", c, sizes, err)
				}
			}
		}
	}
}

// What a layout says is where the first updated cell lies.
func TestRowLayoutPlaces(t *testing.T) {
	for _, c := range []struct {
		dtype, word string
		want        kernel.Layout
	}{
		{"double", "packed", kernel.Layout{Lead: 1, Align: 2}},
		{"double", "padded", kernel.Layout{Lead: 13, Align: 16}},
		{"double", "shifted", kernel.Layout{Lead: 12, Align: 16}},
		{"float", "shifted", kernel.Layout{Lead: 28, Align: 32}},
	} {
		p := load(t, "shifted", shiftedSource(-3, 1, c.dtype, ""))
		m, err := lower.Program(p, lower.Options{
			Target: lower.GPU, Plan: plan(t, "family=tile,vec=2,layout="+c.word), Bound: bind(t, p, "L=5 M=6 N=37"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range p.Grids {
			if got := m.Layouts[g]; got != c.want {
				t.Errorf("%s in %s rows of %s: %+v, not %+v", g.Name, c.word, c.dtype, got, c.want)
			}
		}
		per := map[string]int64{"double": 16, "float": 32}[c.dtype]
		if got := c.want; c.word == "shifted" && (got.Lead+4)%per != 0 {
			t.Errorf("cell 1 is at %d of a line of %d", got.Lead+4, per)
		}
	}
}

// Rows that a kernel of several calls shifts have cells of one index at the same place, wherever they begin.
func TestRowLayoutsOfSequences(t *testing.T) {
	p := load(t, "faces", `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], v[L,M,N], f[2:L-3,2:M-3,2:N-2];
copyin u, v; copyout v, f;
stencil flux (f, u) { f[k][j][i] = 0.5*u[k][j][i] + 0.25*u[k][j][i-1]; }
stencil update (v, f) { v[k][j][i] += f[k][j][i] - f[k][j][i+1]; }
[2:L-3, 2:M-3, 2:N-2] : flux (f, u);
[2:L-3, 2:M-3, 2:N-3] : update (v, f);`)
	for _, c := range []struct {
		word      string
		grid, own kernel.Layout // of u and v, and of f
	}{
		{"packed", kernel.Layout{Align: 1}, kernel.Layout{Align: 1}},
		{"padded", kernel.Layout{Align: 16}, kernel.Layout{Lead: 2, Align: 16}},
		{"shifted", kernel.Layout{Lead: 14, Align: 16}, kernel.Layout{Align: 16}},
	} {
		b := bind(t, p, "L=9 M=11 N=37")
		text := "sequence[0:2]@1{family=planes,block=4x16,chunk=7,stages=1,layout=" + c.word + "}"
		m, err := lower.Program(p, lower.Options{Target: lower.GPU, Plan: plan(t, text), Bound: b})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range p.Grids {
			got, have := m.Layouts[g]
			if !have {
				got.Align = 1
			}
			if want := map[bool]kernel.Layout{true: c.own, false: c.grid}[g.Name == "f"]; got != want {
				t.Errorf("%s rows: %s has %+v, not %+v", c.word, g.Name, got, want)
			}
		}
		if err := checkSpan(t, lower.GPU, b.In(arith.Contract), text, 7); err != nil {
			t.Errorf("%s rows: %v", c.word, err)
		}
	}
}

// Kernels of single calls shift no rows of a kernel of several calls that has others: those that copy tensors need them
// where they are.
func TestSequencesDecideRows(t *testing.T) {
	p := load(t, "shifted", shiftedSource(0, 2, "double", ""))
	lead := func(text string) int64 {
		t.Helper()
		m, err := lower.Program(p, lower.Options{
			Target: lower.GPU, Plan: plan(t, text), Bound: bind(t, p, "L=5 M=6 N=37"),
		})
		if err != nil {
			t.Fatal(err)
		}
		return m.Layouts[p.Grids[0]].Lead
	}
	const call = "s[0:1]@1{family=tile,vec=2,layout=shifted}"
	for _, c := range []struct {
		plan string
		want int64
	}{
		{call, 14},
		{call + ";sequence[0:2]@1{family=planes,layout=packed}", 0},
		{call + ";sequence[0:2]@1{family=planes,layout=padded,stages=1,copy=tensor}", 0},
		{call + ";sequence[0:1]@1{family=planes,layout=shifted};all[0:1]@1{family=cells}", 14},
	} {
		if got := lead(c.plan); got != c.want {
			t.Errorf("%s: rows begin at %d, not %d", c.plan, got, c.want)
		}
	}
}

// A library's variants see the same rows: shifted ones if all plans want them, else padded ones.
func TestRowLayoutsOfVariants(t *testing.T) {
	p := load(t, "shifted", shiftedSource(0, 2, "double", ""))
	o := lower.Options{Target: lower.GPU, Bound: bind(t, p, "L=5 M=6 N=37")}
	lead := func(texts ...string) int64 {
		t.Helper()
		var plans []schedule.Plan
		for _, text := range texts {
			plans = append(plans, plan(t, text))
		}
		list, err := lower.Variants(p, o, plans)
		if err != nil {
			t.Fatal(err)
		}
		g := p.Grids[0]
		for _, m := range list {
			if m.Layouts[g] != list[0].Layouts[g] {
				t.Errorf("%v and %v", m.Layouts[g], list[0].Layouts[g])
			}
		}
		return list[0].Layouts[g].Lead
	}
	const shifted, packed = "family=planes,vec=2,layout=shifted", "family=tile,vec=2"
	if a, b := lead(shifted, shifted), lead(shifted, packed); a != 14 || b != 0 {
		t.Errorf("leads of %d and %d, not 14 and 0", a, b)
	}
}

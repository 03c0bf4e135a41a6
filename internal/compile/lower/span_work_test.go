package lower_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// hypots are loops with one hypot a cell and iteration, which the simulator counts.
var hypots = map[int]string{
	2: `
parameter M, N;
iterator j, i;
double u[M,N], next[M,N];
BOUNDARY
copyin u, next;
stencil s (out, in) { out[j][i] = hypot(0.5*in[j-1][i] + 0.25*in[j][i+1], in[j+1][i-1]); }
iterate 9 { s (next, u); swap (next, u); }
copyout u, next;
`,
	3: `
parameter L, M, N;
iterator k, j, i;
double u[L,M,N], next[L,M,N];
BOUNDARY
copyin u, next;
stencil s (out, in) { out[k][j][i] = hypot(0.5*in[k-1][j][i] + 0.25*in[k][j][i+1], in[k+1][j-1][i]); }
iterate 9 { s (next, u); swap (next, u); }
copyout u, next;
`,
}

// The work of a span is what the simulator counts.
func TestWorkOfSpans(t *testing.T) {
	for _, c := range []struct {
		plan, size, boundary string
		axes                 int
		target               lower.Target
		more                 bool // cells that no statement assigns are gone through, and not computed
	}{
		{"@2{family=pipe,block=1x32,cells=4,chunk=7}", "M=35 N=219", "", 2, lower.GPU, true},
		{"@4{family=pipe,block=2x32,cells=2,chunk=16,stages=0}", "M=41 N=119", "clamp", 2, lower.GPU, false},
		{"@3{family=pipe,block=1x32,cells=16,chunk=32,stages=4}", "M=70 N=600", "periodic", 2, lower.GPU, false},
		{"@3{family=pipe,block=2x32,cells=4,chunk=0,persistent=1}", "M=50 N=640", "", 2, lower.GPU, true},
		{"@3{family=pipe,block=2x32,cells=4,chunk=0,persistent=1}", "M=50 N=640", "clamp", 2, lower.GPU, false},
		{"@2{family=pipe,block=6x32,cells=4x2,chunk=0}", "L=5 M=33 N=70", "", 3, lower.GPU, false},
		{"@3{family=pipe,block=8x32,cells=2x1,chunk=7,barrier=whole}", "L=12 M=36 N=66", "clamp", 3, lower.GPU, false},
		{"@3{family=pipe,block=8x32,cells=2x1,chunk=0,persistent=2}", "L=15 M=40 N=90", "", 3, lower.GPU, false},
		{"@2{family=pipe,block=8x32,cells=2x1,chunk=0,persistent=1,sizes=literals}", "L=15 M=44 N=60", "periodic", 3,
			lower.GPU, false},
		{"@2{family=pipe,block=8x32,cells=2x2,chunk=0,persistent=8,sizes=literals}", "L=60 M=14 N=50", "", 3, lower.GPU,
			false},
		{"@2{family=resident,block=2x32,cells=8x2}", "M=35 N=70", "clamp", 2, lower.GPU, false},
		{"@3{family=overlap,block=32,tile=8x32}", "M=35 N=19", "periodic", 2, lower.GPU, false},
		{"@2{family=overlap,block=32,tile=4x4x16}", "L=5 M=9 N=21", "periodic", 3, lower.GPU, false},
		{"@3{family=overlap,block=32,tile=8x32}", "M=35 N=19", "", 2, lower.GPU, true},
		{"@3{family=wavefront,block=5x32}", "M=35 N=70", "", 2, lower.CPU, false},
		{"@4{family=wavefront,block=3x7x0}", "L=7 M=9 N=21", "clamp", 3, lower.CPU, false},
		{"@2{family=wavefront,block=0x4x0}", "L=5 M=9 N=211", "", 3, lower.CPU, false},
		{"@2{family=wavefront,block=0x4x32}", "L=7 M=9 N=61", "periodic", 3, lower.CPU, false},
	} {
		plans := "body[0:2]" + c.plan
		t.Run(plans+" "+c.boundary, func(t *testing.T) {
			t.Parallel()
			boundary := ""
			if c.boundary != "" {
				boundary = "boundary u, next : " + c.boundary + ";"
			}
			text := strings.Replace(hypots[c.axes], "BOUNDARY", boundary, 1)
			b := bind(t, load(t, "span", text), c.size).In(arith.Contract)
			want, err := expect(b, interp.NoBounds, 3)
			if err != nil {
				t.Fatal(err)
			}
			o := lower.Options{
				Target: c.target, Plan: plan(t, plans), Bound: b, Sized: true, AnyIntegers: true, Count: true,
			}
			if c.target == lower.GPU {
				if o.Machine, err = machine.Builtin("h200"); err != nil {
					t.Fatal(err)
				}
				o.Machine.Units = 2
			}
			m, err := lowered(b.Program, o)
			if err != nil {
				t.Fatal(err)
			}
			s, err := want.simulate(m, b)
			if err == nil {
				err = want.compare(b.Program, s)
			}
			if err != nil {
				t.Fatal(err)
			}
			span := m.Spans[0]
			counted := s.Report(span.Launches[0].Kernel).Func(op.Hypot, types.F64)
			w := span.Work
			if done := span.Rounds(9) * w.Done; done != counted && !c.more || done <= counted && c.more {
				t.Errorf("%d cells are gone through, the simulator computes %d", done, counted)
			}
			cells := span.Depth
			for _, x := range b.Program.Calls[0].Body[0].Domain {
				cells *= b.Range(x).Len()
			}
			if w.Needed != cells || w.Useful() > 1 || w.Useful() <= 0 {
				t.Errorf("%d of %d cells are needed, not %d", w.Needed, w.Done, cells)
			}
		})
	}
}

// Bare kernels are right where no edge is near, and only there.
func TestBareSpans(t *testing.T) {
	for _, c := range []struct{ name, size, config string }{
		{"rims that differ", "M=61 N=150", "family=pipe,block=1x32,cells=4,chunk=16"},
		{"rims that differ", "M=40 N=210", "family=pipe,block=2x32,cells=2,chunk=0,stages=0"},
		{"star in 3D", "L=22 M=24 N=90", "family=pipe,block=8x32,cells=4x2,chunk=7"},
		{"star in 3D", "L=20 M=30 N=70", "family=pipe,block=8x32,cells=3x1,chunk=0,persistent=1"},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.config), func(t *testing.T) {
			t.Parallel()
			const depth = 3
			text := ""
			for _, p := range spanPrograms {
				if p.name == c.name {
					text = strings.Replace(p.text, "iterate T", fmt.Sprint("iterate ", depth+1), 1)
				}
			}
			b := bind(t, load(t, "span", text), c.size).In(arith.Contract)
			want, err := expect(b, interp.NoBounds, 5)
			if err != nil {
				t.Fatal(err)
			}
			h200, err := machine.Builtin("h200")
			if err != nil {
				t.Fatal(err)
			}
			h200.Units = 2
			m, err := lowered(b.Program, lower.Options{
				Target: lower.GPU, Plan: plan(t, fmt.Sprintf("body[0:2]@%d{%s}", depth, c.config)), Bound: b,
				Sized: true, AnyIntegers: true, Bare: true, Machine: h200,
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := want.simulate(m, b)
			if err != nil {
				t.Fatal(err)
			}
			if got.Spans() != 1 {
				t.Fatalf("%d spans", got.Spans())
			}
			g := b.Program.Grids[0]
			shape := b.Shape(g.Dims)
			a, cells := want.Grid(g.Name), got.Grid(g)
			inside, wrong := 0, 0
			for n := range a.Len() {
				far, rest := true, n
				for d := len(shape) - 1; d >= 0; d-- {
					at := rest % shape[d]
					rest /= shape[d]
					far = far && at >= 2*(depth+1) && at < shape[d]-2*(depth+1)
				}
				same := agree(cells.At(n).AsFloat(), a.At(n), 0, false)
				switch {
				case far && !same:
					t.Fatalf("cell %d of %v is %v, not %v", n, shape, cells.At(n).AsFloat(), a.At(n))
				case far:
					inside++
				case !same:
					wrong++
				}
			}
			if inside < 100 || wrong == 0 {
				t.Errorf("%d cells are far from the edges, and %d others are wrong", inside, wrong)
			}
		})
	}
}

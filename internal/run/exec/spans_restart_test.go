package exec

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// restartPrograms are time loops over grids that change places, of two and of three, and one of two calls, which have
// a kernel for a single iteration, too; the rims of all grids differ.
var restartPrograms = []struct {
	name   string
	leaves int
	text   string
}{
	{"two grids", 2, `
parameter M = 13, N = 40, T = 9;
iterator j, i;
float u[M,N], next[M,N];
copyin u, next;
copyout u, next;
initial { u[j][i] = random(1); next[j][i] = random(2); }
stencil box (out, in, t) {
  out[j][i] = 0.21*in[j][i] + 0.12*in[j][i+1] + 0.13*in[j][i-1] + 0.24*in[j+1][i-1] + 0.29*in[j-1][i+1] + 0.01*t;
}
iterate T { box (next, u, step); swap (next, u); }
`},
	{"two calls", 3, `
parameter M = 12, N = 39, T = 7;
iterator j, i;
float u[M,N], flux[M,N], next[M,N];
copyin u, flux, next;
copyout u, flux, next;
initial { u[j][i] = random(1); flux[j][i] = random(2); next[j][i] = random(3); }
stencil across (f, u) { f[j][i] = 0.31*u[j][i+1] - 0.17*u[j][i] + 0.11*u[j-1][i]; }
stencil update (out, u, f) { out[j][i] = 0.9*u[j][i] + 0.2*f[j][i] - 0.15*f[j][i-1] + 0.07*f[j+1][i]; }
iterate T { across (flux, u); update (next, u, flux); swap (u, next); }
`},
	{"two chains", 5, `
parameter M = 12, N = 39, T = 5;
iterator j, i;
float u[M,N], w[M,N], x[M,N], y[M,N];
copyin u, w, x, y;
copyout u, w, x, y;
initial { u[j][i] = random(1); w[j][i] = random(2); x[j][i] = random(3); y[j][i] = random(4); }
stencil across (f, u, t) { f[j][i] = 0.31*u[j][i+1] - 0.17*u[j][i] + 0.11*u[j-1][i] + 0.01*t; }
iterate T { across (w, u, step); across (y, x, step); across (u, w, step); across (x, y, step); swap (x, y); }
`},
	{"three grids, nested", 2, `
parameter M = 11, N = 37, T = 8;
iterator j, i;
double a[M,N], b[M,N], c[M,N];
boundary a, b, c : periodic on i;
copyin a, b, c;
copyout a, b, c;
initial { a[j][i] = random(1); b[j][i] = random(2); c[j][i] = random(3); }
stencil wave (c, b, a) {
  c[j][i] = 1.6*b[j][i] - 0.9*a[j][i] + 0.07*b[j][i+1] + 0.05*b[j][i-1] + 0.08*b[j+1][i] + 0.1*b[j-1][i];
}
iterate 2 { iterate T { wave (c, b, a); rotate (a, b, c); } }
`},
}

// restartPlans are two plans of each family, of unlike depths, one of which goes on from what the other has left.
var restartPlans = []struct {
	name   string
	target lower.Target
	plans  [2]string
}{
	{"overlap", lower.GPU, [2]string{"@3{family=overlap,block=32,tile=4x16}", "@2{family=overlap,block=32,tile=4x16}"}},
	{"pipe", lower.GPU, [2]string{"@2{family=pipe,block=2x32,cells=1,chunk=7}",
		"@4{family=pipe,block=1x32,cells=2,chunk=0}"}},
	{"resident", lower.GPU, [2]string{"@2{family=resident,block=4x32,cells=2x1}",
		"@3{family=resident,block=2x32,cells=4x1,wait=grid}"}},
	{"wavefront", lower.CPU, [2]string{"@3{family=wavefront,block=8x0}", "@2{family=wavefront,block=4x0,threads=2}"}},
}

// A run that stops at any place of a time loop leaves what the reference executor has there, and another one goes on
// from it to the same bits, though its plan has spans of another depth. Kernels for GPUs run on the first GPU, and in
// the simulator where there is none.
func TestRestartOfSpans(t *testing.T) {
	for _, f := range restartPlans {
		for _, p := range restartPrograms {
			t.Run(f.name+"/"+p.name, func(t *testing.T) {
				b := program(t, p.text)
				states := course(t, b)
				last := int64(len(states) - 1)
				var runs [2]Runner
				for i, text := range f.plans {
					_, config, _ := strings.Cut(text, "{")
					text = fmt.Sprintf("body[0:%d]%s", p.leaves, text)
					switch {
					case i == 0 && p.leaves == 5 && f.name != "resident":
						text = fmt.Sprintf("body[0,2]@1{%[1]s;body[1,3]@1{%[1]s", config)
					case i == 0 && p.leaves > 2:
						text = fmt.Sprintf("body[0:%d]@1{%s", p.leaves, config)
					}
					runs[i] = openSpans(t, b, f.target, text)
					restart(t, runs[i], states[0])
					whole := advanced(t, runs[i], Limit{})
					same(t, text, contents(t, runs[i], b.Program), states[last].contents)
					if whole.Launches*2 > last {
						t.Errorf("%s: %d launches for %d leaves: no span was carried out", text, whole.Launches, last)
					}
				}
				for n := int64(1); n < last && !t.Failed(); n++ {
					stops, goesOn := runs[n%2], runs[(n+1)%2]
					restart(t, stops, states[0])
					advanced(t, stops, Limit{Leaves: n})
					at := state{place: stops.Place(), contents: contents(t, stops, b.Program)}
					same(t, fmt.Sprintf("stopped after %d leaves", n), at.contents, states[n].contents)
					if fmt.Sprint(at.place) != fmt.Sprint(states[n].place) {
						t.Errorf("stopped after %d leaves: stands at %v, want %v", n, at.place, states[n].place)
					}
					restart(t, goesOn, at)
					if p := advanced(t, goesOn, Limit{}); !p.Finished {
						t.Errorf("restarted after %d leaves: %+v", n, p)
					}
					same(t, fmt.Sprintf("restarted after %d leaves", n), contents(t, goesOn, b.Program),
						states[last].contents)
				}
			})
		}
	}
}

// restart puts a runner where another one has stopped.
func restart(t *testing.T, r Runner, at state) {
	t.Helper()
	for name, cells := range at.contents {
		to, err := r.Grid(name)
		if err != nil {
			t.Fatal(err)
		}
		copy(to, cells)
	}
	if err := r.Restore(at.place); err != nil {
		t.Fatal(err)
	}
}

// openSpans opens a program with a plan on the processor, on the first GPU, or in the simulator where there is none.
func openSpans(t *testing.T, b *ir.Binding, target lower.Target, text string) Runner {
	t.Helper()
	if target == lower.GPU && !pretended {
		if _, err := cuda.GPUs(); err == nil {
			m, image := forGPU(t, b, text)
			return openModule(t, m, b, Options{Image: image, eager: 2})
		}
	}
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := lower.Program(b.Program, lower.Options{Target: target, Bound: b, Plan: plan, AnyIntegers: true})
	if err != nil {
		t.Fatal(err)
	}
	if target == lower.CPU {
		r, err := Open(t.Context(), m, b, Options{Image: build(t, emit.Source(emit.C, m)), Device: "cpu"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return r
	}
	l, d := openPrompt(t, m, b, 2)
	maps.Copy(d.kernels, simulatedKernels(t, m))
	t.Cleanup(func() { l.Close() })
	return l
}

// simulatedKernels returns a module's kernels as functions that run them in the simulator.
func simulatedKernels(t *testing.T, m *kernel.Module) map[string]func(args [][]byte) {
	list := map[string]func(args [][]byte){}
	for _, k := range m.Kernels {
		compiled, err := sim.Compile(k)
		if err != nil {
			t.Fatal(err)
		}
		list[k.Name] = func(args [][]byte) {
			var bound sim.Args
			for i, b := range k.Buffers {
				bound.Buffers = append(bound.Buffers, sim.View(b.Elem, args[i]))
			}
			for i, v := range k.Scalars {
				bound.Scalars = append(bound.Scalars, scalarOf(t, v.Type, args[len(k.Buffers)+i]))
			}
			report, err := compiled.Run(bound, sim.Options{})
			if err == nil {
				err = report.Err()
			}
			if err != nil {
				t.Errorf("%s: %v", k.Name, err)
			}
		}
	}
	return list
}

// scalarOf returns the value that an argument's bytes are.
func scalarOf(t *testing.T, typ types.Type, b []byte) op.Value {
	t.Helper()
	switch typ {
	case types.I64:
		return op.Int(typ, int64(binary.NativeEndian.Uint64(b)))
	case types.I32:
		return op.Int(typ, int64(int32(binary.NativeEndian.Uint32(b))))
	case types.F64:
		return op.Float(typ, math.Float64frombits(binary.NativeEndian.Uint64(b)))
	case types.F32:
		return op.Float(typ, float64(math.Float32frombits(binary.NativeEndian.Uint32(b))))
	}
	t.Fatalf("an argument of type %s", typ)
	return op.Value{}
}

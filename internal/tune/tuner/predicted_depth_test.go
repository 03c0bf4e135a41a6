package tuner

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/target"
)

// wide is a loop that memory binds.
const wide = `
parameter M = 8192, N = 8192;
iterator j, i;
double u[M,N], next[M,N];
stencil five (out, in) {
  out[j][i] = 0.4*in[j][i] + 0.1*in[j][i-1] + 0.11*in[j][i+1] + 0.12*in[j-1][i] + 0.27*in[j+1][i];
}
iterate 100 { five (next, u); swap (next, u); }
`

// predictedDepths are those of a program on a machine that is not here.
func predictedDepths(t *testing.T, source, name string, d *emit.Dialect, pause int64, least float64) []PredictedDepth {
	t.Helper()
	m, err := machine.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := PredictDepths(t.Context(), DepthsRequest{
		Bound: program(t, source), Target: target.OnPaper(d, m, arith.Contract), Pause: pause, Least: least, Workers: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Where memory binds, a kernel of several iterations is predicted to be faster than single ones can be, and it can be
// lowered. Less than a loop that is worth it, pauses, small grids and much arithmetic have none, and neither have
// processors.
func TestPredictDepths(t *testing.T) {
	list := predictedDepths(t, wide, "h200", emit.CUDA, 0, 0)
	if len(list) != 1 {
		t.Fatalf("%d kernels", len(list))
	}
	p := list[0]
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	// Two grids move through memory, but for the rim that is not stored.
	if want := 2 * 8 * 8192 * 8192 / (m.Memory.Bandwidth * 1e9); p.Single < 0.98*want || p.Single > want {
		t.Errorf("single iterations take %g s at least, not %g", p.Single, want)
	}
	if p.Kernel.Depth < 2 || p.Seconds > sure*p.Single || p.Seconds < p.Single/float64(p.Kernel.Depth) ||
		p.Iterations != 100 {
		t.Errorf("%+v", p)
	}
	if saved := 100 * (p.Single - p.Seconds); p.Saved() != saved {
		t.Errorf("%g s are saved, not %g", p.Saved(), saved)
	}
	b := program(t, wide)
	o := target.OnPaper(emit.CUDA, m, arith.Contract).Lowering(b, plan(t, p.Kernel.String()))
	if module, err := lower.Program(b.Program, o); err != nil || len(module.Spans) != 1 {
		t.Errorf("%s: %v", p.Kernel, err)
	}
	if list = predictedDepths(t, wide, "h200", emit.CUDA, int64(p.Kernel.Depth)-1, 0); len(list) > 0 &&
		list[0].Kernel.Depth >= p.Kernel.Depth {
		t.Errorf("with pauses the depth is %d", list[0].Kernel.Depth)
	}
	heavy := strings.Replace(wide, "0.4*in[j][i]", strings.Repeat("sin(in[j][i]) + ", 3)+"0.4*in[j][i]", 1)
	for name, list := range map[string][]PredictedDepth{
		"a short loop":    predictedDepths(t, wide, "h200", emit.CUDA, 0, 1),
		"small grids":     predictedDepths(t, strings.ReplaceAll(wide, "8192", "512"), "h200", emit.CUDA, 0, 0),
		"much arithmetic": predictedDepths(t, heavy, "h200", emit.CUDA, 0, 0),
		"a processor":     predictedDepths(t, wide, "cpu", emit.C, 0, 0),
		"one iteration":   predictedDepths(t, strings.Replace(wide, "100", "1", 1), "h200", emit.CUDA, 0, 0),
	} {
		if len(list) > 0 {
			t.Errorf("%s: %+v", name, list)
		}
	}
}

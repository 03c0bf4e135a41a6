package tuner

import (
	"math"
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

// predictedLoops are those of a program on a machine that is not here.
func predictedLoops(t *testing.T, source, name string, d *emit.Dialect, least float64) []PredictedLoop {
	t.Helper()
	m, err := machine.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := PredictDepths(t.Context(), DepthsRequest{
		Bound: program(t, source), Target: target.OnPaper(d, m, arith.Contract), Least: least, Workers: 2,
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
	list := predictedLoops(t, wide, "h200", emit.CUDA, 0)
	if len(list) != 1 || list[0].Loop != "body[0:2]" || list[0].Iterations != 100 || list[0].None != "" {
		t.Fatalf("%+v", list)
	}
	p := list[0]
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	// Two grids move through memory, but for the rim that is not stored.
	if want := 2 * 8 * 8192 * 8192 / (m.Memory.Bandwidth * 1e9); p.Single < 0.98*want || p.Single > 1.001*want {
		t.Errorf("single iterations take %g s at least, not %g", p.Single, want)
	}
	least := math.Inf(1)
	for i, d := range p.Depths {
		if d.Kernel.Depth < 2 || i > 0 && d.Kernel.Depth <= p.Depths[i-1].Kernel.Depth || d.Class == "" ||
			d.Seconds < p.Single/float64(d.Kernel.Depth)/2 {
			t.Errorf("%+v", d)
		}
		least = min(least, d.Seconds)
	}
	best := p.Sure(0)
	if best == nil || best.Seconds != least || best.Seconds > sure*p.Single || len(p.Depths) < 3 {
		t.Fatalf("%+v of %d depths", best, len(p.Depths))
	}
	b := program(t, wide)
	o := target.OnPaper(emit.CUDA, m, arith.Contract).Lowering(b, plan(t, best.Kernel.String()))
	if module, err := lower.Program(b.Program, o); err != nil || len(module.Spans) != 1 {
		t.Errorf("%s: %v", best.Kernel, err)
	}
	needs := int64(best.Kernel.Depth) + best.After
	if d := p.Sure(needs); d != best {
		t.Errorf("with pauses that are long enough: %+v", d)
	}
	if d := p.Sure(needs - 1); d != nil && (d.Kernel.Depth >= best.Kernel.Depth || d.Seconds < best.Seconds) {
		t.Errorf("with pauses that are too short: %+v", d)
	}
	if d := p.Sure(1); d != nil {
		t.Errorf("between single iterations: %+v", d)
	}
	heavy := strings.Replace(wide, "0.4*in[j][i]", strings.Repeat("sin(in[j][i]) + ", 3)+"0.4*in[j][i]", 1)
	if list = predictedLoops(t, heavy, "h200", emit.CUDA, 0); len(list[0].Depths) == 0 || list[0].Sure(0) != nil {
		t.Errorf("much arithmetic: %+v", list)
	}
	for none, list := range map[string][]PredictedLoop{
		"worth":       predictedLoops(t, wide, "h200", emit.CUDA, 1),
		"cache keeps": predictedLoops(t, strings.ReplaceAll(wide, "8192", "512"), "h200", emit.CUDA, 0),
		"1 iteration": predictedLoops(t, strings.Replace(wide, "100", "1", 1), "h200", emit.CUDA, 0),
	} {
		if len(list) != 1 || !strings.Contains(list[0].None, none) || len(list[0].Depths) > 0 {
			t.Errorf("%s: %+v", none, list)
		}
	}
	if list = predictedLoops(t, wide, "cpu", emit.C, 0); list != nil {
		t.Errorf("a processor: %+v", list)
	}
}

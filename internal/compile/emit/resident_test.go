package emit_test

import (
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Kernels whose blocks stay for many iterations are CUDA that compiles, for a known size and for any. OpenCL has no
// blocks that run at once, and says so.
func TestResident(t *testing.T) {
	needClang(t)
	for _, text := range []string{
		"body[0:2]@4{family=resident,block=4x32,cells=4x4}",
		"body[0:2]@3{family=resident,block=4x32,cells=3x3,wait=grid,barrier=whole,sizes=literals}",
	} {
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		p := loadFile(t, "../../tune/eval/bench/temporal/star5.loom",
			strings.NewReplacer("16384", "256", "double", "float"))
		bound, list := p.Bind(nil)
		if list.HasErrors() {
			t.Fatal(list)
		}
		lowering := func(d *emit.Dialect) lower.Options {
			m, err := machine.Builtin("h200")
			if err != nil {
				t.Fatal(err)
			}
			o := lower.Options{Target: lower.GPU, Plan: plan, Bound: bound, Sized: true}
			o.Machine, o.Lacks = d.On(m)
			return o
		}
		m, err := lower.Program(p, lowering(emit.CUDA))
		if err != nil {
			t.Fatal(err)
		}
		ptx(t, emit.Source(emit.CUDA, m))
		_, err = lower.Program(p, lowering(emit.OpenCL))
		if want := "family=resident needs grid-barrier, which this device does not have"; err == nil ||
			!strings.HasSuffix(err.Error(), want) {
			t.Error(err)
		}
	}
}

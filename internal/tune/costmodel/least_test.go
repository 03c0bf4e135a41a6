package costmodel_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
)

// Kernels take what memory takes where little is computed, and the time of their instructions elsewhere. Launches that
// follow each other add up.
func TestLeast(t *testing.T) {
	m := h200(t)
	for _, c := range []struct {
		name, dtype, grid, plan string
		bytes                   float64
		memory                  bool
	}{
		{"star5", "double", "8192x8192", "family=tile,block=4x64", 2 * 8 * 8192 * 8192, true},
		{"box27", "float", "512x512x512", "family=cells,block=8x32", 2 * 4 * 512 * 512 * 512, false},
	} {
		b := load(t, c.name, c.dtype, c.grid)
		plan, err := schedule.ParsePlan(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		module, err := lower.Program(b.Program, lower.Options{
			Target: lower.GPU, Sized: true, AnyIntegers: true, Machine: m, Plan: plan, Bound: b,
		})
		if err != nil {
			t.Fatal(err)
		}
		launches := module.Calls[b.Program.Calls[0]]
		got, err := costmodel.Least(launches, b, m)
		if err != nil {
			t.Fatal(err)
		}
		w, err := costmodel.WorkOf(launches[0], b)
		if err != nil || len(launches) != 1 {
			t.Fatal(len(launches), err)
		}
		memory := c.bytes / (m.Memory.Bandwidth * 1e9)
		if c.memory && (got < 0.999*memory || got > 1.001*memory) {
			t.Errorf("%s takes %g s, and memory %g", c.name, got, memory)
		}
		if issue := w.IssueSeconds(m); !c.memory && (got < 1.2*memory || got < issue || got > 1.3*issue) {
			t.Errorf("%s takes %g s, memory %g, and its instructions %g", c.name, got, memory, issue)
		}
		if twice, err := costmodel.Least(append(launches, launches...), b, m); err != nil || twice != 2*got {
			t.Errorf("%s twice: %g s, %v", c.name, twice, err)
		}
	}
}

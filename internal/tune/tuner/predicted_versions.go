package tuner

import (
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
)

// versionForms are the kernels by which the cost model predicts the versions of a program: the usual ones, and those
// that stream planes through shared memory, which read each cell once.
var versionForms = []string{"", "family=planes,stages=1", "family=planes,stages=1,copy=tensor"}

// hopeless is how many times as long as the fastest plan so far the kernels of a version take at least, by the cost
// model, for the version not to be tuned. They may share kernels, which the prediction does not know, and save a part
// of their memory traffic (docs/performance-log.md, "Versions predicted").
const hopeless = 1.5

// leastOfVersion predicts the seconds that an update of a program takes at least with kernels of its own for each call:
// the best of versionForms (costmodel.Least). It is 0 where nothing is predicted: on processors, where it is not known
// how fast the device is, where the last cache keeps all grids, and where kernels cannot be counted.
func leastOfVersion(b *ir.Binding, t *target.Target) float64 {
	s, m := countable(b, t)
	if s == nil {
		return 0
	}
	least := slices.Repeat([]float64{math.Inf(1)}, len(s.calls))
	for _, text := range versionForms {
		plan, err := schedule.ParsePlan(text)
		if err != nil {
			return 0
		}
		module, err := lower.Program(b.Program, t.Lowering(b, plan))
		if err != nil {
			continue // no kernel has the form
		}
		for i, call := range s.calls {
			seconds, err := costmodel.Least(module.Calls[call.ir], b, m)
			if err != nil {
				return 0
			}
			least[i] = min(least[i], seconds)
		}
	}
	sum := 0.0
	for i, call := range s.calls {
		sum += call.runs * least[i]
	}
	if math.IsInf(sum, 1) {
		return 0
	}
	return sum
}

// promisingVersions returns the versions that may be faster than a plan that takes so many seconds, and notes which are
// left out. Without a plan, all may be.
func promisingVersions(list []Version, fastest float64, note func(format string, args ...any)) []Version {
	return slices.DeleteFunc(list, func(v Version) bool {
		if fastest == 0 || v.least < hopeless*fastest {
			return false
		}
		note("the version %s is not tuned: by the cost model its kernels take %s at least, and the fastest plan "+
			"takes %s", v.Name, quantity.Time(v.least), quantity.Time(fastest))
		return true
	})
}

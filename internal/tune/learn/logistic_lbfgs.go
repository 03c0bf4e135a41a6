package learn

import (
	"math"

	"gonum.org/v1/gonum/optimize"
)

// mostQuasiSteps ends what converges too slowly. Classes that can be told apart need some hundreds.
const mostQuasiSteps = 5000

// lbfgs finds the minimum with the gradients of the last steps alone (D. C. Liu and J. Nocedal, "On the limited memory
// BFGS method for large scale optimization", Mathematical Programming 45, 1989).
func (f *logisticFit) lbfgs() []float64 {
	start := make([]float64, (f.classes-1)*f.columns)
	if len(start) == 0 {
		return start
	}
	found, err := optimize.Minimize(optimize.Problem{Func: f.loss, Grad: f.gradient}, start, &optimize.Settings{
		MajorIterations: mostQuasiSteps,
		Converger:       &optimize.FunctionConverge{Relative: 1e-12, Absolute: 1e-12, Iterations: 20},
	}, &optimize.LBFGS{GradStopThreshold: 1e-9})
	// An error says that no step makes the loss less: rounding is all that is left, or there are numbers that are none.
	if found == nil || err != nil && math.IsNaN(found.F) {
		return start
	}
	return found.X
}

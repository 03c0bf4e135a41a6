package engine

import (
	"context"
	"runtime"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// LeastDeepened are the seconds that a loop takes at least for its depth to be predicted before a run: that takes some
// seconds itself, and saves a part of the loop's.
const LeastDeepened = 10

// Deepen adds to a plan by prediction, which says nothing of several iterations, the kernels of several that the cost
// model takes for faster than any of one can be (tuner.PredictDepths), as far as the job fits with them. The plan
// without them stands by. It returns what it has added. Loops that take less than some seconds by single iterations are
// left alone, and where pauses are short, no kernel has more iterations.
func (j *Job) Deepen(ctx context.Context, least float64, pauses ...Pause) ([]tuner.PredictedDepth, error) {
	if j.Origin != Modelled || j.hasSpans() {
		return nil, nil
	}
	list, err := tuner.PredictDepths(ctx, tuner.DepthsRequest{
		Bound: j.Bound, Target: j.Device.Target, Free: j.Free, Pause: shortest(pauses).Iterations,
		Least: least, Workers: runtime.GOMAXPROCS(0),
	})
	if err != nil {
		return nil, err
	}
	before := j.Plan
	list = slices.DeleteFunc(list, func(p tuner.PredictedDepth) bool {
		one := *j
		one.Plan.Kernels = append(slices.Clone(j.Plan.Kernels), p.Kernel)
		if one.Fits() != nil {
			return true
		}
		j.Plan = one.Plan
		return false
	})
	if len(list) == 0 {
		return nil, nil
	}
	j.Next = append([]schedule.Plan{before}, j.Next...)
	return list, nil
}

// shortest returns the pause that is the most often, none if there is none.
func shortest(pauses []Pause) Pause {
	var often Pause
	for _, p := range pauses {
		if p.Iterations > 0 && (often.Iterations == 0 || p.Iterations < often.Iterations) {
			often = p
		}
	}
	return often
}

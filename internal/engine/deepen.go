package engine

import (
	"context"
	"runtime"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// LeastDeepened are the seconds that a loop takes at least for its depth to be predicted before a run: that takes some
// seconds itself, and saves a part of the loop's.
const LeastDeepened = 10

// Depths are what the cost model predicts for the innermost loops of a program on a target, which need not be there.
// Kernels of several iterations are set against those of single ones that the plan has, with local grids as a run
// would have them.
func Depths(ctx context.Context, b *ir.Binding, t *target.Target, plan schedule.Plan) ([]tuner.PredictedLoop, error) {
	settleLocals(b, t, &plan)
	list, err := tuner.PredictDepths(ctx, tuner.DepthsRequest{
		Bound: b, Target: t, Plan: plan, Workers: runtime.GOMAXPROCS(0),
	})
	if err != nil && ctx.Err() == nil {
		return nil, BadPlan(plan, err)
	}
	return list, err
}

// Deepened is a kernel of several iterations in the plan of a job, and the loop that it is of.
type Deepened struct {
	tuner.PredictedDepth
	Loop tuner.PredictedLoop
}

// Deepen adds to a plan by prediction, which says nothing of several iterations, or to the usual one, the kernels of
// several that the cost model takes for faster than its own can be (tuner.PredictedLoop.Sure), as far as the job fits
// with them. The plan without them stands by. It returns what it has added. Loops that take less than some seconds by
// single iterations are left alone, and where pauses are short, no kernel has more iterations.
func (j *Job) Deepen(ctx context.Context, least float64, pauses ...Pause) ([]Deepened, error) {
	if j.Origin != Modelled && j.Origin != Usual || j.Device.Reference() || j.hasSpans() {
		return nil, nil
	}
	loops, err := tuner.PredictDepths(ctx, tuner.DepthsRequest{
		Bound: j.Bound, Target: j.Device.Target, Free: j.Free, Plan: j.Plan, Least: least,
		Workers: runtime.GOMAXPROCS(0),
	})
	if err != nil {
		return nil, err
	}
	before := j.Plan
	var list []Deepened
	for _, l := range loops {
		d := l.Sure(shortest(pauses).Iterations)
		if d == nil {
			continue
		}
		one := *j
		one.Plan.Kernels = append(slices.Clone(j.Plan.Kernels), d.Kernel)
		if one.Fits() == nil {
			j.Plan = one.Plan
			list = append(list, Deepened{*d, l})
		}
	}
	if len(list) > 0 {
		j.Next, j.Origin = append([]schedule.Plan{before}, j.Next...), Modelled
	}
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

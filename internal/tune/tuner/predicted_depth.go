package tuner

import (
	"context"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// PredictedDepth is a kernel of several iterations of a loop that the cost model takes for faster than any kernels of
// single ones can be. Nothing of it was measured.
type PredictedDepth struct {
	Kernel  schedule.Kernel
	Seconds float64 // of an iteration, predicted
	// Single are the seconds of an iteration by kernels of its own that move each element of their grids once, as fast
	// as memory is.
	Single float64
	// Iterations are those of the loop over all its executions.
	Iterations float64
	Class      costmodel.Class // what binds the kernel
}

// Saved are the seconds that the kernel saves in all.
func (p *PredictedDepth) Saved() float64 { return (p.Single - p.Seconds) * p.Iterations }

// DepthsRequest asks which kernels of several iterations are worth their while, without a measurement.
type DepthsRequest struct {
	Bound  *ir.Binding
	Target *target.Target
	Free   bool  // as of Options
	Pause  int64 // the run stops every so many iterations; 0 is never
	// Least are the seconds that a loop takes at least by single iterations, as fast as memory is: less is not worth
	// the prediction, which takes some seconds.
	Least   float64
	Workers int // how many configurations are lowered side by side
}

// sure is the part of the time of single iterations that a predicted kernel may take: the model errs, and single
// iterations may share what caches keep.
const sure = 0.85

// PredictDepths predicts the kernels of several iterations of each innermost loop by the cost model alone, as a search
// does before it compiles any, and returns those that are faster than single iterations can be: of each loop the one
// that is the fastest per iteration. Grids that the last cache keeps have none: how fast single iterations are there,
// nothing tells. A device of which is not known how fast it is has none, and neither have processors.
func PredictDepths(ctx context.Context, r DepthsRequest) ([]PredictedDepth, error) {
	m := machine.Described(r.Target.Machine)
	if r.Target.Kind() != lower.GPU || m == nil || m.Memory.Bandwidth == 0 {
		return nil, nil
	}
	s, err := splitSubject(r.Bound, measure.About{Target: r.Target, Workers: r.Workers}, r.Free)
	if err != nil {
		return nil, nil // nothing runs
	}
	if s.loops == nil {
		return nil, nil
	}
	executions := executionsOf(r.Bound)
	facts := analysis.Analyze(r.Bound.Program, r.Bound)
	t := &tuning{subject: s, result: &Result{}, clock: time.Now}
	var list []PredictedDepth
	for _, loop := range s.loops {
		if loop.once() || loop.Iterate.Count == nil {
			continue
		}
		set, single := int64(0), 0.0
		for _, c := range loop.calls {
			set = max(set, facts.Call(c.ir).WorkingSet)
			single += c.bytes * float64(c.points) / (m.Memory.Bandwidth * 1e9)
		}
		times := float64(loop.count) * executions[loop.Iterate]
		if single == 0 || single*times < r.Least || m.Holding(set) != nil {
			continue
		}
		l := &loopSearch{tuning: t, loop: loop, forecasts: map[int64][]prediction{}}
		if l.begin() != nil { // its iterations cannot share a kernel
			continue
		}
		l.forecastSeeds(ctx)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		best := PredictedDepth{Seconds: math.Inf(1), Single: single, Iterations: times}
		for depth, p := range l.forecasts {
			after, err := loop.after(depth)
			if err != nil || r.Pause > 0 && depth+after > r.Pause {
				continue
			}
			x := p[0].seconds / float64(depth)
			if x < best.Seconds || x == best.Seconds && depth < int64(best.Kernel.Depth) {
				best.Kernel, best.Seconds, best.Class = loop.kernel(depth, p[0].config), x, p[0].class
			}
		}
		if best.Seconds < sure*single {
			list = append(list, best)
		}
	}
	return list, nil
}

// forecastSeeds predicts the seeds of one depth after the other, as planRoute does, without the other tiles.
func (l *loopSearch) forecastSeeds(ctx context.Context) {
	none, stop := context.WithCancel(ctx)
	stop()
	depths := flatForecast
	if l.axes > 2 {
		depths = solidForecast
	}
	var list []forecast
	for _, d := range l.loop.depths(depths, 0) {
		if _, err := l.loop.after(d); err != nil || len(list) > 0 && pastTipping(list) {
			return
		}
		switch f, ok := l.forecast(ctx, none, d); {
		case ok:
			list = append(list, f)
		case len(list) == 0: // nothing is known of the device
			return
		}
	}
}

package tuner

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// PredictedDepth is a kernel of several iterations of a loop, or of one for all of its statements, as the cost model
// predicts it. Nothing of it was measured.
type PredictedDepth struct {
	Kernel  schedule.Kernel
	After   int64           // iterations that have to follow one by one
	Seconds float64         // of an iteration, predicted
	Class   costmodel.Class // what binds the kernel
	// Rough says that the seconds may be far off, by the family of the kernel.
	Rough bool
}

// PredictedLoop is what the cost model predicts for an innermost loop.
type PredictedLoop struct {
	Loop string // as plans name it: body[0:2]
	// Single are the seconds of an iteration by kernels of its own at least (costmodel.Least), those of memory alone
	// where the plan's kernels cannot be counted or the loop is short.
	Single     float64
	Iterations float64          // over all executions
	Depths     []PredictedDepth // of each the best; the least first
	None       string           // why there are none
}

// DepthsRequest asks what the cost model predicts for the loops of a program.
type DepthsRequest struct {
	Bound  *ir.Binding
	Target *target.Target
	Free   bool // as of Options
	// Plan is of kernels of single iterations, which those of several are set against; empty is the usual one.
	Plan schedule.Plan
	// Least are the seconds that a loop takes at least by single iterations, as fast as memory is: less is not worth
	// the prediction, which takes some seconds.
	Least   float64
	Workers int // how many configurations are lowered side by side
}

// PredictDepths predicts the kernels of several iterations of each innermost loop by the cost model alone, as a search
// does before it compiles any: of each depth the best of the seeds. Grids that the last cache keeps have none: how fast
// single iterations are there, nothing tells. Processors have no loops here, and neither has a device of which is not
// known how fast it is.
func PredictDepths(ctx context.Context, r DepthsRequest) ([]PredictedLoop, error) {
	m := machine.Described(r.Target.Machine)
	if r.Target.Kind() != lower.GPU || m == nil || m.Memory.Bandwidth == 0 {
		return nil, nil
	}
	s, err := splitSubject(r.Bound, measure.About{Target: r.Target, Workers: r.Workers}, r.Free)
	if err != nil {
		return nil, nil // nothing runs
	}
	none, stop := context.WithCancel(ctx) // all tiles beside the seeds would take ten times as long
	stop()
	executions := executionsOf(r.Bound)
	var single *kernel.Module // is lowered for loops that are long enough
	t := &tuning{subject: s, result: &Result{}, clock: time.Now}
	var list []PredictedLoop
	for _, loop := range s.loops {
		if loop.once() {
			continue
		}
		p := PredictedLoop{Loop: loop.place(), Iterations: float64(loop.count) * executions[loop.Iterate]}
		for _, c := range loop.calls {
			p.Single += c.bytes * float64(c.points) / (m.Memory.Bandwidth * 1e9)
		}
		if p.Single*p.Iterations < r.Least {
			p.None = "it takes no longer than the prediction is worth"
			list = append(list, p)
			continue
		}
		if single == nil {
			if single, err = lower.Program(r.Bound.Program, r.Target.Lowering(r.Bound, r.Plan)); err != nil {
				return nil, err
			}
		}
		least := 0.0
		for _, c := range loop.calls {
			if s, err := costmodel.Least(single.Calls[c.ir], r.Bound, m); err == nil { // or memory alone tells
				least += s
			}
		}
		p.Single = max(p.Single, least)
		l := &loopSearch{tuning: t, loop: loop, forecasts: map[int64][]prediction{}}
		switch err := l.begin(); {
		case err != nil: // its iterations cannot share a kernel
			p.None = err.Error()
		case m.Holding(s.workingSet(loop.calls)) != nil:
			p.None = "the last cache keeps its grids"
		default:
			l.forecastDepths(ctx, none)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if p.Depths = l.predictedDepths(); len(p.Depths) == 0 {
				p.None = "the cost model tells nothing of its kernels"
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// sure is the part of the time of single iterations that a predicted kernel may take to be taken without a measurement:
// the model errs, and single iterations may share what caches keep.
const sure = 0.85

// roughFamily is the family of which the cost model's seconds are between 0.6 and 1.6 of what was measured: it was
// fitted to others (docs/performance-log.md, "Depths without a search").
const roughFamily = "planes"

// Sure returns the depth that is predicted to be the fastest per iteration, if it is faster than single iterations can
// be; nil if there is none. A run that stops every so many iterations has no deeper one; 0 is never.
func (p *PredictedLoop) Sure(pause int64) *PredictedDepth {
	var best *PredictedDepth
	for i := range p.Depths {
		d := &p.Depths[i]
		fits := pause == 0 || int64(d.Kernel.Depth)+d.After <= pause
		if fits && !d.Rough && (best == nil || d.Seconds < best.Seconds) {
			best = d
		}
	}
	if best == nil || best.Seconds >= sure*p.Single {
		return nil
	}
	return best
}

// predictedDepths returns the best of each depth that was predicted, of families that the model knows well if there are
// any.
func (l *loopSearch) predictedDepths() []PredictedDepth {
	var list []PredictedDepth
	for depth, p := range l.forecasts {
		after, err := l.loop.after(depth)
		if err != nil || math.IsInf(p[0].seconds, 1) {
			continue
		}
		best := p[0]
		if i := slices.IndexFunc(p, func(x prediction) bool { return x.config.Family != roughFamily }); i >= 0 &&
			!math.IsInf(p[i].seconds, 1) {
			best = p[i]
		}
		list = append(list, PredictedDepth{
			l.loop.kernel(depth, best.config), after, best.seconds / float64(depth), best.class,
			best.config.Family == roughFamily,
		})
	}
	slices.SortFunc(list, func(a, b PredictedDepth) int { return cmp.Compare(a.Kernel.Depth, b.Kernel.Depth) })
	return list
}

package tuner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// finalist is a plan that is timed side by side with others: a batch of each in every round, so that a
// drift of the clocks affects all of them alike.
type finalist struct {
	name  string
	plan  schedule.Plan
	naive bool // compiled with a user's plain options (measure.Text.Plain)
	found bool // found by the search, which has compiled it
	// needed finalists are timed however short the time is: without them there is no result.
	needed     bool
	parts      []*tunedCall   // what is timed of it: calls, and iterations that share a kernel
	codes      []measure.Code // by part
	times      []float64
	resources  measure.Resources // the most that one of its kernels takes
	cells      int64             // that were compared when it was prepared
	err        error
	failedCall *tunedCall // the call whose check failed, if that is why err is set
}

const (
	maxFinalists = 5
	// Rounds of a comparison: enough to know the scatter, and a limit.
	fewestRounds = 7
	mostRounds   = 25
)

// prepare compiles and checks a finalist's calls, and its kernels of several iterations.
func (t *tuning) prepare(ctx context.Context, r *finalist) {
	if r.parts, r.err = t.parts(ctx, r.plan); r.err != nil {
		return
	}
	for _, call := range r.parts {
		var v *variant
		var err error
		if cut := t.runReporting(ctx, "lowering "+r.name,
			func() { v, err = call.lowered(call.bound, r.plan) }); cut != nil {
			r.err = cut
			return
		}
		if err != nil {
			r.err = err
			return
		}
		var made measure.Compiled
		if cut := t.runReporting(ctx, "compiling "+r.name, func() {
			made, err = t.lab.Compile(ctx, measure.Text{Name: v.code.Name, Source: v.source, Plain: r.naive})
		}); cut != nil {
			r.err = cut
			return
		}
		if err != nil {
			r.err = err
			return
		}
		v.code.Image = made.Image
		if err := t.expect(ctx, call); err != nil {
			r.err = err
			return
		}
		rule := measure.Rule{Least: t.about.Least, Batches: 1}
		margins := call.margins
		if r.naive {
			margins = call.naiveMargins
		}
		var tried measure.Trial
		t.queue.withoutCompilers(func() { tried, r.err = t.lab.Try(ctx, v.code, margins, rule, firstTrialLimit) })
		if r.err != nil {
			if ctx.Err() == nil && !unusable(r.err) {
				r.failedCall = call
			}
			return
		}
		r.codes = append(r.codes, v.code)
		r.cells += tried.Agreement.Cells
		r.resources.Registers = max(r.resources.Registers, tried.Resources.Registers)
		r.resources.Spills = max(r.resources.Spills, tried.Resources.Spills)
		r.resources.Shared = max(r.resources.Shared, tried.Resources.Shared)
	}
}

// compareFinalists times finalists in turn until the first two are told apart, or for so many rounds.
// Plans that cannot run are left out, and so are plans for which the budget has no time. The default and
// the best that was found come first.
func (t *tuning) compareFinalists(ctx context.Context, finalists []*finalist, most int) error {
	prepared := 0
	for _, needed := range []bool{true, false} {
		for _, r := range finalists {
			if r.needed != needed || r.codes != nil || r.err != nil {
				continue
			}
			if !needed && t.lacksTime(t.prepareCost(r)+fewestRounds*t.roundCost(prepared+1)) {
				r.err = errNoTime
				continue
			}
			within, stop := t.withFinalistDeadline(ctx, needed, prepared+1)
			if t.prepare(within, r); r.err != nil && within.Err() != nil && ctx.Err() == nil {
				r.err, r.failedCall = errNoTime, nil
			}
			stop()
			if verdict.Of(r.err) == verdict.Transient && ctx.Err() == nil {
				return r.err
			}
			if r.err == nil {
				prepared++
			}
		}
	}
	alive := slices.DeleteFunc(slices.Clone(finalists), func(r *finalist) bool { return r.err != nil })
	for round := 0; round < most && ctx.Err() == nil; round++ {
		if round >= fewestRounds && decided(alive) || round > 1 && t.lacksTime(t.roundCost(len(alive))) {
			break
		}
		for i := range alive {
			r := alive[(i+round)%len(alive)]
			s, err := t.round(ctx, r)
			if err != nil {
				if ctx.Err() != nil {
					return t.dropPartialRound(alive)
				}
				if verdict.Of(err) == verdict.Transient {
					return err
				}
				r.err = err
				continue
			}
			r.times = append(r.times, s)
		}
		alive = slices.DeleteFunc(alive, func(r *finalist) bool { return r.err != nil })
	}
	return t.dropPartialRound(alive)
}

// prepareCost is the likely time of preparing a finalist. Plans that the search found are compiled already.
func (t *tuning) prepareCost(r *finalist) time.Duration {
	cost := time.Duration(len(t.calls)+len(t.subject.spansOf(r.plan))) * t.tryCost()
	if !r.found {
		cost += t.compileCost(len(t.calls))
	}
	return cost
}

// withFinalistDeadline ends the preparation of a plan that is not needed, in time to time so many finalists.
func (t *tuning) withFinalistDeadline(ctx context.Context, needed bool,
	finalists int) (context.Context, context.CancelFunc) {
	if needed || t.end.IsZero() || t.opts.Clock != nil { // contexts do not follow a test's clock
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, t.end.Add(-fewestRounds*t.roundCost(finalists)))
}

// dropPartialRound drops the times of a round that was not finished.
func (t *tuning) dropPartialRound(alive []*finalist) error {
	n := math.MaxInt
	for _, r := range alive {
		n = min(n, len(r.times))
	}
	for _, r := range alive {
		r.times = r.times[:n]
	}
	return nil
}

// round times a batch of every part. It returns the seconds of the program for one run of the call that
// runs most often.
func (t *tuning) round(ctx context.Context, r *finalist) (float64, error) {
	seconds := map[*tunedCall]float64{}
	for i, c := range r.codes {
		s, err := t.batch(ctx, c, t.longer())
		if err != nil {
			return 0, fmt.Errorf("%s: %w", r.parts[i].name, err)
		}
		seconds[r.parts[i]] = s
	}
	sum := 0.0
	for _, call := range t.calls {
		sum += call.runs * seconds[call]
	}
	for _, loop := range t.subject.loops {
		sum -= loop.saved(seconds)
	}
	return sum, nil
}

// decided reports whether the fastest is told apart from the second.
func decided(list []*finalist) bool {
	if len(list) < 2 {
		return true
	}
	s := slices.Clone(list)
	relative := map[*finalist]float64{}
	for _, r := range list {
		relative[r], _ = measure.Ratio(r.times, list[0].times)
	}
	slices.SortStableFunc(s, func(a, b *finalist) int { return compare(relative[a], relative[b]) })
	_, ratio := measure.Ratio(s[1].times, s[0].times)
	return ratio[0] > 1
}

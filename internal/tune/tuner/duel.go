package tuner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// rival is a plan that is timed side by side with others: a batch of each in
// every round, so that a drift of the clocks meets all of them.
type rival struct {
	name  string
	plan  schedule.Plan
	plain bool // compiled as a user would who knows nothing
	found bool // by the search, which has compiled it
	// needed is timed however short the time is: without it there is no result.
	needed bool
	codes  []measure.Code
	times  []float64
	err    error
	wrong  *stage // whose check has failed, if that is why err is set
}

const (
	finalists = 5
	// Rounds of a duel: enough to tell scatter, and an end.
	fewestRounds = 7
	mostRounds   = 25
)

// prepare compiles a rival's stages and checks them once more.
func (t *tuning) prepare(ctx context.Context, r *rival) {
	for i, st := range t.stages {
		var v *variant
		var err error
		if cut := t.during(ctx, "lowering "+r.name, func() { v, err = st.lowered(st.bound, r.plan) }); cut != nil {
			r.err = cut
			return
		}
		if err != nil {
			r.err = err
			return
		}
		var made measure.Compiled
		if cut := t.during(ctx, "compiling "+r.name, func() {
			made, err = t.lab.Compile(ctx, measure.Text{Name: v.code.Name, Source: v.source, Plain: r.plain})
		}); cut != nil {
			r.err = cut
			return
		}
		if err != nil {
			r.err = err
			return
		}
		v.code.Image = made.Image
		if err := t.expect(ctx, i); err != nil {
			r.err = err
			return
		}
		rule := measure.Rule{Least: t.about.Least, Batches: 1}
		margins := t.margins[i]
		if r.plain {
			margins = t.simple[i]
		}
		t.works.quietly(func() { _, r.err = t.lab.Try(ctx, v.code, margins, rule, firstPatience) })
		if r.err != nil {
			if ctx.Err() == nil && !unusable(r.err) {
				r.wrong = st
			}
			return
		}
		r.codes = append(r.codes, v.code)
	}
}

// duel times rivals in turn until the first two are told apart, or for so many
// rounds. Those that cannot run are left out, and so are those for which the budget
// has no time: the plans that were found and the default go first.
func (t *tuning) duel(ctx context.Context, rivals []*rival, most int) error {
	prepared := 0
	for _, needed := range []bool{true, false} {
		for _, r := range rivals {
			if r.needed != needed || r.codes != nil || r.err != nil {
				continue
			}
			if !needed && t.short(t.prepareCost(r)+fewestRounds*t.roundCost(prepared+1)) {
				r.err = errNoTime
				continue
			}
			within, stop := t.within(ctx, needed, prepared+1)
			if t.prepare(within, r); r.err != nil && within.Err() != nil && ctx.Err() == nil {
				r.err, r.wrong = errNoTime, nil
			}
			stop()
			if refusal.Of(r.err) == refusal.Transient && ctx.Err() == nil {
				return r.err
			}
			if r.err == nil {
				prepared++
			}
		}
	}
	alive := slices.DeleteFunc(slices.Clone(rivals), func(r *rival) bool { return r.err != nil })
	for round := 0; round < most && ctx.Err() == nil; round++ {
		if round >= fewestRounds && decided(alive) || round > 1 && t.short(t.roundCost(len(alive))) {
			break
		}
		for i := range alive {
			r := alive[(i+round)%len(alive)]
			s, err := t.round(ctx, r)
			if err != nil {
				if ctx.Err() != nil {
					return t.cut(alive)
				}
				if refusal.Of(err) == refusal.Transient {
					return err
				}
				r.err = err
				continue
			}
			r.times = append(r.times, s)
		}
		alive = slices.DeleteFunc(alive, func(r *rival) bool { return r.err != nil })
	}
	return t.cut(alive)
}

// prepareCost is how long it is likely to take to prepare a rival: what the search
// has come to is compiled.
func (t *tuning) prepareCost(r *rival) time.Duration {
	cost := time.Duration(len(t.stages)) * t.tryCost()
	if !r.found {
		cost += t.compileCost(len(t.stages))
	}
	return cost
}

// within ends what is not needed in time for so many rivals to be timed.
func (t *tuning) within(ctx context.Context, needed bool, rivals int) (context.Context, context.CancelFunc) {
	if needed || t.end.IsZero() || t.opts.Clock != nil { // another clock is not one of contexts
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, t.end.Add(-fewestRounds*t.roundCost(rivals)))
}

// cut drops the times of a round that was not finished.
func (t *tuning) cut(alive []*rival) error {
	n := math.MaxInt
	for _, r := range alive {
		n = min(n, len(r.times))
	}
	for _, r := range alive {
		r.times = r.times[:n]
	}
	return nil
}

// round times a batch of every stage, and returns the seconds that the program
// takes while the stage that runs most runs once.
func (t *tuning) round(ctx context.Context, r *rival) (float64, error) {
	sum := 0.0
	for i, c := range r.codes {
		s, err := t.batch(ctx, c, t.longer())
		if err != nil {
			return 0, fmt.Errorf("%s: %w", t.stages[i].stage.Name, err)
		}
		sum += t.stages[i].runs * s
	}
	return sum, nil
}

// decided reports whether the fastest is told apart from the second.
func decided(list []*rival) bool {
	if len(list) < 2 {
		return true
	}
	s := slices.Clone(list)
	relative := map[*rival]float64{}
	for _, r := range list {
		relative[r], _ = measure.Ratio(r.times, list[0].times)
	}
	slices.SortStableFunc(s, func(a, b *rival) int { return compare(relative[a], relative[b]) })
	_, ratio := measure.Ratio(s[1].times, s[0].times)
	return ratio[0] > 1
}

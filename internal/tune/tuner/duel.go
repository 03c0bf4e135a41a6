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
	codes []measure.Code
	times []float64
	err   error
	wrong *stage // whose check has failed, if that is why err is set
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
		v, err := st.lowered(st.bound, r.plan)
		if err != nil {
			r.err = err
			return
		}
		made, err := t.lab.Compile(ctx, measure.Text{Name: v.code.Name, Source: v.source, Plain: r.plain})
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
		if _, r.err = t.lab.Try(ctx, v.code, t.margins[i], rule, firstPatience); r.err != nil {
			if ctx.Err() == nil && !unusable(r.err) {
				r.wrong = st
			}
			return
		}
		r.codes = append(r.codes, v.code)
	}
}

// duel times rivals in turn until the first two are told apart, or for so many
// rounds. Those that cannot run are left out.
func (t *tuning) duel(ctx context.Context, rivals []*rival, most int) error {
	for _, r := range rivals {
		if r.codes == nil && r.err == nil {
			t.prepare(ctx, r)
			if refusal.Of(r.err) == refusal.Transient && ctx.Err() == nil {
				return r.err
			}
		}
	}
	alive := slices.DeleteFunc(slices.Clone(rivals), func(r *rival) bool { return r.err != nil })
	for round := 0; round < most && ctx.Err() == nil; round++ {
		if round >= fewestRounds && (decided(alive) || t.late()) {
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

// late reports whether the budget is used up.
func (t *tuning) late() bool {
	return !t.until.IsZero() && t.clock().After(t.until.Add(time.Duration(finalPart*float64(t.opts.Budget))))
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
		s, err := t.lab.Batch(ctx, c, t.longer())
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
	slices.SortStableFunc(s, func(a, b *rival) int { return compare(measure.Median(a.times), measure.Median(b.times)) })
	_, ratio := measure.Ratio(s[1].times, s[0].times)
	return ratio[0] > 1
}

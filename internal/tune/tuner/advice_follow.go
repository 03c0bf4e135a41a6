package tuner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// listed is a strategy that asks for some points alone.
type listed struct{ points []search.Point }

// Ask implements search.Strategy.
func (l *listed) Ask(n int) []search.Point {
	n = min(n, len(l.points))
	list := l.points[:n]
	l.points = l.points[n:]
	return list
}

// Tell implements search.Strategy.
func (l *listed) Tell(search.Trial) {}

// Likely implements search.Strategy.
func (l *listed) Likely(int) []search.Point { return nil }

// follow tries the plans that a profile's hints suggest, and notes with each how many times as fast the kernel is, or
// an iteration of its loop. Other hints are for the user.
func (t *tuning) follow(ctx context.Context, k *kernelSearch, a *Advice, last time.Time) error {
	if a.Profile == nil {
		return nil
	}
	before := *k.best // which may be timed again meanwhile
	if o := k.outcome(a.Config); o != nil && o.Verdict == verdict.OK {
		before = *o
	}
	var points []search.Point
	configs := map[*profile.Hint]schedule.Config{}
	deeper := map[*profile.Hint]schedule.Kernel{}
	hints := a.Profile.Hints
	for i := range hints {
		h := &hints[i]
		h.Measured, h.Failed = nil, ""
		if h.Change.Plan == "" || h.Forbidden != "" {
			continue
		}
		x, ok := changed(a.plan, h.Change.Plan)
		switch {
		case !ok:
			h.Failed = "the plan has it already"
		case x.ID() == k.name:
			c, p, err := k.pointOf(x.Config)
			if err != nil {
				h.Failed = "it is none of the configurations that are searched: " + err.Error()
				continue
			}
			configs[h], points = c, append(points, p)
		case t.subject.ofLoop(x):
			deeper[h] = x
		default:
			h.Failed = fmt.Sprintf("%s is not searched", x.ID())
		}
	}
	if err := t.tryListed(ctx, k, points, last); err != nil {
		return err
	}
	for i := range hints {
		h := &hints[i]
		if c, ok := configs[h]; ok {
			k.measured(h, c, &before)
		}
		if x, ok := deeper[h]; ok && ctx.Err() == nil {
			if err := t.followDeeper(ctx, k, h, x, &before, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// changed returns the kernel of a hint's plan that the plan before has not; false if there is none.
func changed(before schedule.Plan, text string) (schedule.Kernel, bool) {
	p, err := schedule.ParsePlan(text)
	if err != nil {
		return schedule.Kernel{}, false
	}
	for _, k := range p.Kernels {
		if !slices.ContainsFunc(before.Kernels, func(x schedule.Kernel) bool {
			return x.ID() == k.ID() && x.Config.Equal(k.Config)
		}) {
			return k, true
		}
	}
	return schedule.Kernel{}, false
}

// pointOf returns the configuration of a kernel's space that has some settings, and the usual ones besides.
func (k *kernelSearch) pointOf(c schedule.Config) (schedule.Config, search.Point, error) {
	c, err := k.space.Schedule().Complete(k.withoutIdle(c))
	if err != nil {
		return c, nil, err
	}
	p, err := k.space.Point(c)
	return c, p, err
}

// tryListed tries some points of a kernel's space.
func (t *tuning) tryListed(ctx context.Context, k *kernelSearch, points []search.Point, last time.Time) error {
	if len(points) == 0 {
		return nil
	}
	k.until, k.latest, k.fewest, k.trials = last, last, 0, 0
	if t.opts.Trials > 0 {
		k.trials = min(len(points), max(0, t.opts.Trials-t.counts.trials))
		if k.trials == 0 {
			return nil
		}
	}
	if err := t.expect(ctx, k.call); err != nil {
		return err
	}
	k.strategy, k.cancelStrategy = &listed{points}, func() {}
	return t.runOn(ctx, k)
}

// measured notes what a configuration that a hint suggests gains.
func (k *kernelSearch) measured(h *profile.Hint, c schedule.Config, before *Outcome) {
	o := k.outcome(c.String())
	if o == nil {
		h.Failed = errNoTime.Error()
		return
	}
	if o.Verdict != verdict.OK {
		h.Failed = cmp.Or(o.Message, o.Verdict.String())
		return
	}
	h.Measured = gained(before, o, 1)
}

// gained returns how many times as fast one outcome is as another, whose time counts as often.
func gained(before, after *Outcome, times float64) *profile.Gain {
	return &profile.Gain{Ratio: times * before.Seconds / after.Seconds,
		Interval: measure.Interval{times * before.Low / after.High, times * before.High / after.Low}}
}

// followDeeper searches a loop with more iterations in a kernel, unless the search has done so, and notes what an
// iteration gains.
func (t *tuning) followDeeper(ctx context.Context, k *kernelSearch, h *profile.Hint, x schedule.Kernel,
	before *Outcome, last time.Time) error {
	i := slices.IndexFunc(t.loops, func(l *loopSearch) bool { return l.loop.place() == x.Name() })
	if i < 0 || t.loops[i].named != nil || t.opts.MaxDepth > 0 && x.Depth > t.opts.MaxDepth {
		h.Failed = fmt.Sprintf("%s is not searched", x.ID())
		return nil
	}
	l := t.loops[i]
	depth := int64(x.Depth)
	spanOf := func() *kernelSearch {
		if i := slices.IndexFunc(l.spans, func(s *kernelSearch) bool { return s.name == x.ID() }); i >= 0 {
			return l.spans[i]
		}
		return nil
	}
	if spanOf() == nil {
		if !l.limit(1, 1) {
			h.Failed = "the trials are used up"
			return nil
		}
		if l.single == 0 {
			if why, err := l.measureSingle(ctx); why != nil || err != nil {
				if why != nil {
					h.Failed = why.Error()
				}
				return err
			}
		}
		until := last
		if !last.IsZero() {
			until = t.clock().Add(last.Sub(t.clock()) / mostAdvice)
			l.until = slices.MinFunc([]time.Time{l.until, last}, time.Time.Compare)
		}
		why, err := l.searchDepth(ctx, depth, until, 1.0/mostAdvice)
		if err != nil {
			return err
		}
		if why != nil {
			h.Failed = why.Error()
		}
	}
	s := spanOf()
	if s != nil && s.best != nil && h.Gain > 1 && len(s.list) < fewFollowed {
		if err := t.searchOn(ctx, s, last, followedPart); err != nil {
			return err
		}
	}
	switch {
	case s == nil || s.best == nil:
		h.Failed = cmp.Or(h.Failed, errNoTime.Error())
	case k.call.iterations != nil:
		h.Measured = gained(before, s.best, float64(depth)/float64(k.call.iterations.depth))
	default:
		single := Outcome{Seconds: l.single, Low: l.single, High: l.single}
		h.Measured = gained(&single, s.best, float64(depth))
	}
	return nil
}

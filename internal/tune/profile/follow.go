package profile

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Follow times the plans that hints suggest side by side with the profile's own, and notes with each hint how many
// times as fast an iteration of the loop, or the call, is: beside what was predicted. What fails is noted too. The
// profile is one of all kernels.
func Follow(ctx context.Context, o Options, p *Profile) error {
	if o.Budget == 0 {
		o.Budget = usualBudget
	}
	r, list, err := newRunner(o)
	if err != nil {
		return err
	}
	if err := o.Lab.Arrange(ctx, measure.NewSetting("follow", o.Bound)); err != nil {
		return err
	}
	for i, k := range p.Kernels {
		for j := range k.Hints {
			h := &k.Hints[j]
			if h.Change.Plan == "" || h.Forbidden != "" {
				continue
			}
			r.tell("%s: following %s", k.Name, h.Code)
			err := r.follow(ctx, list, list[i], h)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				h.Failed = err.Error()
			}
		}
	}
	return nil
}

// follow times what a hint is about, with and without the change.
func (r *runner) follow(ctx context.Context, list []subject, s subject, h *Hint) error {
	plan, err := schedule.ParsePlan(h.Change.Plan)
	if err != nil {
		return err
	}
	o := r.Options
	o.Lowering.Plan = plan
	next, more, err := newRunner(o)
	if err != nil {
		return err
	}
	whole := s.span != nil || h.Change.deeper > 0
	was, err := r.group(ctx, list, s, whole)
	if err != nil {
		return err
	}
	now, err := next.group(ctx, more, s, whole)
	if err != nil {
		return err
	}
	all := slices.Concat(was.kernels, now.kernels)
	if err := r.time(ctx, all); err != nil {
		return err
	}
	for _, c := range all {
		if c.err != nil {
			return c.err
		}
	}
	h.Measured = &Gain{}
	h.Measured.Ratio, h.Measured.Interval = measure.Ratio(was.rounds(), now.rounds())
	return nil
}

// group is the launches of a call, or of an iteration of a loop. A launch of several iterations counts by its part.
type group struct {
	kernels []*contender
	parts   []float64
}

// group compiles what is carried out together with a subject: the iteration of its loop if whole, or else its call.
func (r *runner) group(ctx context.Context, list []subject, of subject, whole bool) (*group, error) {
	g := &group{}
	for _, s := range list {
		if whole && s.around != of.around || !whole && s.call != of.call {
			continue
		}
		c, part := &contender{}, 1.0
		if _, err := r.compile(ctx, s, []*kernel.Kernel{s.launch.Kernel}, []*contender{c}); err != nil {
			return nil, err
		}
		if s.span != nil {
			part = 1 / float64(s.span.Depth)
		}
		g.kernels, g.parts = append(g.kernels, c), append(g.parts, part)
	}
	return g, nil
}

// rounds returns the seconds of each round.
func (g *group) rounds() []float64 {
	var list []float64
	for i, c := range g.kernels {
		for round, s := range c.times {
			if round == len(list) {
				list = append(list, 0)
			}
			list[round] += s * g.parts[i]
		}
	}
	return list
}

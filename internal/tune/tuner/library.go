package tuner

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// ForAllSizes returns a plan whose kernels take sizes as arguments, as those of
// a library do, and whether that is the plan itself.
func ForAllSizes(p schedule.Plan) (schedule.Plan, bool) {
	same := true
	every := func(c schedule.Config) schedule.Config {
		c.Values = slices.Clone(c.Values)
		for i, s := range c.Values {
			if s.Name == "sizes" && s.Value.Equal(schedule.Word("baked")) {
				c.Values[i].Value, same = schedule.Word("args"), false
			}
		}
		return c
	}
	p.Every, p.Kernels = every(p.Every), slices.Clone(p.Kernels)
	for i := range p.Kernels {
		p.Kernels[i].Config = every(p.Kernels[i].Config)
	}
	return p, same
}

// forAllSizes times what the best plan becomes if its kernels take sizes as
// arguments, side by side with itself. It returns nil if there is nothing to time.
func (t *tuning) forAllSizes(ctx context.Context, rivals []*rival) *rival {
	i := slices.IndexFunc(rivals, func(r *rival) bool { return !r.plain && r.plan.String() == t.result.Best })
	if i < 0 {
		return nil
	}
	plan, same := ForAllSizes(rivals[i].plan)
	if same || slices.ContainsFunc(rivals, func(r *rival) bool { return !r.plain && r.err == nil && r.plan.String() == plan.String() }) {
		return nil
	}
	best, sized := *rivals[i], &rival{name: "all sizes", plan: plan}
	if t.short(t.prepareCost(sized) + fewestRounds*t.roundCost(2)) {
		return nil
	}
	best.times = nil
	if err := t.duel(ctx, []*rival{&best, sized}, fewestRounds); err != nil || sized.err != nil {
		return nil
	}
	// As if it had been in the rounds of the others: the best was in both.
	n := min(len(sized.times), len(rivals[i].times))
	sized.times = sized.times[:n]
	for j := range sized.times {
		sized.times[j] *= rivals[i].times[j] / best.times[j]
	}
	return sized
}

// LibraryPlans returns the plans that a library for the tuned sizes may have, the
// one to prefer first: those that take sizes as arguments and were timed, then what
// the others become if they do, without times.
func (r *Result) LibraryPlans() []Contender {
	rank := func(c Contender) int {
		switch {
		case c.Plan == r.Best:
			return 0
		case c.Name == "all sizes": // the best but for that
			return 1
		}
		return 2
	}
	list := slices.Clone(r.Contenders)
	slices.SortStableFunc(list, func(a, b Contender) int { return rank(a) - rank(b) })
	var timed, made []Contender
	for _, c := range list {
		p, err := schedule.ParsePlan(c.Plan)
		if err != nil || c.Name == "plain" {
			continue
		}
		if sized, same := ForAllSizes(p); same {
			timed = append(timed, c)
		} else {
			made = append(made, Contender{Name: c.Name, Plan: sized.String()})
		}
	}
	return append(timed, made...)
}

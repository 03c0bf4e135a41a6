package tuner

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// ForAllSizes returns a plan with kernels that take sizes as arguments, as a library's do, and whether that
// is the plan itself.
func ForAllSizes(p schedule.Plan) (schedule.Plan, bool) {
	same := true
	every := func(c schedule.Config) schedule.Config {
		c.Values = slices.Clone(c.Values)
		for i, s := range c.Values {
			if lower.RoleOf(s.Name) == schedule.Sizes && s.Value.Equal(schedule.Word(schedule.SizeLiterals)) {
				c.Values[i].Value, same = schedule.Word(schedule.SizeArguments), false
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

// forAllSizes times the best plan with sizes as arguments side by side with the best plan. It returns nil if
// both are the same, or if there is no time.
func (t *tuning) forAllSizes(ctx context.Context, finalists []*finalist) *finalist {
	i := slices.IndexFunc(finalists, func(r *finalist) bool { return !r.naive && r.plan.String() == t.result.Best })
	if i < 0 {
		return nil
	}
	plan, same := ForAllSizes(finalists[i].plan)
	if same || slices.ContainsFunc(finalists,
		func(r *finalist) bool { return !r.naive && r.err == nil && r.plan.String() == plan.String() }) {
		return nil
	}
	best, sized := *finalists[i], &finalist{name: "all sizes", plan: plan}
	if t.lacksTime(t.prepareCost(sized) + fewestRounds*t.roundCost(2)) {
		return nil
	}
	best.times = nil
	if err := t.compareFinalists(ctx, []*finalist{&best, sized}, fewestRounds); err != nil || sized.err != nil {
		return nil
	}
	// The best plan was in both comparisons: scale the times to the rounds of the first.
	n := min(len(sized.times), len(finalists[i].times))
	sized.times = sized.times[:n]
	for j := range sized.times {
		sized.times[j] *= finalists[i].times[j] / best.times[j]
	}
	return sized
}

// LibraryPlans returns the plans that a library for the tuned sizes may have, the preferred first: plans that
// take sizes as arguments and were timed, then the others changed to take them, without times.
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

package tuner

import (
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

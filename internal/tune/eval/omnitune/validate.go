package omnitune

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// Split is what a model has not seen of the scenarios that it is asked about.
type Split struct {
	Name  string
	group Group
}

// Splits leave out a device, a kernel or a dataset.
var Splits = []Split{
	{"device", func(x *Scenario) string { return x.Device }},
	{"kernel", func(x *Scenario) string { return fmt.Sprint(x.Kernel) }},
	{"dataset", func(x *Scenario) string { return x.Dataset }},
}

// part are the scenarios of a group, and the others.
type part struct {
	name        string
	own, others []*Scenario
}

// groupsOf divides scenarios into groups, in the order in which they are met.
func groupsOf(list []*Scenario, group Group) []part {
	var names []string
	for _, x := range list {
		if name := group(x); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	parts := make([]part, len(names))
	for i, name := range names {
		parts[i].name = name
		for _, x := range list {
			if group(x) == name {
				parts[i].own = append(parts[i].own, x)
			} else {
				parts[i].others = append(parts[i].others, x)
			}
		}
	}
	return parts
}

// pick returns the index of the size that a ranker takes for the fastest, among those that were run.
func pick(r Ranker, x *Scenario) int {
	best, most := 0, 0.0
	for k, size := range x.Sizes {
		if score := r.Score(x, size); k == 0 || score > most {
			best, most = k, score
		}
	}
	return best
}

// Pick is what a model picked for a scenario.
type Pick struct {
	Scenario *Scenario
	Group    string
	Size     Size
	Speed    float64 // of the fastest
	Random   float64 // the mean of all sizes, which picking at random has
}

// Validate leaves out each group in turn, and lets a model that has learned from the others pick.
func Validate(ctx context.Context, s *Suite, m Model, split Split) ([]Pick, error) {
	all := make([]*Scenario, len(s.Scenarios))
	for i := range all {
		all[i] = &s.Scenarios[i]
	}
	parts := groupsOf(all, split.group)
	if len(parts) < 2 {
		return nil, fmt.Errorf("all scenarios have the same %s: without it nothing is left to learn from", split.Name)
	}
	lists, errs := make([][]Pick, len(parts)), make([]error, len(parts))
	var running sync.WaitGroup
	for i, p := range parts {
		running.Go(func() {
			if ctx.Err() != nil {
				errs[i] = context.Cause(ctx)
				return
			}
			r, err := m.learn(ctx, s, p.others, split.group)
			if err != nil {
				errs[i] = fmt.Errorf("%s without %s %s: %w", m.Name, split.Name, p.name, err)
				return
			}
			for _, x := range p.own {
				k := pick(r, x)
				random := 0.0
				for _, v := range x.Speeds {
					random += v / float64(len(x.Speeds))
				}
				lists[i] = append(lists[i], Pick{x, p.name, x.Sizes[k], x.Speeds[k], random})
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(lists...), nil
}

// Mean is the mean speed of picks.
func Mean(picks []Pick) float64 { return mean(picks, func(p Pick) float64 { return p.Speed }) }

func mean(picks []Pick, of func(Pick) float64) float64 {
	s := 0.0
	for _, p := range picks {
		s += of(p) / float64(len(picks))
	}
	return s
}

const draws, drawSeed = 10_000, 1

// interval is the 95 % interval of a mean over picks, of groups drawn anew with replacement: scenarios of a group are
// no evidence of their own.
func interval(picks []Pick, of func(i int) float64) (low, high float64) {
	type total struct{ sum, n float64 }
	byGroup := map[string]*total{}
	var groups []*total
	for i, p := range picks {
		if byGroup[p.Group] == nil {
			byGroup[p.Group] = &total{}
			groups = append(groups, byGroup[p.Group])
		}
		byGroup[p.Group].sum += of(i)
		byGroup[p.Group].n++
	}
	r := rand.New(rand.NewPCG(drawSeed, 0))
	list := make([]float64, draws)
	for k := range list {
		var t total
		for range groups {
			g := groups[r.IntN(len(groups))]
			t.sum, t.n = t.sum+g.sum, t.n+g.n
		}
		list[k] = t.sum / t.n
	}
	slices.Sort(list)
	return list[draws*25/1000], list[draws*975/1000]
}

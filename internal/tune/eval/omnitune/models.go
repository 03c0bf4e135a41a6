package omnitune

import (
	"context"
	"slices"
)

// Ranker says how fast a scenario will be at a work-group size, of the fastest or by any other number that is larger
// for what is faster. One goroutine uses it.
type Ranker interface {
	Score(x *Scenario, size Size) float64
}

// picker picks in another way than by the largest score.
type picker interface {
	pick(x *Scenario) choice
}

// choice is the size that was picked, and how.
type choice struct {
	size     int  // of those that were run
	open     bool // a size was predicted without knowing which were run
	fallback bool // it was not run
	unknown  bool // and nor is it known to be refused
	refused  int  // sizes that were asked for before, and are refused
	runs     int  // that were measured before
}

// Group says what is left out together with a scenario.
type Group func(*Scenario) string

// Model is a way to pick sizes.
type Model struct{ Name, Doc string }

// Family are models that learn the same things of scenarios. Choices that they make by validation leave out whole
// groups, too.
type Family struct {
	Models []Model
	learn  func(ctx context.Context, s *Suite, from []*Scenario, group Group) ([]Ranker, error) // for each model
}

// Families are the baselines first, then algorithms 1 to 4 of the paper, and then what is to beat them all.
var Families = slices.Concat(baselines, classifying(), []Family{regressing, guiding})

// Models are those of all families.
func Models() []Model {
	var list []Model
	for _, f := range Families {
		list = append(list, f.Models...)
	}
	return list
}

// alone is a family of one model.
func alone(name, doc string, learn func(ctx context.Context, s *Suite, from []*Scenario, group Group) (Ranker, error),
) Family {
	return Family{[]Model{{name, doc}}, func(ctx context.Context, s *Suite, from []*Scenario, group Group) ([]Ranker,
		error) {
		r, err := learn(ctx, s, from, group)
		return []Ranker{r}, err
	}}
}

// choose lets a ranker pick among the sizes that were run.
func choose(r Ranker, x *Scenario) choice {
	if p, ok := r.(picker); ok {
		return p.pick(x)
	}
	c := choice{size: pick(r, x)}
	c.refused = len(refusedBefore(r, x, x.Sizes[c.size]))
	return c
}

// refusedBefore are the sizes that a ranker takes to be faster than the one that was picked, and that are refused.
func refusedBefore(r Ranker, x *Scenario, picked Size) []Size {
	var list []Size
	most := 0.0
	if len(x.Illegal) > 0 {
		most = r.Score(x, picked)
	}
	for _, size := range x.Illegal {
		if score := r.Score(x, size); score > most || score == most && compareSizes(size, picked) < 0 {
			list = append(list, size)
		}
	}
	return list
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

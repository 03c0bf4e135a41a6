package omnitune

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/learn"
)

// The sizes that speed-ups are told over: the only one that was legal everywhere for Cummins et al., and that which an
// expert had chosen.
var (
	baseline = Size{4, 4, 1}
	human    = Size{32, 4, 1}
)

// regressing are algorithms 2 to 4 of Cummins et al.: forests predict the time of a size, or how much faster it is than
// the baseline.
var regressing = Family{
	[]Model{
		{"run time", "the least time that a forest predicts"},
		{"speed-up", "the largest speed-up over a baseline that a forest predicts"},
		{"hybrid", "sizes are run until a forest has predicted what is measured; the last is taken"},
		{"hybrid, fastest", "the same; the fastest that was run is taken"},
	},
	func(_ context.Context, s *Suite, from []*Scenario, _ Group) ([]Ranker, error) {
		times, err := regress(s, from, func(x *Scenario, size int) (float64, bool) { return x.time(size), true })
		if err != nil {
			return nil, err
		}
		base, _ := s.references()
		if !slices.ContainsFunc(from, func(x *Scenario) bool { return slices.Contains(x.Sizes, base) }) {
			base = usual(from) // nothing else can be learned
		}
		speedUps, err := regress(s, from, func(x *Scenario, size int) (float64, bool) { return x.over(base, size) })
		if err != nil {
			return nil, err
		}
		return []Ranker{
			least{times}, speedUps, &hybrid{Ranker: speedUps, times: times, speedUps: speedUps, base: base},
			&hybrid{Ranker: speedUps, times: times, speedUps: speedUps, base: base, keep: true},
		}, nil
	},
}

// A forest has so many trees, whose leaves have as many examples as Breiman's program takes for numbers.
const trees, leaf = 100, 5

// regression predicts a number of a scenario at a size.
type regression struct {
	forest *learn.Forest
	deep   bool // planes are a feature
}

// regress learns a number of scenarios at each size, where there is one.
func regress(s *Suite, from []*Scenario, of func(x *Scenario, size int) (float64, bool)) (*regression, error) {
	r := &regression{deep: s.deep()}
	n := &learn.Numbers{Features: append(slices.Clone(s.Features), "columns", "rows")}
	if r.deep {
		n.Features = append(n.Features, "planes")
	}
	for _, x := range from {
		for i, size := range x.Sizes {
			if y, ok := of(x, i); ok {
				n.Rows, n.Targets = append(n.Rows, r.row(x, size)), append(n.Targets, y)
			}
		}
	}
	var err error
	r.forest, err = learn.NewForest(n, learn.ForestOptions{Trees: trees, Leaf: leaf, Seed: 1})
	return r, err
}

// row are the features of a scenario and a size.
func (r *regression) row(x *Scenario, size Size) []float64 {
	row := append(slices.Clone(x.Features), float64(size.Columns), float64(size.Rows))
	if r.deep {
		row = append(row, float64(size.Planes))
	}
	return row
}

// Score returns the number that is predicted.
func (r *regression) Score(x *Scenario, size Size) float64 { return r.forest.Predict(r.row(x, size)) }

// least ranks sizes by a number that is less for what is better.
type least struct{ Ranker }

// Score returns the number's negative.
func (l least) Score(x *Scenario, size Size) float64 { return -l.Ranker.Score(x, size) }

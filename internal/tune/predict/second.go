package predict

import (
	"cmp"
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Second is the second level of a ranking. It corrects what Speed predicts of the first candidates, by what is counted
// on their lowered kernels. Speed has seen the same trials without it, so that the second level learns what Speed left
// of stencils that it had not learned from.
type Second struct {
	Features []string       `json:"features"`
	Left     *learn.Boosted `json:"left"` // measured less predicted fraction
}

// SecondFeatures are the features of the second level, in their order: what Speed predicts, those of Speed, and those of
// the variant.
func SecondFeatures() []string {
	list := append([]string{"predicted"}, featureNames()...)
	for _, f := range slices.Concat(features.OfLowered, features.OfVariant) {
		list = append(list, f.Name)
	}
	return list
}

// secondRow has them.
func secondRow(predicted float64, row, variant []float64) []float64 {
	return slices.Concat([]float64{predicted}, row, variant)
}

// secondOptions are those of the trees: fewer, flatter ones than Speed has, since there is less to learn.
var secondOptions = learn.BoostedOptions{
	Trees: 60, Depth: 5, Rate: 0.08, Part: 0.5, Features: 15, Leaf: 15, Seed: 1, Runs: 2,
}

// Of each kernel's trials the second level learns from a part, those of the best predictions: others are never among
// the first. To lower more would take long.
const (
	secondPart = 3 // one in so many
	secondMost = 60
)

// learnSecond learns the second level. held has what was predicted of each trial by trees that had not learned from the
// kernel's stencil. It is nil if nothing can be lowered.
func learnSecond(ctx context.Context, all []*Examples, held [][]float64) (*Second, error) {
	n := &learn.Numbers{Features: SecondFeatures()}
	for k, e := range all {
		if e.Target.Kind() != lower.GPU {
			continue
		}
		first := make([]int, len(e.Trials))
		for i := range first {
			first[i] = i
		}
		slices.SortStableFunc(first, func(a, b int) int { return cmp.Compare(held[k][b], held[k][a]) })
		first = first[:min(secondMost, (len(first)+secondPart-1)/secondPart)]
		configs := make([]schedule.Config, len(first))
		for j, i := range first {
			configs[j] = e.Trials[i].Config
		}
		variants, err := e.variants(ctx, configs)
		if err != nil {
			return nil, err
		}
		for j, i := range first {
			if variants[j] != nil {
				n.Rows = append(n.Rows, secondRow(held[k][i], e.Rows[i], variants[j]))
				n.Targets = append(n.Targets, e.Targets[i]-held[k][i])
			}
		}
	}
	if len(n.Rows) == 0 {
		return nil, nil
	}
	left, err := learn.NewBoosted(n, secondOptions)
	return &Second{n.Features, left}, err
}

// LoweredCandidates is how many of a ranking are ranked again, unless a user wants others.
const LoweredCandidates = 200

// RankLowered ranks the first n of a ranking of Rank's again, by features of their lowered kernels. Those that cannot
// be lowered are dropped: a block has less memory than they take. All others follow in their order. A model without a
// second level keeps the order of the first, and kernels of processors keep all of it.
func (m *Model) RankLowered(ctx context.Context, k *Kernel, ranked []Ranked, n int) ([]Ranked, error) {
	if k.Target.Kind() != lower.GPU {
		return ranked, nil
	}
	n = min(n, len(ranked))
	configs := make([]schedule.Config, n)
	for i := range configs {
		configs[i] = ranked[i].Config
	}
	variants, err := k.variants(ctx, configs)
	if err != nil {
		return nil, err
	}
	program, of := k.describe()
	list := make([]Ranked, 0, len(ranked))
	for i, v := range variants {
		if v == nil {
			continue
		}
		x := ranked[i]
		if m.Second != nil {
			row := of.Append(slices.Clone(program), x.Config)
			predicted := m.Speed.Predict(row)
			x.Fraction = predicted + m.Second.Left.Predict(secondRow(predicted, row, v))
		}
		list = append(list, x)
	}
	if m.Second != nil {
		sortRanked(list)
		spillingLast(list)
	}
	list = append(list, ranked[n:]...)
	falling(list)
	return list, nil
}

// falling bounds fractions: no candidate has more than those before it, and none more than all or less than nothing.
func falling(list []Ranked) {
	most := 1.0
	for i := range list {
		most = min(most, max(0, list[i].Fraction))
		list[i].Fraction = most
	}
}

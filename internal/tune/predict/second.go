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

// Second is the second level of a ranking: trees that know more of fewer candidates. They have learned from the best of
// each kernel's trials, by what is counted on the lowered kernels beside all that Speed knows. The first of a ranking
// are ranked again by a mean of both.
type Second struct {
	Features []string       `json:"features"`
	Speed    *learn.Boosted `json:"speed"` // predicts the fraction
}

// SecondFeatures are the features of the second level, which is of GPUs, in their order: those of Speed, and those of
// the variant.
func SecondFeatures() []string {
	list := featureNames("")
	for _, f := range slices.Concat(features.OfLowered, features.OfVariant) {
		list = append(list, f.Name)
	}
	return list
}

// secondOptions are those of the trees.
var secondOptions = learn.BoostedOptions{
	Trees: 200, Depth: 7, Rate: 0.08, Part: 0.5, Features: 15, Leaf: 8, Seed: 2, Runs: 3,
}

// firstShare is what the first level counts where both predict: it errs more on programs that are unlike all that it
// has learned from (docs/performance-log.md).
const firstShare = 0.25

// secondPart is the part of each kernel's trials that the second level learns from: one in so many, those of the best
// predictions. Others are never among the first, and to lower them would take long.
const secondPart = 3

// IsLowered reports whether the second level learns from the kernel.
func (e *Examples) IsLowered() bool { return e.Target.Kind() == lower.GPU }

// LearnSecond learns the second level. held has what was predicted of each trial by trees that had not learned from the
// kernel's stencil. done is told of each kernel that was lowered. Of nothing that can be lowered it is nil.
func LearnSecond(ctx context.Context, all []*Examples, held [][]float64, done func()) (*Second, error) {
	n := &learn.Numbers{Features: SecondFeatures()}
	for k, e := range all {
		if !e.IsLowered() {
			continue
		}
		first := make([]int, len(e.Trials))
		for i := range first {
			first[i] = i
		}
		slices.SortStableFunc(first, func(a, b int) int { return cmp.Compare(held[k][b], held[k][a]) })
		first = first[:(len(first)+secondPart-1)/secondPart]
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
				n.Rows = append(n.Rows, slices.Concat(e.Rows[i], variants[j]))
				n.Targets = append(n.Targets, e.Targets[i])
				n.Weights = append(n.Weights, weightOf(e.Targets[i]))
			}
		}
		done()
	}
	if len(n.Rows) == 0 {
		return nil, nil
	}
	speed, err := learn.NewBoosted(n, secondOptions)
	if err != nil {
		return nil, err
	}
	shorten(speed, n.Rows, 3)
	return &Second{n.Features, speed}, nil
}

// LoweredCandidates is how many of a ranking are ranked again, unless a user wants others: beyond, nothing was gained
// (docs/performance-log.md, "More candidates are lowered"). To lower them takes a core two or three seconds.
const LoweredCandidates = 40

// chosenAmong is how many of the first level's ranking the first place stays with. What stands behind them is not taken
// for the best by one level alone, and some of it is slow: it is worth a try, and follows.
const chosenAmong = 20

// StandBy is how many of a ranking stand by when a plan is taken from it: a compiler can refuse what fits, for
// registers that it has spilled.
const StandBy = 3

// Chosen is the ranking that a plan is taken from without a measurement: by both levels, where the model has them, with
// the usual configuration and what was the fastest for the nearest programs among the first.
func (m *Model) Chosen(ctx context.Context, k *Kernel) ([]Ranked, error) {
	list := m.Rank(k)
	var err error
	if m.Second != nil {
		if list, err = m.RankLowered(ctx, k, list, LoweredCandidates); err != nil {
			return nil, err
		}
	}
	return m.WithNeighbours(ctx, k, m.WithUsual(k, list))
}

// RankLowered ranks the first n of a ranking of Rank's again, by features of their lowered kernels. Those that cannot
// be lowered are dropped: a block has less memory than they take. The first place is for one of the first chosenAmong,
// unless all of them may spill. All others follow in their order. A model without a second level keeps the order of
// the first, and kernels of processors keep all of it.
func (m *Model) RankLowered(ctx context.Context, k *Kernel, ranked []Ranked, n int) ([]Ranked, error) {
	if k.Target.Kind() != lower.GPU {
		return ranked, nil
	}
	n = min(n, len(ranked))
	variants, err := k.variants(ctx, Configs(ranked, n))
	if err != nil {
		return nil, err
	}
	program, of := k.describe()
	list := make([]Ranked, 0, len(ranked))
	among := 0 // of the list, how many may be the first
	for i, v := range variants {
		if v == nil {
			continue
		}
		x := ranked[i]
		if m.Second != nil {
			row := of.Append(slices.Clone(program), x.Config)
			x.Alone = firstShare*m.Speed.Predict(row) + (1-firstShare)*m.Second.Speed.Predict(slices.Concat(row, v))
			x.Fraction = x.Alone
		}
		list = append(list, x)
		if i < chosenAmong {
			among++
		}
	}
	if m.Second != nil {
		rankAgain(list[:among])
		if among > 0 && list[0].spills() == 0 {
			rankAgain(list[1:])
		} else {
			rankAgain(list)
		}
	}
	list = append(list, ranked[n:]...)
	falling(list)
	return list, nil
}

// rankAgain orders what was predicted anew.
func rankAgain(list []Ranked) {
	sortRanked(list)
	spillingLast(list)
}

// falling bounds fractions: no candidate has more than those before it, and none more than all or less than nothing.
func falling(list []Ranked) {
	most := 1.0
	for i := range list {
		most = min(most, max(0, list[i].Fraction))
		list[i].Fraction = most
	}
}

package predict

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/learn"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

// Second is the second level of a ranking: trees that know more of fewer candidates. They have learned from all trials,
// by what is counted on the lowered kernels beside all that Speed knows. Some of a ranking are ranked again by them.
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

// secondWeight is how much the error of a trial counts by what it has of the best. The second level tells slow
// candidates from fast ones, too: what the first one errs about is among them.
func secondWeight(fraction float64) float64 { return 0.4 + fraction*fraction }

// IsLowered reports whether the second level learns from the kernel.
func (e *Examples) IsLowered() bool { return e.Target.Kind() == lower.GPU }

// LearnSecond learns the second level. done is told of each kernel that was lowered. Of nothing that can be lowered it
// is nil.
func LearnSecond(ctx context.Context, all []*Examples, done func()) (*Second, error) {
	n := &learn.Numbers{Features: SecondFeatures()}
	for _, e := range all {
		if !e.IsLowered() {
			continue
		}
		configs := make([]schedule.Config, len(e.Trials))
		for i := range configs {
			configs[i] = e.Trials[i].Config
		}
		variants, err := e.variants(ctx, configs)
		if err != nil {
			return nil, err
		}
		for i, v := range variants {
			if v != nil {
				n.Rows = append(n.Rows, slices.Concat(e.Rows[i], v))
				n.Targets = append(n.Targets, e.Targets[i])
				n.Weights = append(n.Weights, secondWeight(e.Targets[i]))
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

// LoweredCandidates is how many of a ranking are ranked again, unless a user wants others. To lower them takes a core
// some seconds (docs/performance-log.md, "The second level learns from all trials").
const LoweredCandidates = 200

// StandBy is how many of a ranking stand by when a plan is taken from it: a compiler can refuse what fits, for
// registers that it has spilled.
const StandBy = 3

// Chosen is the ranking that a plan is taken from without a measurement: by both levels, where the model has them, and
// AtPlaces.
func (m *Model) Chosen(ctx context.Context, k *Kernel) ([]Ranked, error) {
	list := m.Rank(k)
	var err error
	if m.Second != nil {
		if list, err = m.RankLowered(ctx, k, list, LoweredCandidates); err != nil {
			return nil, err
		}
	}
	return m.AtPlaces(ctx, k, list)
}

// AtPlaces gives a ranking what its first are to have: several forms, the usual configuration, and what was the fastest
// for the nearest programs.
func (m *Model) AtPlaces(ctx context.Context, k *Kernel, list []Ranked) ([]Ranked, error) {
	return m.WithNeighbours(ctx, k, m.WithUsual(k, spread(k, list)))
}

// RankTried ranks configurations of a kernel that were tried, by both levels, with several forms among the first. The
// usual one has its place if it is among them.
func (m *Model) RankTried(ctx context.Context, k *Kernel, configs []schedule.Config) ([]Ranked, error) {
	ranked, err := m.RankLowered(ctx, k, m.RankOf(k, configs), LoweredCandidates)
	if err != nil {
		return nil, err
	}
	ranked = spread(k, ranked)
	if slices.ContainsFunc(configs, k.Usual.Equal) {
		ranked = m.WithUsual(k, ranked)
	}
	return ranked, nil
}

// RankLowered ranks n of a ranking of Rank's again, by features of their lowered kernels: its first n/2, and the next
// of each form in turn. Those that cannot be lowered are dropped: a block has less memory than they take. All others
// follow in their order. A model without a second level keeps the order of the first, and kernels of processors keep
// all of it.
func (m *Model) RankLowered(ctx context.Context, k *Kernel, ranked []Ranked, n int) ([]Ranked, error) {
	if k.Target.Kind() != lower.GPU {
		return ranked, nil
	}
	n = min(n, len(ranked))
	if m.Second != nil {
		ranked = toLower(k, ranked, n)
	}
	variants, err := k.variants(ctx, Configs(ranked, n))
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
			row := slices.Concat(of.Append(slices.Clone(program), x.Config), v)
			x.Alone, x.leaves = m.Second.Speed.Predict(row), m.Second.Speed.Leaves(row)
			x.Fraction = x.Alone
		}
		list = append(list, x)
	}
	if m.Second != nil {
		sortRanked(list)
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

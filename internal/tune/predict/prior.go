package predict

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Leading is how many of a ranking a search tries as they stand; where none of them runs, the next follow until one
// does. What is measured of them corrects what is expected of the others, and so which are tried after them.
const Leading = 1

// AutoPrior is how many configurations of each kernel auto begins with that a model expects to be fast
// (docs/performance-log.md, "How many of a ranking, and how many picks").
const AutoPrior = 20

// nearby is how many neighbours of the fastest configuration are chosen from beside the ranking: those that the first
// level ranks first (docs/performance-log.md, "Neighbours of the fastest").
const nearby = 40

// Prior is what a search of a kernel is to know. It begins with n configurations: the first of a ranking, and what
// their measurements point to. What it estimates by afterwards is the first level alone: nothing is lowered for each
// point that a search looks at. Until ctx is done, it may rank more.
func (m *Model) Prior(ctx context.Context, k *Kernel, ranked []Ranked, n int) tuner.Prior {
	return tuner.Prior{
		First: Configs(ranked, min(n, Leading)), Expected: m.expectedOf(ctx, k, ranked, n-Leading),
		Candidates: Configs(ranked, regarded), Predict: m.predictor(k),
	}
}

// expectedOf is what a model expects of the candidates that searches choose from, of which most are tried: of those
// that the second level ranked, or by the first level of the first of the ranking if there are none. It is nil for less
// than one. Errors are alike as far as trees do not tell candidates apart.
func (m *Model) expectedOf(ctx context.Context, k *Kernel, ranked []Ranked, most int) *tuner.Expected {
	if most < 1 {
		return nil
	}
	e := &tuner.Expected{Most: most}
	var leaves [][]int32
	list := m.lowered(ctx, k, ranked)
	bySecond := len(list) > 0
	if !bySecond {
		list = m.withLeaves(k, ranked[:min(regarded, len(ranked))])
	}
	for _, x := range list {
		e.Configs, e.Fractions = append(e.Configs, x.Config), append(e.Fractions, x.Alone)
		leaves = append(leaves, x.leaves)
	}
	e.Alike = func(i, j int) float64 { return shared(leaves[i], leaves[j]) }
	e.Nearby = func(list []schedule.Config) (place int, configs []schedule.Config, fractions []float64) {
		near := m.RankOf(k, k.open(list))
		near = near[:min(nearby, len(near))]
		if bySecond {
			var err error
			if near, err = m.RankLowered(ctx, k, near, len(near)); err != nil {
				return 0, nil, nil
			}
		} else {
			near = m.withLeaves(k, near)
		}
		place = len(leaves)
		for _, x := range near {
			configs, fractions = append(configs, x.Config), append(fractions, x.Alone)
			leaves = append(leaves, x.leaves)
		}
		return place, configs, fractions
	}
	return e
}

// lowered returns those of a ranking that the second level ranked, and those that have their places among them for
// another reason (AtPlaces), which it is asked about here; none if it ranked none.
func (m *Model) lowered(ctx context.Context, k *Kernel, ranked []Ranked) []Ranked {
	last := len(ranked)
	for last > 0 && ranked[last-1].leaves == nil {
		last--
	}
	list := slices.Clone(ranked[:last])
	placed := slices.DeleteFunc(slices.Clone(list), func(x Ranked) bool { return x.leaves != nil })
	placed, err := m.RankLowered(ctx, k, placed, len(placed))
	if err != nil {
		placed = nil
	}
	for i, x := range list {
		if j := slices.IndexFunc(placed, func(o Ranked) bool { return o.Config.Equal(x.Config) }); j >= 0 {
			list[i] = placed[j]
		}
	}
	return slices.DeleteFunc(list, func(x Ranked) bool { return x.leaves == nil }) // those cannot be lowered
}

// withLeaves returns a ranking of the first level with the leaves that candidates come to.
func (m *Model) withLeaves(k *Kernel, ranked []Ranked) []Ranked {
	program, of := k.describe()
	list := slices.Clone(ranked)
	for i := range list {
		list[i].leaves = m.Speed.Leaves(of.Append(slices.Clone(program), list[i].Config))
	}
	return list
}

// shared is the part of the trees in which two candidates come to the same leaf.
func shared(a, b []int32) float64 {
	n := 0
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return float64(n) / float64(max(1, len(a)))
}

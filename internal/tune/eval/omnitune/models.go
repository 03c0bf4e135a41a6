package omnitune

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Ranker says how fast a scenario will be at a work-group size, of the fastest or by any other number that is larger
// for what is faster.
type Ranker interface {
	Score(x *Scenario, size Size) float64
}

// Group says what is left out together with a scenario.
type Group func(*Scenario) string

// Model is a way to learn from scenarios. Choices that it makes by validation leave out whole groups, too.
type Model struct {
	Name, Doc string
	learn     func(ctx context.Context, s *Suite, from []*Scenario, group Group) (Ranker, error)
}

// Models are the baselines first, then the classifiers of the paper, and then what is to beat them all.
var Models = slices.Concat(baselines, classifying(), []Model{
	{"forest", "a random forest of features, size and how they fit, together with the table", learnForest},
})

var baselines = []Model{
	{ZeroR, "the size that was most often the fastest", learnZeroR},
	{Table, "the mean speed of each size, whatever the scenario is like", learnTable},
	{"5-nn", "the same of the five scenarios whose features are nearest", learnNearest},
}

// The names of the baselines that every figure stands beside.
const (
	ZeroR = "zeror"
	Table = "table"
)

// bySize has a number for each size.
type bySize map[Size]float64

// Score returns a size's number.
func (t bySize) Score(_ *Scenario, size Size) float64 { return t[size] }

func learnZeroR(_ context.Context, _ *Suite, from []*Scenario, _ Group) (Ranker, error) {
	wins := bySize{}
	for _, x := range from {
		wins[x.fastest()]++
	}
	return wins, nil
}

func learnTable(_ context.Context, _ *Suite, from []*Scenario, _ Group) (Ranker, error) {
	return meanSpeeds(from), nil
}

// meanSpeeds is the mean speed of each size in the scenarios that ran it.
func meanSpeeds(from []*Scenario) bySize {
	mean, times := bySize{}, map[Size]int{}
	for _, x := range from {
		for i, size := range x.Sizes {
			mean[size] += x.Speeds[i]
			times[size]++
		}
	}
	for size, n := range times {
		mean[size] /= float64(n)
	}
	return mean
}

// nearest are scenarios whose features are compared within their ranges.
type nearest struct {
	from       []*Scenario
	low, width []float64
}

const neighbours = 5

func learnNearest(_ context.Context, s *Suite, from []*Scenario, _ Group) (Ranker, error) {
	n := &nearest{from: from, low: make([]float64, len(s.Features)), width: make([]float64, len(s.Features))}
	for j := range s.Features {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, x := range from {
			lo, hi = min(lo, x.Features[j]), max(hi, x.Features[j])
		}
		n.low[j], n.width[j] = lo, hi-lo
	}
	return n, nil
}

// Score returns the mean speed at the size of the nearest scenarios that ran it.
func (n *nearest) Score(x *Scenario, size Size) float64 {
	type neighbour struct {
		distance float64
		of       *Scenario
	}
	list := make([]neighbour, len(n.from))
	for i, other := range n.from {
		d := 0.0
		for j, w := range n.width {
			if w > 0 {
				e := (x.Features[j] - other.Features[j]) / w
				d += e * e
			}
		}
		list[i] = neighbour{d, other}
	}
	slices.SortStableFunc(list, func(a, b neighbour) int { return cmp.Compare(a.distance, b.distance) })
	sum, ran := 0.0, 0
	for _, x := range list[:min(neighbours, len(list))] {
		if i := slices.Index(x.of.Sizes, size); i >= 0 {
			sum += x.of.Speeds[i]
			ran++
		}
	}
	return sum / float64(max(1, ran))
}

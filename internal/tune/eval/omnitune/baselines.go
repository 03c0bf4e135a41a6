package omnitune

import (
	"cmp"
	"context"
	"math"
	"slices"
)

var baselines = []Family{
	alone(ZeroR, "the size that was most often the fastest", learnZeroR),
	alone(Table, "the mean speed of each size, whatever the scenario is like", learnTable),
	alone("5-nn", "the same of the five scenarios whose features are nearest", learnNearest),
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
	of         *Scenario // that was asked about last
	near       []*Scenario
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
	if n.of != x {
		n.of, n.near = x, n.nearestTo(x)
	}
	sum, ran := 0.0, 0
	for _, other := range n.near {
		if i := slices.Index(other.Sizes, size); i >= 0 {
			sum += other.Speeds[i]
			ran++
		}
	}
	return sum / float64(max(1, ran))
}

func (n *nearest) nearestTo(x *Scenario) []*Scenario {
	distance := make(map[*Scenario]float64, len(n.from))
	for _, other := range n.from {
		for j, w := range n.width {
			if w > 0 {
				e := (x.Features[j] - other.Features[j]) / w
				distance[other] += e * e
			}
		}
	}
	list := slices.Clone(n.from)
	slices.SortStableFunc(list, func(a, b *Scenario) int { return cmp.Compare(distance[a], distance[b]) })
	return list[:min(neighbours, len(list))]
}

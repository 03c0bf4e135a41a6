package learn

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Neighbours are the k nearest examples of a row, by Euclidean distance. Numbers are between 0 and 1 within the range
// of the examples; different words are at distance 1, and so is what is unknown from what is farthest from it. All
// examples at the distance of the last count (Aha, Kibler and Albert, Machine Learning 6, 1991).
type Neighbours struct {
	K      int          `json:"k"`
	Ranges [][2]float64 `json:"ranges"` // of each feature of numbers
	table  *Table
}

// NewNeighbours keeps the examples.
func NewNeighbours(t *Table, k int) (*Neighbours, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if k < 1 {
		return nil, fmt.Errorf("%d neighbours say nothing", k)
	}
	n := &Neighbours{K: k, table: t, Ranges: make([][2]float64, len(t.Features))}
	for j := range n.Ranges {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, row := range t.Rows {
			if !math.IsNaN(row[j]) {
				lo, hi = min(lo, row[j]), max(hi, row[j])
			}
		}
		if lo <= hi {
			n.Ranges[j] = [2]float64{lo, hi}
		}
	}
	return n, nil
}

// Classify returns the share of each class among the neighbours; one example is shared out among all classes, so that
// none is impossible.
func (n *Neighbours) Classify(row []float64) []float64 {
	distances := make([]float64, len(n.table.Rows))
	for i, other := range n.table.Rows {
		distances[i] = n.distance(row, other)
	}
	p := slices.Repeat([]float64{1 / float64(len(distances))}, len(n.table.Classes))
	for _, i := range closest(distances, n.K) {
		p[n.table.Labels[i]]++
	}
	normalize(p)
	return p
}

// closest returns the k examples at the least distances, the nearest first, and all others at the distance of the last.
// Those at the same distance are in the order of the examples.
func closest(distances []float64, k int) []int {
	var least []float64 // the least k so far, the least first
	for _, d := range distances {
		if len(least) == k && cmp.Compare(d, least[k-1]) >= 0 {
			continue
		}
		if len(least) == k {
			least = least[:k-1]
		}
		at, _ := slices.BinarySearch(least, d)
		least = slices.Insert(least, at, d)
	}
	var near []int
	for i, d := range distances {
		if cmp.Compare(d, least[len(least)-1]) <= 0 {
			near = append(near, i)
		}
	}
	slices.SortStableFunc(near, func(a, b int) int { return cmp.Compare(distances[a], distances[b]) })
	return near
}

// distance returns the square of how far two rows are apart.
func (n *Neighbours) distance(a, b []float64) float64 {
	sum := 0.0
	for j := range a {
		d := n.difference(j, a[j], b[j])
		sum += d * d
	}
	return sum
}

func (n *Neighbours) difference(j int, a, b float64) float64 {
	unknown, other := math.IsNaN(a), math.IsNaN(b)
	switch {
	case n.table.Features[j].Values != nil:
		if unknown || other || a != b {
			return 1
		}
		return 0
	case unknown && other:
		return 1
	case unknown:
		d := n.scaled(j, b)
		return max(d, 1-d)
	case other:
		d := n.scaled(j, a)
		return max(d, 1-d)
	}
	return n.scaled(j, a) - n.scaled(j, b)
}

// scaled is a number within the examples' range.
func (n *Neighbours) scaled(j int, x float64) float64 {
	lo, hi := n.Ranges[j][0], n.Ranges[j][1]
	if lo == hi {
		return 0
	}
	return (x - lo) / (hi - lo)
}

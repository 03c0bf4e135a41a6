package omnitune

import (
	"context"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/learn"
)

// guides are baselines that a forest is averaged with, in the order in which they are preferred.
var guides = []func(context.Context, *Suite, []*Scenario, Group) (Ranker, error){learnTable, learnNearest}

var guiding = alone("guided forest",
	"the mean of a forest of features, size and how they fit, and of the table or 5-nn", learnGuided)

// learnGuided learns a forest and its guide. Which guide it is, is chosen by leaving out each group of the examples in
// turn: on a device like none that is known, the table is the better one; for a kernel on known devices, neighbours
// are.
func learnGuided(ctx context.Context, s *Suite, from []*Scenario, group Group) (Ranker, error) {
	speed := make([]float64, len(guides))
	for _, part := range groupsOf(from, group) {
		if len(part.others) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f, err := growRelative(s, part.others, group)
		if err != nil {
			return nil, err
		}
		for k, guide := range guides {
			g, err := guide(ctx, s, part.others, group)
			if err != nil {
				return nil, err
			}
			r := &guided{parts: []Ranker{f, g}}
			for _, x := range part.own {
				speed[k] += x.Speeds[pick(r, x)]
			}
		}
	}
	f, err := growRelative(s, from, group)
	if err != nil {
		return nil, err
	}
	g, err := guides[learn.Best(speed)](ctx, s, from, group)
	return &guided{parts: []Ranker{f, g}}, err
}

// guided ranks by the mean of what others say, each of the most that it says of a scenario.
type guided struct {
	parts  []Ranker
	of     *Scenario // that was asked about last
	scores bySize
}

// Score returns the mean.
func (m *guided) Score(x *Scenario, size Size) float64 {
	if m.of != x {
		m.of, m.scores = x, bySize{}
		for _, r := range m.parts {
			most := 0.0
			for _, size := range x.known() {
				most = max(most, r.Score(x, size))
			}
			for _, size := range x.known() {
				m.scores[size] += r.Score(x, size) / max(most, 1e-9) / float64(len(m.parts))
			}
		}
	}
	return m.scores[size]
}

// relative predicts how fast a size is beside one that nearly all examples ran. Parts of the fastest speed are no
// measure for all scenarios: what is the fastest of six sizes need not be so of fifty.
type relative struct {
	suite  *Suite
	deep   bool // planes are features
	table  bySize
	forest *learn.Forest
}

// mostOver is the largest speed-up that is told apart. Above it, the reference is slow rather than a size fast.
const mostOver = 2

// growRelative grows the forest. Its examples know the table of the other groups, as it will be of a group that is not
// known.
func growRelative(s *Suite, from []*Scenario, group Group) (*relative, error) {
	r := &relative{suite: s, deep: s.deep(), table: meanSpeeds(from)}
	reference := usual(from)
	n := &learn.Numbers{Features: append(slices.Clone(s.Features), sizeFeatures...)}
	if r.deep {
		n.Features = append(n.Features, "planes")
	}
	for _, part := range groupsOf(from, group) {
		table := meanSpeeds(part.others)
		for _, x := range part.own {
			for i, size := range x.Sizes {
				if over, ok := x.over(reference, i); ok {
					n.Rows, n.Targets = append(n.Rows, r.row(x, size, table)), append(n.Targets, min(over, mostOver))
				}
			}
		}
	}
	var err error
	r.forest, err = learn.NewForest(n, learn.ForestOptions{Trees: trees, Leaf: leaf, Seed: 1})
	return r, err
}

// usual returns the size that most scenarios ran, of several the fastest.
func usual(from []*Scenario) Size {
	times := map[Size]int{}
	for _, x := range from {
		for _, size := range x.Sizes {
			times[size]++
		}
	}
	speeds := meanSpeeds(from)
	var best Size
	for size, n := range times {
		switch m := times[best]; {
		case n > m, n == m && speeds[size] > speeds[best],
			n == m && speeds[size] == speeds[best] && compareSizes(size, best) < 0:
			best = size
		}
	}
	return best
}

// Score returns the speed-up that is predicted.
func (r *relative) Score(x *Scenario, size Size) float64 {
	return r.forest.Predict(r.row(x, size, r.table))
}

// sizeFeatures are those of a work-group size, and of how it fits the kernel and the device.
var sizeFeatures = []string{
	"columns", "rows", "threads", "columns over rows", "part of the most threads", "part of a warp beyond whole ones",
	"cells loaded for a cell", "cells loaded", "mean speed",
}

// row are the features of a scenario at a size.
func (r *relative) row(x *Scenario, size Size, table bySize) []float64 {
	get := func(name string) float64 { return r.suite.feature(x, name) }
	columns, rows := float64(size.Columns), float64(size.Rows)
	threads := columns * rows * float64(size.Planes)
	most, lanes := max(1, get("dev_max_work_group_size")), max(1, get("dev_kernel_preferred_work_group_size_multiple"))
	loaded := (get("BorderEast") + get("BorderWest") + columns) * (get("BorderNorth") + get("BorderSouth") + rows) *
		float64(size.Planes)
	row := append(slices.Clone(x.Features), columns, rows, threads, columns/rows, threads/most,
		math.Mod(threads, lanes)/lanes, loaded/threads, loaded, table[size])
	if r.deep {
		row = append(row, float64(size.Planes))
	}
	return row
}

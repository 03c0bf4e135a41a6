package omnitune

import (
	"context"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/learn"
)

// forest predicts speeds from features by a random forest, and takes the mean with what the table says.
type forest struct {
	suite *Suite
	table bySize
	model *learn.Forest
	share float64 // of the table
}

// A forest has so many trees, whose leaves have as many examples as Breiman's program takes for numbers.
const trees, leaf = 100, 5

// shares of the table that validation chooses from.
var shares = []float64{0, 0.25, 0.5, 0.75}

// learnForest learns a forest. What the table's share is, is chosen by leaving out each group of the examples in turn:
// on a device like none that is known, the table is the better guide.
func learnForest(ctx context.Context, s *Suite, from []*Scenario, group Group) (Ranker, error) {
	speed := make([]float64, len(shares))
	for _, part := range groupsOf(from, group) {
		rest, left := part.others, part.own
		if len(rest) == 0 {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f, err := growForest(s, rest, group)
		if err != nil {
			return nil, err
		}
		for k := range shares {
			f.share = shares[k]
			for _, x := range left {
				speed[k] += x.Speeds[pick(f, x)]
			}
		}
	}
	f, err := growForest(s, from, group)
	if err != nil {
		return nil, err
	}
	for k, v := range speed {
		if v > speed[slices.Index(shares, f.share)] {
			f.share = shares[k]
		}
	}
	return f, nil
}

// growForest grows the forest alone. Its examples know the table of the other groups, as it will be of a group that is
// not known.
func growForest(s *Suite, from []*Scenario, group Group) (*forest, error) {
	f := &forest{suite: s, table: meanSpeeds(from)}
	n := &learn.Numbers{Features: append(slices.Clone(s.Features), sizeFeatures...)}
	for _, part := range groupsOf(from, group) {
		table := meanSpeeds(part.others)
		for _, x := range part.own {
			for i, size := range x.Sizes {
				n.Rows, n.Targets = append(n.Rows, f.row(x, size, table)), append(n.Targets, x.Speeds[i])
			}
		}
	}
	var err error
	f.model, err = learn.NewForest(n, learn.ForestOptions{Trees: trees, Leaf: leaf, Seed: 1})
	return f, err
}

// Score returns the speed that is predicted.
func (f *forest) Score(x *Scenario, size Size) float64 {
	return (1-f.share)*f.model.Predict(f.row(x, size, f.table)) + f.share*f.table[size]
}

// sizeFeatures are those of a work-group size, and of how it fits the kernel and the device.
var sizeFeatures = []string{
	"columns", "rows", "threads", "columns over rows", "part of the most threads", "part of a warp beyond whole ones",
	"cells loaded for a cell", "cells loaded", "mean speed",
}

// row are the features of a scenario at a size.
func (f *forest) row(x *Scenario, size Size, table bySize) []float64 {
	get := func(name string) float64 {
		if j := slices.Index(f.suite.Features, name); j >= 0 {
			return x.Features[j]
		}
		return 0
	}
	c, r := float64(size.Columns), float64(size.Rows)
	most, lanes := max(1, get("dev_max_work_group_size")), max(1, get("dev_kernel_preferred_work_group_size_multiple"))
	loaded := (get("BorderEast") + get("BorderWest") + c) * (get("BorderNorth") + get("BorderSouth") + r)
	return append(slices.Clone(x.Features), c, r, c*r, c/r, c*r/most, math.Mod(c*r, lanes)/lanes, loaded/(c*r), loaded,
		table[size])
}

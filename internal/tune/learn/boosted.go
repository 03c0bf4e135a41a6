package learn

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Boosted are trees that each learn what those before have left (Friedman, Annals of Statistics 29(5), 2001, for
// squared errors; each tree from a part of the examples, Computational Statistics and Data Analysis 38(4), 2002).
type Boosted struct {
	Start float64 `json:"start"`
	Rate  float64 `json:"rate"`
	Runs  int     `json:"runs"`  // in which as many trees were grown
	Trees Trees   `json:"trees"` // of the first run, and so on
}

// BoostedOptions are the options of boosted trees.
type BoostedOptions struct {
	Trees    int
	Depth    int
	Rate     float64 // of what a tree says, the part that counts
	Part     float64 // of the examples, that each tree learns from
	Features int     // that a node chooses from; 0 is all
	Leaf     int
	Seed     uint64
	// Runs is how often all of it is done, with other draws: what comes out is the mean, which errs less than each
	// (Breiman, Machine Learning 24(2), 1996). 0 is once.
	Runs int
}

// NewBoosted grows trees one after the other.
func NewBoosted(n *Numbers, o BoostedOptions) (*Boosted, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	if o.Trees < 1 || o.Depth < 1 || o.Leaf < 1 || o.Features < 0 || !(o.Rate > 0 && o.Rate <= 1) ||
		!(o.Part > 0 && o.Part <= 1) || o.Runs < 0 {
		return nil, fmt.Errorf("boosted trees cannot be grown by %+v", o)
	}
	runs := max(1, o.Runs)
	b := &Boosted{Rate: o.Rate / float64(runs), Runs: runs}
	rows := n.scaled()
	for i, y := range n.Targets {
		b.Start += rows[i] * y / float64(len(n.Targets))
	}
	bins := n.binned()
	trees := make([][]RegressionTree, runs)
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for run := range runs {
		work.Go(func() error {
			trees[run] = boost(n, bins, rows, b.Start, o, uint64(run))
			return nil
		})
	}
	work.Wait()
	b.Trees = slices.Concat(trees...)
	return b, nil
}

// boost grows trees one after the other, of rows that have weights.
func boost(n *Numbers, bins *binned, rows []float64, start float64, o BoostedOptions, run uint64) []RegressionTree {
	left := make([]float64, len(n.Rows))
	for i, y := range n.Targets {
		left[i] = y - start
	}
	r := rand.New(rand.NewPCG(o.Seed, run))
	var trees []RegressionTree
	for range o.Trees {
		weights := make([]float64, len(n.Rows))
		for _, i := range r.Perm(len(n.Rows))[:max(1, int(o.Part*float64(len(n.Rows))))] {
			weights[i] = rows[i]
		}
		g := &grower{
			binned: bins, targets: left, weights: weights, leaf: float64(o.Leaf), depth: o.Depth, features: o.Features,
			random: r,
		}
		if g.features == 0 {
			g.features = len(n.Features)
		}
		t := g.tree()
		trees = append(trees, t)
		for i, row := range n.Rows {
			left[i] -= o.Rate * t.Predict(row)
		}
	}
	return trees
}

// Predict adds what the trees say.
func (b *Boosted) Predict(row []float64) float64 {
	y := b.Start
	for _, t := range b.Trees {
		y += b.Rate * t.Predict(row)
	}
	return y
}

// Leaves are where a row comes to in each tree. Rows that share a leaf are alike to its tree: the part of the trees in
// which two do is a covariance (Davies, Ghahramani, The Random Forest Kernel, 2014).
func (b *Boosted) Leaves(row []float64) []int32 {
	leaves := make([]int32, len(b.Trees))
	for i, t := range b.Trees {
		leaves[i] = int32(t.leaf(row))
	}
	return leaves
}

package search

import (
	"math"
	"math/rand/v2"
)

// forest is a random forest (Breiman 2001). It predicts a number from features, with an uncertainty from the
// spread of its trees (Hutter, Hoos, Leyton-Brown 2011). Each tree is grown on a bootstrap sample, and each node
// sees a random part of the features. Trees are regrown a few at a time, since one trial changes little.
type forest struct {
	rng   *rand.Rand
	trees []tree
	next  int // the tree to grow next
	grown int // trees grown so far, regrown ones counted again
	least int // least samples of a leaf
	width int
}

// tree holds the nodes of a tree; the first is the root.
type tree []node

type node struct {
	feature     int32 // -1 at a leaf
	at          uint8 // go left if the feature is at most this
	left, right int32
	value       float32
	spread      float32 // variance of the samples in a leaf
}

func newForest(trees, least, width int, rng *rand.Rand) *forest {
	return &forest{rng: rng, trees: make([]tree, trees), least: least, width: width}
}

// grow regrows n trees from rows and their values.
func (f *forest) grow(n int, rows [][]uint8, values []float64) {
	for range min(n, len(f.trees)) {
		g := grower{f: f, rows: rows, values: values}
		sample := make([]int32, min(len(rows), treeSample))
		for i := range sample {
			sample[i] = int32(f.rng.IntN(len(rows)))
		}
		for i := range f.width {
			g.order = append(g.order, i)
		}
		g.split(sample)
		f.trees[f.next] = g.tree
		f.next = (f.next + 1) % len(f.trees)
		f.grown++
	}
}

// leaf is the prediction of one tree.
type leaf struct{ value, spread float32 }

// refresh updates the trees' predictions of a row, after n trees were regrown.
func (f *forest) refresh(row []uint8, said []leaf, n int) {
	for k := range min(n, len(f.trees), f.grown) {
		i := (f.next - 1 - k + len(f.trees)) % len(f.trees)
		t := f.trees[i]
		at := &t[0]
		for at.feature >= 0 {
			if row[at.feature] <= at.at {
				at = &t[at.left]
			} else {
				at = &t[at.right]
			}
		}
		said[i] = leaf{at.value, at.spread}
	}
}

// combine returns the mean of the trees' predictions and its standard deviation.
func (f *forest) combine(said []leaf) (mean, deviation float64) {
	n := float64(min(f.grown, len(f.trees)))
	total, squares := 0.0, 0.0
	for _, l := range said { // trees that are not grown yet have no prediction
		v := float64(l.value)
		total += v
		squares += v*v + float64(l.spread)
	}
	mean = total / n
	return mean, math.Sqrt(max(squares/n-mean*mean, 0))
}

// predict returns the prediction for a row and its standard deviation.
func (f *forest) predict(row []uint8) (mean, deviation float64) {
	said := make([]leaf, len(f.trees))
	f.refresh(row, said, len(f.trees))
	return f.combine(said)
}

// grower grows one tree.
type grower struct {
	f      *forest
	rows   [][]uint8
	values []float64
	tree   tree
	order  []int // features, of which a random part is tried
}

// split adds the node of a sample and all nodes below it, and returns its index.
func (g *grower) split(sample []int32) int32 {
	sum, squares := 0.0, 0.0
	for _, i := range sample {
		v := g.values[i]
		sum += v
		squares += v * v
	}
	n := float64(len(sample))
	at := int32(len(g.tree))
	spread := max(squares/n-sum*sum/(n*n), 0)
	g.tree = append(g.tree, node{feature: -1, value: float32(sum / n), spread: float32(spread)})
	if len(sample) < 2*g.f.least || spread < 1e-12 {
		return at
	}
	feature, threshold := g.best(sample, sum)
	if feature < 0 {
		return at
	}
	// Partition the samples in place, those of the left child first.
	left := 0
	for i, s := range sample {
		if g.rows[s][feature] <= threshold {
			sample[left], sample[i] = sample[i], sample[left]
			left++
		}
	}
	l := g.split(sample[:left])
	r := g.split(sample[left:])
	g.tree[at].feature, g.tree[at].at, g.tree[at].left, g.tree[at].right = int32(feature), threshold, l, r
	return at
}

// best returns the split with the least variance, among a random part of the features that differ within the
// sample; -1 if none does.
func (g *grower) best(sample []int32, sum float64) (feature int, threshold uint8) {
	feature = -1
	most := math.Inf(-1)
	looks := (g.f.width*featureTenths + 5) / 10
	var sums [bins]float64
	var counts [bins]int32
	for k := 0; k < len(g.order) && looks > 0; k++ {
		j := k + g.f.rng.IntN(len(g.order)-k)
		g.order[k], g.order[j] = g.order[j], g.order[k]
		f := g.order[k]
		low, high := uint8(bins-1), uint8(0)
		for _, s := range sample {
			b := g.rows[s][f]
			low, high = min(low, b), max(high, b)
		}
		if low == high {
			continue
		}
		looks--
		clear(sums[low : high+1])
		clear(counts[low : high+1])
		for _, s := range sample {
			b := g.rows[s][f]
			sums[b] += g.values[s]
			counts[b]++
		}
		leftSum, leftCount := 0.0, int32(0)
		for b := low; b < high; b++ {
			if counts[b] == 0 {
				continue
			}
			leftSum += sums[b]
			leftCount += counts[b]
			rightCount := int32(len(sample)) - leftCount
			if int(leftCount) < g.f.least || int(rightCount) < g.f.least {
				continue
			}
			rightSum := sum - leftSum
			if gain := leftSum*leftSum/float64(leftCount) + rightSum*rightSum/float64(rightCount); gain > most {
				most, feature = gain, f
				// Halfway to the next value that occurs.
				next := b + 1
				for counts[next] == 0 {
					next++
				}
				threshold = b + (next-b-1)/2
			}
		}
	}
	return feature, threshold
}

// treeSample is the most rows that a tree is grown on, so that its time does not grow with the search.
const treeSample = 500

// featureTenths is the number of tenths of all features that a node tries.
const featureTenths = 5

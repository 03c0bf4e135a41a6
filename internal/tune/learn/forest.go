package learn

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Forest is a random forest for numbers (Breiman, Machine Learning 45, 2001): the mean of trees, each of which has
// learned from as many examples, drawn with replacement, and asks the best of some features drawn anew at each node.
type Forest struct {
	Trees Trees `json:"trees"`
}

// RegressionTree is a tree of questions whether a feature is larger than a number; its nodes in order, the root first.
type RegressionTree []RegressionNode

// RegressionNode is a question, or an answer if Low is 0.
type RegressionNode struct {
	Feature int     `json:"f,omitempty"`
	Split   float64 `json:"s,omitempty"`
	Low     int     `json:"l,omitempty"` // the node for values up to the split
	High    int     `json:"h,omitempty"`
	Value   float64 `json:"v,omitempty"` // the mean of the examples
}

// ForestOptions are the options of a forest.
type ForestOptions struct {
	Trees    int
	Features int // that a node chooses from; 0 is a third of all, as Breiman advises for numbers
	Leaf     int // the least examples of a leaf
	Seed     uint64
	Impurity Impurity // that trees for classes ask by: "" is entropy; trees for numbers have none
}

// GarveyForest are those of Garvey and Abdelrahman 2018, section 6.1: what Weka takes by itself.
var GarveyForest = ForestOptions{Trees: 10, Leaf: 1, Seed: 1}

func (o *ForestOptions) check() error {
	if o.Trees < 1 || o.Leaf < 1 || o.Features < 0 {
		return fmt.Errorf("%d trees, %d features and leaves of %d: give at least 1, 0 and 1", o.Trees, o.Features,
			o.Leaf)
	}
	return o.Impurity.check()
}

// NewForest grows a forest.
func NewForest(n *Numbers, o ForestOptions) (*Forest, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Impurity != "" {
		return nil, fmt.Errorf("a forest for numbers asks by squares of errors: give no impurity, not %q", o.Impurity)
	}
	f := &Forest{Trees: make([]RegressionTree, o.Trees)}
	b, rows := n.binned(), n.scaled()
	for i := range f.Trees {
		r := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		weights := bootstrap(r, len(rows))
		for k, w := range rows {
			weights[k] *= w
		}
		g := &grower{
			binned: b, targets: n.Targets, weights: weights,
			leaf: float64(o.Leaf), features: o.Features, random: r,
		}
		if g.features == 0 {
			g.features = max(1, len(n.Features)/3)
		}
		f.Trees[i] = g.tree()
	}
	return f, nil
}

// bootstrap draws as many rows as there are, with replacement, and returns how often each was drawn.
func bootstrap(r *rand.Rand, rows int) []float64 {
	times := make([]float64, rows)
	for range rows {
		times[r.IntN(rows)]++
	}
	return times
}

// Predict returns the mean of the trees.
func (f *Forest) Predict(row []float64) float64 {
	s := 0.0
	for _, t := range f.Trees {
		s += t.Predict(row)
	}
	return s / float64(len(f.Trees))
}

// Predict returns the mean of the examples that answer like a row.
func (t RegressionTree) Predict(row []float64) float64 { return t[t.leaf(row)].Value }

// leaf is the place of the answer for a row.
func (t RegressionTree) leaf(row []float64) int {
	at := 0
	for t[at].Low > 0 {
		if row[t[at].Feature] <= t[at].Split {
			at = t[at].Low
		} else {
			at = t[at].High
		}
	}
	return at
}

// mostBins is how many values of a feature trees tell apart: all if there are no more, else as many ranges.
const mostBins = 256

// binned are examples whose features have numbers of ranges in place of values.
type binned struct {
	*Numbers
	bins   [][]uint8   // by feature and row
	splits [][]float64 // by feature: between each range and the next
}

// binned sorts the values of each feature into ranges.
func (n *Numbers) binned() *binned {
	b := &binned{Numbers: n, bins: make([][]uint8, len(n.Features)), splits: make([][]float64, len(n.Features))}
	for j := range n.Features {
		values := make([]float64, len(n.Rows))
		for i, row := range n.Rows {
			values[i] = row[j]
		}
		slices.Sort(values)
		distinct := slices.Compact(slices.Clone(values))
		if len(distinct) > mostBins { // ranges of as many examples
			for k := range mostBins {
				distinct[k] = values[k*len(values)/mostBins]
			}
			distinct = slices.Compact(distinct[:mostBins])
		}
		for k := 1; k < len(distinct); k++ {
			x, next := distinct[k-1], distinct[k]
			split := x + (next-x)/2
			if split >= next {
				split = x
			}
			b.splits[j] = append(b.splits[j], split)
		}
		b.bins[j] = make([]uint8, len(n.Rows))
		for i, row := range n.Rows {
			k, _ := slices.BinarySearch(b.splits[j], row[j]) // values up to a split are before it
			b.bins[j][i] = uint8(k)
		}
	}
	return b
}

// grower grows a tree.
type grower struct {
	*binned
	targets  []float64 // of the rows
	weights  []float64 // likewise
	leaf     float64
	depth    int // the most; 0 is any
	features int // that a node chooses from
	random   *rand.Rand
	nodes    RegressionTree
	own      []weighted // of the rows of a node
}

// weighted is a sum of targets, each by its weight, and the sum of the weights.
type weighted struct{ weight, sum float64 }

// tree grows the tree of the rows that have a weight.
func (g *grower) tree() RegressionTree {
	var rows []int32
	for i, w := range g.weights {
		if w > 0 {
			rows = append(rows, int32(i))
		}
	}
	g.grow(rows, 1)
	return g.nodes
}

// grow makes a node of rows, and the nodes below, and returns its place. It sorts the rows by its question.
func (g *grower) grow(rows []int32, level int) int {
	at := len(g.nodes)
	weight, sum := 0.0, 0.0
	for _, i := range rows {
		weight += g.weights[i]
		sum += g.weights[i] * g.targets[i]
	}
	g.nodes = append(g.nodes, RegressionNode{Value: sum / weight})
	if g.depth > 0 && level > g.depth || weight < 2*g.leaf {
		return at
	}
	feature, bin, ok := g.question(rows, weight, sum)
	if !ok {
		return at
	}
	low := 0
	for k, i := range rows {
		if g.bins[feature][i] <= bin {
			rows[low], rows[k] = i, rows[low]
			low++
		}
	}
	g.nodes[at].Feature, g.nodes[at].Split = feature, g.splits[feature][bin]
	g.nodes[at].Low = g.grow(rows[:low], level+1)
	g.nodes[at].High = g.grow(rows[low:], level+1)
	return at
}

// question returns the question that leaves the least squares of errors: which of some features, and its last range
// that goes to the first son.
func (g *grower) question(rows []int32, weight, sum float64) (feature int, bin uint8, ok bool) {
	best := sum * sum / weight * (1 + 1e-12)
	left := g.features
	own := g.own[:0]
	for _, i := range rows {
		own = append(own, weighted{g.weights[i], g.weights[i] * g.targets[i]})
	}
	g.own = own
	var inBin [mostBins]weighted
	for _, j := range g.random.Perm(len(g.Features)) {
		if left == 0 {
			break
		}
		sums, bins := inBin[:len(g.splits[j])+1], g.bins[j]
		clear(sums)
		first, varies := bins[rows[0]], uint8(0)
		for n, i := range rows {
			k := bins[i]
			sums[k].weight += own[n].weight
			sums[k].sum += own[n].sum
			varies |= k ^ first
		}
		if varies == 0 {
			continue // nothing to ask
		}
		left--
		w, s := 0.0, 0.0
		for k := range g.splits[j] {
			w, s = w+sums[k].weight, s+sums[k].sum
			if sums[k].weight == 0 || w < g.leaf || weight-w < g.leaf {
				continue
			}
			if gain := s*s/w + (sum-s)*(sum-s)/(weight-w); gain > best {
				best, feature, bin, ok = gain, j, uint8(k), true
			}
		}
	}
	return feature, bin, ok
}

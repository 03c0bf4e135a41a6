package learn

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Forest is a random forest for numbers (Breiman, Machine Learning 45, 2001): the mean of trees, each of which has
// learned from as many examples, drawn with replacement, and asks the best of some features drawn anew at each node.
type Forest struct {
	Trees []RegressionTree `json:"trees"`
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
}

func (o *ForestOptions) check() error {
	if o.Trees < 1 || o.Leaf < 1 || o.Features < 0 {
		return fmt.Errorf("%d trees, %d features and leaves of %d: give at least 1, 0 and 1", o.Trees, o.Features,
			o.Leaf)
	}
	return nil
}

// NewForest grows a forest.
func NewForest(n *Numbers, o ForestOptions) (*Forest, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	f := &Forest{Trees: make([]RegressionTree, o.Trees)}
	order := n.order()
	for i := range f.Trees {
		r := rand.New(rand.NewPCG(o.Seed, uint64(i)))
		times := make([]float64, len(n.Rows))
		for range n.Rows {
			times[r.IntN(len(n.Rows))]++
		}
		g := &grower{Numbers: n, leaf: float64(o.Leaf), features: o.Features, random: r, weights: times}
		if g.features == 0 {
			g.features = max(1, len(n.Features)/3)
		}
		f.Trees[i] = g.tree(order, 0)
	}
	return f, nil
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
func (t RegressionTree) Predict(row []float64) float64 {
	at := 0
	for t[at].Low > 0 {
		if row[t[at].Feature] <= t[at].Split {
			at = t[at].Low
		} else {
			at = t[at].High
		}
	}
	return t[at].Value
}

// order returns the rows in the order of each feature.
func (n *Numbers) order() [][]int32 {
	order := make([][]int32, len(n.Features))
	for j := range order {
		order[j] = make([]int32, len(n.Rows))
		for i := range order[j] {
			order[j][i] = int32(i)
		}
		slices.SortStableFunc(order[j], func(a, b int32) int { return cmp.Compare(n.Rows[a][j], n.Rows[b][j]) })
	}
	return order
}

// grower grows a tree.
type grower struct {
	*Numbers
	weights  []float64 // of the rows
	leaf     float64
	depth    int // the most; 0 is any
	features int // that a node chooses from
	random   *rand.Rand
	nodes    RegressionTree
	low      []bool // of the rows, while they are divided
}

// tree grows the tree of the rows that have a weight.
func (g *grower) tree(order [][]int32, depth int) RegressionTree {
	g.depth, g.low = depth, make([]bool, len(g.Rows))
	mine := make([][]int32, len(order))
	for j := range order {
		mine[j] = slices.DeleteFunc(slices.Clone(order[j]), func(i int32) bool { return g.weights[i] == 0 })
	}
	g.grow(mine, 1)
	return g.nodes
}

// grow makes a node of rows, which are there in the order of each feature, and the nodes below.
func (g *grower) grow(order [][]int32, level int) int {
	at := len(g.nodes)
	weight, sum := 0.0, 0.0
	for _, i := range order[0] {
		weight += g.weights[i]
		sum += g.weights[i] * g.Targets[i]
	}
	g.nodes = append(g.nodes, RegressionNode{Value: sum / weight})
	if g.depth > 0 && level > g.depth || weight < 2*g.leaf {
		return at
	}
	feature, split, ok := g.question(order, weight, sum)
	if !ok {
		return at
	}
	low, high := g.divide(order, feature, split)
	g.nodes[at].Feature, g.nodes[at].Split = feature, split
	g.nodes[at].Low = g.grow(low, level+1)
	g.nodes[at].High = g.grow(high, level+1)
	return at
}

// question returns the question that leaves the least squares of errors, of some features.
func (g *grower) question(order [][]int32, weight, sum float64) (feature int, split float64, ok bool) {
	best := sum * sum / weight * (1 + 1e-12)
	left := g.features
	for _, j := range g.random.Perm(len(order)) {
		if left == 0 {
			break
		}
		list := order[j]
		if g.Rows[list[0]][j] == g.Rows[list[len(list)-1]][j] {
			continue // nothing to ask
		}
		left--
		w, s := 0.0, 0.0
		for k, i := range list[:len(list)-1] {
			w, s = w+g.weights[i], s+g.weights[i]*g.Targets[i]
			x, next := g.Rows[i][j], g.Rows[list[k+1]][j]
			if x == next || w < g.leaf || weight-w < g.leaf {
				continue
			}
			if gain := s*s/w + (sum-s)*(sum-s)/(weight-w); gain > best {
				best, feature, ok = gain, j, true
				if split = x + (next-x)/2; split >= next {
					split = x
				}
			}
		}
	}
	return feature, split, ok
}

// divide divides rows and keeps their orders.
func (g *grower) divide(order [][]int32, feature int, split float64) (low, high [][]int32) {
	n := 0
	for _, i := range order[feature] {
		if g.low[i] = g.Rows[i][feature] <= split; g.low[i] {
			n++
		}
	}
	low, high = make([][]int32, len(order)), make([][]int32, len(order))
	for j, list := range order {
		low[j], high[j] = make([]int32, 0, n), make([]int32, 0, len(list)-n)
		for _, i := range list {
			if g.low[i] {
				low[j] = append(low[j], i)
			} else {
				high[j] = append(high[j], i)
			}
		}
	}
	return low, high
}

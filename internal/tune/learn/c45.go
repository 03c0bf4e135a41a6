package learn

import (
	"fmt"
	"math"
	"slices"
)

// C45 is a decision tree by Quinlan's C4.5, release 8 (Quinlan, Journal of Artificial Intelligence Research 4, 1996),
// pruned by the errors that are to be expected. Rows that lack what is asked for go down all branches, with a part of
// their weight.
type C45 struct {
	Root     *C45Node `json:"root"`
	leaf     int      // the least weight of a leaf
	impurity Impurity
	z        float64 // of the confidence
	t        *Table
}

// C45Node is a question or, if it has no sons, an answer.
type C45Node struct {
	Feature int        `json:"feature"`
	Split   float64    `json:"split,omitempty"` // of numbers: those up to it go to the first son
	Sons    []*C45Node `json:"sons,omitempty"`
	Counts  counts     `json:"counts"` // of the examples, by son and class; of a leaf, one list
	empty   bool       // no example came here
	rows    []weighed
}

// C45Options are the options of a tree; Weka's J48 has 2 and 0.25.
type C45Options struct {
	Leaf       int     // least weight of at least two branches
	Confidence float64 // of the errors that are expected: less prunes more; up to 0.5, and 0 prunes nothing
	// Impurity is what questions are chosen by; "" is C4.5's gain ratio. What may be asked, unknown values and pruning
	// are the same for all. But what C4.5 takes off the gain of a number, for the choice among points, is of the gain
	// ratio alone: the definitions of the others have no such part.
	Impurity Impurity
}

// weighed is an example, or the part of it that came down a branch.
type weighed struct {
	row    int
	weight float64
}

// counts are weights of examples, by branch and class.
type counts [][]float64

func newCounts(branches, classes int) counts {
	c := make(counts, branches)
	for i := range c {
		c[i] = make([]float64, classes)
	}
	return c
}

func (c counts) total() float64 {
	s := 0.0
	for _, list := range c {
		s += sum(list)
	}
	return s
}

// classes are the weights by class alone.
func (c counts) classes() []float64 {
	list := make([]float64, len(c[0]))
	for _, branch := range c {
		for i, w := range branch {
			list[i] += w
		}
	}
	return list
}

// wrong is the weight of the examples that are not of the most frequent class.
func (c counts) wrong() float64 { return c.total() - slices.Max(c.classes()) }

// near is how much sums of weights may differ and be the same.
const near = 1e-6

// NewC45 grows a tree and prunes it.
func NewC45(t *Table, o C45Options) (*C45, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if o.Leaf < 1 || !(o.Confidence >= 0 && o.Confidence <= 0.5) {
		return nil, fmt.Errorf("a leaf of %d examples and a confidence of %v: give at least 1, and 0 to 0.5", o.Leaf,
			o.Confidence)
	}
	if err := o.Impurity.check(); err != nil {
		return nil, err
	}
	c := &C45{leaf: o.Leaf, impurity: o.Impurity, z: math.Sqrt2 * math.Erfinv(1-2*o.Confidence), t: t}
	all := make([]weighed, len(t.Rows))
	for i := range all {
		all[i] = weighed{i, 1}
	}
	c.Root = c.grow(all)
	c.collapse(c.Root)
	if o.Confidence > 0 {
		c.prune(c.Root, o.Confidence)
	}
	c.Root.forget()
	c.t = &Table{Features: t.Features, Classes: t.Classes}
	return c, nil
}

// forget drops what only pruning needs.
func (n *C45Node) forget() {
	n.rows = nil
	for _, s := range n.Sons {
		s.forget()
	}
}

func weightOf(rows []weighed) float64 {
	s := 0.0
	for _, r := range rows {
		s += r.weight
	}
	return s
}

// count counts examples by class.
func (c *C45) count(rows []weighed) counts {
	n := newCounts(1, len(c.t.Classes))
	for _, r := range rows {
		n[0][c.t.Labels[r.row]] += r.weight
	}
	return n
}

// grow makes the tree of some examples.
func (c *C45) grow(rows []weighed) *C45Node {
	n := &C45Node{rows: rows, Counts: c.count(rows)}
	if s := c.choose(rows); s != nil {
		n.Feature, n.Split, n.Counts = s.feature, s.point, s.counts
		for _, part := range c.divide(n, rows) {
			n.Sons = append(n.Sons, c.grow(part))
		}
		return n
	}
	n.empty = weightOf(rows) <= near
	return n
}

// branch is the son that a value leads to; -1 if it is unknown.
func (c *C45) branch(n *C45Node, x float64) int {
	switch {
	case math.IsNaN(x):
		return -1
	case c.t.Features[n.Feature].Values != nil:
		return int(x)
	case x-n.Split < near:
		return 0
	}
	return 1
}

// shares are the parts of an example that go down each branch if its value is unknown.
func (n *C45Node) shares() []float64 {
	list := make([]float64, len(n.Counts))
	total := n.Counts.total()
	for i, branch := range n.Counts {
		list[i] = sum(branch) / total
	}
	return list
}

// divide sends examples down the branches.
func (c *C45) divide(n *C45Node, rows []weighed) [][]weighed {
	parts := make([][]weighed, len(n.Counts))
	shares := n.shares()
	for _, r := range rows {
		if b := c.branch(n, c.t.Rows[r.row][n.Feature]); b >= 0 {
			parts[b] = append(parts[b], r)
			continue
		}
		for b, share := range shares {
			if share > near {
				parts[b] = append(parts[b], weighed{r.row, r.weight * share})
			}
		}
	}
	return parts
}

// collapse makes leaves of trees that are no better than their most frequent class for the examples themselves.
func (c *C45) collapse(n *C45Node) {
	if n.Sons == nil {
		return
	}
	if n.mistakes() >= n.Counts.wrong()-1e-3 {
		n.becomeLeaf()
		return
	}
	for _, s := range n.Sons {
		c.collapse(s)
	}
}

func (n *C45Node) becomeLeaf() { n.Sons, n.Counts = nil, counts{n.Counts.classes()} }

// mistakes is the weight of the examples that the tree has wrong.
func (n *C45Node) mistakes() float64 {
	if n.Sons == nil {
		return n.Counts.wrong()
	}
	s := 0.0
	for _, son := range n.Sons {
		s += son.mistakes()
	}
	return s
}

// Classify returns the probability of each class.
func (c *C45) Classify(row []float64) []float64 {
	p := make([]float64, len(c.t.Classes))
	c.add(c.Root, row, 1, p)
	return p
}

// add adds what a tree says with a weight.
func (c *C45) add(n *C45Node, row []float64, weight float64, p []float64) {
	if n.Sons == nil {
		n.answer(weight, n.Counts[0], p)
		return
	}
	if b := c.branch(n, row[n.Feature]); b >= 0 {
		if n.Sons[b].empty {
			n.answer(weight, n.Counts[b], p)
			return
		}
		c.add(n.Sons[b], row, weight, p)
		return
	}
	for b, share := range n.shares() {
		if !n.Sons[b].empty {
			c.add(n.Sons[b], row, share*weight, p)
		}
	}
}

// answer adds the shares of the classes among examples, or among all of the node where there are none.
func (n *C45Node) answer(weight float64, classes, p []float64) {
	total := sum(classes)
	if total <= near {
		classes, total = n.Counts.classes(), n.Counts.total()
	}
	for i, w := range classes {
		if total > 0 {
			p[i] += weight * w / total
		}
	}
}

package learn

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// ClassForest is a random forest for classes (Breiman, Machine Learning 45, 2001): the mean of trees, each of which has
// learned from as many examples, drawn with replacement, and asks at each node that of some features which tells most
// of the class, by entropy or the Impurity that is named. Trees are not pruned. Rows that lack what is asked for go
// down all branches, with a part of their weight.
type ClassForest struct {
	Trees []*ClassNode `json:"trees"`
}

// ClassNode is a question or, if it has no sons, an answer.
type ClassNode struct {
	Feature int          `json:"f,omitempty"`
	Split   float64      `json:"s,omitempty"` // of numbers: those below go to the first son, others to the second
	Numbers bool         `json:"n,omitempty"`
	Shares  []float64    `json:"w,omitempty"` // of the examples whose answer is known, by son
	Sons    []*ClassNode `json:"c,omitempty"` // nil for a word that no example has
	Classes []float64    `json:"p"`           // probabilities
}

// NewClassForest grows a forest. Features 0 are as many as the logarithm of their number to base 2, and one, as Breiman
// advises for classes.
func NewClassForest(t *Table, o ForestOptions) (*ClassForest, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Features == 0 {
		o.Features = 1
		if n := len(t.Features); n > 0 {
			o.Features += int(math.Log2(float64(n)))
		}
	}
	f := &ClassForest{}
	for i := range o.Trees {
		g := &classGrower{Table: t, ForestOptions: o, random: rand.New(rand.NewPCG(o.Seed, uint64(i)))}
		var rows []weighed
		for row, n := range bootstrap(g.random, len(t.Rows)) {
			if n > 0 {
				rows = append(rows, weighed{row, n})
			}
		}
		f.Trees = append(f.Trees, g.grow(rows))
	}
	return f, nil
}

// Classify returns the mean of what the trees say.
func (f *ClassForest) Classify(row []float64) []float64 {
	p := make([]float64, len(f.Trees[0].Classes))
	for _, t := range f.Trees {
		t.add(p, row, 1/float64(len(f.Trees)))
	}
	return p
}

// add adds a tree's answer with a weight.
func (n *ClassNode) add(p, row []float64, weight float64) {
	son := -1
	if n.Sons != nil {
		son = n.son(row)
	}
	switch {
	case n.Sons != nil && son < 0:
		for k, s := range n.Sons {
			if s != nil {
				s.add(p, row, weight*n.Shares[k])
			}
		}
	case n.Sons != nil && n.Sons[son] != nil:
		n.Sons[son].add(p, row, weight)
	default:
		for k, x := range n.Classes {
			p[k] += weight * x
		}
	}
}

// son returns which son a row goes to, or -1 if it does not say.
func (n *ClassNode) son(row []float64) int {
	v := row[n.Feature]
	switch {
	case math.IsNaN(v):
		return -1
	case !n.Numbers:
		return int(v)
	case v < n.Split:
		return 0
	}
	return 1
}

// classGrower grows a tree.
type classGrower struct {
	*Table
	ForestOptions
	random *rand.Rand
}

// grow makes a node of examples.
func (g *classGrower) grow(rows []weighed) *ClassNode {
	n := &ClassNode{Classes: make([]float64, len(g.Table.Classes))}
	total, most := 0.0, 0.0
	for _, r := range rows {
		n.Classes[g.Labels[r.row]] += r.weight
		total += r.weight
		most = max(most, n.Classes[g.Labels[r.row]])
	}
	normalize(n.Classes)
	if total < 2*float64(g.Leaf) || most == total {
		return n
	}
	best, tried := 0.0, 0
	for _, j := range g.random.Perm(len(g.Table.Features)) {
		if tried >= g.ForestOptions.Features && best > 0 {
			break // others are asked only as long as none tells anything
		}
		tried++
		if q, told := g.question(rows, j); told > best {
			best = told
			n.Feature, n.Split, n.Numbers, n.Shares = q.Feature, q.Split, q.Numbers, q.Shares
		}
	}
	if best == 0 {
		return n
	}
	n.Sons = make([]*ClassNode, len(n.Shares))
	for k, part := range n.parts(g.Table, rows) {
		if len(part) > 0 {
			n.Sons[k] = g.grow(part)
		}
	}
	return n
}

// parts shares examples out among the sons.
func (n *ClassNode) parts(t *Table, rows []weighed) [][]weighed {
	parts := make([][]weighed, len(n.Shares))
	for _, r := range rows {
		if k := n.son(t.Rows[r.row]); k >= 0 {
			parts[k] = append(parts[k], r)
			continue
		}
		for k, share := range n.Shares {
			if share > 0 {
				parts[k] = append(parts[k], weighed{r.row, r.weight * share})
			}
		}
	}
	return parts
}

// question returns what is best asked of a feature, and how much of the impurity that takes away.
func (g *classGrower) question(rows []weighed, j int) (*ClassNode, float64) {
	q := &ClassNode{Feature: j, Numbers: g.Table.Features[j].Values == nil}
	branches := max(2, len(g.Table.Features[j].Values))
	known := newCounts(branches, len(g.Table.Classes))
	unknown := make([]float64, len(g.Table.Classes))
	var sorted []weighed
	for _, r := range rows {
		v, class := g.Rows[r.row][j], g.Labels[r.row]
		switch {
		case math.IsNaN(v):
			unknown[class] += r.weight
		case q.Numbers:
			sorted = append(sorted, r)
			known[1][class] += r.weight
		default:
			known[int(v)][class] += r.weight
		}
	}
	if q.Numbers {
		if !g.split(q, known, sorted, j) {
			return q, 0
		}
	}
	q.Shares = make([]float64, branches)
	for k, list := range known {
		q.Shares[k] = sum(list)
	}
	normalize(q.Shares)
	for k, share := range q.Shares {
		for class, w := range unknown {
			known[k][class] += share * w
		}
	}
	return q, g.Impurity.gain(known, known.total(), g.Impurity.before(known))
}

// split finds the number that examples are best split at, and counts them so.
func (g *classGrower) split(q *ClassNode, known counts, sorted []weighed, j int) bool {
	slices.SortStableFunc(sorted, func(a, b weighed) int { return cmp.Compare(g.Rows[a.row][j], g.Rows[b.row][j]) })
	at, best := -1, 0.0
	for i := 1; i < len(sorted); i++ {
		before := sorted[i-1]
		class := g.Labels[before.row]
		known[0][class] += before.weight
		known[1][class] -= before.weight
		if g.Rows[before.row][j] < g.Rows[sorted[i].row][j] {
			if told := g.Impurity.gain(known, known.total(), g.Impurity.before(known)); at < 0 || told > best {
				at, best = i, told
			}
		}
	}
	if at < 0 {
		return false // they are all equal
	}
	low, high := g.Rows[sorted[at-1].row][j], g.Rows[sorted[at].row][j]
	if q.Split = low + (high-low)/2; q.Split <= low {
		q.Split = high
	}
	for k := range known {
		clear(known[k])
	}
	for i, r := range sorted {
		known[min(i/at, 1)][g.Labels[r.row]] += r.weight
	}
	return true
}

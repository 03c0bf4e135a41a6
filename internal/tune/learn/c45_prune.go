package learn

import (
	"math"
	"slices"
)

// prune makes a leaf, or its largest branch, of a tree that is expected to make as many errors.
func (c *C45) prune(n *C45Node, confidence float64) {
	if n.Sons == nil {
		return
	}
	for _, s := range n.Sons {
		c.prune(s, confidence)
	}
	largest := 0
	for b, branch := range n.Counts {
		if sum(n.Counts[largest])-sum(branch) < near {
			largest = b
		}
	}
	branch := c.expectedFor(n.Sons[largest], n.rows, confidence)
	leaf := c.expected(counts{n.Counts.classes()}, confidence)
	tree := c.expectedOf(n, confidence)
	if leaf-(tree+0.1) < near && leaf-(branch+0.1) < near {
		n.becomeLeaf()
		return
	}
	if branch-(tree+0.1) < near {
		s := n.Sons[largest]
		n.Feature, n.Split, n.Sons, n.Counts = s.Feature, s.Split, s.Sons, s.Counts
		c.recount(n, n.rows)
		c.prune(n, confidence)
	}
}

// recount gives a tree other examples.
func (c *C45) recount(n *C45Node, rows []weighed) {
	n.rows = rows
	if n.Sons == nil {
		n.Counts = c.count(rows)
		n.empty = n.empty && weightOf(rows) <= near
		return
	}
	n.Counts = c.counted(n, rows)
	for b, part := range c.divide(n, rows) {
		c.recount(n.Sons[b], part)
	}
}

// counted counts examples by a node's branches.
func (c *C45) counted(n *C45Node, rows []weighed) counts {
	s := &c45Split{feature: n.Feature, counts: newCounts(len(n.Counts), len(c.t.Classes))}
	for _, r := range rows {
		if b := c.branch(n, c.t.Rows[r.row][n.Feature]); b >= 0 {
			s.counts[b][c.t.Labels[r.row]] += r.weight
		}
	}
	c.addUnknown(s, rows)
	return s.counts
}

// expectedOf is the number of errors that are expected of a tree.
func (c *C45) expectedOf(n *C45Node, confidence float64) float64 {
	if n.Sons == nil {
		return c.expected(n.Counts, confidence)
	}
	s := 0.0
	for _, son := range n.Sons {
		s += c.expectedOf(son, confidence)
	}
	return s
}

// expectedFor is the number of errors that are expected of a tree for other examples.
func (c *C45) expectedFor(n *C45Node, rows []weighed, confidence float64) float64 {
	if n.Sons == nil {
		return c.expected(c.count(rows), confidence)
	}
	now := *n
	now.Counts = c.counted(n, rows)
	s := 0.0
	for b, part := range c.divide(&now, rows) {
		s += c.expectedFor(n.Sons[b], part, confidence)
	}
	return s
}

// expected is the upper limit of the errors of a leaf, at a confidence.
func (c *C45) expected(n counts, confidence float64) float64 {
	total := n.total()
	if total < near {
		return 0
	}
	wrong := total - slices.Max(n.classes())
	return wrong + c.moreErrors(total, wrong, confidence)
}

// moreErrors is how many more errors are to be expected than were seen among n, by the upper limit of the binomial
// distribution: exact without errors, else by the normal distribution with a correction for continuity.
func (c *C45) moreErrors(n, errors, confidence float64) float64 {
	if errors < 1 {
		base := n * (1 - math.Pow(confidence, 1/n))
		if errors == 0 {
			return base
		}
		return base + errors*(c.moreErrors(n, 1, confidence)-base)
	}
	if errors+0.5 >= n {
		return max(n-errors, 0)
	}
	z := c.z
	f := (errors + 0.5) / n
	r := (f + z*z/(2*n) + z*math.Sqrt(f/n-f*f/n+z*z/(4*n*n))) / (1 + z*z/n)
	return r*n - errors
}

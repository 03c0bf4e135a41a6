package learn

import (
	"cmp"
	"math"
	"slices"
)

// c45Split is a question that a node may ask.
type c45Split struct {
	feature     int
	point       float64 // of numbers
	counts      counts
	gain, worth float64 // questions are compared by the worth
}

// choose returns the question that is worth most of those that gain as much as the average; nil if none is worth
// anything.
func (c *C45) choose(rows []weighed) *c45Split {
	classes := c.count(rows)
	total := classes.total()
	if 2*float64(c.leaf)-total > near || math.Abs(total-slices.Max(classes[0])) < near {
		return nil
	}
	many := func(j int) bool { return float64(len(c.t.Features[j].Values)) >= 0.3*float64(len(c.t.Rows))-near }
	allMany := true
	for j := range c.t.Features {
		allMany = allMany && c.t.Features[j].Values != nil && many(j)
	}
	var list []*c45Split
	mean, counted := 0.0, 0
	for j := range c.t.Features {
		s := c.words(j, rows, total)
		if c.t.Features[j].Values == nil {
			s = c.numbers(j, rows, total)
		}
		if s == nil {
			continue
		}
		list = append(list, s)
		if c.t.Features[j].Values == nil || allMany || !many(j) {
			mean += s.gain
			counted++
		}
	}
	if counted == 0 {
		return nil
	}
	mean /= float64(counted)
	var best *c45Split
	worth := 0.0
	for _, s := range list {
		if s.gain >= mean-1e-3 && s.worth-worth > near {
			best, worth = s, s.worth
		}
	}
	if best == nil || math.Abs(worth) < near {
		return nil
	}
	c.addUnknown(best, rows)
	if c.t.Features[best.feature].Values == nil {
		best.point = c.valueUpTo(best.feature, best.point)
	}
	return best
}

// addUnknown shares the examples whose value is unknown out among the branches.
func (c *C45) addUnknown(s *c45Split, rows []weighed) {
	total := s.counts.total()
	shares := make([]float64, len(s.counts))
	for b, branch := range s.counts {
		if shares[b] = sum(branch) / total; math.Abs(total) < near {
			shares[b] = 1 / float64(len(shares))
		}
	}
	for _, r := range rows {
		if math.IsNaN(c.t.Rows[r.row][s.feature]) {
			for b, share := range shares {
				s.counts[b][c.t.Labels[r.row]] += r.weight * share
			}
		}
	}
}

// valueUpTo returns the largest value of a feature, among all examples, that is no larger than a point.
func (c *C45) valueUpTo(feature int, point float64) float64 {
	best := math.Inf(-1)
	for _, row := range c.t.Rows {
		if x := row[feature]; !math.IsNaN(x) && x-best > near && x-point < near {
			best = x
		}
	}
	return best
}

// words is the question which word it is; nil if too few examples differ.
func (c *C45) words(j int, rows []weighed, total float64) *c45Split {
	if c.t.Features[j].Values == nil {
		return nil
	}
	n := newCounts(len(c.t.Features[j].Values), len(c.t.Classes))
	for _, r := range rows {
		if x := c.t.Rows[r.row][j]; !math.IsNaN(x) {
			n[int(x)][c.t.Labels[r.row]] += r.weight
		}
	}
	enough := 0
	for _, branch := range n {
		if float64(c.leaf)-sum(branch) < near {
			enough++
		}
	}
	if enough < 2 {
		return nil
	}
	s := &c45Split{feature: j, counts: n, gain: c.impurity.gain(n, total, c.impurity.before(n))}
	s.worth = c.worth(n, total, s.gain)
	return s
}

// numbers is the question whether a number is larger than a point; nil if no point gains anything.
func (c *C45) numbers(j int, rows []weighed, total float64) *c45Split {
	known := slices.DeleteFunc(slices.Clone(rows), func(r weighed) bool { return math.IsNaN(c.t.Rows[r.row][j]) })
	value := func(i int) float64 { return c.t.Rows[known[i].row][j] }
	slices.SortStableFunc(known, func(a, b weighed) int { return cmp.Compare(c.t.Rows[a.row][j], c.t.Rows[b.row][j]) })
	n := newCounts(2, len(c.t.Classes))
	for _, r := range known {
		n[1][c.t.Labels[r.row]] += r.weight
	}
	least := 0.1 * n.total() / float64(len(c.t.Classes))
	if least-float64(c.leaf) < near {
		least = float64(c.leaf)
	} else if least-25 > near {
		least = 25
	}
	if 2*least-float64(len(known)) > near {
		return nil
	}
	s := &c45Split{feature: j}
	before := c.impurity.before(n)
	points, at, last := 0, 0, 0
	for next := 1; next < len(known); next++ {
		if value(next-1)+1e-5 >= value(next) {
			continue
		}
		for ; last < next; last++ {
			class, w := c.t.Labels[known[last].row], known[last].weight
			n[0][class] += w
			n[1][class] -= w
		}
		if least-sum(n[0]) < near && least-sum(n[1]) < near {
			if g := c.impurity.gain(n, total, before); g-s.gain > near {
				s.gain, at = g, next-1
			}
			points++
		}
	}
	if points == 0 {
		return nil
	}
	if c.impurity == "" { // less what it takes to tell the point, which only C4.5 counts
		s.gain -= math.Log2(float64(points)) / total
	}
	if s.gain < near {
		return nil
	}
	if s.point = (value(at+1) + value(at)) / 2; s.point == value(at+1) {
		s.point = value(at)
	}
	s.counts = newCounts(2, len(c.t.Classes))
	for i, r := range known {
		s.counts[min(1, i/(at+1))][c.t.Labels[r.row]] += r.weight
	}
	s.worth = c.worth(s.counts, total, s.gain)
	return s
}

// worth is the gain by the impurity that was named, or the gain ratio if none was.
func (c *C45) worth(n counts, total, gain float64) float64 {
	if c.impurity != "" {
		return gain
	}
	return gainRatio(n, total, gain)
}

// gainRatio is the gain for each bit of the answer; unknown is an answer, too.
func gainRatio(n counts, total, gain float64) float64 {
	known := n.total()
	info := 0.0
	if known > near {
		for _, branch := range n {
			info -= entropy(sum(branch))
		}
		info += entropy(total) - entropy(total-known)
	}
	if math.Abs(info) < near {
		return 0
	}
	return gain / (info / total)
}

package learn

import "math"

// Given are boosted trees of which the first features are known: questions about them are answered, and what is left
// is laid out for speed. Many rows that share these features are predicted with it.
type Given struct {
	start float64
	runs  int
	nodes []givenNode // of all trees
	roots []int32
	depth []int32 // of each tree: the most questions
}

// givenNode is a question. An answer is one that is always followed by itself.
type givenNode struct {
	split   float64  // values up to it go low
	value   float64  // what the tree adds, if this is an answer
	feature int32    // counted from the first that is not known
	sons    [2]int32 // nodes: for values up to the split, and above
}

// Given answers the questions about the first features.
func (b *Boosted) Given(first []float64) *Given {
	g := &Given{start: b.Start, runs: max(1, b.Runs)}
	all := 0
	for _, t := range b.Trees {
		all += len(t)
	}
	g.nodes = make([]givenNode, 0, all/2) // about what is left
	for _, t := range b.Trees {
		g.roots = append(g.roots, int32(len(g.nodes)))
		g.depth = append(g.depth, g.add(b.Rate, t, 0, first))
	}
	return g
}

// add lays out a node of a tree and all below, and returns how many questions are asked there at most.
func (g *Given) add(rate float64, t RegressionTree, at int, first []float64) int32 {
	for t[at].Low > 0 && t[at].Feature < len(first) {
		if first[t[at].Feature] <= t[at].Split {
			at = t[at].Low
		} else {
			at = t[at].High
		}
	}
	n, own := &t[at], int32(len(g.nodes))
	if n.Low == 0 {
		g.nodes = append(g.nodes, givenNode{math.Inf(1), rate * n.Value, 0, [2]int32{own, own}})
		return 0
	}
	g.nodes = append(g.nodes, givenNode{split: n.Split, feature: int32(n.Feature - len(first))})
	low := g.add(rate, t, n.Low, first)
	g.nodes[own].sons = [2]int32{own + 1, int32(len(g.nodes))}
	return 1 + max(low, g.add(rate, t, n.High, first))
}

// Trees is how many there are.
func (g *Given) Trees() int { return len(g.roots) }

// Start is what a row has before any tree adds to it, for Add.
func (g *Given) Start() float64 { return g.start }

// Predict returns what Boosted.Predict does for the known features and the rest of a row, bit for bit.
func (g *Given) Predict(rest []float64) float64 {
	y := []float64{g.start}
	g.Add(y, rest, len(rest), 0, len(g.roots))
	return y[0]
}

// Scaled is what the first n trees of the first run predict by themselves, from the sum that Add has made: it says soon
// what is worth asking all trees about.
func (g *Given) Scaled(sum float64, n int) float64 {
	if n > len(g.roots)/g.runs {
		return sum
	}
	return g.start + float64(g.runs)*(sum-g.start)
}

// side is how many rows go down a tree side by side: a processor looks after one while another waits for memory.
const side = 4

// block is how many rows all trees are asked about before the next ones: they stay in the cache.
const block = 128

// Add adds to sums what the trees from one up to another say of as many rows, each of so many features that are not
// known, one row after the other.
func (g *Given) Add(sums, rows []float64, features, from, to int) {
	for len(sums) > block {
		g.add1(sums[:block], rows, features, from, to)
		sums, rows = sums[block:], rows[block*features:]
	}
	g.add1(sums, rows, features, from, to)
}

func (g *Given) add1(sums, rows []float64, features, from, to int) {
	nodes := g.nodes
	for tree := from; tree < to; tree++ {
		root, depth := g.roots[tree], g.depth[tree]
		i := 0
		for ; i+side <= len(sums); i += side {
			a := rows[i*features : (i+1)*features]
			b := rows[(i+1)*features : (i+2)*features]
			c := rows[(i+2)*features : (i+3)*features]
			d := rows[(i+3)*features : (i+4)*features]
			p, q, r, s := root, root, root, root
			for range depth {
				p, q, r, s = nodes[p].next(a), nodes[q].next(b), nodes[r].next(c), nodes[s].next(d)
			}
			sums[i] += nodes[p].value
			sums[i+1] += nodes[q].value
			sums[i+2] += nodes[r].value
			sums[i+3] += nodes[s].value
		}
		for ; i < len(sums); i++ {
			row, at := rows[i*features:(i+1)*features], root
			for range depth {
				at = nodes[at].next(row)
			}
			sums[i] += nodes[at].value
		}
	}
}

// next returns the node that a row goes to. No branch hangs on it: which it is, a processor cannot guess.
func (n *givenNode) next(row []float64) int32 {
	var above uint8
	if row[n.feature] > n.split {
		above = 1
	}
	return n.sons[above&1]
}

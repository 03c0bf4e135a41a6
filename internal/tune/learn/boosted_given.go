package learn

// Given are boosted trees of which the first features are known: questions about them are answered, and what is left
// is laid out for speed. Many rows that share these features are predicted with it.
type Given struct {
	start float64
	runs  int
	nodes []givenNode // of all trees, each root before its sons, the son for values up to the split first
	roots []int32
}

// givenNode is a question, or an answer if feature is negative.
type givenNode struct {
	value   float64 // the split, or what the tree adds
	feature int32   // counted from the first that is not known
	high    int32   // the node for values above the split; the other is the next one
}

// Given answers the questions about the first features.
func (b *Boosted) Given(first []float64) *Given {
	g := &Given{start: b.Start, runs: max(1, b.Runs)}
	for _, t := range b.Trees {
		g.roots = append(g.roots, int32(len(g.nodes)))
		g.add(b.Rate, t, 0, first)
	}
	return g
}

// add lays out a node of a tree and all below.
func (g *Given) add(rate float64, t RegressionTree, at int, first []float64) {
	for t[at].Low > 0 && t[at].Feature < len(first) {
		if first[t[at].Feature] <= t[at].Split {
			at = t[at].Low
		} else {
			at = t[at].High
		}
	}
	n := &t[at]
	if n.Low == 0 {
		g.nodes = append(g.nodes, givenNode{rate * n.Value, -1, 0})
		return
	}
	own := len(g.nodes)
	g.nodes = append(g.nodes, givenNode{n.Split, int32(n.Feature - len(first)), 0})
	g.add(rate, t, n.Low, first)
	g.nodes[own].high = int32(len(g.nodes))
	g.add(rate, t, n.High, first)
}

// Predict returns what Boosted.Predict does for the known features and the rest of a row, bit for bit.
func (g *Given) Predict(rest []float64) float64 { return g.sum(g.start, g.roots, rest) }

// PredictFirst returns what the first n trees of the first run predict by themselves: it says soon what is worth asking
// all trees about.
func (g *Given) PredictFirst(rest []float64, n int) float64 {
	n = min(n, len(g.roots)/g.runs)
	return g.start + float64(g.runs)*g.sum(0, g.roots[:n], rest)
}

// sum adds what some trees say.
func (g *Given) sum(y float64, roots []int32, rest []float64) float64 {
	for _, root := range roots {
		n := &g.nodes[root]
		for at := root; n.feature >= 0; n = &g.nodes[at] {
			if at++; rest[n.feature] > n.value {
				at = n.high
			}
		}
		y += n.value
	}
	return y
}

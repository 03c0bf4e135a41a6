package explain

import (
	"cmp"
	"slices"
)

// graph is drawn in layers from top to bottom: every edge leads to a lower
// layer. An edge that passes a layer has a bend there.
type graph struct {
	nodes []*node
	edges []*edge
	// layers lists nodes and bends from left to right.
	layers        [][]*node
	width, height float64
}

type node struct {
	label, note string // two lines of text
	title       string // shown on hovering
	class       string
	bend        bool
	layer       int
	x, y, w     float64 // the middle, and the width
	pitch       float64 // how far apart edges enter, if there is room
	above       []*node // neighbours in the layers above and below
	below       []*node
}

type edge struct {
	from, to *node
	label    string
	dashed   bool
	path     []*node // from, bends, to
	// start and end are where it leaves and enters, seen from the nodes' middles.
	start, end float64
	turn       int // its place among those that enter the same node
}

const (
	nodeHeight = 36
	layerStep  = 92
	nodeGap    = 22
	bendWidth  = 8
	margin     = 24
)

func (g *graph) add(n *node) *node {
	g.nodes = append(g.nodes, n)
	return n
}

func (g *graph) link(from, to *node, label string, dashed bool) {
	g.edges = append(g.edges, &edge{from: from, to: to, label: label, dashed: dashed})
}

// layout places every node: layers by longest path, order within a layer by
// the middle of the neighbours, positions as near to the neighbours as the
// widths allow (after Sugiyama, Tagawa and Toda, 1981).
func (g *graph) layout() {
	g.assign()
	g.bends()
	g.order()
	g.place()
	g.ports()
}

// assign gives every node its layer, by the longest path. Nodes that nothing
// leads to stand just above the first node that they lead to. Edges lead from
// earlier nodes to later ones, so one pass suffices.
func (g *graph) assign() {
	in, out := g.incident()
	for _, n := range g.nodes {
		for _, e := range in[n] {
			n.layer = max(n.layer, e.from.layer+1)
		}
	}
	for _, n := range g.nodes {
		if len(in[n]) > 0 {
			continue
		}
		first := -1
		for _, e := range out[n] {
			if first < 0 || e.to.layer < first {
				first = e.to.layer
			}
		}
		n.layer = max(0, first-1)
	}
}

// incident returns the edges that enter and leave each node.
func (g *graph) incident() (in, out map[*node][]*edge) {
	in, out = map[*node][]*edge{}, map[*node][]*edge{}
	for _, e := range g.edges {
		in[e.to] = append(in[e.to], e)
		out[e.from] = append(out[e.from], e)
	}
	return in, out
}

// spanned returns the number of layers that edges pass.
func (g *graph) spanned() int {
	n := 0
	for _, e := range g.edges {
		n += max(0, e.to.layer-e.from.layer-1)
	}
	return n
}

func (g *graph) bends() {
	for _, n := range g.nodes {
		g.put(n)
	}
	for _, e := range g.edges {
		e.path = []*node{e.from}
		for layer := e.from.layer + 1; layer < e.to.layer; layer++ {
			b := &node{bend: true, layer: layer, w: bendWidth}
			g.put(b)
			e.path = append(e.path, b)
		}
		e.path = append(e.path, e.to)
		for i := range e.path[1:] {
			up, down := e.path[i], e.path[i+1]
			up.below, down.above = append(up.below, down), append(down.above, up)
		}
	}
}

func (g *graph) put(n *node) {
	for len(g.layers) <= n.layer {
		g.layers = append(g.layers, nil)
	}
	g.layers[n.layer] = append(g.layers[n.layer], n)
}

// order sorts the layers by the middle position of their neighbours, downwards
// and upwards in turn, and keeps the order with the fewest crossings.
func (g *graph) order() {
	best, fewest := g.snapshot(), g.crossings()
	for sweep := range 12 {
		if sweep%2 == 0 {
			for l := 1; l < len(g.layers); l++ {
				g.sort(l, l-1, func(n *node) []*node { return n.above })
			}
		} else {
			for l := len(g.layers) - 2; l >= 0; l-- {
				g.sort(l, l+1, func(n *node) []*node { return n.below })
			}
		}
		if c := g.crossings(); c < fewest {
			best, fewest = g.snapshot(), c
		}
	}
	g.layers = best
}

func (g *graph) snapshot() [][]*node {
	var out [][]*node
	for _, l := range g.layers {
		out = append(out, slices.Clone(l))
	}
	return out
}

func (g *graph) sort(layer, fixed int, near func(*node) []*node) {
	at := ranks(g.layers[fixed])
	key := map[*node]float64{}
	for i, n := range g.layers[layer] {
		key[n] = float64(i)
		if list := near(n); len(list) > 0 {
			sum := 0
			for _, m := range list {
				sum += at[m]
			}
			key[n] = float64(sum) / float64(len(list))
		}
	}
	slices.SortStableFunc(g.layers[layer], func(a, b *node) int {
		return cmp.Compare(key[a], key[b])
	})
}

func ranks(layer []*node) map[*node]int {
	at := map[*node]int{}
	for i, n := range layer {
		at[n] = i
	}
	return at
}

// crossings counts the pairs of edges that cross between neighbouring layers.
func (g *graph) crossings() int {
	total := 0
	for l := 0; l+1 < len(g.layers); l++ {
		at := ranks(g.layers[l+1])
		var ends []int
		for _, n := range g.layers[l] {
			var own []int
			for _, m := range n.below {
				own = append(own, at[m])
			}
			slices.Sort(own)
			for _, e := range own {
				for _, f := range ends {
					if f > e {
						total++
					}
				}
			}
			ends = append(ends, own...)
		}
	}
	return total
}

// place gives positions: each layer as near as possible to the neighbours of
// its nodes, in a few sweeps.
func (g *graph) place() {
	for l, layer := range g.layers {
		x := 0.0
		for _, n := range layer {
			x += n.w/2 + nodeGap
			n.x = x
			x += n.w / 2
			n.y = margin + nodeHeight/2 + float64(l)*layerStep
		}
	}
	for range 8 {
		for l := 1; l < len(g.layers); l++ {
			settle(g.layers[l], func(n *node) []*node { return n.above })
		}
		for l := len(g.layers) - 2; l >= 0; l-- {
			settle(g.layers[l], func(n *node) []*node { return n.below })
		}
	}
	left, right := g.layers[0][0].x, g.layers[0][0].x
	for _, layer := range g.layers {
		for _, n := range layer {
			left, right = min(left, n.x-n.w/2), max(right, n.x+n.w/2)
		}
	}
	for _, layer := range g.layers {
		for _, n := range layer {
			n.x += margin - left
		}
	}
	g.width = right - left + 2*margin
	g.height = 2*margin + nodeHeight + float64(len(g.layers)-1)*layerStep
}

// ports spreads the ends of edges over the widths of their nodes, in the order
// in which they come from the sides.
func (g *graph) ports() {
	into, from := g.incident()
	for _, n := range g.nodes {
		in, out := into[n], from[n]
		spread(in, n, n.pitch, func(e *edge) (float64, *float64) { return e.path[len(e.path)-2].x, &e.end })
		spread(out, n, 14, func(e *edge) (float64, *float64) { return e.path[1].x, &e.start })
		for i, e := range in {
			e.turn = i
		}
	}
}

func spread(edges []*edge, n *node, pitch float64, port func(*edge) (from float64, at *float64)) {
	slices.SortStableFunc(edges, func(a, b *edge) int {
		x, _ := port(a)
		y, _ := port(b)
		return cmp.Compare(x, y)
	})
	step := min(pitch, (n.w-16)/float64(max(1, len(edges)-1)))
	for i, e := range edges {
		_, at := port(e)
		*at = (float64(i) - float64(len(edges)-1)/2) * step
	}
}

// settle moves a layer's nodes, in their order and without overlap, so that
// the sum of squared distances to the middles of their neighbours is least:
// with the gaps taken off, that is isotonic regression by pooling neighbours
// that are out of order.
func settle(layer []*node, near func(*node) []*node) {
	type pool struct{ sum, n float64 }
	var pools []pool
	offset := make([]float64, len(layer))
	for i, n := range layer {
		if i > 0 {
			offset[i] = offset[i-1] + layer[i-1].w/2 + nodeGap + n.w/2
		}
		want := n.x
		if list := near(n); len(list) > 0 {
			want = 0
			for _, m := range list {
				want += m.x / float64(len(list))
			}
		}
		pools = append(pools, pool{want - offset[i], 1})
		for k := len(pools) - 1; k > 0 && pools[k-1].sum/pools[k-1].n > pools[k].sum/pools[k].n; k-- {
			pools[k-1] = pool{pools[k-1].sum + pools[k].sum, pools[k-1].n + pools[k].n}
			pools = pools[:k]
		}
	}
	i := 0
	for _, p := range pools {
		for range int(p.n) {
			layer[i].x = p.sum/p.n + offset[i]
			i++
		}
	}
}

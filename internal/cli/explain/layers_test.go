package explain

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestLayoutOfAnyGraph: edges lead down, nothing overlaps, all is inside.
func TestLayoutOfAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := &graph{}
		n := rapid.IntRange(1, 14).Draw(t, "nodes")
		for i := range n {
			g.add(&node{label: fmt.Sprint(i), w: rapid.Float64Range(20, 200).Draw(t, "width")})
		}
		for to := 1; to < n; to++ {
			for _, from := range rapid.SliceOfDistinct(rapid.IntRange(0, to-1), rapid.ID).Draw(t, "from") {
				g.link(g.nodes[from], g.nodes[to], "", false)
			}
		}
		g.layout()
		for _, e := range g.edges {
			for i := range e.path[1:] {
				if e.path[i+1].layer != e.path[i].layer+1 {
					t.Fatalf("an edge goes from layer %d to %d", e.path[i].layer, e.path[i+1].layer)
				}
			}
			if math.Abs(e.end) > e.to.w/2 || math.Abs(e.start) > e.from.w/2 {
				t.Fatalf("an edge ends beside its node")
			}
		}
		for l, layer := range g.layers {
			right := 0.0
			for _, n := range layer {
				if n.layer != l {
					t.Fatalf("node %s is in layer %d, not %d", n.label, l, n.layer)
				}
				if n.x-n.w/2 < right-1e-6 {
					t.Fatalf("node %s overlaps the one to its left", n.label)
				}
				right = n.x + n.w/2
				if right > g.width || n.y+nodeHeight/2 > g.height {
					t.Fatalf("node %s is outside", n.label)
				}
			}
		}
	})
}

// TestCrossings: the sweeps undo a crossing, and the counter sees it.
func TestCrossings(t *testing.T) {
	build := func() *graph {
		g := &graph{}
		var top, bottom []*node
		for i := range 3 {
			top = append(top, g.add(&node{label: fmt.Sprint("t", i), w: 50}))
		}
		for i := range 3 {
			bottom = append(bottom, g.add(&node{label: fmt.Sprint("b", i), w: 50}))
		}
		for i := range 3 {
			g.link(top[i], bottom[2-i], "", false)
		}
		return g
	}
	g := build()
	g.assign()
	g.bends()
	if n := g.crossings(); n != 3 {
		t.Errorf("%d crossings, not 3", n)
	}
	g = build()
	g.layout()
	if n := g.crossings(); n != 0 {
		t.Errorf("%d crossings are left", n)
	}
	if g.nodes[0].x != g.nodes[5].x {
		t.Errorf("the straight edge is not straight: %v, %v", g.nodes[0].x, g.nodes[5].x)
	}
}

// TestSettle: nodes go to the middle of their neighbours, and share the way
// where there is no room.
func TestSettle(t *testing.T) {
	above := &node{x: 100, w: 10}
	a, b := &node{w: 10, above: []*node{above}}, &node{w: 10, above: []*node{above}}
	settle([]*node{a, b}, func(n *node) []*node { return n.above })
	if got := []float64{a.x, b.x}; !slices.Equal(got, []float64{84, 116}) {
		t.Errorf("%v", got)
	}
}

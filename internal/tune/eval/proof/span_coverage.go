package proof

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// A spanRun is a run that carried out all spans of its plan.
type spanRun struct {
	bound *ir.Binding
	tiles []int64 // cells of the largest tile on each axis
}

// cover counts what the loops of a module were like in a run: the boundaries of the grids, how many of them change
// places at a time, the lengths of axes, and how many iterations were left over.
func (c *Coverage) cover(m *kernel.Module, r spanRun) {
	for _, x := range m.Spans {
		met := map[string]bool{}
		for _, g := range gridsOf(x.Iterate) {
			for _, d := range g.Dims {
				met[d.Faces.Low.Kind.String()], met[d.Faces.High.Kind.String()] = true, true
			}
		}
		for kind := range met {
			c.count("boundary", kind)
		}
		for _, o := range x.Iterate.Body {
			if rotate, ok := o.(*ir.Rotate); ok {
				c.count("grids of an exchange", fmt.Sprint(len(rotate.Grids)))
			}
		}
		n := r.bound.Eval(x.Iterate.Count, 0).I - x.After
		if x.Repeats {
			switch rounds := x.Rounds(n + x.After); rounds {
			case 1, 2, 3:
				c.count("rounds", fmt.Sprint(rounds))
			default:
				c.count("rounds", "more")
			}
		}
		switch left := n % x.Depth; {
		case left == 0:
			c.count("iterations", "multiple of the depth")
		case left == 1:
			c.count("iterations", "one more")
		case left == x.Depth-1:
			c.count("iterations", "one less")
		default:
			c.count("iterations", "others")
		}
	}
	for axis, n := range lengths(r.bound) {
		_, prime := slices.BinarySearch(primes, n)
		for word, holds := range map[string]bool{
			"1": n == 1, "prime": prime, "below a tile": n < r.tiles[axis], "several tiles": n > r.tiles[axis],
		} {
			if holds {
				c.count("length", word)
			}
		}
	}
}

// gridsOf returns the grids that a loop reads or assigns, each once.
func gridsOf(it *ir.Iterate) []*ir.Grid {
	var list []*ir.Grid
	add := func(a *ir.Array) {
		if a != nil && a.Grid != nil && !slices.Contains(list, a.Grid) {
			list = append(list, a.Grid)
		}
	}
	for _, o := range it.Body {
		run, ok := o.(*ir.Run)
		if !ok {
			continue
		}
		for _, st := range run.Call.Body {
			add(st.Array)
			ir.Walk(st.Value, func(e ir.Expr) {
				if a, ok := e.(*ir.Access); ok {
					add(a.Array)
				}
			})
		}
	}
	return list
}

package compare

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Computed returns for each grid that a program writes a box around the cells
// that it may have computed, as positions. Comparing other cells says nothing
// of the program: they hold what they were given.
func Computed(b *ir.Binding) map[*ir.Grid][]ir.Extent {
	boxes := map[*ir.Grid][]ir.Extent{}
	for _, s := range b.Program.Calls {
		for _, st := range s.Body {
			if st.Array != nil && st.Array.Grid != nil {
				boxes[st.Array.Grid] = around(boxes[st.Array.Grid], written(b, st))
			}
		}
	}
	for exchange(b.Program.Body, boxes) {
	}
	return boxes
}

// written returns the cells that a statement computes.
func written(b *ir.Binding, st *ir.Stmt) []ir.Extent {
	box := []ir.Extent{}
	for _, dim := range st.Array.Dims {
		first, cells := b.Extent(dim).Lo, b.Range(st.Domain[dim.Axis])
		box = append(box, ir.Extent{Lo: cells.Lo - first, Hi: cells.Hi - first})
	}
	return box
}

// exchange gives grids that change places one box, and reports whether that
// changed any.
func exchange(body []ir.Op, boxes map[*ir.Grid][]ir.Extent) bool {
	changed := false
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Iterate:
			changed = exchange(o.Body, boxes) || changed
		case *ir.Rotate:
			var all []ir.Extent
			for _, g := range o.Grids {
				all = around(all, boxes[g])
			}
			for _, g := range o.Grids {
				changed = changed || !slices.Equal(boxes[g], all)
				boxes[g] = all
			}
		}
	}
	return changed
}

// around returns a box that has the cells of both; nil is no box.
func around(x, y []ir.Extent) []ir.Extent {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	box := make([]ir.Extent, len(x))
	for d := range x {
		switch {
		case x[d].Len() == 0:
			box[d] = y[d]
		case y[d].Len() == 0:
			box[d] = x[d]
		default:
			box[d] = ir.Extent{Lo: min(x[d].Lo, y[d].Lo), Hi: max(x[d].Hi, y[d].Hi)}
		}
	}
	return box
}

package analysis

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Cells is where an expression is evaluated: the cells of a box, or those of
// one colour in it.
type Cells struct {
	Box   ir.Box
	Color *ir.Color
}

// on returns the cells as they look to a loop over some axes alone.
func (c Cells) on(axes []int) Cells {
	out := Cells{Box: ir.Unbounded(len(c.Box)), Color: c.Color}
	for axis := range c.Box {
		if slices.Contains(axes, axis) {
			out.Box[axis] = c.Box[axis]
		} else if c.Color != nil && mod(c.Color.Coef[axis], c.Color.Mod) != 0 {
			out.Color = nil
		}
	}
	return out
}

func (c Cells) equal(d Cells) bool {
	if c.Color == nil || d.Color == nil {
		return c.Box.Equal(d.Box) && c.Color == d.Color
	}
	return c.Box.Equal(d.Box) && c.Color.Rem == d.Color.Rem && sameWheel(c.Color, d.Color)
}

// moves reports whether evaluating the access at some cell of c may read a
// value that the statement w writes at another cell of its own. If it does not,
// the access and w may share a loop that visits the cells in any order, w
// before or after.
func moves(acc *ir.Access, c Cells, w *ir.Stmt) bool {
	return w.Array == acc.Array && !apart(acc, c.Box, w.Domain) && !stays(acc, c.Box) && !otherColor(acc, c, w.Color)
}

// apart reports whether the access, evaluated in box, never reads a cell of
// written.
func apart(acc *ir.Access, box, written ir.Box) bool {
	for d := range acc.Index {
		axis := acc.Array.Dims[d].Axis
		if axis >= 0 && disjoint(footprint(acc, d, box), written[axis]) {
			return true
		}
	}
	return false
}

// stays reports whether the access reads nothing but the cell itself wherever
// it is evaluated in box: offset zero, and no boundary that may map the index.
func stays(acc *ir.Access, box ir.Box) bool {
	for d, ix := range acc.Index {
		axis := acc.Array.Dims[d].Axis
		switch {
		case axis < 0:
			return false
		case ix.Axis < 0:
			if !single(box[axis], ix.Offset) || mapped(acc, d, box) {
				return false
			}
		case ix.Axis != axis || ix.Offset != 0 || mapped(acc, d, box):
			return false
		}
	}
	return true
}

// indices returns the range of the access's d-th index over box, before any
// boundary is applied.
func indices(acc *ir.Access, d int, box ir.Box) ir.Range {
	ix := acc.Index[d]
	if ix.Axis < 0 {
		c := []ir.Affine{ir.Num(ix.Offset)}
		return ir.Range{Lo: c, Hi: c}
	}
	return box[ix.Axis].Shift(ix.Offset)
}

// mapped reports whether a boundary may map the access's d-th index to another
// cell, somewhere in box. A constant beyond a face reads no cell.
func mapped(acc *ir.Access, d int, box ir.Box) bool {
	r, holds, faces := indices(acc, d, box), acc.Array.Holds(d), acc.Array.Dims[d].Faces
	return mapsIndex(faces.Low.Kind) && !aboveAll(r, holds.Lo) || mapsIndex(faces.High.Kind) && !belowAll(r, holds.Hi)
}

func mapsIndex(k ir.BoundaryKind) bool { return k != ir.None && k != ir.Constant }

// footprint returns a range that holds every index that the access reads in
// dimension d when it is evaluated in box.
func footprint(acc *ir.Access, d int, box ir.Box) ir.Range {
	holds := acc.Array.Holds(d)
	if mapped(acc, d, box) {
		return holds
	}
	r := indices(acc, d, box)
	out := ir.Box{r}.Clone()[0]
	out.Clip(holds)
	return out
}

// otherColor reports whether the access, evaluated at cells c, reads either the
// cell itself or a cell that is not of colour w.
func otherColor(acc *ir.Access, c Cells, w *ir.Color) bool {
	if c.Color == nil || w == nil || !sameWheel(c.Color, w) {
		return false
	}
	sums := []shift{{0, false}} // colour shifts of all displacements so far
	for d := range acc.Index {
		steps, ok := displacements(acc, d, c.Box, w.Mod)
		if !ok {
			return false
		}
		coef := w.Coef[acc.Array.Dims[d].Axis]
		var next []shift
		for _, s := range sums {
			for _, x := range steps {
				next = appendShift(next, shift{mod(s.color+coef*x, w.Mod), s.moved || x != 0})
			}
		}
		sums = next
	}
	for _, s := range sums {
		if s.moved && mod(c.Color.Rem+s.color-w.Rem, w.Mod) == 0 {
			return false
		}
	}
	return true
}

// shift is what a displacement does: by how much it turns the colour, and
// whether it leaves the cell.
type shift struct {
	color int64
	moved bool
}

func appendShift(list []shift, s shift) []shift {
	for _, t := range list {
		if t == s {
			return list
		}
	}
	return append(list, s)
}

// sameWheel reports whether two colours are classes of one colouring.
func sameWheel(a, b *ir.Color) bool {
	if a.Mod != b.Mod {
		return false
	}
	for i := range a.Coef {
		if mod(a.Coef[i]-b.Coef[i], a.Mod) != 0 {
			return false
		}
	}
	return true
}

// displacements returns every distance, on the axis of dimension d, between a
// cell of box and the cell that the access reads there, or distances equal to
// them modulo m, zero standing only for zero. It fails where that depends on
// the sizes.
func displacements(acc *ir.Access, d int, box ir.Box, m int64) ([]int64, bool) {
	ix, dim := acc.Index[d], acc.Array.Dims[d]
	if ix.Axis < 0 || ix.Axis != dim.Axis {
		return nil, false
	}
	out := []int64{ix.Offset}
	if !mapped(acc, d, box) {
		return out, true
	}
	r := indices(acc, d, box)
	// Evaluated beyond the array by more than the offset, the distances have no
	// limit that is known here.
	holds := acc.Array.Holds(d)
	if !aboveAll(box[dim.Axis], holds.Lo) || !belowAll(box[dim.Axis], holds.Hi) {
		return nil, false
	}
	reach := max(ix.Offset, -ix.Offset)
	for _, side := range []struct {
		crossed bool
		kind    ir.BoundaryKind
	}{
		{!aboveAll(r, holds.Lo), dim.Faces.Low.Kind},
		{!belowAll(r, holds.Hi), dim.Faces.High.Kind},
	} {
		if !side.crossed || !mapsIndex(side.kind) {
			continue
		}
		if side.kind == ir.Periodic {
			more, ok := wraps(holds, ix.Offset, m)
			if !ok {
				return nil, false
			}
			out = append(out, more...)
			continue
		}
		// The other maps fold the index back near the face that it crossed, so
		// that a dimension of twice the reach shows all that a longer one does.
		for n := int64(1); n <= 2*reach+2; n++ {
			for x := int64(0); x < n; x++ {
				if at := x + ix.Offset; at < 0 || at >= n {
					to, _ := ir.MapIndex(side.kind, at, 0, n-1)
					out = append(out, to-x)
				}
			}
		}
	}
	return out, true
}

// wraps returns the displacements of a periodic read at an offset, modulo m: a
// lap against the offset's direction, if the extent's residue is the same for
// all sizes and no offset can make more than a lap.
func wraps(holds ir.Range, offset, m int64) ([]int64, bool) {
	if len(holds.Lo) != 1 || len(holds.Hi) != 1 {
		return nil, false
	}
	n := holds.Hi[0].Minus(holds.Lo[0]).Add(1)
	small, ok := least(n)
	if !ok || small < max(offset, -offset) {
		return nil, false
	}
	for _, t := range n.Terms {
		if t.Coef%m != 0 {
			return nil, false
		}
	}
	lap := mod(offset-n.Const, m)
	if offset < 0 {
		lap = mod(offset+n.Const, m)
	}
	// Zero would stand for staying. A lap as long as the offset does stay, but
	// a longer one of the same residue does not.
	if lap == 0 {
		lap = m
	}
	return []int64{lap}, true
}

func mod(x, m int64) int64 { return (x%m + m) % m }

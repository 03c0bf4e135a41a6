package pipeline

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// reach returns how far from a cell of a stage an access of what another stage computes may
// lead on a dimension, boundaries included: the lowest and the highest offset.
func (p *Pipeline) reach(st *Stage, a *ir.Access, d int) (low, high int64, err error) {
	ix, faces, holds := a.Index[d], a.Array.Dims[d].Faces, a.Array.Holds(d)
	k := slices.Index(p.Axes, ix.Axis)
	low, high = ix.Offset, ix.Offset
	if faces.Periodic() {
		dim := a.Array.Dims[d]
		switch {
		case faces.Low.Kind != faces.High.Kind:
			err = p.refuse(st, "%s is periodic at one end of %s alone", a.Array.Name, p.axis(k))
		case !holds.Equal(ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}}):
			err = p.refuse(st, "%s is periodic on %s, and is not assigned over all of it", a.Array.Name, p.axis(k))
		}
		return low, high, err
	}
	far, ok := led(st.Stmt.Domain[ix.Axis], a, d)
	if !ok {
		return 0, 0, p.refuse(st, "%s is read far beyond its ends along %s", a.Array.Name, p.axis(k))
	}
	return min(low, -far.Low), max(high, far.High), nil
}

// led returns how far boundaries lead from the cells of a domain along a dimension of what
// they read: low and high cells from the cell itself. It is false where that depends on sizes.
func led(domain ir.Range, a *ir.Access, d int) (far Halo, ok bool) {
	o, holds, faces := a.Index[d].Offset, a.Array.Holds(d), a.Array.Dims[d].Faces
	side := func(kind ir.BoundaryKind, offset int64, array, cells []ir.Affine, by func(end, cell ir.Affine) ir.Affine,
	) int64 {
		if kind == ir.None || kind == ir.Periodic || kind == ir.Constant {
			return 0 // what wraps is on the chip beyond the end, too; for a constant nothing is read
		}
		excess, bounded := beyond(array, cells, by)
		ok = ok && bounded
		cellsBeyond := excess + offset // of the end
		switch {
		case cellsBeyond <= 0:
			return 0
		case kind == ir.Clamp:
			return excess
		}
		return 2*cellsBeyond - offset // as far inside as it was outside
	}
	ok = true
	below := func(end, cell ir.Affine) ir.Affine { return end.Minus(cell) }
	above := func(end, cell ir.Affine) ir.Affine { return cell.Minus(end) }
	far.High = side(faces.Low.Kind, -o, holds.Lo, domain.Lo, below)
	far.Low = side(faces.High.Kind, o, holds.Hi, domain.Hi, above)
	return far, ok
}

// beyond returns how many cells a domain goes beyond an end of an array at most; less than 0
// where it keeps away from it. It is false if that depends on sizes.
func beyond(array, cells []ir.Affine, by func(array, cell ir.Affine) ir.Affine) (most int64, ok bool) {
	for i, end := range array {
		least, known := int64(0), false
		for _, c := range cells {
			more := by(end, c)
			n := more.Const
			if !more.IsConst() {
				if !more.Times(-1).NeverNegative() {
					continue
				}
				n = 0
			}
			if !known || n < least {
				least, known = n, true
			}
		}
		if !known {
			return 0, false
		}
		if i == 0 || least > most {
			most = least
		}
	}
	return most, true
}

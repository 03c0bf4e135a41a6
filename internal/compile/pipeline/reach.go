package pipeline

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// reach returns how far from a cell of a stage an access of what another stage computes may
// lead on a dimension, boundaries included. A boundary other than constant leads back into
// the array: from a cell of it no farther than the offset, and from one beyond its ends as
// far as the sizes say, which no halo covers.
func (p *Pipeline) reach(st *Stage, a *ir.Access, d int) (low, high int64, err error) {
	ix, faces, holds := a.Index[d], a.Array.Dims[d].Faces, a.Array.Holds(d)
	k := slices.Index(p.Axes, ix.Axis)
	low, high = ix.Offset, ix.Offset
	if faces.Low.Kind == ir.Periodic || faces.High.Kind == ir.Periodic {
		dim := a.Array.Dims[d]
		switch {
		case faces.Low.Kind != faces.High.Kind:
			err = p.refuse(st, "%s is periodic at one end of %s alone", a.Array.Name, p.axis(k))
		case !holds.Equal(ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}}):
			err = p.refuse(st, "%s is periodic on %s, and is not assigned over all of it", a.Array.Name, p.axis(k))
		}
		return low, high, err
	}
	at := st.Stmt.Domain[ix.Axis]
	for _, side := range []struct {
		kind        ir.BoundaryKind
		cells, ends []ir.Affine
		out         int64 // the direction that leads out
	}{{faces.Low.Kind, at.Lo, holds.Lo, -1}, {faces.High.Kind, at.Hi, holds.Hi, 1}} {
		switch {
		case side.kind == ir.None, side.kind == ir.Constant, inside(side.cells, side.ends, ix.Offset, side.out):
			continue
		case !inside(side.cells, side.ends, 0, side.out):
			return 0, 0, p.refuse(st, "%s ends elsewhere on %s, and a boundary leads back into it", a.Array.Name,
				p.axis(k))
		case side.kind == ir.Clamp:
			low, high = min(low, 0), max(high, 0)
		default: // it turns back
			by := max(ix.Offset, -ix.Offset)
			low, high = min(low, -by), max(high, by)
		}
	}
	return low, high, nil
}

// inside reports whether cells, moved by an offset, lie on the inner side of all ends for
// all sizes. Out is -1 for low ends and 1 for high ones.
func inside(cells, ends []ir.Affine, offset, out int64) bool {
	for _, end := range ends {
		if !slices.ContainsFunc(cells, func(c ir.Affine) bool {
			return end.Minus(c.Add(offset)).Times(out).NeverNegative()
		}) {
			return false
		}
	}
	return true
}

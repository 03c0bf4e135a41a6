package lang

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// inPlace looks at a statement that reads the array it writes. Where the order
// of the cells would matter it is an error, or the statement reads a copy of
// the old values.
func (s *callBuilder) inPlace(st *ir.Stmt) {
	old := false
	ir.Walk(st.Value, func(e ir.Expr) {
		acc, ok := e.(*ir.Access)
		if !ok || acc.Array != st.Array {
			return
		}
		switch s.clash(st, acc) {
		case maybe:
			old = true
		case certain:
			s.refuse(st, acc)
			old = true
		}
	})
	if old && (s.c.opts.Ancestor || !s.c.diags.HasErrors()) {
		s.readOld(st)
	}
}

// refuse reports a read whose value depends on the order of the cells.
func (s *callBuilder) refuse(st *ir.Stmt, acc *ir.Access) {
	name := st.Array.Name
	what := "reads other cells of %q, which it also writes"
	if st.Color != nil {
		what = "reads other cells of the same colour of %q, which it also writes"
	}
	d := s.c.lenient(inPlaceRead, s.reads[acc], name+" in "+s.call.Stencil, "this statement "+what, name)
	if d == nil {
		return
	}
	switch {
	case st.Array.Local:
		d.Hintf("write to a second local grid")
	default:
		d.Hintf("write to a second grid and exchange the two after the call: swap (next, %s);", st.Array.Grid.Name)
	}
	noteCall(d, s.step)
}

// clash says whether a read may meet a cell that its statement writes.
type clash uint8

const (
	never clash = iota
	maybe       // through a boundary's index map, at some sizes
	certain
)

// clash compares a read with what its statement writes.
func (s *callBuilder) clash(st *ir.Stmt, acc *ir.Access) clash {
	if sameCell(st, acc) || apart(st, acc) {
		return never
	}
	if st.Color == nil {
		return certain
	}
	return colorClash(st, acc)
}

// sameCell reports whether the read is of the cell that is written.
func sameCell(st *ir.Stmt, acc *ir.Access) bool {
	for d, ix := range acc.Index {
		axis := acc.Array.Dims[d].Axis
		switch {
		case ix.Axis < 0:
			plane := ir.Range{Lo: []ir.Affine{ir.Num(ix.Offset)}, Hi: []ir.Affine{ir.Num(ix.Offset)}}
			if !noneBelow(st.Domain[axis], plane) || !noneAbove(st.Domain[axis], plane) {
				return false
			}
		case ix.Offset != 0:
			return false
		}
	}
	return true
}

// apart reports whether the read never meets a written cell: on one axis the
// two ranges have no position in common and no index map brings them together.
func apart(st *ir.Stmt, acc *ir.Access) bool {
	for d, ix := range acc.Index {
		axis := acc.Array.Dims[d].Axis
		written := st.Domain[axis]
		at := ir.Num(ix.Offset)
		read := ir.Range{Lo: []ir.Affine{at}, Hi: []ir.Affine{at}}
		if ix.Axis >= 0 {
			read = written.Shift(ix.Offset)
		}
		if read.Disjoint(written) && unmapped(acc.Array, d, read) {
			return true
		}
	}
	return false
}

// unmapped reports whether no index of the range is beyond a face that has an
// index map.
func unmapped(a *ir.Array, d int, r ir.Range) bool {
	holds := a.Holds(d)
	faces := a.Dims[d].Faces
	return (!maps(faces.Low) || noneBelow(r, holds)) && (!maps(faces.High) || noneAbove(r, holds))
}

// maps reports whether reads beyond a face are reads of other cells.
func maps(b ir.Boundary) bool { return b.Kind != ir.None && b.Kind != ir.Constant }

func noneBelow(r, holds ir.Range) bool {
	for _, h := range holds.Lo {
		if !some(r.Lo, func(lo ir.Affine) bool { d, ok := lo.Diff(h); return ok && d >= 0 }) {
			return false
		}
	}
	return true
}

func noneAbove(r, holds ir.Range) bool {
	for _, h := range holds.Hi {
		if !some(r.Hi, func(hi ir.Affine) bool { d, ok := hi.Diff(h); return ok && d <= 0 }) {
			return false
		}
	}
	return true
}

func some(list []ir.Affine, f func(ir.Affine) bool) bool {
	for _, a := range list {
		if f(a) {
			return true
		}
	}
	return false
}

// A shift is how far a read is from the written cell on one axis.
type shift struct {
	by     int64
	mapped bool // through a boundary
	far    bool // by an amount that depends on the sizes
}

// maxShifts bounds the combinations of shifts that are looked at one by one.
const maxShifts = 4096

// colorClash looks at a read of a coloured statement's own array. Reads of
// other colours are safe, and so is the cell itself, by whatever way.
func colorClash(st *ir.Stmt, acc *ir.Access) clash {
	combos := [][]shift{nil}
	for d, ix := range acc.Index {
		if ix.Axis < 0 {
			return maybe
		}
		options := shifts(acc.Array, d, ix.Offset, st.Domain[ix.Axis])
		if len(combos)*len(options) > maxShifts {
			return maybe
		}
		var next [][]shift
		for _, c := range combos {
			for _, o := range options {
				next = append(next, append(c[:len(c):len(c)], o))
			}
		}
		combos = next
	}
	worst := never
	for _, c := range combos {
		worst = max(worst, shiftClash(st, acc, c))
	}
	return worst
}

func shiftClash(st *ir.Stmt, acc *ir.Access, c []shift) clash {
	same, mapped := true, false
	sum := int64(0)
	for d, s := range c {
		if s.far {
			return maybe
		}
		same = same && s.by == 0
		mapped = mapped || s.mapped
		sum += st.Color.Coef[acc.Array.Dims[d].Axis] % st.Color.Mod * s.by
	}
	switch {
	case same || sum%st.Color.Mod != 0:
		return never
	case mapped:
		return maybe
	}
	return certain
}

// shifts returns how far from the written cell a read at that offset may end.
func shifts(a *ir.Array, d int, offset int64, written ir.Range) []shift {
	out := []shift{{by: offset}}
	face, sign := a.Dims[d].Faces.High, int64(1)
	inside := noneAbove(written.Shift(offset), a.Holds(d))
	if offset < 0 {
		face, sign = a.Dims[d].Faces.Low, -1
		inside = noneBelow(written.Shift(offset), a.Holds(d))
	}
	if offset == 0 || inside || !maps(face) {
		return out
	}
	reach := offset * sign
	if reach > maxShifts {
		return append(out, shift{far: true})
	}
	switch face.Kind {
	case ir.Clamp:
		for n := int64(0); n < reach; n++ {
			out = append(out, shift{by: n * sign, mapped: true})
		}
		return out
	case ir.Mirror, ir.AntiMirror:
		if reach == 1 {
			return append(out, shift{by: 0, mapped: true})
		}
	case ir.Reflect, ir.AntiReflect:
		if reach == 1 {
			return append(out, shift{by: 0, mapped: true}, shift{by: -sign, mapped: true})
		}
	case ir.Periodic:
		holds := a.Holds(d)
		if len(holds.Lo) == 1 && len(holds.Hi) == 1 {
			if n, ok := holds.Hi[0].Diff(holds.Lo[0]); ok && reach <= n+1 {
				return append(out, shift{by: offset - sign*(n+1), mapped: true})
			}
		}
	}
	return append(out, shift{far: true})
}

// readOld makes a statement read a copy of its array, which a statement before
// it takes.
func (s *callBuilder) readOld(st *ir.Stmt) {
	arr := st.Array
	old, ok := s.olds[arr]
	box := arr.ExtentBox(s.c.rank())
	if arr.Local {
		box = arr.Box
	}
	if !ok {
		old = &ir.Array{Name: s.unique(arr.Name + ".old"), Type: arr.Type, Local: true, Read: true, Written: true}
		old.Dims = append(old.Dims, arr.Dims...)
		s.olds[arr] = old
		s.locals = append(s.locals, old)
		s.fixed[old] = true
	}
	old.Box = box
	arr.Read = true
	s.call.Body = append(s.call.Body, &ir.Stmt{
		Array: old, Value: sameCellOf(arr), Domain: box, Axes: st.Axes, Range: st.Range,
	})
	st.Value = ir.Rewrite(st.Value, func(e ir.Expr) ir.Expr {
		if acc, ok := e.(*ir.Access); ok && acc.Array == arr && !sameCell(st, acc) {
			return &ir.Access{Array: old, Index: acc.Index}
		}
		return e
	})
}

// sameCellOf returns the read of an array at the cell itself.
func sameCellOf(a *ir.Array) *ir.Access {
	acc := &ir.Access{Array: a}
	for _, dim := range a.Dims {
		acc.Index = append(acc.Index, ir.Index{Axis: dim.Axis})
	}
	return acc
}

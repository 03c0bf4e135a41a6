package lang

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// assign lowers an assignment.
func (s *callBuilder) assign(a *Assignment) {
	value := a.Value
	if a.Op != Assign {
		value = &BinaryExpr{span: a.span, Op: plainOp[a.Op], X: a.Target, Y: a.Value}
	}
	switch target := a.Target.(type) {
	case *Ident:
		s.assignName(a, target, value)
	case *IndexExpr:
		s.assignCells(a, target, value)
	}
}

var plainOp = map[Kind]Kind{AddAssign: Plus, SubAssign: Minus, MulAssign: Star, DivAssign: Slash, AndAssign: Amp,
	OrAssign: Bar}

// notEmpty reports a domain that holds no cells at any size.
func (s *callBuilder) notEmpty(box ir.Box, at diag.Range) bool {
	a := emptyAxis(box)
	if a < 0 {
		return true
	}
	lo, hi := box[a].Lo[0], box[a].Hi[0]
	for _, l := range box[a].Lo {
		for _, h := range box[a].Hi {
			if d, ok := h.Diff(l); ok && d < 0 {
				lo, hi = l, h
			}
		}
	}
	noteCall(s.c.lack(at, "no cell is left for this statement: %s would run from %s to %s", s.c.prog.Axes[a],
		lo.Text(s.c.prog.Params), hi.Text(s.c.prog.Params)), s.step)
	return false
}

// assignCells lowers an assignment to the cells of a grid.
func (s *callBuilder) assignCells(a *Assignment, target *IndexExpr, value Expr) {
	diags := &s.c.diags
	name := target.Name.Name
	valueType := s.env.typeOf(value)
	sym := s.env.lookup(name)
	arr := s.arrayNamed(name)
	switch {
	case sym == nil:
		s.c.undefined(target.Name, s.env.candidates())
		return
	case arr == nil:
		if table, ok := sym.(*tableSym); ok {
			diags.Errorf(target.Span(), "%q is a table and cannot be assigned", table.name)
		} else {
			diags.Errorf(target.Span(), "%q is %s and takes no index", name, sym.kind())
		}
		return
	case isBroken(sym):
		return
	case arr.Grid != nil && arr.Grid.Constant && s.env.level != atInitial:
		diags.Errorf(target.Span(), "%q is declared constant and cannot be written", name).
			Hintf("only an initial block may give it values")
		return
	case len(target.Indices) != len(arr.Dims):
		diags.Errorf(target.Span(), "%q has %d dimension%s, and this gives %d", name, len(arr.Dims),
			plural(len(arr.Dims)), len(target.Indices))
		return
	}
	user, ok := s.userBox(a.Domain, arr)
	plane, okTarget := s.target(arr, target)
	colors, okColor := s.colors(a.Color, arr)
	if !ok || !okTarget || !okColor || valueType == types.Invalid {
		return
	}
	s.intoGrid = true
	v, ok := s.env.lowerTo(value, arr.Type, floatOr(arr.Type, types.F64))
	if !ok {
		return
	}
	user.Clip(plane)
	if arr.Local && arr.Box != nil && a.Color != nil {
		user.Clip(arr.Box)
	}
	axes := axesOf(arr)
	for _, axis := range ir.AxesOf(s.c.rank(), v, s.varies) {
		if !slices.Contains(axes, axis) {
			diags.Errorf(a.Value.Span(), "this value varies along %s, and %q has no dimension there",
				s.c.prog.Axes[axis], name)
			return
		}
	}
	box := ir.InferDomain(s.c.rank(), arr, false, v, user)
	for axis := range box {
		if !slices.Contains(axes, axis) {
			box[axis] = ir.Range{}
		}
	}
	if !s.notEmpty(box, a.Span()) {
		return
	}
	if arr.Local && !s.grow(arr, a, box) {
		return
	}
	arr.Written = true
	for _, color := range colors {
		st := &ir.Stmt{Array: arr, Value: v, Domain: box, Axes: axes, Color: color, Range: a.Span()}
		s.inPlace(st)
		s.call.Body = append(s.call.Body, st)
	}
}

// isBroken reports whether a grid's declaration was reported.
func isBroken(s symbol) bool {
	switch s := s.(type) {
	case *gridSym:
		return s.broken
	case *arraySym:
		return s.broken
	}
	return false
}

func axesOf(a *ir.Array) []int {
	var axes []int
	for _, dim := range a.Dims {
		axes = append(axes, dim.Axis)
	}
	return axes
}

// userBox returns the statement's domain within the call's. What a call's
// domain leaves out is not touched; local grids are not seen outside, and are
// computed wherever they are needed.
func (s *callBuilder) userBox(d *Domain, arr *ir.Array) (ir.Box, bool) {
	box := ir.Unbounded(s.c.rank())
	if s.box != nil && (arr == nil || !arr.Local) {
		box.Clip(s.box)
	}
	if d == nil {
		return box, true
	}
	user := s.env.box(d)
	if user == nil {
		return nil, false
	}
	box.Clip(user)
	return box, true
}

// target checks the indices of a target, and returns the planes that constant
// ones stand for.
func (s *callBuilder) target(arr *ir.Array, x *IndexExpr) (ir.Box, bool) {
	plane := ir.Unbounded(s.c.rank())
	ok := true
	for d, ix := range x.Indices {
		index, good := s.index(s.env, arr, d, ix)
		if !good {
			ok = false
			continue
		}
		switch {
		case index.Axis < 0:
			at := []ir.Affine{ir.Num(index.Offset)}
			plane[arr.Dims[d].Axis].Clip(ir.Range{Lo: at, Hi: at})
		case index.Offset != 0:
			s.c.diags.Errorf(ix.Span(), "a cell that is assigned has no offset").
				Hintf("write %s here and move the offsets to the reads, or give the statement a domain",
					s.c.prog.Axes[index.Axis])
			ok = false
		}
	}
	return plane, ok
}

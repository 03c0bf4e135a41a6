package lang

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// access lowers the read of one cell.
func (s *callBuilder) access(e *env, x *IndexExpr) (ir.Expr, bool) {
	name := x.Name.Name
	a := s.arrayNamed(name)
	if a == nil {
		return nil, false
	}
	if a.Local && a.Box == nil {
		s.c.lack(x.Span(), "%q is read before it has values", name)
		return nil, false
	}
	acc := &ir.Access{Array: a, Index: make([]ir.Index, len(x.Indices))}
	ok := true
	for d, ix := range x.Indices {
		var good bool
		acc.Index[d], good = s.index(e, a, d, ix)
		ok = ok && good
	}
	if !ok {
		return nil, false
	}
	a.Read = true
	s.reads[acc] = x.Span()
	if a.Local && a.HasBoundary() && s.readBox[a] == nil {
		s.readBox[a] = a.Box
	}
	return acc, true
}

// index lowers one index of an access.
func (s *callBuilder) index(e *env, a *ir.Array, d int, x Expr) (ir.Index, bool) {
	diags := &s.c.diags
	e.inIndex = true
	l, problem, place := e.linearOf(x)
	e.inIndex = false
	if problem == "is in error" {
		return ir.Index{}, false
	}
	axis := -1
	for i, k := range l.coef {
		if k != 0 && (k != 1 || axis >= 0) {
			problem, place = "is no iterator plus a constant", x.Span()
		}
		if k != 0 {
			axis = i
		}
	}
	if problem != "" {
		r := diags.Errorf(place, "an index is an iterator plus a constant number, or a constant number")
		switch {
		case readsCells(x):
			r.Hintf(
				"an offset is not read from a grid; offsets that are known beforehand may stand in a table: int " +
					"at[3] = {-1, 0, 1};")
		case namesParam(s.c, x):
			r.Hintf("to work at the far end of a grid, give the statement a domain: [N-1:N-1, ...] :")
		}
		return ir.Index{}, false
	}
	dim := a.Dims[d]
	if axis >= 0 && s.fixed[a] && axis != dim.Axis {
		diags.Errorf(x.Span(), "dimension %d of %q runs along %s, so %s cannot index it", d+1, a.Name,
			s.c.prog.Axes[dim.Axis], s.c.prog.Axes[axis]).
			Hintf("a grid that is written or has a boundary has one iterator for each dimension")
		return ir.Index{}, false
	}
	if axis < 0 {
		at := ir.Num(l.c)
		if below, ok := at.Diff(dim.Lo); ok && below < 0 && dim.Faces.Low.Kind == ir.None {
			diags.Errorf(x.Span(), "index %d is outside %q", l.c, a.Name)
			return ir.Index{}, false
		}
		if above, ok := at.Diff(dim.Hi); ok && above > 0 && dim.Faces.High.Kind == ir.None {
			diags.Errorf(x.Span(), "index %d is outside %q", l.c, a.Name)
			return ir.Index{}, false
		}
	}
	return ir.Index{Axis: axis, Offset: l.c}, true
}

// readsCells reports whether an index contains another.
func readsCells(x Expr) bool {
	switch x := x.(type) {
	case *IndexExpr:
		return true
	case *ParenExpr:
		return readsCells(x.X)
	case *UnaryExpr:
		return readsCells(x.X)
	case *BinaryExpr:
		return readsCells(x.X) || readsCells(x.Y)
	case *CallExpr:
		return slices.ContainsFunc(x.Args, readsCells)
	}
	return false
}

func namesParam(c *checker, x Expr) bool {
	found := false
	WalkNames(x, func(id *Ident) {
		_, ok := c.globals[id.Name].(*paramSym)
		found = found || ok
	})
	return found
}

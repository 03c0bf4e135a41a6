package lang

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

func (s *callBuilder) assignName(a *Assignment, target *Ident, value Expr) {
	diags := &s.c.diags
	switch sym := s.env.lookup(target.Name).(type) {
	case nil:
		s.c.undefined(target, s.env.candidates())
		s.env.typeOf(a.Value)
	case *tempSym:
		if a.Color != nil {
			diags.Errorf(a.Color.Span(), "a colour picks cells of a grid, and %q is a scalar local", target.Name)
			return
		}
		// A new value does not hide the type of the old one.
		if t := s.temp(sym, value, a.Domain, a.Span()); t != nil {
			sym.now = t
		} else if sym.now == nil {
			sym.now = &ir.Temp{Name: sym.name, Type: sym.typ, Box: ir.Unbounded(s.c.rank())}
		}
	case *gridSym, *arraySym:
		diags.Errorf(target.Span(), "%q is a grid and needs an index", target.Name)
		s.env.typeOf(a.Value)
	case *scalarSym, *argSym:
		diags.Errorf(target.Span(), "%q is the same at all cells and cannot be assigned here", target.Name).
			Hintf("declare a scalar inside the stencil for a value at each cell, or use reduce")
		s.env.typeOf(a.Value)
	default:
		diags.Errorf(target.Span(), "%q is %s and cannot be assigned", target.Name, sym.kind())
		s.env.typeOf(a.Value)
	}
}

// temp makes the next value of a scalar local; nil after a report.
func (s *callBuilder) temp(sym *tempSym, value Expr, domain *Domain, at diag.Range) *ir.Temp {
	var user ir.Box
	if domain != nil {
		if user = s.env.box(domain); user == nil {
			return nil
		}
	}
	if s.env.typeOf(value) == types.Invalid {
		return nil
	}
	s.intoGrid = false
	v, ok := s.env.lowerTo(value, sym.typ, floatOr(sym.typ, types.F64))
	if !ok {
		return nil
	}
	box := ir.InferDomain(s.c.rank(), nil, false, v, user)
	if !s.notEmpty(box, at) {
		return nil
	}
	t := &ir.Temp{Name: s.unique(sym.name), Type: sym.typ, Box: box}
	s.values[t] = v
	s.vary[t] = ir.AxesOf(s.c.rank(), v, s.varies)
	s.call.Temps = append(s.call.Temps, t)
	s.call.Body = append(s.call.Body, &ir.Stmt{Temp: t, Value: v, Domain: box, Range: at})
	return t
}

func (s *callBuilder) varies(t *ir.Temp) []int { return s.vary[t] }

// grow adds a plain assignment's box to a local grid's own.
func (s *callBuilder) grow(arr *ir.Array, a *Assignment, box ir.Box) bool {
	if a.Op != Assign {
		return true
	}
	union, ok := box, true
	if arr.Box != nil {
		union, ok = arr.Box.Unite(box)
	}
	if !ok {
		s.c.diags.Errorf(a.Span(), "the cells of %q that are assigned here and before do not make one box", arr.Name).
			Hintf("assign all of %q first, and parts of it after that", arr.Name)
		return false
	}
	// The union may rest on both parts holding cells; that it lies within the
	// extents must be seen without.
	union.Clip(arr.ExtentBox(s.c.rank()))
	if at := s.readBox[arr]; at != nil && !at.Equal(union) {
		s.c.diags.Errorf(a.Span(), "%q was read through its boundary before this assignment makes it larger", arr.Name)
		return false
	}
	arr.Box = union
	return true
}

// clipToBoxes bounds the statements that assign local grids by the grids' own
// boxes, in which they lie at every size at which all of them hold cells.
func (s *callBuilder) clipToBoxes() {
	for _, st := range s.call.Body {
		if st.Array != nil && st.Array.Local {
			st.Domain = st.Domain.Clone()
			st.Domain.Clip(st.Array.Box)
		}
	}
}

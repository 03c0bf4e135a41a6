package graph

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// effects are the grids and reduced scalars that a call or a rotation reads and writes. A rotation writes its grids.
// What a call assigns it may leave as it was in some cells: so a write is a read, too, where order matters.
type effects struct {
	reads, writes []resource
}

// resource is a grid, or a scalar that a call reduces into.
type resource struct {
	grid   *ir.Grid
	scalar *ir.Scalar
}

func (r resource) name() string {
	if r.grid != nil {
		return r.grid.Name
	}
	return r.scalar.Name
}

func effectsOf(o ir.Op) *effects {
	e := &effects{}
	switch o := o.(type) {
	case *ir.Run:
		for _, a := range o.Call.Arrays {
			for _, d := range a.Dims {
				e.values(d.Faces.Low.Value)
				e.values(d.Faces.High.Value)
			}
		}
		for _, st := range o.Call.Body {
			e.values(st.Value)
			switch {
			case st.Reduce != nil:
				e.write(resource{scalar: st.Reduce.Scalar})
			case st.Array != nil && st.Array.Grid != nil:
				e.write(resource{grid: st.Array.Grid})
			}
		}
	case *ir.Rotate:
		for _, g := range o.Grids {
			e.write(resource{grid: g})
		}
	}
	return e
}

// values notes what an expression reads, which may be nil.
func (e *effects) values(x ir.Expr) {
	if x == nil {
		return
	}
	ir.Walk(x, func(x ir.Expr) {
		switch x := x.(type) {
		case *ir.Access:
			if x.Array.Grid != nil {
				e.read(resource{grid: x.Array.Grid})
			}
		case ir.ScalarRef:
			if x.Scalar.Reduced {
				e.read(resource{scalar: x.Scalar})
			}
		}
	})
}

func (e *effects) read(r resource) {
	if !slices.Contains(e.reads, r) {
		e.reads = append(e.reads, r)
	}
}

func (e *effects) write(r resource) {
	if !slices.Contains(e.writes, r) {
		e.writes = append(e.writes, r)
	}
}

// has reports whether a grid is read or written.
func (e *effects) has(g *ir.Grid) bool {
	return slices.Contains(e.reads, resource{grid: g}) || slices.Contains(e.writes, resource{grid: g})
}

// conflict returns what forbids that two calls or rotations change places: something that one writes and the other
// reads or writes.
func (e *effects) conflict(later *effects) (resource, bool) {
	for _, r := range e.writes {
		if slices.Contains(later.reads, r) || slices.Contains(later.writes, r) {
			return r, true
		}
	}
	for _, r := range e.reads {
		if slices.Contains(later.writes, r) {
			return r, true
		}
	}
	return resource{}, false
}

package lang

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// boundaries attaches the conditions of the file to the faces of its grids.
func (c *checker) boundaries(f *File) {
	b := &boundaryRules{c: c, env: c.global, set: make(map[*ir.Boundary]diag.Range)}
	for _, d := range itemsOf[*BoundaryDecl](f) {
		for _, id := range d.Grids {
			switch s := c.globals[id.Name].(type) {
			case nil:
				c.undefined(id, c.globalNames(isGrid))
			case *gridSym:
				if s.broken {
					continue
				}
				b.apply(id, s.grid.Type, s.grid.Dims, d.Rules)
			default:
				c.diags.Errorf(id.Span(), "boundary names grids, and %q is %s", id.Name, s.kind())
			}
		}
	}
}

// boundaryRules applies declarations and remembers which faces they have set.
type boundaryRules struct {
	c   *checker
	env *env // in which constant values are read
	set map[*ir.Boundary]diag.Range
}

func (b *boundaryRules) apply(grid *Ident, t types.Type, dims []ir.Dim, rules []*BoundaryRule) {
	for _, r := range rules {
		bound, ok := b.rule(r, grid, t)
		if !ok {
			continue
		}
		low, high := true, true
		if r.Side != nil {
			low, high = r.Side.Name == "low", r.Side.Name == "high"
			if !low && !high {
				nearWord(b.c.diags.Errorf(r.Side.Span(), "a face is low or high, not %q", r.Side.Name), r.Side.Name,
					"low", "high")
				continue
			}
		}
		axis := -1
		if r.Axis != nil {
			if axis = b.axis(r, grid, dims); axis < 0 {
				continue
			}
		}
		for d := range dims {
			if axis >= 0 && dims[d].Axis != axis {
				continue
			}
			if low {
				b.face(r, grid, &dims[d].Faces.Low, bound)
			}
			if high {
				b.face(r, grid, &dims[d].Faces.High, bound)
			}
		}
	}
}

func (b *boundaryRules) face(r *BoundaryRule, grid *Ident, face *ir.Boundary, bound ir.Boundary) {
	if first, ok := b.set[face]; ok {
		b.c.diags.Errorf(r.Span(), "this face of %q has a boundary already", grid.Name).Notef(first, "it is given here")
		return
	}
	b.set[face] = r.Span()
	*face = bound
}

// axis returns the axis that a rule speaks of, or -1 after a report.
func (b *boundaryRules) axis(r *BoundaryRule, grid *Ident, dims []ir.Dim) int {
	s, ok := b.c.globals[r.Axis.Name].(*iterSym)
	if !ok {
		d := b.c.lack(r.Axis.Span(), "%q is not an iterator", r.Axis.Name)
		if near := diag.Nearest(r.Axis.Name, b.c.prog.Axes); near != "" {
			d.Hintf("did you mean %q?", near)
		} else {
			d.Hintf("the iterators are %s", b.c.axisNames())
		}
		return -1
	}
	for _, dim := range dims {
		if dim.Axis == s.axis {
			return s.axis
		}
	}
	b.c.diags.Errorf(r.Axis.Span(), "%q has no dimension along %s", grid.Name, r.Axis.Name)
	return -1
}

func (b *boundaryRules) rule(r *BoundaryRule, grid *Ident, t types.Type) (ir.Boundary, bool) {
	kind, ok := ir.ParseBoundary(r.Kind.Name)
	if !ok {
		names := make([]string, 0, ir.Periodic+1)
		for k := ir.None; k <= ir.Periodic; k++ {
			names = append(names, k.String())
		}
		d := nearWord(b.c.diags.Errorf(r.Kind.Span(), "there is no boundary condition %q", r.Kind.Name),
			r.Kind.Name, names...)
		if d.Hint == "" {
			d.Hintf("there are none, constant(value), clamp, mirror, reflect, antimirror, antireflect and periodic")
		}
		return ir.Boundary{}, false
	}
	bound := ir.Boundary{Kind: kind}
	switch {
	case kind == ir.Constant && r.Value == nil:
		b.c.diags.Errorf(r.Kind.Span(), "constant needs a value").Hintf("write constant(0)")
		return bound, false
	case kind == ir.Constant:
		bound.Value, ok = b.env.valueOf(r.Value, t)
		return bound, ok
	case r.Value != nil:
		b.c.diags.Errorf(r.Value.Span(), "%s takes no value", kind)
		return bound, false
	case (kind == ir.AntiMirror || kind == ir.AntiReflect) && (t == types.Bool || t == types.U8):
		b.c.diags.Errorf(r.Kind.Span(), "%s turns the sign, and %q holds %ss, which have none", kind,
			grid.Name, t.Word())
		return bound, false
	}
	return bound, true
}

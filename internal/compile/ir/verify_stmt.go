package ir

import (
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func (v *verifier) stmt(st *Stmt) {
	var target types.Type
	var name string
	switch {
	case st.Array != nil && st.Temp == nil && st.Reduce == nil:
		target, name = st.Array.Type, st.Array.Name
	case st.Temp != nil && st.Array == nil && st.Reduce == nil:
		target, name = st.Temp.Type, st.Temp.Name
	case st.Reduce != nil && st.Array == nil && st.Temp == nil:
		target, name = st.Reduce.Scalar.Type, st.Reduce.Scalar.Name
	default:
		v.errorf("it needs exactly one target")
		return
	}
	v.where += " (" + name + ")"
	if st.Value == nil || len(st.Domain) != len(v.p.Axes) {
		v.errorf("it has no value or no proper domain")
		return
	}
	if !v.typed(st.Value, target) || !v.domain(st) {
		return
	}
	v.reads(st)
	v.varies(st)
	v.color(st)
	for t, from := range v.from {
		if st.Array != nil && from.arrays[st.Array] || st.Reduce != nil && from.scalars[st.Reduce.Scalar] {
			v.stale[t] = true
		}
	}
	switch {
	case st.Temp != nil:
		v.assignTemp(st)
	case st.Reduce != nil:
		if !slices.Contains(v.p.Scalars, st.Reduce.Scalar) || !st.Reduce.Scalar.Reduced {
			v.errorf("it reduces into what is not marked as a reduction's scalar")
		}
	default:
		v.assignArray(st)
	}
}

// domain checks that a statement's domain is bounded on its axes and on no
// other. A temp runs where it is needed.
func (v *verifier) domain(st *Stmt) bool {
	for _, r := range st.Domain {
		for _, a := range append(slices.Clone(r.Lo), r.Hi...) {
			v.affine(a)
		}
	}
	if st.Temp != nil {
		if st.Axes != nil {
			v.errorf("a temp runs over axes of its own")
		}
		if !st.Domain.Equal(st.Temp.Box) {
			v.errorf("its domain is not the temp's box")
		}
		return true
	}
	last := -1
	for _, axis := range st.Axes {
		if axis <= last || axis >= len(v.p.Axes) {
			v.errorf("its axes %v are not ascending", st.Axes)
			return false
		}
		last = axis
	}
	for axis, r := range st.Domain {
		bounds := len(r.Lo) > 0 && len(r.Hi) > 0
		if over := slices.Contains(st.Axes, axis); over != bounds || !over && len(r.Lo)+len(r.Hi) > 0 {
			v.errorf("its domain on %s is not bounded as its axes %v say", v.p.Axes[axis], st.Axes)
			return false
		}
	}
	return true
}

// reads checks that whatever the statement reads is defined on its domain.
func (v *verifier) reads(st *Stmt) {
	Walk(st.Value, func(e Expr) {
		switch e := e.(type) {
		case *Access:
			v.read[e.Array] = true
			for axis, r := range DefinedAt(len(v.p.Axes), e) {
				if !within(st.Domain[axis], r) {
					v.errorf("%s is not defined on the whole domain on %s", v.p.ExprText(e), v.p.Axes[axis])
				}
			}
			if e.Array.Local {
				v.readsBuilt(st, e)
			}
		case TempRef:
			switch {
			case !v.let[e.Temp]:
				v.errorf("the temp %s is used before it is assigned", e.Temp.Name)
			case v.stale[e.Temp] || st.Array != nil && v.from[e.Temp].elsewhere[st.Array]:
				v.errorf("the temp %s is used after what it is computed from has changed", e.Temp.Name)
			}
			for axis, r := range e.Temp.Box {
				if !within(st.Domain[axis], r) && (st.Temp != nil || slices.Contains(st.Axes, axis)) {
					v.errorf("the temp %s is not defined on the whole domain on %s", e.Temp.Name, v.p.Axes[axis])
				}
			}
		case *Random:
			if !v.initial || st.Array == nil || st.Array.Local {
				v.errorf("random values belong to the grids of the initial block")
			}
		}
	})
}

// readsBuilt checks a read of a local grid against the assignments so far: all
// of its box, or at least what is read.
func (v *verifier) readsBuilt(st *Stmt, e *Access) {
	have, ok := v.built[e.Array]
	switch {
	case !ok:
		v.errorf("%s is read before it is assigned", e.Array.Name)
	case covers(have, e.Array.Box):
	default:
		for d, ix := range e.Index {
			axis := e.Array.Dims[d].Axis
			at := st.Domain[axis].Shift(ix.Offset)
			if ix.Axis < 0 {
				at = Range{Lo: []Affine{Num(ix.Offset)}, Hi: []Affine{Num(ix.Offset)}}
			} else if ix.Axis != axis {
				at = st.Domain[ix.Axis].Shift(ix.Offset)
			}
			if !within(at, have[axis]) {
				v.errorf("%s is read where it is not assigned yet", v.p.ExprText(e))
			}
		}
	}
}

// varies checks that the value is the same wherever the statement does not
// run.
func (v *verifier) varies(st *Stmt) {
	axes := AxesOf(len(v.p.Axes), st.Value, func(t *Temp) []int { return v.axes[t] })
	if st.Temp != nil {
		v.axes[st.Temp] = axes
		return
	}
	for _, axis := range axes {
		if !slices.Contains(st.Axes, axis) {
			v.errorf("its value varies on %s, over which it does not run", v.p.Axes[axis])
		}
	}
}

func (v *verifier) color(st *Stmt) {
	c := st.Color
	switch {
	case c == nil:
	case st.Temp != nil:
		v.errorf("a temp has no colour")
	case len(c.Coef) != len(v.p.Axes) || c.Mod < 2 || c.Rem < 0 || c.Rem >= c.Mod:
		v.errorf("its colour %v is malformed", *c)
	default:
		for axis, coef := range c.Coef {
			if coef != 0 && !slices.Contains(st.Axes, axis) {
				v.errorf("its colour depends on %s, over which it does not run", v.p.Axes[axis])
			}
		}
	}
}

// source is what a value is computed from.
type source struct {
	arrays    map[*Array]bool
	elsewhere map[*Array]bool // those read at another cell than the value's own
	scalars   map[*Scalar]bool
}

func (v *verifier) sourceOf(e Expr) source {
	out := source{map[*Array]bool{}, map[*Array]bool{}, map[*Scalar]bool{}}
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Access:
			out.arrays[e.Array] = true
			for d, ix := range e.Index {
				if ix.Offset != 0 || ix.Axis != e.Array.Dims[d].Axis {
					out.elsewhere[e.Array] = true
				}
			}
		case ScalarRef:
			out.scalars[e.Scalar] = true
		case TempRef:
			maps.Copy(out.arrays, v.from[e.Temp].arrays)
			maps.Copy(out.elsewhere, v.from[e.Temp].elsewhere)
			maps.Copy(out.scalars, v.from[e.Temp].scalars)
		}
	})
	return out
}

func (v *verifier) assignTemp(st *Stmt) {
	v.from[st.Temp] = v.sourceOf(st.Value)
	if !slices.Contains(v.call.Temps, st.Temp) {
		v.errorf("its temp is not the call's")
	}
	if v.let[st.Temp] {
		v.errorf("the temp is assigned twice")
	}
	v.let[st.Temp] = true
}

func (v *verifier) assignArray(st *Stmt) {
	a := st.Array
	if !slices.Contains(v.call.Arrays, a) {
		v.errorf("its array is not the call's")
		return
	}
	v.wrote[a] = true
	if !ascending(a.Dims) || !slices.EqualFunc(a.Dims, st.Axes, func(d Dim, axis int) bool { return d.Axis == axis }) {
		v.errorf("it does not run over its target's axes in ascending order")
		return
	}
	for d, dim := range a.Dims {
		if !within(st.Domain[dim.Axis], a.Holds(d)) {
			v.errorf("its domain leaves its target on %s", v.p.Axes[dim.Axis])
		}
	}
	if !a.Local {
		return
	}
	box := st.Domain
	if have, ok := v.built[a]; ok {
		if both, ok := have.Unite(box); ok {
			box = both
		} else {
			box = have
		}
	}
	v.built[a] = box
}

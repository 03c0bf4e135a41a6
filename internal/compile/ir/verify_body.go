package ir

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// ops checks a body. Others are the ops that are executed after it, and inside says that an iterate repeats it.
func (v *verifier) ops(body, others []Op, inside bool) {
	for i, o := range body {
		switch o := o.(type) {
		case *Run:
			if !slices.Contains(v.p.Calls, o.Call) {
				v.errorf("it runs a call that is not the program's")
			}
		case *Rotate:
			v.rotate(o)
		case *Iterate:
			v.iterate(o)
			if o.Sequence {
				v.sequence(o, inside)
			}
			after := slices.Concat(body[i+1:], others)
			if inside {
				after = append(after, body[:i]...)
			}
			v.temporary(o, after)
			v.ops(o.Body, after, true)
		default:
			v.errorf("there is no op %T", o)
		}
	}
}

// temporary checks that nothing needs the temporary grids of an iterate.
func (v *verifier) temporary(o *Iterate, others []Op) {
	for _, g := range o.Temporary {
		if !temporary(v.p, o.Body, others, g) {
			v.errorf("%s is no temporary grid of an iterate", g.Name)
		}
	}
}

// sequence checks that a sequence is outside of loops, and has none in it.
func (v *verifier) sequence(o *Iterate, inside bool) {
	one, ok := o.Count.(Const)
	loop := slices.ContainsFunc(o.Body, func(o Op) bool { _, ok := o.(*Iterate); return ok })
	if inside || loop || !ok || one.Value.I != 1 {
		v.errorf("a sequence is calls and rotations outside of loops, executed once")
	}
}

func (v *verifier) rotate(o *Rotate) {
	if len(o.Grids) < 2 {
		v.errorf("a rotation needs two grids")
		return
	}
	w := printer{v.p}
	first := o.Grids[0]
	for i, g := range o.Grids {
		switch {
		case !slices.Contains(v.p.Grids, g):
			v.errorf("a rotation of a grid that is not the program's")
		case slices.Contains(o.Grids[:i], g):
			v.errorf("%s is rotated with itself", g.Name)
		case g.Type != first.Type || fmt.Sprint(w.dims(g.Dims)) != fmt.Sprint(w.dims(first.Dims)):
			v.errorf("%s and %s differ in type, shape or boundary", first.Name, g.Name)
		}
	}
}

func (v *verifier) iterate(o *Iterate) {
	uniform := func(e Expr, t types.Type) {
		v.typed(e, t)
		if !Uniform(e) {
			v.errorf("an iterate's count or condition varies over cells")
		}
	}
	switch {
	case (o.Count == nil) == (o.Until == nil):
		v.errorf("an iterate needs either a count or a condition")
	case o.Count != nil:
		uniform(o.Count, types.I32)
	default:
		uniform(o.Until, types.Bool)
		if o.Check < 1 || o.Max < 0 {
			v.errorf("an iterate is checked every %d of at most %d iterations", o.Check, o.Max)
		}
	}
}

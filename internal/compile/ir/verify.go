package ir

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Verify checks what everything later takes for granted: names are unique and
// known, types agree, every access has its array's rank, statements run over
// bounded domains within their targets on which every read is defined for all
// sizes, temps and local grids are assigned before they are used, and what a
// temp is computed from does not change before its last use is over. It returns
// everything that is wrong.
//
// A statement may read the array that it writes at another cell: it gets the
// old values.
func Verify(p *Program) error {
	v := &verifier{p: p}
	v.declarations()
	for _, s := range p.Calls {
		v.checkCall(s)
	}
	if p.Initial != nil {
		v.initial = true
		v.checkCall(p.Initial)
	}
	v.where = "body"
	v.ops(p.Body, nil, false)
	return errors.Join(v.errs...)
}

type verifier struct {
	p       *Program
	errs    []error
	where   string
	initial bool
	call    *Call
	let     map[*Temp]bool   // temps assigned so far
	built   map[*Array]Box   // what local grids hold so far
	axes    map[*Temp][]int  // on which a temp varies
	from    map[*Temp]source // what a temp is computed from, through others too
	stale   map[*Temp]bool   // temps of which that has changed
	wrote   map[*Array]bool  // arrays that the call's statements write
	read    map[*Array]bool  // and read
	owner   map[*Grid]*Array // the array of each grid of the call
}

func (v *verifier) errorf(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s: %s", v.where, fmt.Sprintf(format, args...)))
}

// cell says whether t is the type of a cell or a scalar.
func cell(t types.Type) bool {
	switch t {
	case types.Bool, types.U8, types.I32, types.F32, types.F64:
		return true
	}
	return false
}

// numeric says whether t is a type that arithmetic is done in.
func numeric(t types.Type) bool { return t.IsFloat() || t == types.I32 || t == types.I64 }

func (v *verifier) unique(what string, names []string) {
	for i, n := range names {
		if n == "" || slices.Contains(names[:i], n) {
			v.errorf("two %s are called %q", what, n)
		}
	}
}

func namesOf[T any](all []T, name func(T) string) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = name(x)
	}
	return out
}

func (v *verifier) declarations() {
	p := v.p
	v.where = "program"
	names := namesOf(p.Params, func(q *Param) string { return q.Name })
	names = append(names, namesOf(p.Scalars, func(s *Scalar) string { return s.Name })...)
	names = append(names, namesOf(p.Grids, func(g *Grid) string { return g.Name })...)
	v.unique("parameters, scalars or grids", names)
	v.unique("axes", p.Axes)
	calls := namesOf(p.Calls, func(s *Call) string { return s.Name })
	if p.Initial != nil {
		calls = append(calls, p.Initial.Name)
	}
	v.unique("calls", calls)
	for _, a := range p.Arguments {
		if !slices.Contains(names, a) {
			v.errorf("the argument %s is not declared", a)
		}
	}
	for _, q := range p.Params {
		v.where = "parameter " + q.Name
		if q.Default != nil {
			v.typed(q.Default, types.I32)
			v.over(q.Default, func(e Expr) bool { _, scalar := e.(ScalarRef); return !scalar })
		}
	}
	for _, s := range p.Scalars {
		v.where = "scalar " + s.Name
		if !cell(s.Type) {
			v.errorf("a scalar cannot be of type %v", s.Type)
		}
		if s.Init != nil {
			v.typed(s.Init, s.Type)
			v.over(s.Init, func(Expr) bool { return true })
		}
	}
	for _, g := range p.Grids {
		v.where = "grid " + g.Name
		v.shape(g.Type, g.Dims)
	}
}

// over checks that e is known before anything runs and that allowed holds for
// everything in it.
func (v *verifier) over(e Expr, allowed func(Expr) bool) {
	Walk(e, func(e Expr) {
		switch e.(type) {
		case StepRef, *Access, TempRef, Pos, *Random:
			v.errorf("%s is not known here", v.p.ExprText(e))
		default:
			if !allowed(e) {
				v.errorf("%s is not known here", v.p.ExprText(e))
			}
		}
	})
}

// shape checks an array's type, dimensions and boundaries.
func (v *verifier) shape(t types.Type, dims []Dim) {
	if !cell(t) {
		v.errorf("an array cannot be of type %v", t)
	}
	if len(dims) == 0 {
		v.errorf("an array has at least one dimension")
	}
	bounded := false
	for _, d := range dims {
		v.affine(d.Lo)
		v.affine(d.Hi)
		if d.Axis < -1 || d.Axis >= len(v.p.Axes) {
			v.errorf("there is no axis %d", d.Axis)
			return
		}
		for _, b := range []Boundary{d.Faces.Low, d.Faces.High} {
			bounded = bounded || b.Kind != None
			v.boundary(t, b)
		}
	}
	if bounded && !ascending(dims) {
		v.errorf("an array with a boundary needs an axis for every dimension, in ascending order")
	}
}

func (v *verifier) boundary(t types.Type, b Boundary) {
	switch {
	case b.Kind > Periodic:
		v.errorf("there is no boundary %d", b.Kind)
	case b.Kind == Constant && b.Value == nil:
		v.errorf("a constant boundary needs a value")
	case b.Kind == Constant:
		v.typed(b.Value, t)
		if !Uniform(b.Value) {
			v.errorf("a boundary's value varies over cells")
		}
	case b.Value != nil:
		v.errorf("a boundary of kind %v has a value", b.Kind)
	case t == types.Bool && (b.Kind == AntiMirror || b.Kind == AntiReflect):
		v.errorf("a bool has no sign to turn")
	}
}

func ascending(dims []Dim) bool {
	last := -1
	for _, d := range dims {
		if d.Axis <= last {
			return false
		}
		last = d.Axis
	}
	return true
}

func (v *verifier) affine(a Affine) {
	for i, t := range a.Terms {
		if t.Param < 0 || t.Param >= len(v.p.Params) || t.Coef == 0 || i > 0 && a.Terms[i-1].Param >= t.Param {
			v.errorf("a bound with malformed terms %v", a.Terms)
			return
		}
	}
}

package ir

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Verify checks what every later stage takes for granted: names are unique and
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
	for _, s := range p.Stages {
		v.stage(s)
	}
	if p.Initial != nil {
		v.initial = true
		v.stage(p.Initial)
	}
	v.where = "body"
	v.ops(p.Body)
	return errors.Join(v.errs...)
}

type verifier struct {
	p       *Program
	errs    []error
	where   string
	initial bool
	stg     *Stage
	let     map[*Temp]bool   // temps assigned so far
	built   map[*Array]Box   // what local grids hold so far
	axes    map[*Temp][]int  // on which a temp varies
	from    map[*Temp]source // what a temp is computed from, through others too
	stale   map[*Temp]bool   // temps of which that has changed
	wrote   map[*Array]bool  // arrays that the stage's statements write
	read    map[*Array]bool  // and read
	owner   map[*Grid]*Array // the array of each grid of the stage
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
	stages := namesOf(p.Stages, func(s *Stage) string { return s.Name })
	if p.Initial != nil {
		stages = append(stages, p.Initial.Name)
	}
	v.unique("stages", stages)
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

func (v *verifier) stage(s *Stage) {
	v.where, v.stg = "stage "+s.Name, s
	v.let, v.built, v.axes = map[*Temp]bool{}, map[*Array]Box{}, map[*Temp][]int{}
	v.from, v.stale = map[*Temp]source{}, map[*Temp]bool{}
	v.wrote, v.read, v.owner = map[*Array]bool{}, map[*Array]bool{}, map[*Grid]*Array{}
	v.unique("arrays", namesOf(s.Arrays, func(a *Array) string { return a.Name }))
	v.unique("temps", namesOf(s.Temps, func(t *Temp) string { return t.Name }))
	if h := s.Hints; h.Stream < -1 || h.Stream >= len(v.p.Axes) || h.Unroll != nil && len(h.Unroll) != len(v.p.Axes) {
		v.errorf("its hints name axes that there are not")
	}
	for _, a := range s.Arrays {
		v.array(a)
	}
	for _, t := range s.Temps {
		if !cell(t.Type) || len(t.Box) != len(v.p.Axes) {
			v.errorf("the temp %s has no proper type or box", t.Name)
		}
	}
	before := len(v.errs)
	for i, st := range s.Body {
		v.where = fmt.Sprintf("stage %s, statement %d", s.Name, i+1)
		v.stmt(st)
	}
	v.where = "stage " + s.Name
	for _, t := range s.Temps {
		if !v.let[t] {
			v.errorf("the temp %s is never assigned", t.Name)
		}
	}
	if len(v.errs) > before {
		return
	}
	for _, a := range s.Arrays {
		// What a folded expression read may still be marked.
		if a.Written != v.wrote[a] || v.read[a] && !a.Read {
			v.errorf("%s is marked read: %t, written: %t, but is read: %t, written: %t", a.Name, a.Read, a.Written, v.read[a], v.wrote[a])
		}
	}
}

func (v *verifier) array(a *Array) {
	where := v.where
	defer func() { v.where = where }()
	v.where += ", array " + a.Name
	v.shape(a.Type, a.Dims)
	switch {
	case a.Local != (a.Grid == nil):
		v.errorf("an array is either a grid's or local")
	case a.Local:
		if len(a.Box) != len(v.p.Axes) || !ascending(a.Dims) {
			v.errorf("a local grid needs a box and an axis for every dimension, in ascending order")
			return
		}
		for _, d := range a.Dims {
			r := a.Box[d.Axis]
			if len(r.Lo) == 0 || len(r.Hi) == 0 || !within(r, Range{[]Affine{d.Lo}, []Affine{d.Hi}}) {
				v.errorf("its box on %s is not bounded within its extents", v.p.Axes[d.Axis])
			}
		}
	default:
		if !slices.Contains(v.p.Grids, a.Grid) {
			v.errorf("its grid is not the program's")
			return
		}
		if v.owner[a.Grid] != nil {
			v.errorf("two arrays are the grid %s", a.Grid.Name)
		}
		v.owner[a.Grid] = a
		w := printer{v.p}
		if a.Type != a.Grid.Type || fmt.Sprint(w.dims(a.Dims)) != fmt.Sprint(w.dims(a.Grid.Dims)) {
			v.errorf("its type or dimensions are not those of %s", a.Grid.Name)
		}
	}
}

// within reports whether r lies inside s for all sizes: every bound of s is
// implied by one of r.
func within(r, s Range) bool {
	for _, lo := range s.Lo {
		if !slices.ContainsFunc(r.Lo, func(a Affine) bool { return neverNegative(a.Minus(lo)) }) {
			return false
		}
	}
	for _, hi := range s.Hi {
		if !slices.ContainsFunc(r.Hi, func(a Affine) bool { return neverNegative(hi.Minus(a)) }) {
			return false
		}
	}
	return true
}

// covers reports whether a holds all of b for all sizes.
func covers(a, b Box) bool {
	for axis := range a {
		if !within(b[axis], a[axis]) {
			return false
		}
	}
	return true
}

// neverNegative reports whether a is at least 0 for all sizes, which are at
// least 1.
func neverNegative(a Affine) bool {
	least := a.Const
	for _, t := range a.Terms {
		if t.Coef < 0 {
			return false
		}
		least += t.Coef
	}
	return least >= 0
}

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
	if !slices.Contains(v.stg.Temps, st.Temp) {
		v.errorf("its temp is not the stage's")
	}
	if v.let[st.Temp] {
		v.errorf("the temp is assigned twice")
	}
	v.let[st.Temp] = true
}

func (v *verifier) assignArray(st *Stmt) {
	a := st.Array
	if !slices.Contains(v.stg.Arrays, a) {
		v.errorf("its array is not the stage's")
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

func (v *verifier) ops(body []Op) {
	for _, o := range body {
		switch o := o.(type) {
		case *Run:
			if !slices.Contains(v.p.Stages, o.Stage) {
				v.errorf("it runs a stage that is not the program's")
			}
		case *Rotate:
			v.rotate(o)
		case *Iterate:
			v.iterate(o)
			v.ops(o.Body)
		default:
			v.errorf("there is no op %T", o)
		}
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

// typed checks that e is well formed and of type t.
func (v *verifier) typed(e Expr, t types.Type) bool {
	before := len(v.errs)
	v.expr(e)
	if len(v.errs) == before && e.Type() != t {
		v.errorf("%s is of type %v, not %v", v.p.ExprText(e), e.Type(), t)
	}
	return len(v.errs) == before
}

// expr checks one expression and everything beneath it.
func (v *verifier) expr(e Expr) {
	before := len(v.errs)
	for _, c := range Children(e) {
		if c == nil {
			v.errorf("an operand is missing in a %T", e)
			return
		}
		v.expr(c)
	}
	if len(v.errs) > before {
		return
	}
	if fault := v.fault(e); fault != "" {
		v.errorf("%s", fault)
	}
}

// fault returns what is wrong with an expression whose operands are right.
func (v *verifier) fault(e Expr) string {
	switch e := e.(type) {
	case Const:
		if !cell(e.Value.T) && e.Value.T != types.I64 {
			return fmt.Sprintf("a constant of type %v", e.Value.T)
		}
	case ParamRef:
		if e.Param < 0 || e.Param >= len(v.p.Params) {
			return fmt.Sprintf("there is no parameter %d", e.Param)
		}
	case ScalarRef:
		if !slices.Contains(v.p.Scalars, e.Scalar) {
			return "a scalar that is not the program's"
		}
	case TempRef:
		if v.stg == nil || !slices.Contains(v.stg.Temps, e.Temp) {
			return "a temp that is not the stage's"
		}
	case Pos:
		if e.Axis < 0 || e.Axis >= len(v.p.Axes) {
			return fmt.Sprintf("there is no axis %d", e.Axis)
		}
	case *Access:
		return v.accessFault(e)
	case *Random:
		if !e.T.IsFloat() || e.Seed.Type() != types.I32 || !Uniform(e.Seed) {
			return "a random value needs a floating-point type and a uniform int as its seed"
		}
	default:
		return v.typeFault(e)
	}
	return ""
}

func (v *verifier) accessFault(e *Access) string {
	if v.stg == nil || !slices.Contains(v.stg.Arrays, e.Array) {
		return "an array that is not the stage's"
	}
	if len(e.Index) != len(e.Array.Dims) {
		return fmt.Sprintf("%s has %d dimensions and is read with %d indices", e.Array.Name, len(e.Array.Dims), len(e.Index))
	}
	for _, ix := range e.Index {
		if ix.Axis < -1 || ix.Axis >= len(v.p.Axes) {
			return fmt.Sprintf("there is no axis %d", ix.Axis)
		}
	}
	return ""
}

// typeFault checks operators against the types that package op computes on.
func (v *verifier) typeFault(e Expr) string {
	ok := true
	switch e := e.(type) {
	case *Unary:
		t := e.X.Type()
		ok = e.Op == op.Neg && numeric(t) || e.Op == op.Not && t == types.Bool
	case *Binary:
		t := e.X.Type()
		ok = t == e.Y.Type()
		switch {
		case e.Op == op.Rem:
			ok = ok && numeric(t) && !t.IsFloat()
		case e.Op >= op.Add && e.Op <= op.Max:
			ok = ok && numeric(t)
		case e.Op == op.And || e.Op == op.Or:
			ok = ok && (t == types.Bool || t == types.I32 || t == types.I64)
		case e.Op == op.LAnd || e.Op == op.LOr:
			ok = ok && t == types.Bool
		case !e.Op.IsComparison():
			ok = false
		}
	case *Select:
		ok = e.Cond.Type() == types.Bool && e.X.Type() == e.Y.Type()
	case *Cast:
		ok = cell(e.To) || e.To == types.I64
	case *Call:
		ok = e.Func != op.NoFunc && len(e.Args) == e.Func.Arity()
		for _, a := range e.Args {
			t := a.Type()
			ok = ok && t == e.Args[0].Type() && (t.IsFloat() || t == types.I32 && e.Func == op.Abs)
		}
	case *PowInt:
		ok = numeric(e.X.Type()) && e.N >= -MaxPower && e.N <= MaxPower
	}
	if !ok {
		return v.p.ExprText(e) + " has operands that do not fit"
	}
	return ""
}

// MaxPower is the largest exponent of a PowInt, and the negative one's.
const MaxPower = 16

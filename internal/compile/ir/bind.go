package ir

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// MaxBytes bounds one array; it keeps every index product in an int64.
const MaxBytes = int64(1) << 50

// Binding is a program with a value for every parameter and scalar.
type Binding struct {
	Program *Program
	Params  []int64    // by parameter index
	Scalars []op.Value // by index in Program.Scalars; reduction targets start here
	// Unset holds the scalars that BindSizes has no value for; nil after Bind.
	Unset map[*Scalar]bool
}

// Bind gives the program its sizes and scalar values: those that set names
// ("N": "512", "alpha": "0.1"), else the defaults. It refuses unknown names,
// missing and unfit values, sizes that are not positive or too large, constant
// indices outside their array and statements whose domain is empty. All
// errors are returned, in source order.
func (p *Program) Bind(set map[string]string) (*Binding, diag.List) {
	return p.bind(set, nil)
}

// BindSizes gives the program its sizes as Bind does, and those scalars that
// have a value: what is enough to count cells and bytes.
func (p *Program) BindSizes(set map[string]string) (*Binding, diag.List) {
	return p.bind(set, map[*Scalar]bool{})
}

func (p *Program) bind(set map[string]string, unset map[*Scalar]bool) (*Binding, diag.List) {
	b := &binder{
		Binding: &Binding{Program: p, Params: make([]int64, len(p.Params)), Scalars: make([]op.Value, len(p.Scalars)),
			Unset: unset},
		set: set,
	}
	b.unknown()
	b.missing()
	b.params()
	if b.errs == nil {
		b.scalars()
		b.shapes()
	}
	if b.errs == nil {
		b.calls()
	}
	if b.errs != nil {
		b.errs.Sort()
		return nil, b.errs
	}
	return b.Binding, nil
}

// Coefficients evaluates the coefficients alone: what has to be known when
// code is generated that takes sizes and other scalars as arguments. The
// binding holds no sizes. A coefficient that depends on an argument is refused.
func (p *Program) Coefficients(set map[string]string) (*Binding, diag.List) {
	b := &binder{Binding: &Binding{Program: p, Params: make([]int64, len(p.Params)),
		Scalars: make([]op.Value, len(p.Scalars))}, set: set}
	b.unknown()
	for i, s := range p.Scalars {
		if s.Coefficient && s.Used {
			b.Scalars[i] = b.coefficient(s, map[*Scalar]bool{})
		}
	}
	if b.errs != nil {
		b.errs.Sort()
		return nil, b.errs
	}
	return b.Binding, nil
}

// coefficient evaluates a coefficient and those it depends on.
func (b *binder) coefficient(s *Scalar, open map[*Scalar]bool) op.Value {
	if text, given := b.set[s.Name]; given {
		v, err := ParseScalar(s.Type, text)
		if err != nil {
			b.fail(s.Range, "", "%s = %s: %v", s.Name, text, err)
		}
		return v
	}
	if s.Init == nil {
		b.fail(s.Range, fmt.Sprintf("give it with --set %s=...", s.Name), "the coefficient %s has no value", s.Name)
		return op.Convert(s.Type, op.Int(types.I32, 0))
	}
	ok := true
	open[s] = true
	Walk(s.Init, func(e Expr) {
		switch e := e.(type) {
		case ParamRef:
			b.fail(s.Range, "", "the coefficient %s depends on the size %s, which is an argument", s.Name,
				b.Program.Params[e.Param].Name)
			ok = false
		case ScalarRef:
			switch i := slices.Index(b.Program.Scalars, e.Scalar); {
			case !e.Scalar.Coefficient:
				b.fail(s.Range, fmt.Sprintf("declare %s a coefficient, too", e.Scalar.Name),
					"the coefficient %s depends on %s, which is an argument", s.Name, e.Scalar.Name)
				ok = false
			case !open[e.Scalar]:
				b.Scalars[i] = b.coefficient(e.Scalar, open)
			}
		}
	})
	if !ok {
		return op.Convert(s.Type, op.Int(types.I32, 0))
	}
	return b.Eval(s.Init, 0)
}

type binder struct {
	*Binding
	set  map[string]string
	errs diag.List
}

func (b *binder) fail(at diag.Range, hint, format string, args ...any) {
	d := b.errs.Errorf(at, format, args...)
	if hint != "" {
		d.Hintf("%s", hint)
	}
}

func (b *binder) unknown() {
	var names []string
	for _, q := range b.Program.Params {
		names = append(names, q.Name)
	}
	for _, s := range b.Program.Scalars {
		names = append(names, s.Name)
	}
	var given []string
	for name := range b.set {
		given = append(given, name)
	}
	slices.Sort(given)
	for _, name := range given {
		if slices.Contains(names, name) {
			continue
		}
		hint := ""
		if near := diag.Nearest(name, names); near != "" {
			hint = "did you mean " + near + "?"
		} else if len(names) > 0 {
			hint = "it has " + strings.Join(names, ", ")
		}
		b.fail(diag.Range{}, hint, "the program has no parameter or scalar called %s", name)
	}
}

// missing reports all values that are not there, together.
func (b *binder) missing() {
	var params, scalars, hints []string
	var at diag.Range
	add := func(list *[]string, name string, r diag.Range) {
		if hints == nil {
			at = r
		}
		*list = append(*list, name)
		hints = append(hints, "--set "+name+"=...")
	}
	for _, q := range b.Program.Params {
		if _, given := b.set[q.Name]; !given && q.Default == nil {
			add(&params, q.Name, q.Range)
		}
	}
	for _, s := range b.Program.Scalars {
		if _, given := b.set[s.Name]; !given && s.NeedsValue() && b.Unset == nil {
			add(&scalars, s.Name, s.Range)
		}
	}
	what := nounList("parameter", params)
	if len(params) > 0 && len(scalars) > 0 {
		what += " and "
	}
	what += nounList("scalar", scalars)
	switch len(hints) {
	case 0:
	case 1:
		b.fail(at, "give it with "+hints[0], "%s has no value", what)
	default:
		b.fail(at, "give them with "+strings.Join(hints, " "), "%s have no values", what)
	}
}

// NeedsValue reports whether the scalar has to be given a value from outside.
func (s *Scalar) NeedsValue() bool { return s.Used && !s.Reduced && s.Init == nil }

// nounList returns "the scalar a" or "the scalars a, b and c", "" for none.
func nounList(noun string, names []string) string {
	switch last := len(names) - 1; last {
	case -1:
		return ""
	case 0:
		return "the " + noun + " " + names[0]
	default:
		return "the " + noun + "s " + strings.Join(names[:last], ", ") + " and " + names[last]
	}
}

// params evaluates the parameters, each after those it depends on. The checker
// has refused cycles.
func (b *binder) params() {
	state := make([]bool, len(b.Program.Params))
	var eval func(i int) bool
	eval = func(i int) bool {
		if state[i] {
			return true
		}
		state[i] = true
		q := b.Program.Params[i]
		text, given := b.set[q.Name]
		switch {
		case given:
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				b.fail(q.Range, "", "%s = %s: a size is a whole number", q.Name, text)
				return false
			}
			b.Params[i] = v
		case q.Default == nil:
			return false // reported as missing
		default:
			ok := true
			Walk(q.Default, func(e Expr) {
				if r, is := e.(ParamRef); is {
					ok = eval(r.Param) && ok
				}
			})
			if !ok {
				return false
			}
			b.Params[i] = b.Eval(q.Default, 0).I
		}
		if v := b.Params[i]; v < 1 || v > math.MaxInt32 {
			b.fail(q.Range, "", "%s = %d: a parameter is at least 1 and at most %d", q.Name, v, math.MaxInt32)
			return false
		}
		return true
	}
	for i := range b.Program.Params {
		eval(i)
	}
}

func (b *binder) scalars() {
	state := make([]bool, len(b.Program.Scalars))
	var eval func(i int)
	eval = func(i int) {
		if state[i] {
			return
		}
		state[i] = true
		s := b.Program.Scalars[i]
		text, given := b.set[s.Name]
		switch {
		case given:
			v, err := ParseScalar(s.Type, text)
			if err != nil {
				b.fail(s.Range, "", "%s = %s: %v", s.Name, text, err)
			}
			b.Scalars[i] = v
		case s.Init != nil:
			Walk(s.Init, func(e Expr) {
				if r, is := e.(ScalarRef); is {
					eval(slices.Index(b.Program.Scalars, r.Scalar))
					if b.Unset[r.Scalar] {
						b.Unset[s] = true
					}
				}
			})
			b.Scalars[i] = b.Eval(s.Init, 0)
		default:
			if s.NeedsValue() && b.Unset != nil {
				b.Unset[s] = true
			}
			b.Scalars[i] = op.Convert(s.Type, op.Int(types.I32, 0))
		}
	}
	for i := range b.Program.Scalars {
		eval(i)
	}
}

// ParseScalar reads a value of a type as the command line gives it.
func ParseScalar(t types.Type, text string) (op.Value, error) {
	switch {
	case t == types.Bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return op.Value{}, fmt.Errorf("a bool is true or false")
		}
		return op.BoolOf(v), nil
	case t.IsFloat():
		bits := 64
		if t == types.F32 {
			bits = 32
		}
		v, err := strconv.ParseFloat(text, bits)
		if err != nil {
			return op.Value{}, fmt.Errorf("not a number that a %s can hold", t.Word())
		}
		return op.Float(t, v), nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || op.Int(t, v).I != v {
		return op.Value{}, fmt.Errorf("not a whole number that %s can hold", article(t))
	}
	return op.Int(t, v), nil
}

func article(t types.Type) string {
	if t == types.I32 {
		return "an int"
	}
	return "a " + t.Word()
}

func (b *binder) shapes() {
	for _, g := range b.Program.Grids {
		b.shape(g.Name, g.Type, g.Dims, g.Range)
	}
	for _, s := range b.Program.Calls {
		for _, a := range s.Arrays {
			if a.Local {
				b.shape(a.Name, a.Type, a.Dims, s.Range)
			}
		}
	}
}

func (b *binder) shape(name string, t types.Type, dims []Dim, at diag.Range) {
	bytes := int64(t.Size())
	for d, dim := range dims {
		n := b.Extent(dim).Len()
		if n < 1 {
			b.fail(at, "", "%s has no cells: its dimension %d holds %d to %d", name, d+1, dim.Lo.Eval(b.Params),
				dim.Hi.Eval(b.Params))
			return
		}
		if n > math.MaxInt32 || bytes > MaxBytes/n {
			b.fail(at, "", "%s is too large: it would take more than %d bytes", name, MaxBytes)
			return
		}
		bytes *= n
	}
}

func (b *binder) calls() {
	all := b.Program.Calls
	if b.Program.Initial != nil {
		all = append([]*Call{b.Program.Initial}, all...)
	}
	for _, s := range all {
		for _, st := range s.Body {
			b.stmt(st)
		}
	}
}

func (b *binder) stmt(st *Stmt) {
	for _, axis := range st.Axes {
		if e := b.Range(st.Domain[axis]); e.Len() == 0 {
			b.fail(st.Range, "", "this statement has no cells to work on: on %s its domain is %d to %d",
				b.Program.Axes[axis], e.Lo, e.Hi)
			return
		}
	}
	Walk(st.Value, func(e Expr) {
		a, ok := e.(*Access)
		if !ok {
			return
		}
		for d, ix := range a.Index {
			if ix.Axis >= 0 {
				continue
			}
			dim := a.Array.Dims[d]
			e := b.Range(a.Array.Holds(d))
			low := ix.Offset < e.Lo && dim.Faces.Low.Kind == None
			high := ix.Offset > e.Hi && dim.Faces.High.Kind == None
			if low || high {
				b.fail(st.Range, "", "index %d of %s is outside %d to %d", ix.Offset, a.Array.Name, e.Lo, e.Hi)
			}
		}
	})
}

// Extent returns the index range of a dimension.
func (b *Binding) Extent(d Dim) Extent {
	return Extent{d.Lo.Eval(b.Params), d.Hi.Eval(b.Params)}
}

// Range returns a range's positions. Missing bounds are the largest that an
// int32 index can have.
func (b *Binding) Range(r Range) Extent {
	return r.Eval(b.Params, Extent{math.MinInt32, math.MaxInt32})
}

// Shape returns the number of cells in each dimension.
func (b *Binding) Shape(dims []Dim) []int {
	shape := make([]int, len(dims))
	for i, d := range dims {
		shape[i] = int(b.Extent(d).Len())
	}
	return shape
}

// Bytes returns the bytes of all grids.
func (b *Binding) Bytes() int64 {
	sum := int64(0)
	for _, g := range b.Program.Grids {
		n := int64(g.Type.Size())
		for _, k := range b.Shape(g.Dims) {
			n *= int64(k)
		}
		sum += n
	}
	return sum
}

// Scalar returns a scalar's value.
func (b *Binding) Scalar(s *Scalar) op.Value {
	return b.Scalars[slices.Index(b.Program.Scalars, s)]
}

// Eval evaluates an expression that reads no arrays, temps or positions.
func (b *Binding) Eval(e Expr, step int64) op.Value {
	switch e := e.(type) {
	case Const:
		return e.Value
	case ParamRef:
		return op.Int(types.I32, b.Params[e.Param])
	case ScalarRef:
		return b.Scalar(e.Scalar)
	case StepRef:
		return op.Int(types.I32, step)
	case *Unary:
		return op.Unary(e.Op, b.Eval(e.X, step))
	case *Binary:
		return op.Binary(e.Op, b.Eval(e.X, step), b.Eval(e.Y, step))
	case *Fma:
		return op.Fma(b.Eval(e.X, step), b.Eval(e.Y, step), b.Eval(e.Z, step))
	case *Select:
		if b.Eval(e.Cond, step).True() {
			return b.Eval(e.X, step)
		}
		return b.Eval(e.Y, step)
	case *Cast:
		return op.Convert(e.To, b.Eval(e.X, step))
	case *FuncCall:
		args := make([]op.Value, len(e.Args))
		for i, a := range e.Args {
			args[i] = b.Eval(a, step)
		}
		return op.Call(e.Func, args...)
	case *PowInt:
		return op.PowInt(b.Eval(e.X, step), e.N)
	}
	panic(fmt.Sprintf("ir: %T is not uniform", e))
}

// Uniform reports whether e reads no arrays, temps or positions, so that
// Binding.Eval can evaluate it.
func Uniform(e Expr) bool {
	uniform := true
	Walk(e, func(e Expr) {
		switch e.(type) {
		case *Access, TempRef, Pos, *Random:
			uniform = false
		}
	})
	return uniform
}

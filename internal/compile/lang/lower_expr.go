package lang

import (
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What a statement and a program may grow to when sums and tables are written
// out and stencils are bound.
const (
	maxSize  = 1 << 18
	maxTotal = 1 << 20
)

// lower makes the program's expression for x, whose type typeOf has found.
// lit is the floating-point type that untyped values take unless they meet
// another. It fails only after a report.
func (e *env) lower(x Expr, lit types.Type) (ir.Expr, bool) {
	if e.c.size++; e.c.size > maxSize {
		if e.c.size == maxSize+1 {
			e.c.diags.Errorf(x.Span(), "this statement grows beyond %d operations when its sums are written out",
				maxSize)
		}
		return nil, false
	}
	if e.c.total++; e.c.total > maxTotal {
		if e.c.total == maxTotal+1 {
			e.c.diags.Errorf(x.Span(), "this program grows beyond %d operations when its calls are written out",
				maxTotal)
		}
		return nil, false
	}
	t := e.typeOf(x)
	if t.IsFloat() {
		lit = t
	}
	switch x := x.(type) {
	case *NumberLit:
		return e.lowerNumber(x, t, lit)
	case *Ident:
		return e.lowerName(x, lit)
	case *ParenExpr:
		return e.lower(x.X, lit)
	case *UnaryExpr:
		return e.lowerUnary(x, known(t, lit), lit)
	case *BinaryExpr:
		return e.lowerBinary(x, t, lit)
	case *CondExpr:
		return e.lowerCond(x, known(t, lit), lit)
	case *CallExpr:
		return e.lowerCall(x, t, lit)
	case *IndexExpr:
		if s, ok := e.lookup(x.Name.Name).(*tableSym); ok {
			return e.lowerEntry(x, s)
		}
		return e.builder.access(e, x)
	case *SumExpr:
		return e.lowerSum(x, known(t, lit), lit)
	}
	panic("lang: unknown expression")
}

// known returns t, or lit if t is untyped.
func known(t, lit types.Type) types.Type {
	if t == untyped {
		return lit
	}
	return t
}

// lowerTo lowers x and converts it to t.
func (e *env) lowerTo(x Expr, t, lit types.Type) (ir.Expr, bool) {
	if t.IsFloat() && e.typeOf(x) == untyped {
		lit = t
	}
	v, ok := e.lower(x, lit)
	if !ok {
		return nil, false
	}
	return cast(t, v), true
}

// cast converts v to t, at once if v is a constant.
func cast(t types.Type, v ir.Expr) ir.Expr {
	if v.Type() == t {
		return v
	}
	if k, ok := v.(ir.Const); ok {
		return ir.Const{Value: op.Convert(t, k.Value)}
	}
	return &ir.Cast{To: t, X: v}
}

func (e *env) lowerNumber(x *NumberLit, t, lit types.Type) (ir.Expr, bool) {
	if t == types.I32 {
		n, ok := e.c.intLit(x, false)
		return ir.Const{Value: op.Int(types.I32, n)}, ok
	}
	bits := 64
	if lit == types.F32 {
		bits = 32
	}
	v, err := strconv.ParseFloat(realText(x.Text), bits)
	if err != nil && v > 1 { // beyond the type; what underflows is as near as can be
		e.c.diags.Errorf(x.Span(), "%s is larger than any %s", clipped(x.Text), lit.Word())
		return nil, false
	}
	return ir.Const{Value: op.Float(lit, v)}, true
}

func (e *env) lowerName(x *Ident, lit types.Type) (ir.Expr, bool) {
	switch s := e.lookup(x.Name).(type) {
	case nil:
		switch x.Name {
		case "true", "false":
			return ir.Const{Value: op.BoolOf(x.Name == "true")}, true
		}
		return ir.StepRef{}, true
	case *paramSym:
		return ir.ParamRef{Param: s.index}, true
	case *constSym:
		return ir.Const{Value: op.Int(types.I32, s.value)}, true
	case *iterSym:
		return ir.Pos{Axis: s.axis}, true
	case *scalarSym:
		s.scalar.Used = true
		return ir.ScalarRef{Scalar: s.scalar}, true
	case *tempSym:
		return ir.TempRef{Temp: s.now}, true
	case *argSym:
		return s.env.lower(s.expr, lit)
	}
	return nil, false
}

// addend returns v, the value of x, as what a sum takes. A product that x only
// names, selects, converts or looks up is kept apart from the sum: it is a number
// of its own there. Program.In fuses what is written as a product, and no conversion.
func addend(x Expr, v ir.Expr) ir.Expr {
	if _, _, _, product := ir.Product(v); product && v.Type().IsFloat() && !isProduct(x) {
		return &ir.Cast{To: v.Type(), X: v}
	}
	return v
}

// isProduct reports whether x is written as a product, in parentheses and behind
// signs maybe.
func isProduct(x Expr) bool {
	switch x := x.(type) {
	case *ParenExpr:
		return isProduct(x.X)
	case *UnaryExpr:
		return isProduct(x.X)
	case *BinaryExpr:
		return x.Op == Star
	}
	return false
}

func (e *env) lowerUnary(x *UnaryExpr, t, lit types.Type) (ir.Expr, bool) {
	if x.Op == Minus && isLowest(x.X) {
		n, ok := e.c.intLit(x.X.(*NumberLit), true)
		return ir.Const{Value: op.Int(types.I32, n)}, ok
	}
	v, ok := e.lowerTo(x.X, t, lit)
	if !ok {
		return nil, false
	}
	switch x.Op {
	case Minus:
		return unary(op.Neg, v), true
	case Bang:
		return unary(op.Not, v), true
	}
	return v, true
}

func unary(o op.Op, x ir.Expr) ir.Expr {
	if k, ok := x.(ir.Const); ok {
		return ir.Const{Value: op.Unary(o, k.Value)}
	}
	return &ir.Unary{Op: o, X: x}
}

// binary makes an operation, or its value if both operands are constants: that
// is what every device would compute.
func binary(o op.Op, x, y ir.Expr) ir.Expr {
	a, okA := x.(ir.Const)
	b, okB := y.(ir.Const)
	if okA && okB {
		return ir.Const{Value: op.Binary(o, a.Value, b.Value)}
	}
	return &ir.Binary{Op: o, X: x, Y: y}
}

var operators = map[Kind]op.Op{
	Plus: op.Add, Minus: op.Sub, Star: op.Mul, Slash: op.Div, Percent: op.Rem, Amp: op.And, Bar: op.Or,
	AndAnd: op.LAnd, OrOr: op.LOr, Eq: op.Eq, Ne: op.Ne, Lt: op.Lt, Le: op.Le, Gt: op.Gt, Ge: op.Ge,
}

func (e *env) lowerBinary(x *BinaryExpr, t, lit types.Type) (ir.Expr, bool) {
	if x.Op == Caret {
		return e.lowerPower(x, known(t, lit), lit)
	}
	o := operators[x.Op]
	operand := t
	switch {
	case o.IsLogic():
		operand = types.Bool
	case o.IsComparison():
		operand = combine(e.typeOf(x.X), e.typeOf(x.Y))
		if operand.IsFloat() {
			lit = operand
		}
	}
	operand = known(operand, lit)
	a, okA := e.lowerTo(x.X, operand, lit)
	b, okB := e.lowerTo(x.Y, operand, lit)
	if !okA || !okB {
		return nil, false
	}
	if o == op.Add || o == op.Sub {
		a, b = addend(x.X, a), addend(x.Y, b)
	}
	return binary(o, a, b), true
}

func (e *env) lowerPower(x *BinaryExpr, t, lit types.Type) (ir.Expr, bool) {
	base, ok := e.lowerTo(x.X, t, lit)
	if !ok {
		return nil, false
	}
	if n, ok := e.exponent(x.Y, e.typeOf(x.Y)); ok {
		if k, isConst := base.(ir.Const); isConst {
			return ir.Const{Value: op.PowInt(k.Value, n)}, true
		}
		return &ir.PowInt{X: base, N: n}, true
	}
	if !t.IsFloat() {
		// The exponent is a sum's variable that has left the range.
		e.c.diags.Errorf(x.Y.Span(), "a whole number can only be raised to a whole number from %d to %d",
			-maxPower, maxPower)
		return nil, false
	}
	y, ok := e.lowerTo(x.Y, t, lit)
	return &ir.FuncCall{Func: op.Pow, Args: []ir.Expr{base, y}}, ok
}

func (e *env) lowerCond(x *CondExpr, t, lit types.Type) (ir.Expr, bool) {
	c, okC := e.lowerTo(x.Cond, types.Bool, lit)
	a, okA := e.lowerTo(x.X, t, lit)
	b, okB := e.lowerTo(x.Y, t, lit)
	if !okC || !okA || !okB {
		return nil, false
	}
	if k, ok := c.(ir.Const); ok {
		if k.Value.True() {
			return a, true
		}
		return b, true
	}
	return &ir.Select{Cond: c, X: a, Y: b}, true
}

func (e *env) lowerCall(x *CallExpr, t, lit types.Type) (ir.Expr, bool) {
	f := functions[x.Func.Name]
	switch {
	case f.cast != types.Invalid:
		return e.lowerTo(x.Args[0], t, lit)
	case f.random:
		return e.lowerRandom(x, lit)
	}
	t = known(t, lit)
	args := make([]ir.Expr, len(x.Args))
	for i, a := range x.Args {
		v, ok := e.lowerTo(a, t, lit)
		if !ok {
			return nil, false
		}
		args[i] = v
	}
	if f.fold == op.Invalid {
		return &ir.FuncCall{Func: f.math, Args: args}, true
	}
	v := args[0]
	for _, a := range args[1:] {
		v = binary(f.fold, v, a)
	}
	return v, true
}

func (e *env) lowerRandom(x *CallExpr, lit types.Type) (ir.Expr, bool) {
	seed, ok := e.lowerTo(x.Args[0], types.I32, lit)
	if !ok {
		return nil, false
	}
	if !ir.Uniform(seed) {
		e.c.diags.Errorf(x.Args[0].Span(), "the seed of random is the same at all cells").
			Hintf("random already gives every cell a value of its own")
		return nil, false
	}
	if !e.builder.intoGrid {
		e.c.diags.Errorf(x.Span(), "random stands only in an assignment to a grid")
		return nil, false
	}
	return &ir.Random{T: lit, Seed: seed}, true
}

// lowerEntry replaces a constant entry of a table by its value.
func (e *env) lowerEntry(x *IndexExpr, s *tableSym) (ir.Expr, bool) {
	at := int64(0)
	for axis, ix := range x.Indices {
		if e.typeOf(ix) == types.Invalid {
			return nil, false
		}
		v, ok := e.lower(ix, types.F64)
		if !ok {
			return nil, false
		}
		k, isConst := v.(ir.Const)
		if !isConst || k.Value.T.IsFloat() {
			d := e.c.diags.Errorf(ix.Span(), "the index of a table is a constant whole number")
			if e.inIndex {
				d.Hintf("let a bounded sum count it: sum (q in %d..%d) ... %s[q] ...", s.lo[axis],
					s.lo[axis]+s.size[axis]-1, s.name)
			} else {
				d.Hintf("declare %s without values to make it a grid that may be read at any position", s.name)
			}
			return nil, false
		}
		n := k.Value.I - s.lo[axis]
		if n < 0 || n >= s.size[axis] {
			e.c.diags.Errorf(ix.Span(), "index %d is outside %q, which has the indices %d to %d", k.Value.I, s.name,
				s.lo[axis], s.lo[axis]+s.size[axis]-1)
			return nil, false
		}
		at = at*s.size[axis] + n
	}
	if s.env.typeOf(s.entries[at]) == types.Invalid {
		return nil, false
	}
	return s.env.lowerTo(s.entries[at], s.typ, floatOr(s.typ, types.F64))
}

// lowerSum writes a bounded sum out, first term first.
func (e *env) lowerSum(x *SumExpr, t, lit types.Type) (ir.Expr, bool) {
	lo, _ := e.literalInt(x.Lo)
	hi, _ := e.literalInt(x.Hi)
	if hi < lo {
		e.c.diags.Errorf(x.Lo.Span().To(x.Hi.Span()), "this sum has no terms")
		return nil, false
	}
	if e.c.terms += hi - lo + 1; e.c.terms > maxTerms {
		e.c.diags.Errorf(x.Span(), "the sums of this statement have more than %d terms", maxTerms)
		return nil, false
	}
	var total ir.Expr
	for r := lo; r <= hi; r++ {
		var term ir.Expr
		var ok bool
		e.with(x.Var.Name, &constSym{r}, func() { term, ok = e.lowerTo(x.Body, t, lit) })
		if !ok {
			return nil, false
		}
		if total == nil {
			total = addend(x.Body, term)
		} else {
			total = binary(op.Add, total, addend(x.Body, term))
		}
	}
	return total, true
}

// maxTerms bounds the terms of a statement's sums.
const maxTerms = 4096

package lang

import (
	"math"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// untyped is the type of a literal with a point and of what is made of such
// literals and integers alone: it becomes the floating-point type that it
// meets.
const untyped types.Type = 255

// typeOf returns the type of x, or Invalid after it has reported why there is
// none. Every mistake is reported once.
func (e *env) typeOf(x Expr) types.Type {
	if t, ok := e.types[x]; ok {
		return t
	}
	t := e.findType(x)
	e.types[x] = t
	return t
}

func (e *env) findType(x Expr) types.Type {
	switch x := x.(type) {
	case *NumberLit:
		return e.c.numberType(x)
	case *Ident:
		return e.nameType(x)
	case *ParenExpr:
		return e.typeOf(x.X)
	case *UnaryExpr:
		if x.Op == Minus && isLowest(x.X) {
			return types.I32
		}
		t := e.typeOf(x.X)
		switch {
		case t == types.Invalid:
			return t
		case x.Op == Bang:
			return types.Bool
		}
		return promote(t)
	case *BinaryExpr:
		return e.binaryType(x)
	case *CondExpr:
		c, a, b := e.typeOf(x.Cond), e.typeOf(x.X), e.typeOf(x.Y)
		switch {
		case c == types.Invalid:
			return types.Invalid
		case a == b:
			return a
		}
		return combine(a, b)
	case *CallExpr:
		return e.callType(x)
	case *IndexExpr:
		return e.indexType(x)
	case *SumExpr:
		return e.sumType(x)
	}
	panic("lang: unknown expression")
}

// promote returns the type that arithmetic on a value of type t has.
func promote(t types.Type) types.Type {
	if t == types.Bool || t == types.U8 {
		return types.I32
	}
	return t
}

// combine returns the type of arithmetic on two values.
func combine(a, b types.Type) types.Type {
	if a == types.Invalid || b == types.Invalid {
		return types.Invalid
	}
	for _, t := range []types.Type{types.F64, types.F32, untyped} {
		if a == t || b == t {
			return t
		}
	}
	return types.I32
}

// real returns the floating-point type that a function of a value of type t
// is computed in.
func real(t types.Type) types.Type {
	if t == types.Invalid || t.IsFloat() {
		return t
	}
	return untyped
}

func isFloating(t types.Type) bool { return t == untyped || t.IsFloat() }

// isReal reports whether a number has a point, an exponent or the suffix f.
func isReal(text string) bool {
	return !strings.HasPrefix(text, "0x") && !strings.HasPrefix(text, "0X") && strings.ContainsAny(text, ".eEfF")
}

func realText(text string) string { return strings.TrimRight(text, "fF") }

func (c *checker) numberType(x *NumberLit) types.Type {
	if !isReal(x.Text) {
		if _, ok := c.intLit(x, false); !ok {
			return types.Invalid
		}
		return types.I32
	}
	v, err := strconv.ParseFloat(realText(x.Text), 64)
	if err != nil || math.IsInf(v, 0) {
		c.diags.Errorf(x.Span(), "%s is larger than any double", clipped(x.Text))
		return types.Invalid
	}
	return untyped
}

// intLit returns the value of an integer literal; negated if a minus stands
// before it.
func (c *checker) intLit(x *NumberLit, negated bool) (int64, bool) {
	if isReal(x.Text) {
		c.diags.Errorf(x.Span(), "a whole number is due here")
		return 0, false
	}
	limit := int64(math.MaxInt32)
	if negated {
		limit++
	}
	v, ok := parseInt(x.Text)
	if !ok || v > limit {
		c.diags.Errorf(x.Span(), "%s does not fit in an int, whose largest value is %d", clipped(x.Text), math.MaxInt32)
		return 0, false
	}
	if negated {
		v = -v
	}
	return v, true
}

// parseInt returns the value of an integer's text, unless it is out of reach.
func parseInt(text string) (int64, bool) {
	base := 10
	if len(text) > 1 && (text[1] == 'x' || text[1] == 'X') {
		text, base = text[2:], 16
	}
	v, err := strconv.ParseInt(text, base, 33)
	return v, err == nil
}

// isLowest reports whether x is the literal that only fits with a minus.
func isLowest(x Expr) bool {
	n, ok := x.(*NumberLit)
	return ok && !isReal(n.Text) && strings.TrimLeft(n.Text, "0") == "2147483648"
}

func (e *env) nameType(x *Ident) types.Type {
	c := e.c
	switch s := e.lookup(x.Name).(type) {
	case nil:
		return e.builtinType(x)
	case *paramSym:
		return types.I32
	case *constSym:
		return types.I32
	case *iterSym:
		if e.level < atCells {
			return e.cannotDepend(x, s)
		}
		return types.I32
	case *scalarSym:
		if e.level < atStart {
			return e.cannotDepend(x, s)
		}
		if s.broken {
			return types.Invalid
		}
		return s.scalar.Type
	case *tempSym:
		if e.level < atCells {
			return e.cannotDepend(x, s)
		}
		if s.now == nil {
			c.diags.Errorf(x.Span(), "%q is read before it has a value", x.Name)
			return types.Invalid
		}
		return s.typ
	case *argSym:
		return s.env.typeOf(s.expr)
	case *gridSym, *arraySym:
		if e.level < atCells {
			return e.cannotDepend(x, s)
		}
		c.diags.Errorf(x.Span(), "%q is a grid and needs an index", x.Name)
	case *tableSym:
		c.diags.Errorf(x.Span(), "%q is a table and needs an index", x.Name)
	}
	return types.Invalid
}

// cannotDepend reports a name that a value at this level is not made of.
func (e *env) cannotDepend(x *Ident, s symbol) types.Type {
	e.c.diags.Errorf(x.Span(), "%s cannot depend on %q, which is %s", e.place(), x.Name, s.kind())
	return types.Invalid
}

// builtinType types the names that mean something unless they are declared.
func (e *env) builtinType(x *Ident) types.Type {
	switch {
	case x.Name == "true" || x.Name == "false":
		return types.Bool
	case x.Name == "step" && e.level >= atSteps:
		return types.I32
	}
	e.c.undefined(x, e.candidates())
	return types.Invalid
}

func (e *env) binaryType(x *BinaryExpr) types.Type {
	a, b := e.typeOf(x.X), e.typeOf(x.Y)
	if a == types.Invalid || b == types.Invalid {
		return types.Invalid
	}
	switch x.Op {
	case AndAnd, OrOr, Eq, Ne, Lt, Le, Gt, Ge:
		return types.Bool
	case Amp, Bar:
		for i, t := range []types.Type{a, b} {
			if isFloating(t) {
				side := []Expr{x.X, x.Y}[i]
				e.c.diags.Errorf(side.Span(), "%s works on whole numbers, and this is %s", x.Op, typeWord(t))
				return types.Invalid
			}
		}
		if a == types.Bool && b == types.Bool {
			return types.Bool
		}
		return types.I32
	case Caret:
		return e.powerType(x, a, b)
	case Percent:
		if t := combine(a, b); isFloating(t) {
			e.c.diags.Errorf(x.Span(), "%% works on whole numbers, and this is %s", typeWord(t)).
				Hintf("fmod(x, y) is the remainder of floating-point numbers")
			return types.Invalid
		}
	}
	t := combine(a, b)
	if x.Op == Slash || x.Op == Percent {
		if !e.divisor(x, t) {
			return types.Invalid
		}
	}
	return t
}

func typeWord(t types.Type) string {
	switch t {
	case untyped:
		return "a number with a fraction"
	case types.I32:
		return "an int"
	}
	return "a " + t.Word()
}

// divisor looks for divisions that are certainly not meant.
func (e *env) divisor(x *BinaryExpr, t types.Type) bool {
	y, literal := unparen(x.Y).(*NumberLit)
	if !literal {
		return true
	}
	if isReal(y.Text) {
		if v, err := strconv.ParseFloat(realText(y.Text), 64); err == nil && v == 0 {
			e.c.diags.Warnf(x.Span(), "this divides by zero")
		}
		return true
	}
	if v, ok := parseInt(y.Text); ok && v == 0 {
		e.c.diags.Errorf(x.Span(), "this divides by zero")
		return false
	}
	n, literal := unparen(x.X).(*NumberLit)
	if literal && x.Op == Slash && t == types.I32 {
		a, okA := e.c.intLit(n, false)
		b, okB := e.c.intLit(y, false)
		if okA && okB && a%b != 0 {
			e.c.diags.Warnf(x.Span(), "this is a division of whole numbers, which gives %d", a/b).
				Hintf("write %s.0/%s for the fraction", n.Text, y.Text)
		}
	}
	return true
}

func unparen(x Expr) Expr {
	for {
		p, ok := x.(*ParenExpr)
		if !ok {
			return x
		}
		x = p.X
	}
}

// maxPower is the largest exponent that is computed by multiplication.
const maxPower = 16

func (e *env) powerType(x *BinaryExpr, a, b types.Type) types.Type {
	base := promote(a)
	if _, ok := e.exponent(x.Y, b); ok || isFloating(base) {
		if ok || b == types.I32 || b == types.U8 || b == types.Bool {
			return base
		}
		return combine(base, b)
	}
	d := e.c.diags.Errorf(x.Span(), "a whole number can only be raised to a whole number from %d to %d", -maxPower, maxPower)
	if n, ok := unparen(x.X).(*NumberLit); ok {
		d.Hintf("write %s.0 for a floating-point base", n.Text)
	} else {
		d.Hintf("convert the base: double(...)^...")
	}
	return types.Invalid
}

// exponent returns the value of an exponent that is a small constant integer.
func (e *env) exponent(x Expr, t types.Type) (int, bool) {
	if t != types.I32 {
		return 0, false
	}
	n, ok := e.literalInt(x)
	if !ok || n > maxPower || n < -maxPower {
		return 0, false
	}
	return int(n), true
}

// literalInt returns the value of an integer made of literals and variables of
// bounded sums.
func (e *env) literalInt(x Expr) (int64, bool) {
	switch x := x.(type) {
	case *ParenExpr:
		return e.literalInt(x.X)
	case *NumberLit:
		return parseInt(x.Text)
	case *Ident:
		s, ok := e.lookup(x.Name).(*constSym)
		if !ok {
			return 0, false
		}
		return s.value, true
	case *UnaryExpr:
		n, ok := e.literalInt(x.X)
		if x.Op == Minus {
			n = -n
		}
		return n, ok && x.Op != Bang
	case *BinaryExpr:
		a, okA := e.literalInt(x.X)
		b, okB := e.literalInt(x.Y)
		if !okA || !okB || max(a, -a, b, -b) > 1<<20 {
			return 0, false
		}
		switch x.Op {
		case Plus:
			return a + b, true
		case Minus:
			return a - b, true
		case Star:
			return a * b, true
		}
	}
	return 0, false
}

// function is a function of the language.
type function struct {
	math   op.Func
	fold   op.Op // of min and max
	least  int   // arguments
	most   int   // -1 for any number
	ints   bool  // works on integers as they are
	random bool
	cast   types.Type
}

var functions = makeFunctions()

func makeFunctions() map[string]function {
	m := map[string]function{
		"abs":    {math: op.Abs, least: 1, most: 1, ints: true},
		"fabs":   {math: op.Abs, least: 1, most: 1},
		"min":    {fold: op.Min, least: 2, most: -1, ints: true},
		"max":    {fold: op.Max, least: 2, most: -1, ints: true},
		"fmin":   {fold: op.Min, least: 2, most: 2},
		"fmax":   {fold: op.Max, least: 2, most: 2},
		"random": {least: 1, most: 1, random: true},
	}
	for f := op.Sqrt; f <= op.Hypot; f++ {
		if f != op.Abs {
			m[f.String()] = function{math: f, least: f.Arity(), most: f.Arity()}
		}
	}
	// C's names for float versions mean the same: the arguments' type rules.
	for _, name := range sortedNames(m) {
		if name != "abs" && name != "min" && name != "max" && name != "random" {
			m[name+"f"] = m[name]
		}
	}
	for _, t := range []types.Type{types.I32, types.F32, types.F64, types.U8, types.Bool} {
		m[t.Word()] = function{cast: t, least: 1, most: 1}
	}
	return m
}

func (e *env) callType(x *CallExpr) types.Type {
	t := types.Invalid
	invalid := false
	for i, a := range x.Args {
		u := e.typeOf(a)
		invalid = invalid || u == types.Invalid
		if i == 0 {
			t = promote(u)
		} else {
			t = combine(t, u)
		}
	}
	f, ok := e.c.function(x, e.lookup(x.Func.Name))
	switch {
	case !ok || invalid:
		return types.Invalid
	case f.cast != types.Invalid:
		return f.cast
	case f.random:
		return e.randomType(x, t)
	case f.ints:
		return t
	}
	return real(t)
}

// function returns the function that x calls, unless it has reported that
// there is none or that it takes other arguments. declared is what the
// function's name stands for as the name of a value.
func (c *checker) function(x *CallExpr, declared symbol) (function, bool) {
	name := x.Func.Name
	f, ok := functions[name]
	if ok {
		n := len(x.Args)
		if n >= f.least && (f.most < 0 || n <= f.most) {
			return f, true
		}
		want := strconv.Itoa(f.least) + " argument" + plural(f.least)
		if f.most < 0 {
			want = "at least " + want
		}
		c.diags.Errorf(x.Span(), "%s takes %s, not %d", name, want, n)
		return f, false
	}
	if declared != nil {
		d := c.diags.Errorf(x.Func.Span(), "%q is %s, not a function", name, declared.kind())
		switch declared.(type) {
		case *gridSym, *arraySym, *tableSym:
			d.Hintf("an index stands in square brackets")
		}
		return f, false
	}
	if _, ok := c.stencils[name]; ok {
		c.diags.Errorf(x.Func.Span(), "%q is a stencil and gives no value", name)
		return f, false
	}
	d := c.diags.Errorf(x.Func.Span(), "there is no function %q", name)
	if near := diag.Nearest(name, sortedNames(functions)); near != "" {
		d.Hintf("did you mean %q?", near)
	}
	return f, false
}

func (e *env) randomType(x *CallExpr, t types.Type) types.Type {
	switch {
	case e.level < atInitial:
		e.c.diags.Errorf(x.Span(), "random stands in an initial block alone")
	case isFloating(t):
		e.c.diags.Errorf(x.Args[0].Span(), "the seed of random is a whole number")
	default:
		return untyped
	}
	return types.Invalid
}

func (e *env) indexType(x *IndexExpr) types.Type {
	c := e.c
	name := x.Name.Name
	switch s := e.lookup(name).(type) {
	case nil:
		c.undefined(x.Name, e.candidates())
	case *tableSym:
		if s.broken {
			return types.Invalid
		}
		if len(x.Indices) != len(s.size) {
			c.diags.Errorf(x.Span(), "%q has %d dimension%s, and this gives %d", name, len(s.size), plural(len(s.size)), len(x.Indices))
			return types.Invalid
		}
		return s.typ
	case *arraySym:
		if s.broken {
			return types.Invalid
		}
		return e.cellType(x, s, s.array.Type, len(s.array.Dims))
	case *gridSym:
		if s.broken {
			return types.Invalid
		}
		return e.cellType(x, s, s.grid.Type, len(s.grid.Dims))
	default:
		c.diags.Errorf(x.Span(), "%q is %s and takes no index", name, s.kind())
	}
	return types.Invalid
}

func (e *env) cellType(x *IndexExpr, s symbol, t types.Type, rank int) types.Type {
	name := x.Name.Name
	switch {
	case e.level < atCells:
		return e.cannotDepend(x.Name, s)
	case len(x.Indices) != rank:
		e.c.diags.Errorf(x.Span(), "%q has %d dimension%s, and this gives %d", name, rank, plural(rank), len(x.Indices))
	default:
		return t
	}
	return types.Invalid
}

func (e *env) sumType(x *SumExpr) types.Type {
	if _, ok := e.lookup(x.Var.Name).(*iterSym); ok {
		e.c.diags.Errorf(x.Var.Span(), "%q is an iterator and cannot be the variable of a sum", x.Var.Name)
		return types.Invalid
	}
	lo, ok := e.sumBound(x.Lo)
	hi, okHi := e.sumBound(x.Hi)
	// The type of the body is the same for every value of the variable.
	var t types.Type
	e.with(x.Var.Name, &constSym{lo}, func() { t = e.typeOf(x.Body) })
	if !ok || !okHi || t == types.Invalid {
		return types.Invalid
	}
	if hi < lo {
		e.c.diags.Errorf(x.Lo.Span().To(x.Hi.Span()), "this sum has no terms")
		return types.Invalid
	}
	return promote(t)
}

func (e *env) sumBound(x Expr) (int64, bool) {
	n, ok := e.literalInt(x)
	if !ok {
		e.c.diags.Errorf(x.Span(), "the bounds of a sum are constant whole numbers")
	}
	return n, ok
}

package lang

import (
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/types"
)

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
			c.lack(x.Span(), "%q is read before it has a value", x.Name)
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
			c.diags.Errorf(x.Span(), "%q has %d dimension%s, and this gives %d", name, len(s.size), plural(len(s.size)),
				len(x.Indices))
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

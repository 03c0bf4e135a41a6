package lang

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// maxCoef bounds what sizes and bounds are made of; it keeps their arithmetic
// within an int64.
const maxCoef = int64(1) << 31

// affine reads x as a size or a bound: a sum of parameters with whole-number
// factors.
func (e *env) affine(x Expr) (ir.Affine, bool) {
	a, ok := e.affineOf(x)
	if !ok {
		return ir.Affine{}, false
	}
	big := a.Const > maxCoef || a.Const < -maxCoef
	for _, t := range a.Terms {
		big = big || t.Coef > maxCoef || t.Coef < -maxCoef
	}
	if big {
		e.c.diags.Errorf(x.Span(), "this number is too large")
		return ir.Affine{}, false
	}
	return a, true
}

func (e *env) affineOf(x Expr) (ir.Affine, bool) {
	c := e.c
	switch x := x.(type) {
	case *NumberLit:
		n, ok := c.intLit(x, false)
		return ir.Num(n), ok
	case *ParenExpr:
		return e.affine(x.X)
	case *Ident:
		switch s := e.lookup(x.Name).(type) {
		case *paramSym:
			return ir.ParamAffine(s.index), true
		case *argSym:
			return s.env.affine(s.expr)
		case nil:
			c.undefined(x, e.candidates())
		default:
			c.diags.Errorf(x.Span(), "a size or a bound is made of parameters and numbers, and %q is %s",
				x.Name, s.kind())
		}
		return ir.Affine{}, false
	case *UnaryExpr:
		a, ok := e.affine(x.X)
		switch x.Op {
		case Minus:
			return a.Times(-1), ok
		case Plus:
			return a, ok
		}
	case *BinaryExpr:
		a, okA := e.affine(x.X)
		b, okB := e.affine(x.Y)
		if !okA || !okB {
			return ir.Affine{}, false
		}
		switch {
		case x.Op == Plus:
			return a.Plus(b), true
		case x.Op == Minus:
			return a.Minus(b), true
		case x.Op == Star && a.IsConst():
			return b.Times(a.Const), true
		case x.Op == Star && b.IsConst():
			return a.Times(b.Const), true
		case x.Op == Slash && a.IsConst() && b.IsConst() && b.Const != 0:
			return ir.Num(a.Const / b.Const), true
		}
	}
	if call, ok := x.(*CallExpr); ok {
		c.diags.Errorf(x.Span(),
			"a size or a bound calls no function: it is a sum of parameters with whole-number factors, like 2*N+1").
			Hintf("give the value a name of its own: parameter H = %s;", exprText(call))
		return ir.Affine{}, false
	}
	c.diags.Errorf(x.Span(), "a size or a bound is a sum of parameters with whole-number factors, like 2*N+1").
		Hintf("give other values a name of their own: parameter H = N/2;")
	return ir.Affine{}, false
}

// linear is a sum of iterators with whole-number factors and a constant.
type linear struct {
	coef []int64 // by axis
	c    int64
}

// linearOf reads x as a combination of iterators. problem, if not "", says
// what is wrong, at place.
func (e *env) linearOf(x Expr) (l linear, problem string, place diag.Range) {
	zero := linear{coef: make([]int64, e.c.rank())}
	switch x := x.(type) {
	case *ParenExpr:
		return e.linearOf(x.X)
	case *Ident:
		if s, ok := e.lookup(x.Name).(*iterSym); ok {
			zero.coef[s.axis] = 1
			return zero, "", diag.Range{}
		}
	case *UnaryExpr:
		if x.Op == Minus || x.Op == Plus {
			l, problem, place = e.linearOf(x.X)
			if x.Op == Minus {
				l = l.times(-1)
			}
			return l, problem, place
		}
	case *BinaryExpr:
		switch x.Op {
		case Plus, Minus, Star:
			a, problem, place := e.linearOf(x.X)
			if problem != "" {
				return a, problem, place
			}
			b, problem, place := e.linearOf(x.Y)
			if problem != "" {
				return b, problem, place
			}
			switch {
			case x.Op == Plus:
				l = a.plus(b)
			case x.Op == Minus:
				l = a.plus(b.times(-1))
			case a.isConst():
				l = b.times(a.c)
			case b.isConst():
				l = a.times(b.c)
			default:
				return zero, "multiplies iterators", x.Span()
			}
			if l.big() {
				return zero, "is too large", x.Span()
			}
			return l, "", diag.Range{}
		}
	}
	if e.typeOf(x) == types.Invalid {
		return zero, "is in error", x.Span()
	}
	v, ok := e.lower(x, types.F64)
	if !ok {
		return zero, "is in error", x.Span()
	}
	k, ok := v.(ir.Const)
	if !ok || k.Value.T.IsFloat() {
		return zero, "is not a constant number", x.Span()
	}
	zero.c = k.Value.I
	return zero, "", diag.Range{}
}

func (l linear) isConst() bool {
	for _, c := range l.coef {
		if c != 0 {
			return false
		}
	}
	return true
}

func (l linear) plus(m linear) linear {
	out := linear{coef: make([]int64, len(l.coef)), c: l.c + m.c}
	for i := range l.coef {
		out.coef[i] = l.coef[i] + m.coef[i]
	}
	return out
}

func (l linear) times(k int64) linear {
	out := linear{coef: make([]int64, len(l.coef)), c: k * l.c}
	for i := range l.coef {
		out.coef[i] = k * l.coef[i]
	}
	return out
}

func (l linear) big() bool {
	for _, c := range append([]int64{l.c}, l.coef...) {
		if c > 1<<31 || c < -1<<31 {
			return true
		}
	}
	return false
}

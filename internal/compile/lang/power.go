package lang

import (
	"github.com/gridloom/gridloom/internal/compile/types"
)

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
	d := e.c.diags.Errorf(x.Span(), "a whole number can only be raised to a whole number from %d to %d",
		-maxPower, maxPower)
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

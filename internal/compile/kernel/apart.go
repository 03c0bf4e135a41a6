package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Apart returns an index as a sum of an expression and a number, as addresses in instructions are: what
// is copied from neighbouring rows then shares all but the number. The expression is written as the index
// is. An index is in bounds, so no part of it wraps.
//
//	(add (mul (add (mul slot (i32 8)) (i32 1)) (i32 72)) (mul lane (i32 2)))
//	=>
//	(add (mul (mul slot (i32 8)) (i32 72)) (mul lane (i32 2))), 72
func Apart(index Expr) (Expr, int64) {
	if v, ok := IntLit(index); ok {
		return L(op.Int(index.Type(), 0)), v
	}
	switch e := index.(type) {
	case *Cast:
		if e.To == types.I64 && e.X.Type() == types.I32 {
			x, number := Apart(e.X)
			return Conv(types.I64, x), number
		}
	case *Binary:
		switch e.Op {
		case op.Add:
			x, a := Apart(e.X)
			y, b := Apart(e.Y)
			return Add(x, y), a + b
		case op.Sub:
			x, a := Apart(e.X)
			y, b := Apart(e.Y)
			return Sub(x, y), a - b
		case op.Mul:
			if times, ok := IntLit(e.Y); ok {
				x, a := Apart(e.X)
				return Mul(x, e.Y), a * times
			}
		}
	}
	return index, 0
}

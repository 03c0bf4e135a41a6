package ir

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What walks operands and what rebuilds them agree on their order, for every kind of expression.
func TestOrderOfOperands(t *testing.T) {
	access := func() Expr { return &Access{Array: &Array{Type: types.F64}} }
	x, y, z := access(), access(), Expr(StepRef{})
	for _, e := range []Expr{
		x, &Unary{op.Neg, x}, &Binary{op.Add, x, y}, &Fma{x, y, z}, &Select{z, x, y}, &Cast{types.F32, x},
		&FuncCall{Args: []Expr{x, y}}, &PowInt{X: x, N: 3}, &Random{T: types.F64, Seed: z},
	} {
		var seen []Expr
		MapChildren(e, func(c Expr) Expr { seen = append(seen, c); return c })
		if want := Children(e); !slices.Equal(seen, want) {
			t.Errorf("%T: operands are rebuilt in the order %v, and walked in the order %v", e, seen, want)
		}
	}
}

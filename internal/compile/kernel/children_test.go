package kernel

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What walks operands and what rebuilds them agree on their order, for every kind of expression.
func TestOrderOfOperands(t *testing.T) {
	leaf := func(name string, t types.Type) Expr { return V(&Var{Name: name, Type: t}) }
	x, y, z := leaf("x", types.F64), leaf("y", types.F64), leaf("z", types.F64)
	i, j, c := leaf("i", types.I64), leaf("j", types.I64), leaf("c", types.Bool)
	for _, e := range []Expr{
		x, L(op.Float(types.F64, 2)), &Load{Index: i}, &Load{Index: i, Rank: j},
		&Unary{op.Neg, x}, &Binary{op.Add, x, y}, &Fma{x, y, z}, &Select{c, x, y}, &Cast{types.F32, x},
		&FuncCall{Args: []Expr{x, y}}, &Random{T: types.F64, Seed: i, Number: j},
	} {
		var seen []Expr
		mapChildren(e, func(c Expr) Expr { seen = append(seen, c); return c })
		if want := Children(e); !slices.Equal(seen, want) {
			t.Errorf("%T: operands are rebuilt in the order %v, and walked in the order %v", e, seen, want)
		}
	}
}

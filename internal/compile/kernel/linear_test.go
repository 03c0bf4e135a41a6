package kernel_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Indices of neighbours have all terms in common and differ by the literal at their ends.
func TestSpread(t *testing.T) {
	named := func(name string) kernel.Expr { return kernel.V(&kernel.Var{Name: name, Type: types.I64}) }
	slot, y, x := named("slot"), named("y"), named("x")
	element := func(dy, dx int64) kernel.Expr {
		row := kernel.Mul(kernel.Add(y, kernel.I(dy)), kernel.I(36))
		return kernel.Add(slot, kernel.Add(row, kernel.Sub(x, kernel.I(-dx))))
	}
	for _, c := range []struct {
		e    kernel.Expr
		want string
	}{
		{element(0, 0), "(add (add slot (mul y (i64 36))) x)"},
		{element(2, 1), "(add (add (add slot (mul y (i64 36))) x) (i64 73))"},
		{element(2, -3), "(add (add (add slot (mul y (i64 36))) x) (i64 69))"},
		{kernel.Sub(element(1, 0), slot), "(add (add (mul y (i64 36)) x) (i64 36))"},
	} {
		if got := kernel.ExprText(kernel.Spread(c.e)); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}

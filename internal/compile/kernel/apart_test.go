package kernel_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Numbers in an index are set apart, whatever they are multiplied by, and nothing else is.
func TestApart(t *testing.T) {
	row, lane := kernel.V(kernel.NewVar("row", types.I32)), kernel.V(kernel.NewVar("lane", types.I32))
	i := func(n int64) kernel.Expr { return kernel.L(op.Int(types.I32, n)) }
	at := kernel.Add(kernel.Mul(kernel.Add(row, i(3)), i(72)), kernel.Sub(kernel.Mul(lane, i(2)), i(4)))
	for _, c := range []struct {
		index  kernel.Expr
		rest   string
		number int64
	}{
		{at, "(add (mul row (i32 72)) (mul lane (i32 2)))", 212},
		{kernel.Conv(types.I64, at), "(cast i64 (add (mul row (i32 72)) (mul lane (i32 2))))", 212},
		{
			kernel.Mul(kernel.Conv(types.I64, kernel.Sub(row, i(1))), kernel.L(op.Int(types.I64, 1<<33))),
			"(mul (cast i64 row) (i64 8589934592))", -1 << 33,
		},
		{i(7), "(i32 0)", 7},
		{kernel.Sub(i(7), lane), "(sub (i32 0) lane)", 7},
		{kernel.Mul(kernel.Add(row, i(1)), lane), "(mul (add row (i32 1)) lane)", 0},
		{kernel.Bin(op.Rem, kernel.Add(row, i(9)), i(8)), "(rem (add row (i32 9)) (i32 8))", 0},
		{kernel.Min(kernel.Add(row, i(2)), i(5)), "(min (add row (i32 2)) (i32 5))", 0},
	} {
		rest, number := kernel.Apart(c.index)
		if got := kernel.ExprText(rest); got != c.rest || number != c.number {
			t.Errorf("%s: %s and %d, not %s and %d", kernel.ExprText(c.index), got, number, c.rest, c.number)
		}
	}
}

package kernel

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// An interval of a result holds every result, for all small operands.
func TestIntervalsHoldEveryResult(t *testing.T) {
	const n = 5
	var all []Interval
	for lo := int64(-n); lo <= n; lo++ {
		for hi := lo; hi <= n; hi++ {
			all = append(all, Interval{lo, hi})
		}
	}
	x, y := NewVar("x", types.I64), NewVar("y", types.I64)
	for _, o := range []op.Op{
		op.Add, op.Sub, op.Mul, op.Div, op.Rem, op.Min, op.Max, op.And, op.Or, op.Eq, op.Ne, op.Lt, op.Le, op.Gt, op.Ge,
	} {
		for _, a := range all {
			for _, b := range all {
				r := &ranger{of: Ranges{x: a, y: b}}
				got := r.interval(&Binary{o, V(x), V(y)})
				for i := a.Lo; i <= a.Hi; i++ {
					for j := b.Lo; j <= b.Hi; j++ {
						if v := op.Binary(o, op.Int(types.I64, i), op.Int(types.I64, j)); !Exactly(v.I).in(got) {
							t.Fatalf("%d %s %d is %d, which is not in %v, the interval of %v and %v",
								i, o, j, v.I, got, a, b)
						}
					}
				}
			}
		}
	}
}

func TestIntervalsAreTight(t *testing.T) {
	x, y := NewVar("x", types.I64), NewVar("y", types.I64)
	const least, most = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		o          op.Op
		a, b, want Interval
	}{
		{op.Add, Interval{1, 3}, Interval{-2, 5}, Interval{-1, 8}},
		{op.Add, Interval{0, most}, Interval{0, 1}, Interval{least, most}},
		{op.Sub, Interval{0, 1}, Interval{least, 0}, Interval{least, most}},
		{op.Sub, Interval{-5, -1}, Interval{least + 3, 0}, Interval{-5, most - 3}},
		{op.Mul, Interval{-3, 2}, Interval{-5, 7}, Interval{-21, 15}},
		{op.Mul, Interval{0, 1 << 32}, Interval{0, 1 << 31}, Interval{least, most}},
		{op.Div, Interval{-9, 20}, Interval{2, 4}, Interval{-4, 10}},
		{op.Div, Interval{8, 20}, Interval{-1, 1}, Interval{-20, 20}},
		{op.Div, Interval{least, 0}, Interval{-1, -1}, Interval{least, most}},
		{op.Rem, Interval{-9, 20}, Interval{3, 8}, Interval{-7, 7}},
		{op.Rem, Interval{0, 20}, Interval{8, 8}, Interval{0, 7}},
		{op.Rem, Interval{2, 5}, Interval{8, 9}, Interval{2, 5}},
		{op.Rem, Interval{least, -1}, Interval{least, 3}, Interval{-most, 0}},
		{op.And, Interval{-7, most}, Interval{0, 15}, Interval{0, 15}},
		{op.Or, Interval{1, 4}, Interval{2, 9}, Interval{2, 15}},
		{op.Or, Interval{-3, 4}, Interval{-1, 0}, Interval{-8, 7}},
		{op.Lt, Interval{1, 4}, Interval{5, 9}, Interval{1, 1}},
		{op.Ge, Interval{1, 4}, Interval{5, 9}, Interval{0, 0}},
		{op.Eq, Interval{1, 4}, Interval{4, 9}, Interval{0, 1}},
	} {
		r := &ranger{of: Ranges{x: c.a, y: c.b}}
		if got := r.interval(&Binary{c.o, V(x), V(y)}); got != c.want {
			t.Errorf("%v %s %v is %v, want %v", c.a, c.o, c.b, got, c.want)
		}
	}
}

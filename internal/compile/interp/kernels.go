package interp

import (
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The loops over a row. Every float loop holds one operation, so that nothing
// can be fused, and is followed by a rounding loop for F32; rounding the
// float64 result of + - * / and the square root of F32 operands once more is
// the same as rounding once (op.floatBinary says why). A row of results may
// lie in an operand's place. package op defines what is computed; a test holds
// these loops to it.

// round makes a row of results what type t can hold.
func round(t types.Type, d []float64) {
	if t != types.F32 {
		return
	}
	for i, v := range d {
		d[i] = float64(float32(v))
	}
}

func wrap(t types.Type, d []int64) {
	switch t {
	case types.I32:
		for i, v := range d {
			d[i] = int64(int32(v))
		}
	case types.U8:
		for i, v := range d {
			d[i] = int64(uint8(v))
		}
	case types.Bool:
		for i, v := range d {
			d[i] = one(v != 0)
		}
	}
}

func one(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// floats computes an arithmetic operator on rows of type t.
func floats(o op.Op, t types.Type, d, x, y []float64) {
	x, y = x[:len(d)], y[:len(d)]
	switch o {
	case op.Add:
		for i := range d {
			d[i] = x[i] + y[i]
		}
	case op.Sub:
		for i := range d {
			d[i] = x[i] - y[i]
		}
	case op.Mul:
		for i := range d {
			d[i] = x[i] * y[i]
		}
	case op.Div:
		for i := range d {
			d[i] = x[i] / y[i]
		}
	case op.Min:
		for i := range d {
			if v := x[i]; v < y[i] || v != v {
				d[i] = v
			} else {
				d[i] = y[i]
			}
		}
		return
	case op.Max:
		for i := range d {
			if v := x[i]; v > y[i] || v != v {
				d[i] = v
			} else {
				d[i] = y[i]
			}
		}
		return
	default:
		panic(fmt.Sprintf("interp: %v on %v", o, t))
	}
	round(t, d)
}

// fma computes x*y + z, rounded once, on rows of type t.
func fma(t types.Type, d, x, y, z []float64) {
	x, y, z = x[:len(d)], y[:len(d)], z[:len(d)]
	if t == types.F32 {
		for i := range d {
			d[i] = float64(op.Fma32(x[i], y[i], z[i]))
		}
		return
	}
	for i := range d {
		d[i] = math.FMA(x[i], y[i], z[i])
	}
}

// ints computes an operator on rows of a type that is not floating-point.
func ints(o op.Op, t types.Type, d, x, y []int64) {
	x, y = x[:len(d)], y[:len(d)]
	switch o {
	case op.Add:
		for i := range d {
			d[i] = x[i] + y[i]
		}
		wrap(t, d)
	case op.Sub:
		for i := range d {
			d[i] = x[i] - y[i]
		}
		wrap(t, d)
	case op.Mul:
		for i := range d {
			d[i] = x[i] * y[i]
		}
		wrap(t, d)
	case op.Min:
		for i := range d {
			d[i] = min(x[i], y[i])
		}
	case op.Max:
		for i := range d {
			d[i] = max(x[i], y[i])
		}
	case op.And:
		for i := range d {
			d[i] = x[i] & y[i]
		}
	case op.Or:
		for i := range d {
			d[i] = x[i] | y[i]
		}
	case op.LAnd:
		for i := range d {
			d[i] = one(x[i] != 0 && y[i] != 0)
		}
	case op.LOr:
		for i := range d {
			d[i] = one(x[i] != 0 || y[i] != 0)
		}
	case op.Eq, op.Ne, op.Lt, op.Le, op.Gt, op.Ge:
		compare(o, d, x, y)
	default:
		for i := range d {
			d[i] = op.Binary(o, op.Value{T: t, I: x[i]}, op.Value{T: t, I: y[i]}).I
		}
	}
}

func compare[T int64 | float64](o op.Op, d []int64, x, y []T) {
	x, y = x[:len(d)], y[:len(d)]
	switch o {
	case op.Eq:
		for i := range d {
			d[i] = one(x[i] == y[i])
		}
	case op.Ne:
		for i := range d {
			d[i] = one(x[i] != y[i])
		}
	case op.Lt:
		for i := range d {
			d[i] = one(x[i] < y[i])
		}
	case op.Le:
		for i := range d {
			d[i] = one(x[i] <= y[i])
		}
	case op.Gt:
		for i := range d {
			d[i] = one(x[i] > y[i])
		}
	case op.Ge:
		for i := range d {
			d[i] = one(x[i] >= y[i])
		}
	default:
		panic(fmt.Sprintf("interp: %v compares nothing", o))
	}
}

func negate(d, x []float64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = -x[i]
	}
}

func negateInts(t types.Type, d, x []int64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = -x[i]
	}
	wrap(t, d)
}

func not(d, x []int64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = one(x[i] == 0)
	}
}

func choose[T any](d []T, c []int64, x, y []T) {
	c, x, y = c[:len(d)], x[:len(d)], y[:len(d)]
	for i := range d {
		if c[i] != 0 {
			d[i] = x[i]
		} else {
			d[i] = y[i]
		}
	}
}

// intsToFloats converts integers to F32 or F64, in one rounding.
func intsToFloats(t types.Type, d []float64, x []int64) {
	x = x[:len(d)]
	if t == types.F32 {
		for i := range d {
			d[i] = float64(float32(x[i]))
		}
		return
	}
	for i := range d {
		d[i] = float64(x[i])
	}
}

// floatsToInts converts floats to any other type.
func floatsToInts(t types.Type, d []int64, x []float64) {
	x = x[:len(d)]
	switch t {
	case types.Bool:
		for i := range d {
			d[i] = one(x[i] != 0)
		}
	case types.I32, types.U8:
		for i := range d {
			d[i] = truncate(x[i])
		}
		wrap(t, d)
	default:
		panic("interp: no cell is converted to " + t.String())
	}
}

// truncate converts to I32: towards zero, saturating, NaN to 0.
func truncate(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v <= math.MinInt32:
		return math.MinInt32
	case v >= math.MaxInt32:
		return math.MaxInt32
	}
	return int64(v)
}

// call computes a function on rows of type t; y is nil where it takes one
// argument.
func call(f op.Func, t types.Type, d, x, y []float64) {
	x = x[:len(d)]
	switch {
	case f == op.Sqrt:
		for i := range d {
			d[i] = math.Sqrt(x[i])
		}
		round(t, d)
	case f == op.Abs:
		for i := range d {
			d[i] = math.Abs(x[i])
		}
	case f.Arity() == 2:
		y = y[:len(d)]
		for i := range d {
			d[i] = op.Call(f, op.Value{T: t, F: x[i]}, op.Value{T: t, F: y[i]}).F
		}
	default:
		for i := range d {
			d[i] = op.Call(f, op.Value{T: t, F: x[i]}).F
		}
	}
}

func absInts(t types.Type, d, x []int64) {
	x = x[:len(d)]
	for i := range d {
		d[i] = max(x[i], -x[i])
	}
	wrap(t, d)
}

// power computes a constant integer power as op.PowInt does, into d, which is
// not x.
func power[T int64 | float64](n int, d, x []T, multiply, divide func(d, x, y []T)) {
	if n == 0 {
		fill(d, 1)
		return
	}
	copy(d, x)
	for range max(n, -n) - 1 {
		multiply(d, d, x)
	}
	if n < 0 {
		ones := make([]T, len(d))
		fill(ones, 1)
		divide(d, ones, d)
	}
}

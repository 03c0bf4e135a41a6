package interp

import (
	"math"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

var edgeFloats = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, -2.5, 3, 1e-45, 1e-310, 1.5e38, -3.4028234663852886e38, 1e300, 255.5,
	256, -1.5,
	2147483647, 2147483648, -2147483649, math.Inf(1), math.Inf(-1), math.NaN(),
}

var edgeInts = []int64{0, 1, -1, 2, 3, -7, 16, 255, 256, 46341, math.MaxInt32, math.MinInt32, math.MinInt32 + 1}

func edges(t types.Type) []op.Value {
	var out []op.Value
	if t.IsFloat() {
		for _, f := range edgeFloats {
			out = append(out, op.Float(t, f))
		}
		return out
	}
	for _, i := range edgeInts {
		out = append(out, op.Int(t, i))
	}
	return out
}

// pairs returns all pairs of edge values as two rows.
func pairs(t types.Type) (x, y []op.Value) {
	for _, a := range edges(t) {
		for _, b := range edges(t) {
			x, y = append(x, a), append(y, b)
		}
	}
	return x, y
}

func split(v []op.Value) (f []float64, i []int64) {
	for _, a := range v {
		f, i = append(f, a.F), append(i, a.I)
	}
	return f, i
}

func check(t *testing.T, what any, f []float64, i []int64, typ types.Type, want func(k int) op.Value) {
	t.Helper()
	for k := range max(len(f), len(i)) {
		got := op.Value{T: typ}
		if typ.IsFloat() {
			got.F = f[k]
		} else {
			got.I = i[k]
		}
		if w := want(k); !got.Same(w) {
			t.Errorf("%v on %v, pair %d: %v, want %v", what, typ, k, got, w)
		}
	}
}

func TestRowsComputeWhatOpDefines(t *testing.T) {
	for _, typ := range []types.Type{types.F32, types.F64, types.I32, types.Bool} {
		x, y := pairs(typ)
		xf, xi := split(x)
		yf, yi := split(y)
		for o := op.Add; o <= op.Ge; o++ {
			logic := o.IsLogic() || o == op.And || o == op.Or
			if o.Arity() == 1 || logic && typ.IsFloat() || o == op.Rem && typ.IsFloat() || o.IsLogic() &&
				typ != types.Bool || typ == types.Bool && o < op.And {
				continue
			}
			df, di := make([]float64, len(x)), make([]int64, len(x))
			result := typ
			switch {
			case o.IsComparison() && typ.IsFloat():
				compare(o, di, xf, yf)
			case typ.IsFloat():
				floats(o, typ, df, xf, yf)
			default:
				ints(o, typ, di, xi, yi)
			}
			if o.IsComparison() {
				result = types.Bool
			}
			check(t, o, df, di, result, func(k int) op.Value { return op.Binary(o, x[k], y[k]) })
		}
		for f := op.Sqrt; f <= op.Hypot; f++ {
			if !typ.IsFloat() {
				continue
			}
			df := make([]float64, len(x))
			if f.Arity() == 1 {
				call(f, typ, df, xf, nil)
				check(t, f, df, nil, typ, func(k int) op.Value { return op.Call(f, x[k]) })
			} else {
				call(f, typ, df, xf, yf)
				check(t, f, df, nil, typ, func(k int) op.Value { return op.Call(f, x[k], y[k]) })
			}
		}
	}
}

func TestRowsConvertAsOpDefines(t *testing.T) {
	all := []types.Type{types.Bool, types.U8, types.I32, types.F32, types.F64}
	for _, from := range all {
		x := edges(from)
		xf, xi := split(x)
		for _, to := range all {
			df, di := make([]float64, len(x)), make([]int64, len(x))
			switch {
			case from.IsFloat() && to.IsFloat():
				copy(df, xf)
				round(to, df)
			case to.IsFloat():
				intsToFloats(to, df, xi)
			case from.IsFloat():
				floatsToInts(to, di, xf)
			default:
				copy(di, xi)
				wrap(to, di)
			}
			check(t, from.String()+" to", df, di, to, func(k int) op.Value { return op.Convert(to, x[k]) })
		}
	}
}

func TestRowsOfOneOperand(t *testing.T) {
	for _, typ := range []types.Type{types.F32, types.F64, types.I32} {
		x := edges(typ)
		xf, xi := split(x)
		df, di := make([]float64, len(x)), make([]int64, len(x))
		if typ.IsFloat() {
			negate(df, xf)
		} else {
			negateInts(typ, di, xi)
		}
		check(t, op.Neg, df, di, typ, func(k int) op.Value { return op.Unary(op.Neg, x[k]) })
		if typ == types.I32 {
			absInts(typ, di, xi)
			check(t, op.Abs, nil, di, typ, func(k int) op.Value { return op.Call(op.Abs, x[k]) })
		}
		for _, n := range []int{0, 1, 2, 3, 7, 16, -1, -2, -5} {
			power(n, df, xf, func(d, x, y []float64) { floats(op.Mul, typ, d, x, y) },
				func(d, x, y []float64) { floats(op.Div, typ, d, x, y) })
			power(n, di, xi, func(d, x, y []int64) { ints(op.Mul, typ, d, x, y) },
				func(d, x, y []int64) { ints(op.Div, typ, d, x, y) })
			if typ.IsFloat() {
				check(t, n, df, nil, typ, func(k int) op.Value { return op.PowInt(x[k], n) })
			} else {
				check(t, n, nil, di, typ, func(k int) op.Value { return op.PowInt(x[k], n) })
			}
		}
	}
}

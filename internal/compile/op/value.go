package op

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Value is one typed value. Floats are in F (an F32 value is a float64 that a
// float32 holds exactly), everything else is in I (Bool as 0 or 1).
type Value struct {
	T types.Type
	F float64
	I int64
}

// Int returns an integer value of type t, reduced to t's range.
func Int(t types.Type, i int64) Value { return Value{T: t, I: wrap(t, i)} }

// Float returns a floating-point value of type t, rounded to t.
func Float(t types.Type, f float64) Value { return Value{T: t, F: round(t, f)} }

// BoolOf returns a Bool value.
func BoolOf(b bool) Value {
	if b {
		return Value{T: types.Bool, I: 1}
	}
	return Value{T: types.Bool}
}

// True reports whether a Bool value is true.
func (v Value) True() bool { return v.I != 0 }

// AsFloat returns the value as a float64, whatever its type.
func (v Value) AsFloat() float64 {
	if v.T.IsFloat() {
		return v.F
	}
	return float64(v.I)
}

// String prints the value so that it reads back exactly: "0.1", "-3", "true".
func (v Value) String() string {
	switch {
	case v.T == types.Bool:
		return strconv.FormatBool(v.True())
	case v.T.IsFloat():
		bits := 64
		if v.T == types.F32 {
			bits = 32
		}
		return strconv.FormatFloat(v.F, 'g', -1, bits)
	}
	return strconv.FormatInt(v.I, 10)
}

// Same reports whether two values are identical; all NaNs are one value, and
// the two zeros are different.
func (v Value) Same(w Value) bool {
	if v.T != w.T {
		return false
	}
	if v.T.IsFloat() {
		return math.Float64bits(v.F) == math.Float64bits(w.F) || v.F != v.F && w.F != w.F
	}
	return v.I == w.I
}

func round(t types.Type, f float64) float64 {
	if t == types.F32 {
		return float64(float32(f))
	}
	return f
}

func wrap(t types.Type, i int64) int64 {
	switch t {
	case types.Bool:
		if i != 0 {
			return 1
		}
		return 0
	case types.U8:
		return int64(uint8(i))
	case types.I32:
		return int64(int32(i))
	}
	return i
}

// Convert returns v as type t. Float to integer truncates towards zero and
// saturates, NaN becomes 0; anything to U8 goes through I32 and is taken
// modulo 256; anything to Bool is a comparison with zero.
func Convert(t types.Type, v Value) Value {
	switch {
	case t == types.Bool:
		if v.T.IsFloat() {
			return BoolOf(v.F != 0)
		}
		return BoolOf(v.I != 0)
	case t.IsFloat():
		// An int64 converts to float32 in one rounding.
		if !v.T.IsFloat() {
			if t == types.F32 {
				return Value{T: t, F: float64(float32(v.I))}
			}
			return Value{T: t, F: float64(v.I)}
		}
		return Float(t, v.F)
	case v.T.IsFloat():
		if t == types.I64 {
			return Value{T: t, I: saturate(v.F, math.MinInt64, math.MaxInt64)}
		}
		return Int(t, saturate(v.F, math.MinInt32, math.MaxInt32))
	}
	return Int(t, v.I)
}

func saturate(f float64, lo, hi int64) int64 {
	switch {
	case f != f:
		return 0
	case f <= float64(lo):
		return lo
	case f >= float64(hi):
		return hi
	}
	return int64(f)
}

// Unary computes Neg or Not.
func Unary(o Op, a Value) Value {
	switch o {
	case Neg:
		if a.T.IsFloat() {
			return Value{T: a.T, F: -a.F}
		}
		return Int(a.T, -a.I)
	case Not:
		return BoolOf(a.I == 0)
	}
	panic(fmt.Sprintf("op: %v is not unary", o))
}

// Binary computes a two-operand operator on values of one type, every
// floating-point result rounded to that type.
func Binary(o Op, a, b Value) Value {
	if a.T != b.T {
		panic(fmt.Sprintf("op: %v of %v and %v", o, a.T, b.T))
	}
	if a.T.IsFloat() {
		return floatBinary(o, a.T, a.F, b.F)
	}
	return intBinary(o, a.T, a.I, b.I)
}

// floatBinary computes in float64. For F32 operands the sum, difference,
// product and quotient rounded to float64 and then to float32 equal the
// directly rounded ones, because 53 >= 2*24 + 2.
func floatBinary(o Op, t types.Type, a, b float64) Value {
	switch o {
	case Add:
		return Float(t, float64(a+b))
	case Sub:
		return Float(t, float64(a-b))
	case Mul:
		return Float(t, float64(a*b))
	case Div:
		return Float(t, float64(a/b))
	case Min:
		if a < b || a != a {
			return Value{T: t, F: a}
		}
		return Value{T: t, F: b}
	case Max:
		if a > b || a != a {
			return Value{T: t, F: a}
		}
		return Value{T: t, F: b}
	case Eq:
		return BoolOf(a == b)
	case Ne:
		return BoolOf(a != b)
	case Lt:
		return BoolOf(a < b)
	case Le:
		return BoolOf(a <= b)
	case Gt:
		return BoolOf(a > b)
	case Ge:
		return BoolOf(a >= b)
	}
	panic(fmt.Sprintf("op: %v on %v", o, t))
}

func intBinary(o Op, t types.Type, a, b int64) Value {
	switch o {
	case Add:
		return Int(t, a+b)
	case Sub:
		return Int(t, a-b)
	case Mul:
		return Int(t, a*b)
	case Div:
		if b == 0 {
			return Int(t, 0)
		}
		if b == -1 {
			return Int(t, -a)
		}
		return Int(t, a/b)
	case Rem:
		if b == 0 || b == -1 {
			return Int(t, 0)
		}
		return Int(t, a%b)
	case Min:
		return Int(t, min(a, b))
	case Max:
		return Int(t, max(a, b))
	case And:
		return Int(t, a&b)
	case Or:
		return Int(t, a|b)
	case LAnd:
		return BoolOf(a != 0 && b != 0)
	case LOr:
		return BoolOf(a != 0 || b != 0)
	case Eq:
		return BoolOf(a == b)
	case Ne:
		return BoolOf(a != b)
	case Lt:
		return BoolOf(a < b)
	case Le:
		return BoolOf(a <= b)
	case Gt:
		return BoolOf(a > b)
	case Ge:
		return BoolOf(a >= b)
	}
	panic(fmt.Sprintf("op: %v on %v", o, t))
}

// Call computes a function on arguments of one type, rounded to that type.
// Functions with ULP() > 0 may differ from other devices by that much.
func Call(f Func, args ...Value) Value {
	t := args[0].T
	if t == types.I32 && f == Abs {
		if args[0].I < 0 {
			return Int(t, -args[0].I)
		}
		return args[0]
	}
	if !t.IsFloat() {
		panic(fmt.Sprintf("op: %v of %v", f, t))
	}
	x := args[0].F
	switch {
	case f == InvSqrt: // two roundings
		return Float(t, 1/Float(t, math.Sqrt(x)).F)
	case f.Arity() == 2:
		return Float(t, call2(f, x, args[1].F))
	}
	return Float(t, call1(f, x))
}

func call1(f Func, x float64) float64 {
	switch f {
	case Sqrt:
		return math.Sqrt(x)
	case Abs:
		return math.Abs(x)
	case Floor:
		return math.Floor(x)
	case Ceil:
		return math.Ceil(x)
	case Trunc:
		return math.Trunc(x)
	case Round:
		return math.Round(x)
	case Exp:
		return math.Exp(x)
	case Exp2:
		return math.Exp2(x)
	case Log:
		return math.Log(x)
	case Log2:
		return math.Log2(x)
	case Log10:
		return math.Log10(x)
	case Sin:
		return math.Sin(x)
	case Cos:
		return math.Cos(x)
	case Tan:
		return math.Tan(x)
	case Asin:
		return math.Asin(x)
	case Acos:
		return math.Acos(x)
	case Atan:
		return math.Atan(x)
	case Sinh:
		return math.Sinh(x)
	case Cosh:
		return math.Cosh(x)
	case Tanh:
		return math.Tanh(x)
	case Cbrt:
		return math.Cbrt(x)
	case Erf:
		return math.Erf(x)
	}
	panic(fmt.Sprintf("op: %v takes two arguments", f))
}

func call2(f Func, x, y float64) float64 {
	switch f {
	case Fmod:
		return math.Mod(x, y)
	case Pow:
		return math.Pow(x, y)
	case Atan2:
		return math.Atan2(x, y)
	case Hypot:
		return math.Hypot(x, y)
	case Quotient:
		return x / y
	}
	panic(fmt.Sprintf("op: %v takes one argument", f))
}

// PowInt computes x to a constant integer power by repeated multiplication,
// each product rounded: ((x*x)*x)*..., and 1/(...) for a negative power.
// Integers: a negative power divides 1 by the product as Div does.
func PowInt(x Value, n int) Value {
	one := Value{T: x.T, F: 1}
	if !x.T.IsFloat() {
		one = Int(x.T, 1)
	}
	if n == 0 {
		return one
	}
	m := n
	if m < 0 {
		m = -m
	}
	p := x
	for i := 1; i < m; i++ {
		p = Binary(Mul, p, x)
	}
	if n < 0 {
		return Binary(Div, one, p)
	}
	return p
}

// Random returns the n-th value of the stream that a seed names, uniform in
// [0, 1): the top bits of the SplitMix64 output function (Steele, Lea and
// Flood, OOPSLA 2014) applied to seed and n, 24 bits for F32 and 53 for F64,
// so that it is exact and the same on every device.
func Random(t types.Type, seed, n int64) Value {
	z := uint64(n)*0x9E3779B97F4A7C15 + mix(uint64(seed))
	bits := mix(z)
	if t == types.F32 {
		return Value{T: t, F: float64(bits>>40) / (1 << 24)}
	}
	return Value{T: t, F: float64(bits>>11) / (1 << 53)}
}

func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

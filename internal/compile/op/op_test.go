package op

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/types"
)

func TestNamesParseBack(t *testing.T) {
	for o := Add; o <= Ge; o++ {
		if got, ok := ParseOp(o.String()); !ok || got != o {
			t.Errorf("%q parses as %v, %t", o, got, ok)
		}
		if o.Arity() == 2 && o.Sign() == "" && o != Min && o != Max {
			t.Errorf("%v has no sign", o)
		}
	}
	for f := Sqrt; f <= InvSqrt; f++ {
		if got, ok := ParseFunc(f.String()); !ok || got != f {
			t.Errorf("%q parses as %v, %t", f, got, ok)
		}
	}
	if _, ok := ParseOp("invalid"); ok {
		t.Error("there is an operator called invalid")
	}
	if _, ok := ParseFunc(""); ok {
		t.Error("there is a function without a name")
	}
}

var (
	nan     = math.NaN()
	inf     = math.Inf(1)
	negZero = math.Copysign(0, -1)
)

func i32(i int64) Value   { return Int(types.I32, i) }
func f32(f float64) Value { return Float(types.F32, f) }
func f64(f float64) Value { return Float(types.F64, f) }

func TestBinary(t *testing.T) {
	const big, small = math.MaxInt32, math.MinInt32
	for _, c := range []struct {
		op         Op
		x, y, want Value
	}{
		{Add, i32(big), i32(1), i32(small)},
		{Sub, i32(small), i32(1), i32(big)},
		{Mul, i32(65536), i32(65536), i32(0)},
		{Mul, i32(46341), i32(46341), i32(-2147479015)},
		{Div, i32(-7), i32(2), i32(-3)},
		{Div, i32(7), i32(0), i32(0)},
		{Div, i32(small), i32(-1), i32(small)},
		{Rem, i32(-7), i32(2), i32(-1)},
		{Rem, i32(7), i32(-2), i32(1)},
		{Rem, i32(7), i32(0), i32(0)},
		{Rem, i32(small), i32(-1), i32(0)},
		{Min, i32(-1), i32(1), i32(-1)},
		{And, i32(-2), i32(7), i32(6)},
		{Or, i32(-8), i32(3), i32(-5)},
		{And, BoolOf(true), BoolOf(false), BoolOf(false)},
		{LAnd, BoolOf(true), BoolOf(true), BoolOf(true)},
		{LOr, BoolOf(false), BoolOf(false), BoolOf(false)},
		{Eq, f64(0), f64(negZero), BoolOf(true)},
		{Ne, f64(nan), f64(nan), BoolOf(true)},
		{Ge, f64(nan), f64(nan), BoolOf(false)},
		{Lt, i32(small), i32(big), BoolOf(true)},
		{Max, f64(nan), f64(1), f64(nan)},
		{Max, f64(1), f64(nan), f64(nan)},
		{Min, f64(nan), f64(1), f64(nan)},
		{Min, f64(1), f64(nan), f64(nan)},
		{Max, f64(0), f64(negZero), f64(negZero)},
		{Max, f64(negZero), f64(0), f64(0)},
		{Min, f64(inf), f64(-inf), f64(-inf)},
		{Add, f32(16777216), f32(1), f32(16777216)},
		{Div, f32(1), f32(3), f32(0.3333333432674408)},
		{Mul, f32(1e38), f32(10), f32(inf)},
		{Div, f64(1), f64(0), f64(inf)},
	} {
		if got := Binary(c.op, c.x, c.y); !got.Same(c.want) {
			t.Errorf("%v(%v, %v) is %v, want %v", c.op, c.x, c.y, got, c.want)
		}
	}
}

func TestUnary(t *testing.T) {
	for _, c := range []struct {
		op      Op
		x, want Value
	}{
		{Neg, i32(math.MinInt32), i32(math.MinInt32)},
		{Neg, f64(0), f64(negZero)},
		{Not, BoolOf(true), BoolOf(false)},
	} {
		if got := Unary(c.op, c.x); !got.Same(c.want) {
			t.Errorf("%v(%v) is %v, want %v", c.op, c.x, got, c.want)
		}
	}
}

func TestConvert(t *testing.T) {
	u8 := func(i int64) Value { return Int(types.U8, i) }
	for _, c := range []struct {
		x    Value
		want Value
	}{
		{f64(2.9), i32(2)},
		{f64(-2.9), i32(-2)},
		{f64(1e10), i32(math.MaxInt32)},
		{f64(-inf), i32(math.MinInt32)},
		{f64(nan), i32(0)},
		{f64(-1.5), u8(255)},
		{f64(300), u8(44)},
		{f64(1e10), u8(255)}, // 2^31-1 modulo 256
		{i32(-1), u8(255)},
		{u8(200), i32(200)},
		{f64(nan), BoolOf(true)},
		{f64(negZero), BoolOf(false)},
		{i32(256), BoolOf(true)},
		{BoolOf(true), f64(1)},
		{i32(16777217), f32(16777216)},
		{f64(0.1), f32(0.10000000149011612)},
		{f32(0.1), f64(0.10000000149011612)},
		{Int(types.I64, 1<<53+1), f64(1 << 53)},
		{f64(1e30), Int(types.I64, math.MaxInt64)},
	} {
		if got := Convert(c.want.T, c.x); !got.Same(c.want) {
			t.Errorf("%v as %v is %v, want %v", c.x, c.want.T, got, c.want)
		}
	}
}

func TestPowInt(t *testing.T) {
	for _, c := range []struct {
		x    Value
		n    int
		want Value
	}{
		{f64(2), 10, f64(1024)},
		{f64(2), -2, f64(0.25)},
		{f64(nan), 0, f64(1)},
		{f64(0), -1, f64(inf)},
		{i32(3), 4, i32(81)},
		{i32(3), -1, i32(0)},
		{i32(0), -1, i32(0)},
		{i32(-1), -3, i32(-1)},
		{i32(10), 10, i32(1410065408)},
		{f32(1.1), 3, Binary(Mul, Binary(Mul, f32(1.1), f32(1.1)), f32(1.1))},
	} {
		if got := PowInt(c.x, c.n); !got.Same(c.want) {
			t.Errorf("%v^%d is %v, want %v", c.x, c.n, got, c.want)
		}
	}
}

func TestCall(t *testing.T) {
	for _, c := range []struct {
		f    Func
		args []Value
		want Value
	}{
		{Sqrt, []Value{f32(2)}, f32(1.4142135381698608)},
		{Round, []Value{f64(-2.5)}, f64(-3)},
		{Fmod, []Value{f64(-5.5), f64(2)}, f64(-1.5)},
		{Abs, []Value{i32(math.MinInt32)}, i32(math.MinInt32)},
		{Abs, []Value{i32(-3)}, i32(3)},
		{Abs, []Value{f64(negZero)}, f64(0)},
		{Atan2, []Value{f64(0), f64(-1)}, f64(math.Pi)},
		{Pow, []Value{f64(4), f64(0.5)}, f64(2)},
		{Hypot, []Value{f64(3), f64(4)}, f64(5)},
		{Quotient, []Value{f32(1), f32(3)}, f32(0.3333333432674408)},
		{InvSqrt, []Value{f32(7)}, f32(0.37796449661254883)}, // rounded once, the last digits were 022644
	} {
		if got := Call(c.f, c.args...); !got.Same(c.want) {
			t.Errorf("%v of %v is %v, want %v", c.f, c.args, got, c.want)
		}
	}
}

// Computing in float64 and rounding to float32 is the same as computing in
// float32.
func TestFloatsAreRoundedOnce(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) float32 {
		return math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
	})
	rapid.Check(t, func(t *rapid.T) {
		x, y := value.Draw(t, "x"), value.Draw(t, "y")
		for o, want := range map[Op]float32{Add: x + y, Sub: x - y, Mul: x * y, Div: x / y} {
			got := Binary(o, Float(types.F32, float64(x)), Float(types.F32, float64(y)))
			if !got.Same(Value{T: types.F32, F: float64(want)}) {
				t.Fatalf("%v(%v, %v) is %v, want %v", o, x, y, got, want)
			}
		}
	})
}

func TestValuesPrintAndReadBack(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{f64(0.1), "0.1"}, {f32(0.1), "0.1"}, {f64(negZero), "-0"}, {f64(1e300), "1e+300"}, {f64(nan), "NaN"},
		{f64(inf), "+Inf"},
		{i32(-3), "-3"}, {BoolOf(true), "true"}, {Int(types.U8, 300), "44"},
	} {
		if got := c.v.String(); got != c.want {
			t.Errorf("%v prints as %s, want %s", c.v, got, c.want)
		}
	}
}

// The stream is fixed for good: stored results depend on it.
func TestRandom(t *testing.T) {
	for _, c := range []struct {
		t       types.Type
		seed, n int64
		want    float64
	}{
		{types.F64, 0, 0, 0.6524484863740322},
		{types.F64, 1, 0, 0.36818951565166946},
		{types.F64, 1, 1, 0.9435642308648544},
		{types.F32, 1, 1, 0.9435641765594482},
	} {
		if got := Random(c.t, c.seed, c.n).F; got != c.want {
			t.Errorf("random %v of seed %d at %d is %v, want %v", c.t, c.seed, c.n, got, c.want)
		}
	}
	// Uniform: sixteen classes of 4096 values, by the chi-squared test with 15
	// degrees of freedom at 0.1%.
	for _, seed := range []int64{0, 1, 2, -7, 1 << 40} {
		var count [16]float64
		const n = 65536
		for i := range int64(n) {
			v := Random(types.F64, seed, i).F
			if v < 0 || v >= 1 {
				t.Fatalf("random of seed %d at %d is %v", seed, i, v)
			}
			count[int(v*16)]++
		}
		chi := 0.0
		for _, c := range count {
			chi += (c - n/16) * (c - n/16) / (n / 16)
		}
		if chi > 37.7 {
			t.Errorf("seed %d: chi squared is %v", seed, chi)
		}
	}
}

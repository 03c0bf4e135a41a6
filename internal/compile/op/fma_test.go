package op

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// exactFma computes a*b + c with all its digits and rounds once.
func exactFma(a, b, c float64) *big.Float {
	p := new(big.Float).SetPrec(120).Mul(big.NewFloat(a), big.NewFloat(b))
	return new(big.Float).SetPrec(5000).Add(p, big.NewFloat(c))
}

func TestFma32ByHand(t *testing.T) {
	const (
		u    = 0x1p-23 // from 1 to the next float32
		tiny = 0x1p-149
		huge = math.MaxFloat32
	)
	for _, c := range []struct {
		what    string
		a, b, c float64
		want    float32
		double  bool // a sum that is rounded to float64 first goes elsewhere
		apart   bool // a product that is rounded first goes elsewhere
	}{
		{what: "plain", a: 2, b: 3, c: 4, want: 10},
		{what: "halfway, even below", a: 1, b: u / 2, c: 1, want: 1},
		{what: "halfway, even above", a: 1, b: u / 2, c: 1 + u, want: 1 + 2*u},
		{what: "just below halfway", a: 1 + u, b: u / 2 * (1 - u), c: 1 + u, want: 1 + u, double: true, apart: true},
		{what: "just above halfway", a: 1 + u, b: -u / 2 * (1 - u), c: 1 + u, want: 1 + u, double: true, apart: true},
		{what: "just above halfway, negative", a: 1 + u, b: u / 2 * (1 - u), c: -(1 + u), want: -(1 + u), double: true,
			apart: true},
		{what: "cancellation", a: 1 + u, b: 1 + u, c: -(1 + 2*u), want: u * u, apart: true},
		{what: "subnormal", a: tiny, b: 0.5, c: tiny, want: 2 * tiny, apart: true},
		{what: "a subnormal from a product", a: 0x1p-100, b: 0x1p-50 * (1 + u), c: 0, want: tiny},
		{what: "below all subnormals", a: 0x1p-100, b: 0x1p-100, c: 0x1.8p-126, want: 0x1.8p-126},
		{what: "below all subnormals, at the middle", a: tiny, b: 0.5, c: 0x1p-126, want: 0x1p-126},
		{what: "a product overflows", a: huge, b: 2, c: -huge, want: huge, apart: true},
		{what: "overflow", a: huge, b: 2, c: huge, want: float32(math.Inf(1))},
		{what: "minus zero", a: -0x1p-149, b: 0x1p-149, c: math.Copysign(0, -1), want: float32(math.Copysign(0, -1))},
		{what: "zeros of two signs", a: 0, b: 1, c: math.Copysign(0, -1), want: 0},
		{what: "an infinity", a: math.Inf(1), b: -1, c: huge, want: float32(math.Inf(-1))},
	} {
		got := Fma32(c.a, c.b, c.c)
		if math.Float32bits(got) != math.Float32bits(c.want) {
			t.Errorf("%s: fma(%g, %g, %g) is %g, want %g", c.what, c.a, c.b, c.c, got, c.want)
		}
		if v := float32(c.a*c.b + c.c); (v != c.want) != c.double {
			t.Errorf("%s: rounded twice it is %g", c.what, v)
		}
		if v := float32(c.a*c.b) + float32(c.c); (v != c.want) != c.apart {
			t.Errorf("%s: with a rounded product it is %g", c.what, v)
		}
	}
	nan := math.NaN()
	for _, v := range [][3]float64{{nan, 1, 1}, {1, 1, nan}, {math.Inf(1), 0, 1}, {math.Inf(1), 1, math.Inf(-1)}} {
		if got := Fma32(v[0], v[1], v[2]); got == got {
			t.Errorf("fma%v is %g", v, got)
		}
	}
}

// near draws a float32 whose magnitude is that of another, or any.
func near(t *rapid.T, name string, v float32) float32 {
	bits := rapid.Uint32().Draw(t, name)
	if rapid.Bool().Draw(t, name+" near") {
		bits = bits&0x807fffff | (math.Float32bits(v)&0x7f800000 + rapid.Uint32Range(0, 3).Draw(t,
			name+" exponent")<<23)
	}
	return math.Float32frombits(bits)
}

// Both types against all digits.
func TestFmaRoundsOnce(t *testing.T) {
	finite := func(v float64) bool { return v-v == 0 }
	rapid.Check(t, func(t *rapid.T) {
		a, b := near(t, "a", 1), near(t, "b", 1)
		c := near(t, "c", a*b)
		x, y, z := float64(a), float64(b), float64(c)
		if !finite(x) || !finite(y) || !finite(z) {
			return
		}
		exact := exactFma(x, y, z)
		if exact.Sign() == 0 {
			return // the sign of zero has cases of its own
		}
		want, _ := exact.Float32()
		if got := Fma(Float(types.F32, x), Float(types.F32, y), Float(types.F32, z)).F; float32(got) != want {
			t.Fatalf("float: fma(%g, %g, %g) is %g, want %g", x, y, z, got, want)
		}
		// The factors of a double have bits that no float has.
		x, y = math.Float64frombits(math.Float64bits(x)|rapid.Uint64Range(0, 1<<29-1).Draw(t, "low x")), y*(1+0x1p-40)
		want64, _ := exactFma(x, y, z).Float64()
		if got := Fma(Float(types.F64, x), Float(types.F64, y), Float(types.F64, z)).F; got != want64 && want64 != 0 {
			t.Fatalf("double: fma(%g, %g, %g) is %g, want %g", x, y, z, got, want64)
		}
	})
}

func BenchmarkFma32(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var v [1024]float64
	for i := range v {
		v[i] = float64(rng.Float32())
	}
	sum := float32(0)
	for b.Loop() {
		for i := range v {
			sum += Fma32(v[i], v[(i+1)%1024], v[(i+2)%1024])
		}
	}
	if sum == 0 {
		b.Error("nothing was computed")
	}
}

package kernel_test

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

var pairs = flag.Int("pairs", 300_000, "how many dividends and divisors of each kind are drawn")

// divided is what the pass reciprocals makes of x / c, for a literal c and for one that is found out in the launch.
// TestReciprocalsAreAsCounted holds it to the pass.
func divided64(x, c float64, literal bool) (quotient float64, fast bool) {
	r := math.NaN()
	if size := math.Abs(c); size >= 0x1p-256 && size <= 0x1p1000 {
		r = 1 / c
	}
	estimate := x * r
	refined := math.FMA(math.FMA(-c, estimate, x), r, estimate)
	switch {
	case math.Abs(refined) >= 0x1p-700:
		return refined, true
	case x == 0 && (literal || estimate == 0):
		return estimate, true
	}
	return x / c, false
}

func divided32(x, c float32, literal bool) (quotient float32, fast bool) {
	r := float32(math.NaN())
	if size := math.Abs(float64(c)); size >= 0x1p-30 && size <= 0x1p100 {
		r = 1 / c
	}
	estimate := x * r
	rest := op.Fma32(float64(-c), float64(estimate), float64(x))
	refined := op.Fma32(float64(rest), float64(r), float64(estimate))
	switch {
	case math.Abs(float64(refined)) >= 0x1p-70:
		return refined, true
	case x == 0 && (literal || estimate == 0):
		return estimate, true
	}
	return x / c, false
}

func same64(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

func same32(x, y float32) bool {
	return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
}

// float64s draws numbers of all exponents, and those at which an arithmetic is likely to go wrong.
func float64s(r *rand.Rand) float64 {
	exponent := r.Uint64N(2048)
	switch r.IntN(8) {
	case 0: // around the limits
		exponent = uint64(1023 + []int{-256, -700, -956, 0, 1000, 1023, -1022, -1023, 1024}[r.IntN(9)] + r.IntN(5) - 2)
	case 1, 2, 3:
		exponent = 1023 + r.Uint64N(200) - 100
	}
	fraction := r.Uint64()
	switch r.IntN(8) {
	case 0:
		fraction = uint64(r.IntN(5)) - 2
	case 1:
		fraction = 1<<r.IntN(53) - uint64(r.IntN(3))
	}
	return math.Float64frombits(r.Uint64()<<63 | (exponent&2047)<<52 | fraction&(1<<52-1))
}

func float32s(r *rand.Rand) float32 {
	exponent := r.Uint32N(256)
	switch r.IntN(8) {
	case 0:
		exponent = uint32(127 + []int{-30, -70, -100, 0, 100, 127, -126, -127, 128}[r.IntN(9)] + r.IntN(5) - 2)
	case 1, 2, 3:
		exponent = 127 + r.Uint32N(20) - 10
	}
	fraction := r.Uint32()
	switch r.IntN(8) {
	case 0:
		fraction = uint32(r.IntN(5)) - 2
	case 1:
		fraction = 1<<r.IntN(24) - uint32(r.IntN(3))
	}
	return math.Float32frombits(r.Uint32()<<31 | (exponent&255)<<23 | fraction&(1<<23-1))
}

// The quotients of what the pass makes are those of divisions, bit for bit.
func TestReciprocalsDivideExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(x, c float64) {
		for _, literal := range []bool{false, math.Abs(c) >= 0x1p-256 && math.Abs(c) <= 0x1p1000} {
			if got, _ := divided64(x, c, literal); !same64(got, x/c) {
				t.Fatalf("%x / %x is %x and not %x", x, c, got, x/c)
			}
		}
	}
	special := []float64{0, 1, 2, 3, 0x1p-256, 0x1p-257, 0x1p1000, 0x1.fp1000, 0x1p-700, 0x1p-701, 0x1.8p-956, 5e-324,
		0x1p-1022, math.Nextafter(0x1p-1022, 0), math.MaxFloat64, 0x1.fffffffffffffp0, math.Inf(1), math.NaN()}
	for _, x := range special {
		for _, c := range special {
			for _, s := range []float64{1, -1} {
				check(x, s*c)
				check(-x, s*c)
			}
		}
	}
	for range *pairs {
		check(float64s(r), float64s(r))
	}
	// Quotients of subnormal numbers, and close to them.
	for range *pairs / 8 {
		c := float64s(r)
		check(c*math.Ldexp(r.Float64(), -1000-r.IntN(75)), c)
		check(c*math.Ldexp(r.Float64(), -690-r.IntN(20)), c)
	}
	for _, n := range hardest(r, *pairs/8) {
		check(n[0], n[1])
	}
}

// hardest returns dividends and divisors whose quotients are as close to the middle of two numbers as any: for an odd
// c and a small d, X and M with X*2^k - c*M = d, where M has one bit more than a number.
func hardest(r *rand.Rand, n int) [][2]float64 {
	var list [][2]float64
	for len(list) < n {
		c := 1<<52 | r.Uint64N(1<<52) | 1
		if r.IntN(4) == 0 {
			c = 1<<53 - 1 - 2*r.Uint64N(1000)
		}
		inverse := c // modulo 2^64, by Newton's iteration
		for range 6 {
			inverse *= 2 - c*inverse
		}
		d := int64(2*r.IntN(8) - 7)
		for k := 53; k <= 54; k++ { // quotients from 1 on, and below
			m := -uint64(d) * inverse & (1<<k - 1)
			if k == 53 {
				m += 1 << 53
			} else if m < 1<<53 {
				continue
			}
			hi, lo := bits.Mul64(c, m)
			lo, carry := bits.Add64(lo, uint64(d), 0)
			hi += carry
			if d < 0 {
				hi--
			}
			x := hi<<(64-k) | lo>>k
			if lo&(1<<k-1) != 0 {
				panic("not a multiple")
			}
			if x >= 1<<52 && x < 1<<53 {
				list = append(list, [2]float64{float64(x), float64(c)})
			}
		}
	}
	return list
}

// The constructed dividends are hard: quotients that are one off in the last bit would be found.
func TestHardestQuotients(t *testing.T) {
	wrong := 0
	list := hardest(rand.New(rand.NewPCG(3, 4)), 10_000)
	for _, n := range list {
		if n[0]*(1/n[1]) != n[0]/n[1] {
			wrong++
		}
	}
	if wrong < len(list)/4 {
		t.Errorf("a product is wrong %d times of %d", wrong, len(list))
	}
}

// In float that is so for all significands of dividends, and for all of some divisors.
func TestReciprocalsDivideFloatsExactly(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	check := func(x, c float32) {
		for _, literal := range []bool{false, math.Abs(float64(c)) >= 0x1p-30 && math.Abs(float64(c)) <= 0x1p100} {
			if got, _ := divided32(x, c, literal); !same32(got, x/c) {
				t.Fatalf("%x / %x is %x and not %x", x, c, got, x/c)
			}
		}
	}
	for range *pairs {
		check(float32s(r), float32s(r))
	}
	divisors := []float32{3, 0x1.fffffep0, 0x1.000002p0, 0x1.fffffcp-30, 0x1.5p99, float32s(r)}
	for range *pairs / 100_000 {
		divisors = append(divisors, math.Float32frombits(127<<23|r.Uint32N(1<<23)))
	}
	if testing.Short() {
		divisors = divisors[:2]
	}
	for _, c := range divisors {
		scale := float32(math.Exp2(math.Floor(math.Log2(math.Abs(float64(c))))))
		for f := range uint32(1 << 23) {
			x := math.Float32frombits(127<<23|f) * scale
			if got, _ := divided32(x, c, false); got != x/c && !same32(got, x/c) {
				t.Fatalf("%x / %x is %x and not %x", x, c, got, x/c)
			}
		}
	}
}

// What the tests above compute is what the pass makes.
func TestReciprocalsAreAsCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const text = `(kernel k (buffer u %[1]v global in (i64 8)) (buffer v %[1]v global out (i64 8)) (scalar c %[1]v)
	  (for i i64 serial (i64 0) (i64 9) (i64 1) (let x %[1]v (load u (i64 0))) (store v (i64 0) (div x %[2]s))))`
	for range 2000 {
		x, c := float64s(r), float64s(r)
		want, _ := divided64(x, c, false)
		if got := reciprocal(t, fmt.Sprintf(text, types.F64, "c"), op.Float(types.F64, x),
			op.Float(types.F64, c)); !same64(got, want) {
			t.Fatalf("%x / %x is %x and not %x", x, c, got, want)
		}
		y, d := float32s(r), float32s(r)
		want = float64(y / d)
		a, b := op.Float(types.F32, float64(y)), op.Float(types.F32, float64(d))
		if got := reciprocal(t, fmt.Sprintf(text, types.F32, "c"), a, b); !same64(got, want) {
			t.Fatalf("%x / %x is %x and not %x", y, d, got, want)
		}
		literal := fmt.Sprintf("(f32 %s)", b)
		if got := reciprocal(t, fmt.Sprintf(text, types.F32, literal), a, b); !same64(got, want) {
			t.Fatalf("%x / %x is %x and not %x", y, d, got, want)
		}
		literal = fmt.Sprintf("(f64 %s)", op.Float(types.F64, c))
		if got := reciprocal(t, fmt.Sprintf(text, types.F64, literal), op.Float(types.F64, x), b); !same64(got, x/c) {
			t.Fatalf("%x / %x is %x and not %x", x, c, got, x/c)
		}
	}
}

// reciprocal evaluates what the pass makes of a kernel that divides x by the argument c.
func reciprocal(t *testing.T, text string, x, c op.Value) float64 {
	t.Helper()
	k := parse(t, text)
	for _, p := range kernel.Passes {
		if p.Name == "reciprocals" {
			k = p.Run(k, nil)
		}
	}
	env := map[*kernel.Var]op.Value{k.Scalars[0]: c}
	result := math.Inf(-1)
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		switch s := s.(type) {
		case *kernel.Let:
			if _, ok := s.Value.(*kernel.Load); ok {
				env[s.Var] = x
			} else {
				env[s.Var] = kernel.Eval(s.Value, env)
			}
		case *kernel.Store:
			result = kernel.Eval(s.Value, env).F
		}
	}, nil)
	return result
}

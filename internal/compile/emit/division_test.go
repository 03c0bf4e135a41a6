package emit_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// refined is what the helper invsqrt_rn_f64 of CUDA makes of x and z, which is close to 1 / sqrt(x).
func refined(x, z float64) (root, inverse float64) {
	near := x * z
	root = math.FMA(math.FMA(-near, near, x), 0.5*z, near)
	return root, math.FMA(math.FMA(-root, z, 1), z, z)
}

// fourth is the step before that, from the machine's approximation.
func fourth(x, y float64) float64 {
	e := math.FMA(-x, y*y, 1)
	return math.FMA(math.FMA(math.FMA(e, 0.3125, 0.375), e, 0.5), y*e, y)
}

// unusual are numbers that the helper does not refine, by their low word.
func unusual(x float64) bool { return uint32(math.Float64bits(x)) >= 0xfffffffe }

// inverseRoot returns 1 / sqrt(x) in units of the last place of z, as a distance from z.
func inverseRoot(x, z float64) float64 {
	const prec = 200
	root := new(big.Float).SetPrec(prec).SetFloat64(x)
	root.Quo(new(big.Float).SetPrec(prec).SetInt64(1), root.Sqrt(root))
	root.Sub(root, new(big.Float).SetPrec(prec).SetFloat64(z))
	_, exponent := math.Frexp(z)
	root.SetMantExp(root, 53-exponent)
	distance, _ := root.Float64()
	return distance
}

// slack is by how much more than half a unit of the last place z may be off. That of the fourth order is off by
// less than 2^-70 more if the machine's approximation is right to 18 bits.
const slack = 1.0 / 64

// checkInverseRoot checks every z that there may be.
func checkInverseRoot(t *testing.T, x float64) {
	t.Helper()
	middle := 1 / math.Sqrt(x)
	for _, z := range []float64{math.Nextafter(middle, 0), middle, math.Nextafter(middle, 2)} {
		if math.Abs(inverseRoot(x, z)) > 0.5+slack {
			continue
		}
		root, inverse := refined(x, z)
		if root != math.Sqrt(x) {
			t.Errorf("the root of %x by %x is %x and not %x", x, z, root, math.Sqrt(x))
		}
		if inverse != 1/math.Sqrt(x) && !unusual(x) {
			t.Errorf("1 over the root of %x by %x is %x and not %x", x, z, inverse, 1/math.Sqrt(x))
		}
	}
}

// Roots and their reciprocals are right wherever they are close to the middle of two numbers. Elsewhere they are, since
// before it is rounded the root is off by less than 9*2^-106 and its reciprocal by less than 3*2^-106 over the root
// (docs/rationale/arithmetic.md), for an x from 1 to 4.
func TestInverseRoots(t *testing.T) {
	// Middles m with x - m*m = d*2^-106: squares of odd numbers are 1 modulo 8.
	n := 0
	for d := int64(-97); d <= 97; d += 8 {
		for _, at := range []struct {
			bits   uint
			lo, hi float64
		}{{54, 1, 2}, {55, 2, 4}} {
			for _, m := range rootsOf(-d, at.bits) {
				for _, m := range []uint64{m, m + 1<<54} {
					x := new(big.Int).SetUint64(m)
					x.Mul(x, x).Add(x, big.NewInt(d))
					if f, exact := new(big.Float).SetInt(x).Float64(); m > 1<<53 && m < 1<<54 {
						f = math.Ldexp(f, -106)
						if exact != big.Exact || f < at.lo || f >= at.hi {
							continue
						}
						n++
						checkInverseRoot(t, f)
					}
				}
			}
		}
	}
	if n < 20 {
		t.Errorf("%d numbers with a root close to the middle of two", n)
	}
	// Roots s of which 1/s is close: s*m = 2^106 - k, for a k of 1 and 2, m odd and with one bit more. All divisors.
	n = 0
	for _, of := range [][]uint64{
		{3, 107, 6361, 69431, 20394401, 28059810762433},
		{2, 7, 7, 31, 71, 127, 151, 337, 29191, 106681, 122921, 152041},
	} {
		for _, s := range products(of) {
			if s < 1<<52 || s >= 1<<53 {
				continue
			}
			root := math.Ldexp(float64(s), -52)
			for x := math.Nextafter(root*root, 0) * (1 - 0x1p-50); x < root*root*(1+0x1p-50); x = math.Nextafter(x, 5) {
				if x >= 1 && x < 4 && math.Sqrt(x) == root {
					n++
					checkInverseRoot(t, x)
				}
			}
		}
	}
	if n < 30 {
		t.Errorf("%d numbers with a reciprocal root close to the middle of two", n)
	}
	// Those that are not refined are needed.
	if _, inverse := refined(math.Nextafter(4, 0), 0.5); inverse == 1/math.Sqrt(math.Nextafter(4, 0)) {
		t.Error("a root of ones alone is no exception")
	}
}

// rootsOf returns the square roots of a modulo 2^bits, for an a that is 1 modulo 8.
func rootsOf(a int64, bits uint) []uint64 {
	r := uint64(1)
	for b := uint(4); b <= bits; b++ {
		if (r*r-uint64(a))&(1<<b-1) != 0 {
			r += 1 << (b - 2)
		}
	}
	mask, half := uint64(1)<<bits-1, uint64(1)<<(bits-1)
	list := []uint64{r & mask, -r & mask, (r + half) & mask, (half - r) & mask}
	slices.Sort(list)
	return slices.Compact(list)
}

// products returns the divisors below 2^53 of the product of some primes.
func products(primes []uint64) []uint64 {
	list := []uint64{1}
	for _, p := range primes {
		for _, n := range list {
			if n < 1<<53/p {
				list = append(list, n*p)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// The step of the fourth order is as close as that asks for, with approximations that are right to 18 bits; and all of
// it is right at random.
func TestFourthOrderStep(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 400_000 {
		x := 1 + 3*r.Float64()
		y := 1 / math.Sqrt(x) * (1 + math.Ldexp(2*r.Float64()-1, -18))
		z := fourth(x, math.Float64frombits(math.Float64bits(y)&^0xffffffff))
		if i < 20_000 {
			if off := inverseRoot(x, z); math.Abs(off) > 0.5+slack {
				t.Fatalf("%x is off by %g", x, off)
			}
		}
		root, inverse := refined(x, z)
		if root != math.Sqrt(x) || inverse != 1/math.Sqrt(x) && !unusual(x) {
			t.Fatalf("%x by %x: %x and %x, not %x and %x", x, z, root, inverse, math.Sqrt(x), 1/math.Sqrt(x))
		}
	}
}

// Divisions and roots that kernels write out are those of the operators on devices, bit for bit.
func TestDivisionsOnDevices(t *testing.T) {
	const cells = 1 << 14
	r := rand.New(rand.NewPCG(11, 12))
	dividends := map[types.Type][]float64{
		types.F32: float32s(r, cells), types.F64: float64s(r, cells),
	}
	divisors := map[types.Type][]float64{
		types.F32: {3, -0.7, 0x1.fffffep0, 0x1p-31, 0x1.1p101, 0, math.Inf(1), math.NaN(), 0x1.1p-149},
		types.F64: {3, -0.0144, 0x1.fffffffffffffp0, 0x1.1p-256, 0x1.1p-257, 0x1.1p1000, 0, math.Inf(-1), math.NaN(),
			5e-324},
	}
	m := &kernel.Module{}
	for _, typ := range []types.Type{types.F32, types.F64} {
		k, err := kernel.ParseText(fmt.Sprintf(`(kernel divide_%[1]v
  (buffer u %[1]v global in (i64 %[2]d)) (buffer v %[1]v global out (i64 %[2]d)) (buffer w %[1]v global out (i64 %[2]d))
  (buffer s %[1]v global out (i64 %[2]d))
  (scalar n i64) (scalar c %[1]v)
  (for b i64 block.x (i64 0) (i64 %[3]d) (i64 1) (for t i64 thread.x (i64 0) (i64 64) (i64 1)
    (let at i64 (add (mul b (i64 64)) t))
    (for r i64 serial (i64 0) n (i64 1)
      (store v at (div (load u at) c))
      (store w at (div (load u at) (%[1]v -0.7)))
      (store s at (div (%[1]v 1) (call sqrt (load u at))))))))`, typ, cells, cells/64))
		if err != nil {
			t.Fatal(err)
		}
		m.Kernels = append(m.Kernels, kernel.Apply(k, kernel.Asked{GPU: true}, nil))
	}
	onDevices(t, func(t *testing.T, d *target) {
		library := d.load(t, m)
		for i, typ := range []types.Type{types.F32, types.F64} {
			k := m.Kernels[i]
			var args []device.Arg
			var buffers []device.Buffer
			var grids [][]byte
			for range k.Buffers {
				shared, buffer := d.share(t, int64(cells*typ.Size()))
				grids, buffers = append(grids, shared), append(buffers, buffer)
				args = append(args, &device.Slot{Buffer: buffer})
			}
			for j, x := range dividends[typ] {
				if typ == types.F32 {
					binary.LittleEndian.PutUint32(grids[0][4*j:], math.Float32bits(float32(x)))
				} else {
					binary.LittleEndian.PutUint64(grids[0][8*j:], math.Float64bits(x))
				}
			}
			n, c := &device.Value{}, &device.Value{}
			n.Set(op.Int(types.I64, 2))
			args = append(args, n, c)
			for _, divisor := range divisors[typ] {
				by := op.Float(typ, divisor)
				c.Set(by)
				env := map[*kernel.Var]op.Value{k.Scalars[0]: op.Int(types.I64, 2), k.Scalars[1]: by}
				d.launch(t, library, k, env, args, buffers)
				wrong := 0
				for j, number := range dividends[typ] {
					x := op.Float(typ, number)
					for g, want := range []op.Value{
						op.Binary(op.Div, x, by), op.Binary(op.Div, x, op.Float(typ, -0.7)), op.Call(op.InvSqrt, x),
					} {
						if got := device.Decode(typ, grids[g+1][j*typ.Size():]); !got.Same(want) && wrong < 10 {
							wrong++
							t.Errorf("%v, %s of %v and %v: %v, not %v", typ, k.Buffers[g+1].Name, x, by, got, want)
						}
					}
				}
			}
		}
	})
}

// float64s draws numbers of all exponents, half of them of usual ones, some with significands at which an arithmetic is
// likely to go wrong.
func float64s(r *rand.Rand, n int) []float64 {
	list := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, math.MaxFloat64,
		math.Nextafter(4, 0), math.Nextafter(math.Nextafter(4, 0), 0), math.Nextafter(1, 0), 0x1p-900, 0x1p1000,
		math.Nextafter(0x1p-900, 0), math.Nextafter(0x1p1000, 0)}
	for len(list) < n {
		exponent, fraction := r.Uint64N(2048), r.Uint64()
		if r.IntN(2) == 0 {
			exponent = 1023 + r.Uint64N(64) - 32
		}
		if r.IntN(4) == 0 {
			fraction = uint64(r.IntN(9)) - 4
		}
		list = append(list, math.Float64frombits(r.Uint64()&7/7<<63|exponent<<52|fraction&(1<<52-1)))
	}
	return list
}

func float32s(r *rand.Rand, n int) []float64 {
	list := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 0x1p-149, math.MaxFloat32}
	for len(list) < n {
		exponent, fraction := r.Uint32N(256), r.Uint32()
		if r.IntN(2) == 0 {
			exponent = 127 + r.Uint32N(32) - 16
		}
		if r.IntN(4) == 0 {
			fraction = uint32(r.IntN(9)) - 4
		}
		list = append(list, float64(math.Float32frombits(r.Uint32()&7/7<<31|exponent<<23|fraction&(1<<23-1))))
	}
	return list
}

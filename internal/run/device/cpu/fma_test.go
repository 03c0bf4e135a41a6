package cpu

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

var triples = flag.Int("triples", 1<<23, "how many fused multiply-adds are compared with the processor's")

// What the reference executor takes for a fused multiply-add of floats is that of
// the processor, bit for bit.
func TestFmaIsTheProcessors(t *testing.T) {
	const batch = 1 << 18
	d, l := open(t, arith.Contract)
	var floats [4][]float32
	args := make([]device.Arg, 0, 5)
	for i := range floats {
		r, err := memory.Anonymous(4 * batch)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		floats[i] = unsafe.Slice((*float32)(unsafe.Pointer(&r.Bytes()[0])), batch)
		buf, err := d.Share(r.Bytes())
		args = append(args, slotOf(t, buf, err))
	}
	c := prepare(t, l, "fused", append(args, valueOf(op.Int(types.I64, batch)))...)
	rng := rand.New(rand.NewPCG(11, 12))
	got, x, y, z := floats[0], floats[1], floats[2], floats[3]
	numbers, inexact := 0, 0
	for range (*triples + batch - 1) / batch {
		for i := range batch {
			x[i], y[i], z[i] = triple(rng)
		}
		launch(t, c)
		for i := range batch {
			want := op.Fma32(float64(x[i]), float64(y[i]), float64(z[i]))
			if math.Float32bits(got[i]) != math.Float32bits(want) && (got[i] == got[i] || want == want) {
				t.Fatalf("fma(%g, %g, %g) is %g, and %g on the processor", x[i], y[i], z[i], want, got[i])
			}
			if want-want == 0 {
				numbers++
			}
			if float32(float64(x[i])*float64(y[i]))+z[i] != want {
				inexact++
			}
		}
	}
	if numbers < *triples/2 || inexact < *triples/20 {
		t.Errorf("of %d results %d are numbers, and %d are not what a rounded product gives", *triples,
			numbers, inexact)
	}
}

// triple draws operands: any bits, or a summand that is about as large as the
// product, cancels most of it, or is at a distance where roundings meet.
func triple(rng *rand.Rand) (x, y, z float32) {
	bits := func(exponent int) float32 {
		return math.Float32frombits(rng.Uint32()&0x807fffff | uint32(max(0, min(255, exponent)))<<23)
	}
	switch rng.IntN(8) {
	case 0:
		return math.Float32frombits(rng.Uint32()), math.Float32frombits(rng.Uint32()), math.Float32frombits(
			rng.Uint32())
	case 1: // subnormal products and sums
		e := rng.IntN(60)
		return bits(40 + e), bits(85 - e), bits(rng.IntN(4))
	case 2: // near overflow
		return bits(190), bits(188 + rng.IntN(4)), bits(251 + rng.IntN(4))
	}
	ex, ey := 90+rng.IntN(70), 90+rng.IntN(70)
	x, y = bits(ex), bits(ey)
	product := ex + ey - 127
	switch rng.IntN(4) {
	case 0: // cancels
		z = -(x * y)
		return x, y, math.Float32frombits(math.Float32bits(z) + uint32(rng.IntN(3)) - 1)
	case 1: // few bits, so that sums lie in the middle between two numbers
		mask := uint32(0xff800000) | uint32(1+rng.IntN(7))<<20
		return math.Float32frombits(math.Float32bits(x) & (mask | 1)), math.Float32frombits(
			math.Float32bits(y) & (mask | 1)), bits(product + rng.IntN(60) - 30)
	}
	return x, y, bits(product + rng.IntN(60) - 30)
}

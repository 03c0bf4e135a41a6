package sim

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Arithmetic on registers, for the first n lanes, with the results that op
// defines. Products and sums are stored before they are used again, so no two
// operations can be contracted into one rounding.

func binaryF64(in *instr, d, x, y *[lanes]float64, n int) {
	switch op.Op(in.sub) {
	case op.Add:
		for l := range n {
			d[l&31] = x[l&31] + y[l&31]
		}
	case op.Sub:
		for l := range n {
			d[l&31] = x[l&31] - y[l&31]
		}
	case op.Mul:
		for l := range n {
			d[l&31] = x[l&31] * y[l&31]
		}
	case op.Div:
		for l := range n {
			d[l&31] = x[l&31] / y[l&31]
		}
	default:
		extremeF(in, d, x, y, n)
	}
}

func binaryF32(in *instr, d, x, y *[lanes]float64, n int) {
	switch op.Op(in.sub) {
	case op.Add:
		for l := range n {
			d[l&31] = float64(float32(x[l&31] + y[l&31]))
		}
	case op.Sub:
		for l := range n {
			d[l&31] = float64(float32(x[l&31] - y[l&31]))
		}
	case op.Mul:
		for l := range n {
			d[l&31] = float64(float32(x[l&31] * y[l&31]))
		}
	case op.Div:
		for l := range n {
			d[l&31] = float64(float32(x[l&31] / y[l&31]))
		}
	default:
		extremeF(in, d, x, y, n)
	}
}

func fma(in *instr, d, x, y, z *[lanes]float64, n int) {
	if in.typ == types.F32 {
		for l := range n {
			d[l&31] = float64(op.Fma32(x[l&31], y[l&31], z[l&31]))
		}
		return
	}
	for l := range n {
		d[l&31] = math.FMA(x[l&31], y[l&31], z[l&31])
	}
}

// extremeF is min and max, where NaN wins.
func extremeF(in *instr, d, x, y *[lanes]float64, n int) {
	for l := range n {
		a, b := x[l&31], y[l&31]
		var first bool
		switch op.Op(in.sub) {
		case op.Min:
			first = a < b
		case op.Max:
			first = a > b
		default:
			panic("sim: no such operation on floating-point values: " + op.Op(in.sub).String())
		}
		if first || a != a {
			d[l&31] = a
		} else {
			d[l&31] = b
		}
	}
}

func binaryI(in *instr, d, x, y *[lanes]int64, n int) {
	switch op.Op(in.sub) {
	case op.Add:
		for l := range n {
			d[l&31] = x[l&31] + y[l&31]
		}
	case op.Sub:
		for l := range n {
			d[l&31] = x[l&31] - y[l&31]
		}
	case op.Mul:
		for l := range n {
			d[l&31] = x[l&31] * y[l&31]
		}
	case op.Div:
		for l := range n {
			d[l&31] = quotient(x[l&31], y[l&31])
		}
	case op.Rem:
		for l := range n {
			d[l&31] = remainder(x[l&31], y[l&31])
		}
	case op.Min:
		for l := range n {
			d[l&31] = min(x[l&31], y[l&31])
		}
	case op.Max:
		for l := range n {
			d[l&31] = max(x[l&31], y[l&31])
		}
	case op.And, op.LAnd: // a Bool is 0 or 1
		for l := range n {
			d[l&31] = x[l&31] & y[l&31]
		}
	case op.Or, op.LOr:
		for l := range n {
			d[l&31] = x[l&31] | y[l&31]
		}
	default:
		panic("sim: no such operation on integers: " + op.Op(in.sub).String())
	}
	if in.typ == types.I32 {
		for l := range n {
			d[l&31] = int64(int32(d[l&31]))
		}
	}
}

func quotient(x, y int64) int64 {
	switch y {
	case 0:
		return 0
	case -1:
		return -x
	}
	return x / y
}

func remainder(x, y int64) int64 {
	if y == 0 || y == -1 {
		return 0
	}
	return x % y
}

func compare[T cmp.Ordered](in *instr, d *[lanes]int64, x, y *[lanes]T, n int) {
	switch op.Op(in.sub) {
	case op.Eq:
		for l := range n {
			d[l&31] = bit(x[l&31] == y[l&31])
		}
	case op.Ne:
		for l := range n {
			d[l&31] = bit(x[l&31] != y[l&31])
		}
	case op.Lt:
		for l := range n {
			d[l&31] = bit(x[l&31] < y[l&31])
		}
	case op.Le:
		for l := range n {
			d[l&31] = bit(x[l&31] <= y[l&31])
		}
	case op.Gt:
		for l := range n {
			d[l&31] = bit(x[l&31] > y[l&31])
		}
	case op.Ge:
		for l := range n {
			d[l&31] = bit(x[l&31] >= y[l&31])
		}
	default:
		panic("sim: no comparison: " + op.Op(in.sub).String())
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func selectLanes[T any](d *[lanes]T, c *[lanes]int64, x, y *[lanes]T, n int) {
	for l := range n {
		if c[l&31] != 0 {
			d[l&31] = x[l&31]
		} else {
			d[l&31] = y[l&31]
		}
	}
}

func setLanes[T any](d, x *[lanes]T, mask uint32) {
	for ; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		d[l&31] = x[l&31]
	}
}

// reduce brings an integer into its type's range.
func reduce(t types.Type, i int64) int64 { return op.Int(t, i).I }

func (w *warp) convert(in *instr) {
	switch in.op {
	case opIntToF64:
		d, x := &w.f[in.d], &w.i[in.a]
		for l := range w.n {
			d[l&31] = float64(x[l&31])
		}
	case opIntToF32:
		d, x := &w.f[in.d], &w.i[in.a]
		for l := range w.n {
			d[l&31] = float64(float32(x[l&31]))
		}
	case opRoundF32:
		d, x := &w.f[in.d], &w.f[in.a]
		for l := range w.n {
			d[l&31] = float64(float32(x[l&31]))
		}
	case opFloatToInt:
		d, x := &w.i[in.d], &w.f[in.a]
		for l := range w.n {
			d[l&31] = op.Convert(in.typ, op.Value{T: types.F64, F: x[l&31]}).I
		}
	case opIntToInt:
		d, x := &w.i[in.d], &w.i[in.a]
		for l := range w.n {
			d[l&31] = reduce(in.typ, x[l&31])
		}
	}
}

// call evaluates a function for the active lanes.
func (w *warp) call(in *instr) {
	f := op.Func(in.sub)
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		switch {
		case in.typ == types.I32:
			w.i[in.d][l] = op.Call(f, op.Value{T: in.typ, I: w.i[in.a][l]}).I
		case f.Arity() == 2:
			w.f[in.d][l] = op.Call(f, op.Value{T: in.typ, F: w.f[in.a][l]}, op.Value{T: in.typ, F: w.f[in.b][l]}).F
		default:
			w.f[in.d][l] = op.Call(f, op.Value{T: in.typ, F: w.f[in.a][l]}).F
		}
	}
}

func (w *warp) random(in *instr) {
	for mask := w.mask; mask != 0; mask &= mask - 1 {
		l := bits.TrailingZeros32(mask)
		w.f[in.d][l] = op.Random(in.typ, w.i[in.a][l], w.i[in.b][l]).F
	}
}

// spread copies lane 0 to all lanes.
func (w *warp) spread(in *instr) {
	if in.typ.IsFloat() {
		r := &w.f[in.d]
		for l := range lanes {
			r[l] = r[0]
		}
		return
	}
	r := &w.i[in.d]
	for l := range lanes {
		r[l] = r[0]
	}
}

// neutral gives all lanes but the first a value that changes nothing.
func (w *warp) neutral(in *instr) {
	v := identity(op.Op(in.sub), in.typ)
	for l := 1; l < lanes; l++ {
		if in.typ.IsFloat() {
			w.f[in.d][l] = v.F
		} else {
			w.i[in.d][l] = v.I
		}
	}
}

// identity returns the value e with e o x = x for all x.
func identity(o op.Op, t types.Type) op.Value {
	switch {
	case o == op.Add && t.IsFloat():
		return op.Float(t, negativeZero)
	case o == op.Add:
		return op.Int(t, 0)
	case t.IsFloat():
		return op.Float(t, map[op.Op]float64{op.Min: inf, op.Max: -inf}[o])
	case o == op.Min && t == types.I32:
		return op.Int(t, 1<<31-1)
	case o == op.Min:
		return op.Int(t, 1<<63-1)
	case t == types.I32:
		return op.Int(t, -1<<31)
	}
	return op.Int(t, -1<<63)
}

// gather reduces all lanes into the first.
func (w *warp) gather(in *instr) {
	for l := 1; l < lanes; l++ {
		if in.typ.IsFloat() {
			r := &w.f[in.d]
			r[0] = op.Binary(op.Op(in.sub), op.Value{T: in.typ, F: r[0]}, op.Value{T: in.typ, F: r[l]}).F
		} else {
			r := &w.i[in.d]
			r[0] = op.Binary(op.Op(in.sub), op.Value{T: in.typ, I: r[0]}, op.Value{T: in.typ, I: r[l]}).I
		}
	}
}

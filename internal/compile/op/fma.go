package op

import (
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Fma computes a*b + c on floats of one type, rounded once.
func Fma(a, b, c Value) Value {
	if a.T != b.T || a.T != c.T || !a.T.IsFloat() {
		panic(fmt.Sprintf("op: fma of %v, %v and %v", a.T, b.T, c.T))
	}
	if a.T == types.F32 {
		return Value{T: a.T, F: float64(Fma32(a.F, b.F, c.F))}
	}
	return Value{T: a.T, F: math.FMA(a.F, b.F, c.F)}
}

// Fma32 computes a*b + c for operands that float32 holds exactly, rounded once.
//
// The product of two float32 is exact in float64. Its sum with c is rounded to odd
// there: where it is inexact, the neighbour with an odd last bit is taken. With 53
// bits, two more than 24 needs, such a sum rounds to float32 as the exact one does
// (Boldo and Melquiond, IEEE Transactions on Computers 57(4), 2008). Rounded to
// nearest, it might land on the middle between two float32 that it is not on.
func Fma32(a, b, c float64) float32 {
	p := float64(a * b)
	s := float64(p + c)
	// The error of the sum, exactly (Knuth's TwoSum). No sum of such operands
	// overflows float64, so that it is a number unless an operand is not.
	t := float64(s - p)
	e := float64(p-float64(s-t)) + float64(c-t)
	if bits := math.Float64bits(s); e != 0 && e == e && bits&1 == 0 {
		if (e > 0) == (s > 0) {
			bits++ // away from zero
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}

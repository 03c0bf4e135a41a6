package kernel

import (
	"math"
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Interval is the integers from Lo to Hi, of which there is at least one.
type Interval struct{ Lo, Hi int64 }

// Exactly returns the interval of one value.
func Exactly(v int64) Interval { return Interval{v, v} }

// every returns all values of an integer type or of Bool. Those of a
// floating-point type are not told apart.
func every(t types.Type) Interval {
	switch t {
	case types.Bool:
		return Interval{0, 1}
	case types.U8:
		return Interval{0, math.MaxUint8}
	case types.I32:
		return Interval{math.MinInt32, math.MaxInt32}
	}
	return Interval{math.MinInt64, math.MaxInt64}
}

// in reports whether all of a lies in b.
func (a Interval) in(b Interval) bool { return b.Lo <= a.Lo && a.Hi <= b.Hi }

// fits reports whether all values are ones of a type.
func (a Interval) fits(t types.Type) bool { return a.in(every(t)) }

// join returns the smallest interval around both.
func (a Interval) join(b Interval) Interval { return Interval{min(a.Lo, b.Lo), max(a.Hi, b.Hi)} }

// meet returns what both have in common, if anything.
func (a Interval) meet(b Interval) (Interval, bool) {
	m := Interval{max(a.Lo, b.Lo), min(a.Hi, b.Hi)}
	return m, m.Lo <= m.Hi
}

// negated returns -x for every x, if none of them overflows.
func (a Interval) negated() (Interval, bool) {
	return Interval{-a.Hi, -a.Lo}, a.Lo != math.MinInt64
}

// plus, minus and times return the interval of a result, if none of the
// results overflows.
func (a Interval) plus(b Interval) (Interval, bool) {
	lo, ok1 := addInt(a.Lo, b.Lo)
	hi, ok2 := addInt(a.Hi, b.Hi)
	return Interval{lo, hi}, ok1 && ok2
}

func (a Interval) minus(b Interval) (Interval, bool) {
	n, ok1 := b.negated()
	d, ok2 := a.plus(n)
	return d, ok1 && ok2
}

func (a Interval) times(b Interval) (Interval, bool) {
	return a.corners(b, mulInt)
}

// corners returns the interval of an operation whose extremes are at those of
// its operands.
func (a Interval) corners(b Interval, f func(x, y int64) (int64, bool)) (Interval, bool) {
	out := Interval{math.MaxInt64, math.MinInt64}
	for _, x := range []int64{a.Lo, a.Hi} {
		for _, y := range []int64{b.Lo, b.Hi} {
			v, ok := f(x, y)
			if !ok {
				return out, false
			}
			out = out.join(Exactly(v))
		}
	}
	return out, true
}

// over returns the quotients, that by 0 being 0.
func (a Interval) over(b Interval) (Interval, bool) {
	quotient := func(x, y int64) (int64, bool) { return x / y, x != math.MinInt64 || y != -1 }
	out, any := Exactly(0), b.Lo <= 0 && 0 <= b.Hi
	for _, half := range []Interval{{math.MinInt64, -1}, {1, math.MaxInt64}} {
		divisors, some := b.meet(half)
		if !some {
			continue
		}
		q, ok := a.corners(divisors, quotient)
		if !ok {
			return q, false
		}
		if any {
			q = q.join(out)
		}
		out, any = q, true
	}
	return out, true
}

// modulo returns the remainders, which have the sign of the dividend; that by
// 0 is 0.
func (a Interval) modulo(b Interval) Interval {
	switch {
	case b.Lo > 0 && 0 <= a.Lo && a.Hi < b.Lo:
		return a
	case a.Lo == a.Hi && b.Lo == b.Hi:
		return Exactly(op.Binary(op.Rem, op.Int(types.I64, a.Lo), op.Int(types.I64, b.Lo)).I)
	}
	most := int64(math.MaxInt64)
	if b.Lo != math.MinInt64 {
		most = max(b.Hi, -b.Lo, 1) - 1
	}
	return Interval{-min(most, negOrMax(min(a.Lo, 0))), min(most, max(a.Hi, 0))}
}

// negOrMax returns -x for x <= 0, or the greatest number for the least.
func negOrMax(x int64) int64 {
	if x == math.MinInt64 {
		return math.MaxInt64
	}
	return -x
}

// masked returns an interval around x&y (or x|y) for all x and y: no result
// needs more bits than its operands.
func (a Interval) masked(o op.Op, b Interval) Interval {
	both := a.join(b)
	if a.Lo >= 0 && b.Lo >= 0 {
		if o == op.And {
			return Interval{0, min(a.Hi, b.Hi)}
		}
		return Interval{max(a.Lo, b.Lo), 1<<bits.Len64(uint64(both.Hi)) - 1}
	}
	if o == op.And && (a.Lo >= 0 || b.Lo >= 0) { // the sign is that of neither, the bits are those of one
		if a.Lo >= 0 {
			return Interval{0, a.Hi}
		}
		return Interval{0, b.Hi}
	}
	n := max(bits.Len64(uint64(max(both.Hi, 0))), bits.Len64(uint64(negOrMax(min(both.Lo, 0))-1)))
	if n > 62 {
		return every(types.I64)
	}
	return Interval{-1 << n, 1<<n - 1}
}

func addInt(x, y int64) (int64, bool) {
	s := x + y
	return s, (s > x) == (y > 0)
}

func mulInt(x, y int64) (int64, bool) {
	p := x * y
	if x == 0 || y == 0 {
		return 0, true
	}
	ok := p/y == x && !(x == -1 && y == math.MinInt64) && !(y == -1 && x == math.MinInt64)
	return p, ok
}

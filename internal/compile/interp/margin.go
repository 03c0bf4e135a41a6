package interp

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Mode is the arithmetic that bounds hold for.
type Mode uint8

const (
	NoBounds Mode = iota
	Exact         // every operation, fused ones too, rounded as the program says
	Unfused       // as Exact, but a fused product may be rounded before it is added
	Fast          // sums and products may be fused and rearranged
)

// ModeOf returns what bounds a device that runs p; fused says that it has fused
// multiply-adds. NoBounds says that it computes the reference's bits.
func ModeOf(p *ir.Program, fused bool) Mode {
	switch {
	case p.Arithmetic == arith.Fast:
		return Fast
	case p.Arithmetic == arith.Contract && !fused:
		return Unfused
	case Inexact(p):
		return Exact
	}
	return NoBounds
}

// Inexact reports whether a program calls functions that devices do not agree on
// to the last bit. The initial block runs on the reference executor alone.
func Inexact(p *ir.Program) bool {
	found := false
	for _, s := range p.Calls {
		for _, st := range s.Body {
			ir.Walk(st.Value, func(e ir.Expr) {
				if c, ok := e.(*ir.FuncCall); ok && c.Func.ULP() > 0 {
					found = true
				}
			})
		}
	}
	return found
}

// margins holds the formulas of the package comment for one type and mode.
// Operands are x and y with bounds X and Y; r is the reference's result.
type margins struct {
	mode        Mode
	t           types.Type
	u, eta, max float64
}

func newMargins(mode Mode, t types.Type) margins {
	k := margins{mode: mode, t: t, u: 0x1p-53, eta: 0x1p-1074, max: math.MaxFloat64}
	if mode == Fast {
		k.eta = 0x1p-1022
	}
	if t == types.F32 {
		k.u, k.eta, k.max = 0x1p-24, 0x1p-149, math.MaxFloat32
		if mode == Fast {
			k.eta = 0x1p-126
		}
	}
	return k
}

var inf = math.Inf(1)

// outward makes up for the roundings in a bound's own computation.
const outward = 1 + 0x1p-46

// rounded returns the bound of a result whose exact values differ by at most
// p, not known to be 0.
func (k margins) rounded(r, p float64) float64 {
	return k.within(r, p*(1+k.u)+2*k.u*(1+k.u)*math.Abs(r)+2*k.eta)
}

// within returns b, or +Inf if a device's result might overflow.
func (k margins) within(r, b float64) float64 {
	b *= outward
	if !(math.Abs(r)+b <= k.max) {
		return inf
	}
	return b
}

func (k margins) sum(X, Y, r float64) float64 {
	if X == 0 && Y == 0 {
		return 0
	}
	return k.rounded(r, X+Y)
}

func (k margins) product(x, X, y, Y, r float64) float64 {
	if X == 0 && Y == 0 {
		return 0
	}
	return k.rounded(r, math.Abs(x)*Y+math.Abs(y)*X+X*Y)
}

func (k margins) fma(x, X, y, Y, Z, r float64) float64 {
	p := Z
	if X != 0 || Y != 0 {
		p += math.Abs(x)*Y + math.Abs(y)*X + X*Y
	}
	if k.mode == Unfused {
		product := math.Abs(x * y)
		if product-product != 0 || product+p > k.max {
			if x-x != 0 || y-y != 0 {
				return k.sum(p, 0, r) // the operands are as they are, product or not
			}
			return inf // a product that is rounded may overflow
		}
		if X == 0 && Y == 0 {
			p += k.lost(x, y)
		} else {
			p += k.u*(1+k.u)*(product+p) + k.eta
		}
	}
	return k.sum(p, 0, r)
}

// lost is what rounding a product of known factors loses.
func (k margins) lost(x, y float64) float64 {
	r := op.Float(k.t, x*y).F
	lost := math.Abs(math.FMA(x, y, -r)) * outward
	if math.Abs(r) < 0x1p-900 && x != 0 && y != 0 {
		lost += k.eta // it may itself be too small to see
	}
	return lost
}

func (k margins) quotient(x, X, y, Y, r float64) float64 {
	if X == 0 && Y == 0 && k.mode != Fast {
		return 0
	}
	gap := math.Abs(y) - Y
	if !(gap > 0) {
		return inf
	}
	// |x/y| exceeds |r| by no more than a rounding.
	q := math.Abs(r)*(1+2*k.u) + k.eta
	p := (X + q*Y) / gap
	if k.mode == Fast {
		p += 8 * k.u * (q + p)
	}
	return k.rounded(r, p)
}

// extreme is the bound of a minimum or a maximum.
func (k margins) extreme(x, X, y, Y, r float64) float64 {
	if X == 0 && Y == 0 {
		return 0
	}
	return k.within(r, max(X, Y))
}

// compared is the bound of a comparison's result: 0 if it is decided.
func compared(x, X, y, Y float64) float64 {
	if X == 0 && Y == 0 || math.Abs(x-y) > (X+Y)*outward {
		return 0
	}
	return 1
}

// chosen is the bound of a select whose condition is undecided: r was chosen,
// with bound R, and other, with bound O, may be a device's choice.
func chosen(r, R, other, O float64) float64 {
	b := max(R, math.Abs(r-other)*outward+O)
	if b != b {
		return inf
	}
	return b
}

// narrowed is the bound of a conversion to type t.
func (k margins) narrowed(X, r float64) float64 {
	if X == 0 {
		return 0
	}
	return k.rounded(r, X)
}

// truncated is the bound of the conversion of a float to I32.
func truncated(x, X, r float64) float64 {
	if X == 0 {
		return 0
	}
	if x-x != 0 || X-X != 0 {
		return inf
	}
	X *= outward
	return max(float64(truncate(x+X))-r, r-float64(truncate(x-X)))
}

// integer returns b, or +Inf if a value of type t that far from r might lie
// over the end of the type, where it wraps.
func integer(t types.Type, r, b float64) float64 {
	lo, hi := float64(math.MinInt32), float64(math.MaxInt32)
	switch t {
	case types.U8:
		lo, hi = 0, 255
	case types.Bool:
		return min(b, 1)
	}
	if b != 0 && !(r-b >= lo && r+b <= hi) {
		return inf
	}
	return b
}

// integers is the bound of an operator on two operands of an integer type or
// Bool.
func integers(o op.Op, t types.Type, x, X, y, Y, r float64) float64 {
	if X == 0 && Y == 0 {
		return 0
	}
	switch o {
	case op.Add, op.Sub:
		return integer(t, r, X+Y)
	case op.Mul:
		b := math.Abs(x)*Y + math.Abs(y)*X + X*Y
		if b != b {
			b = inf
		}
		return integer(t, r, b)
	case op.Div:
		if Y == 0 && y != 0 {
			return integer(t, r, math.Ceil(X/math.Abs(y))+1)
		}
	case op.Rem:
		if Y == 0 {
			return 2 * max(0, math.Abs(y)-1)
		}
	case op.Min, op.Max:
		return max(X, Y)
	case op.And, op.LAnd:
		if t == types.Bool && (X == 0 && x == 0 || Y == 0 && y == 0) {
			return 0
		}
	case op.Or, op.LOr:
		if t == types.Bool && (X == 0 && x != 0 || Y == 0 && y != 0) {
			return 0
		}
	case op.Eq, op.Ne, op.Lt, op.Le, op.Gt, op.Ge:
		return compared(x, X, y, Y)
	}
	return integer(t, r, inf)
}

// inexact is the bound of a function value r if the exact function varies by
// no more than l between the two arguments.
func (k margins) inexact(f op.Func, r, l float64) float64 {
	ulps := float64(f.ULP())
	if ulps == 0 && f == op.Sqrt {
		ulps = 0.5
		if k.mode == Fast {
			ulps = 4
		}
	}
	if ulps == 0 {
		return k.within(r, l)
	}
	return k.within(r, l+4*ulps*k.u*(math.Abs(r)*(1+4*ulps*k.u)+l)+2*ulps*k.eta)
}

// function is the bound of a call with one argument.
func (k margins) function(f op.Func, x, X, r float64) float64 {
	if X == 0 && f.ULP() == 0 && (k.mode != Fast || f != op.Sqrt) {
		return 0
	}
	if X == 0 && r-r != 0 {
		return unbounded(r, x != 0)
	}
	switch f {
	case op.Abs:
		return X
	case op.Sin, op.Cos:
		return k.inexact(f, r, X)
	case op.Tan:
		// The derivative is 1/cos^2.
		c := math.Abs(math.Cos(x)) - X - 0x1p-50
		if c <= 0 {
			return inf
		}
		return k.inexact(f, r, X/(c*c))
	case op.Cosh:
		return k.inexact(f, r, X*math.Sinh(math.Abs(x)+X)*(1+0x1p-40))
	}
	return k.inexact(f, r, k.monotone(f, x, X, r))
}

// unbounded is the bound of a function's result that is not finite, from exact
// arguments: NaNs and poles are the same everywhere, but where a result
// overflows another device's may just not.
func unbounded(r float64, overflow bool) float64 {
	if math.IsInf(r, 0) && overflow {
		return inf
	}
	return 0
}

// monotone returns how far a function that only ever rises varies from r
// within X of x.
func (k margins) monotone(f op.Func, x, X, r float64) float64 {
	if X == 0 {
		return 0
	}
	at := func(v float64) float64 { return op.Call(f, op.Value{T: types.F64, F: v}).F }
	lo, hi := at(x-X*outward), at(x+X*outward)
	l := max(hi-r, r-lo)
	if f.ULP() > 0 || f == op.Sqrt {
		// The ends are computed inexactly too, and r is rounded to its type.
		l += 0x1p-48*max(math.Abs(lo), math.Abs(hi)) + k.u*math.Abs(r)
	}
	if l != l {
		return inf // outside the function's domain
	}
	return l
}

// function2 is the bound of a call with two arguments.
func (k margins) function2(f op.Func, x, X, y, Y, r float64) float64 {
	if X == 0 && Y == 0 {
		if f == op.Fmod {
			return 0
		}
		if r-r != 0 {
			return unbounded(r, x != 0)
		}
		return k.inexact(f, r, 0)
	}
	switch f {
	case op.Fmod:
		return k.within(r, fmodVariation(x, X, y, Y))
	case op.Hypot:
		return k.inexact(f, r, X+Y)
	case op.Atan2:
		// Here x is the ordinate. The gradient's length is 1/distance; the
		// jump is at y < 0 where x changes sign.
		gap := math.Hypot(x, y)*(1-0x1p-50) - (X + Y)
		if gap <= 0 || y-Y < 0 && math.Abs(x) <= X {
			return k.within(r, 2*math.Pi*(1+k.u))
		}
		return k.inexact(f, r, (X+Y)/gap)
	case op.Pow:
		return k.inexact(f, r, k.powVariation(x, X, y, Y, r))
	}
	return inf
}

// fmodVariation: the remainder follows x as long as the quotient keeps its
// whole part, and is smaller than y in any case.
func fmodVariation(x, X, y, Y float64) float64 {
	ay := math.Abs(y)
	lo, hi := (math.Abs(x)-X)/ay, (math.Abs(x)+X)/ay
	whole := math.Floor(lo)
	if Y == 0 && lo > 0 && lo-whole > 0x1p-40*lo && math.Floor(hi*(1+0x1p-40)) == whole {
		return X
	}
	return 2*ay + Y
}

// powVariation: over positive x the power is monotone in each argument, so its
// extremes over a rectangle are at corners.
func (k margins) powVariation(x, X, y, Y, r float64) float64 {
	X, Y = X*outward, Y*outward
	if !(x-X > 0) {
		if Y != 0 || y != math.Trunc(y) || y < 0 {
			return inf
		}
		if y == 0 {
			return 0
		}
		return y * math.Pow(math.Abs(x)+X, y-1) * X * (1 + 0x1p-40)
	}
	l := 0.0
	for _, v := range [...]float64{math.Pow(x-X, y-Y), math.Pow(x-X, y+Y), math.Pow(x+X, y-Y), math.Pow(x+X, y+Y)} {
		l = max(l, math.Abs(v-r)+0x1p-48*v)
	}
	if l != l {
		return inf
	}
	return l + k.u*math.Abs(r)
}

// rearranged closes a chain of n sums and products: p is propagated, s the sum
// of magnitudes, m the largest products.
func (k margins) rearranged(n int, p, s, m float64) float64 {
	if n == 0 {
		return p
	}
	nu := float64(n) * k.u
	if nu >= 0.5 || !(m <= k.max) {
		return inf
	}
	b := (p + 2*nu/(1-nu)*s + 2*float64(n)*k.eta*m) * outward
	if !(s+b <= k.max) {
		return inf
	}
	return b
}

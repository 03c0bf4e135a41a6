package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// mapIndex is ir.MapIndex as expressions, for an x beyond the face.
func mapIndex(kind ir.BoundaryKind, x, lo, hi kernel.Expr) (at, negate kernel.Expr) {
	n := kernel.Add(kernel.Sub(hi, lo), kernel.I(1))
	switch kind {
	case ir.Constant:
		return lo, nil
	case ir.Clamp:
		return kernel.Min(kernel.Max(x, lo), hi), nil
	case ir.Periodic:
		return kernel.Add(floorMod(kernel.Sub(x, lo), n), lo), nil
	case ir.Mirror, ir.AntiMirror:
		p := floorMod(kernel.Sub(x, lo), kernel.Mul(n, kernel.I(2)))
		back := kernel.Ge(p, n)
		at = kernel.Add(kernel.Sel(back, kernel.Sub(kernel.Sub(kernel.Mul(n, kernel.I(2)), kernel.I(1)), p), p), lo)
		if kind == ir.AntiMirror {
			negate = back
		}
		return at, negate
	case ir.Reflect, ir.AntiReflect:
		// A period of 0, for a single cell, is replaced by 1: every index maps
		// to that cell.
		period := kernel.Max(kernel.Mul(kernel.Sub(n, kernel.I(1)), kernel.I(2)), kernel.I(1))
		p := floorMod(kernel.Sub(x, lo), period)
		at = kernel.Add(kernel.Sel(kernel.Ge(p, n), kernel.Sub(period, p), p), lo)
		if kind == ir.AntiReflect {
			gap := kernel.Max(kernel.Sub(n, kernel.I(1)), kernel.I(1))
			out := kernel.Max(kernel.Sub(lo, x), kernel.Sub(x, hi))
			crossings := kernel.CeilDiv(out, gap)
			odd := kernel.Bin(op.Eq, kernel.Bin(op.Rem, crossings, kernel.I(2)), kernel.I(1))
			negate = kernel.And(kernel.Bin(op.Gt, n, kernel.I(1)), odd)
		}
		return at, negate
	}
	panic("lower: no index map for " + kind.String())
}

// mapNear is mapIndex with a shorter way for an x that a single turn brings back,
// above the upper face or below the lower one: it takes no division, which costs a
// processor as much as several cells. At and negate are what mapIndex makes of x;
// single says that x is beyond the face by one cell.
func mapNear(kind ir.BoundaryKind, x, lo, hi kernel.Expr, above, single bool,
	at, negate kernel.Expr) (kernel.Expr, kernel.Expr) {
	n := kernel.Add(kernel.Sub(hi, lo), kernel.I(1))
	two := kernel.I(2)
	end := lo
	if above {
		end = hi
	}
	var near kernel.Expr
	back := !above // whether the turn could end up beyond the upper face
	switch kind {
	case ir.Clamp:
		return end, nil
	case ir.Periodic:
		near = kernel.Add(x, n)
		if above {
			near = kernel.Sub(x, n)
		}
		back = above
	case ir.Mirror, ir.AntiMirror: // between the last cell and the first beyond
		sum := kernel.Sub(kernel.Mul(lo, two), kernel.I(1))
		if above {
			sum = kernel.Sub(kernel.Mul(kernel.Add(hi, kernel.I(1)), two), kernel.I(1))
		}
		near = kernel.Sub(sum, x)
	case ir.Reflect, ir.AntiReflect: // at the last cell
		near = kernel.Sub(kernel.Mul(end, two), x)
		single = false // a grid of one cell has none to turn to
	default:
		return at, negate
	}
	if single { // any grid has a cell
		if negate != nil {
			negate = kernel.L(op.BoolOf(true))
		}
		return near, negate
	}
	// The turn goes over one face, and must not go beyond the other.
	fits := kernel.Ge(near, lo)
	if back {
		fits = kernel.Le(near, hi)
	}
	if negate != nil {
		negate = kernel.Bin(op.LOr, fits, negate) // one turn is one crossing
	}
	return kernel.Sel(fits, near, at), negate
}

// floorMod returns x modulo n in 0..n-1, for n > 0.
func floorMod(x, n kernel.Expr) kernel.Expr {
	r := kernel.Bin(op.Rem, x, n)
	return kernel.Bin(op.Rem, kernel.Add(r, n), n)
}

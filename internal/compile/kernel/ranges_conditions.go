package kernel

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// decided says whether a comparison holds, if it is the same for all values.
func decided(o op.Op, x, y Interval) (holds, known bool) {
	less, equal, greater := x.Lo < y.Hi, x.Lo <= y.Hi && y.Lo <= x.Hi, x.Hi > y.Lo // each whether it may be
	var may, mayNot bool
	switch o {
	case op.Lt:
		may, mayNot = less, equal || greater
	case op.Le:
		may, mayNot = less || equal, greater
	case op.Gt:
		may, mayNot = greater, equal || less
	case op.Ge:
		may, mayNot = greater || equal, less
	case op.Eq:
		may, mayNot = equal, less || greater
	case op.Ne:
		may, mayNot = less || greater, equal
	default:
		return false, false
	}
	return may, may != mayNot
}

// under runs f where a condition holds, or where it does not.
func (r *ranger) under(cond Expr, holds bool, f func()) {
	var undo []func()
	r.assume(cond, holds, &undo)
	f()
	for i := len(undo) - 1; i >= 0; i-- {
		undo[i]()
	}
}

// assume narrows intervals by a condition.
func (r *ranger) assume(cond Expr, holds bool, undo *[]func()) {
	switch c := cond.(type) {
	case *Ref:
		if value := r.named[c.Var]; value != nil {
			r.assume(value, holds, undo)
		}
	case *Unary:
		if c.Op == op.Not {
			r.assume(c.X, !holds, undo)
		}
	case *Binary:
		switch {
		case c.Op == op.LAnd && holds, c.Op == op.LOr && !holds:
			r.assume(c.X, holds, undo)
			r.assume(c.Y, holds, undo)
		case c.Op.IsComparison() && !c.X.Type().IsFloat():
			r.compare(c.Op, holds, c.X, c.Y, undo)
		}
	}
}

var opposite = map[op.Op]op.Op{op.Lt: op.Ge, op.Ge: op.Lt, op.Le: op.Gt, op.Gt: op.Le, op.Eq: op.Ne, op.Ne: op.Eq}

// compare narrows the operands of a comparison.
func (r *ranger) compare(o op.Op, holds bool, x, y Expr, undo *[]func()) {
	if !holds {
		o = opposite[o]
	}
	if o == op.Gt || o == op.Ge {
		x, y = y, x
		o = map[op.Op]op.Op{op.Gt: op.Lt, op.Ge: op.Le}[o]
	}
	ix, iy := r.interval(x), r.interval(y)
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	switch o {
	case op.Lt:
		if iy.Hi > least {
			r.limit(x, Interval{least, iy.Hi - 1}, undo)
		}
		if ix.Lo < most {
			r.limit(y, Interval{ix.Lo + 1, most}, undo)
		}
	case op.Le:
		r.limit(x, Interval{least, iy.Hi}, undo)
		r.limit(y, Interval{ix.Lo, most}, undo)
	case op.Eq:
		r.limit(x, iy, undo)
		r.limit(y, ix, undo)
	}
}

// limit narrows the variables of an expression that is within an interval.
func (r *ranger) limit(e Expr, to Interval, undo *[]func()) {
	switch e := e.(type) {
	case *Ref:
		v := e.Var
		was, known := r.of[v]
		if !known || r.changes[v] {
			return
		}
		if now, some := was.meet(to); some { // else nothing runs here
			r.of[v] = now
			*undo = append(*undo, func() { r.of[v] = was })
		}
	case *Binary:
		if e.Op != op.Add && e.Op != op.Sub {
			return
		}
		if _, ok := r.exact(e); !ok {
			return // a sum that wraps says nothing of its terms
		}
		to, _ = r.interval(e).meet(to)
		if to.Lo > to.Hi {
			return
		}
		x, y := r.interval(e.X), r.interval(e.Y)
		if e.Op == op.Add {
			if i, ok := to.minus(y); ok {
				r.limit(e.X, i, undo)
			}
			if i, ok := to.minus(x); ok {
				r.limit(e.Y, i, undo)
			}
			return
		}
		if i, ok := to.plus(y); ok {
			r.limit(e.X, i, undo)
		}
		if i, ok := x.minus(to); ok {
			r.limit(e.Y, i, undo)
		}
	}
}

// exact returns the interval of a sum or difference that does not wrap.
func (r *ranger) exact(e *Binary) (Interval, bool) {
	x, y := r.interval(e.X), r.interval(e.Y)
	i, ok := x.plus(y)
	if e.Op == op.Sub {
		i, ok = x.minus(y)
	}
	return i, ok && i.fits(e.Type())
}

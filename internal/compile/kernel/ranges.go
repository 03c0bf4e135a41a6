package kernel

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// Ranges are the values that variables may have. Those that are not there may
// have any of their type.
type Ranges map[*Var]Interval

// LaunchRanges returns what a kernel's sizes are in all its launches; size says
// what a parameter of the program may be.
func LaunchRanges(k *Kernel, launches []*Launch, size func(param int) Interval) Ranges {
	r := Ranges{}
	for _, l := range launches {
		if l.Kernel != k {
			continue
		}
		for i, v := range k.Scalars {
			a, ok := l.Args[len(k.Buffers)+i].(SizeArg)
			if !ok {
				continue
			}
			now := size(a.Param)
			if was, known := r[v]; known {
				now = now.join(was)
			}
			r[v] = now
		}
	}
	return r
}

// ranger finds what values integer expressions may have. A variable has one
// interval for the whole kernel; conditions narrow those of variables that do
// not change for what stands under them.
type ranger struct {
	of      Ranges
	changes map[*Var]bool
	named   map[*Var]Expr // what the variables of Lets stand for
}

// rounds is how often the intervals of variables that change are found anew
// before those that still grow are taken to be anything.
const rounds = 3

// newRanger finds the intervals of a kernel's variables from those of its
// arguments.
func newRanger(k *Kernel, arguments Ranges) *ranger {
	r := &ranger{of: Ranges{}, changes: assigned(k.Body), named: map[*Var]Expr{}}
	for _, v := range k.Scalars {
		r.of[v] = every(v.Type)
		if a, known := arguments[v]; known {
			if m, some := a.meet(every(v.Type)); some {
				r.of[v] = m
			}
		}
	}
	f := &finder{ranger: r, steps: carried(k.Body)}
	for i := 0; ; i++ {
		f.widen, f.grew = i >= rounds, false
		f.list(k.Body)
		if !f.grew {
			return r
		}
	}
}

// finder goes through a kernel and makes the intervals of what it declares and
// changes large enough, until they are.
type finder struct {
	*ranger
	steps map[*Assign]*carry
	widen bool
	grew  bool
}

func (f *finder) grow(v *Var, by Interval) {
	if v.Type.IsFloat() {
		return
	}
	switch was, known := f.of[v]; {
	case !known:
		f.of[v] = by
	case by.in(was):
		return
	case f.widen && f.changes[v]:
		f.of[v] = every(v.Type)
	default:
		f.of[v] = was.join(by)
	}
	f.grew = true
}

func (f *finder) list(list []Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *Let:
			f.named[s.Var] = s.Value
			f.grow(s.Var, f.interval(s.Value))
		case *Declare:
			f.grow(s.Var, f.interval(s.Init))
		case *Assign:
			if c := f.steps[s]; c != nil {
				f.grow(s.Var, f.carried(c))
			} else {
				f.grow(s.Var, f.interval(s.Value))
			}
		case *LoadVector:
			for _, v := range s.Vars {
				f.grow(v, every(v.Type))
			}
		case *Shuffle:
			f.grow(s.Var, f.interval(s.Value))
		case *Loop:
			f.grow(s.Var, f.counter(s))
			f.list(s.Body)
		case *If:
			f.under(s.Cond, true, func() { f.list(s.Then) })
			f.under(s.Cond, false, func() { f.list(s.Else) })
		}
	}
}

// carry is a variable that starts somewhere before a loop and takes a step in
// each of its iterations, and does not change otherwise.
type carry struct {
	init, step Expr
	loop       *Loop
}

// carried finds the assignments by which variables are carried along loops.
func carried(body []Stmt) map[*Assign]*carry {
	count := map[*Var]int{}
	WalkStmts(body, func(s Stmt) {
		if a, ok := s.(*Assign); ok {
			count[a.Var]++
		}
	}, nil)
	found := map[*Assign]*carry{}
	var scan func(list []Stmt)
	scan = func(list []Stmt) {
		init := map[*Var]Expr{}
		for _, s := range list {
			switch s := s.(type) {
			case *Declare:
				init[s.Var] = s.Init
			case *If:
				scan(s.Then)
				scan(s.Else)
			case *Loop:
				scan(s.Body)
				if s.Tag != Serial && s.Tag != Unroll {
					continue
				}
				for _, b := range s.Body {
					a, ok := b.(*Assign)
					if !ok || count[a.Var] != 1 || init[a.Var] == nil {
						continue
					}
					if b, ok := a.Value.(*Binary); ok && isRef(b.X, a.Var) && !reads(b.Y, a.Var) {
						switch b.Op {
						case op.Add:
							found[a] = &carry{init[a.Var], b.Y, s}
						case op.Sub:
							found[a] = &carry{init[a.Var], Un(op.Neg, b.Y), s}
						}
					}
				}
			}
		}
	}
	scan(body)
	return found
}

// carried returns the interval of a variable from the first to what the last
// iteration makes of it.
func (r *ranger) carried(c *carry) Interval {
	t := c.init.Type()
	way, ok1 := r.interval(c.step).times(Interval{0, r.trips(c.loop)})
	out, ok2 := r.interval(c.init).plus(way)
	if !ok1 || !ok2 || !out.fits(t) {
		return every(t)
	}
	return out
}

// trips returns the greatest number of iterations that a loop may run.
func (r *ranger) trips(l *Loop) int64 {
	length := r.mostBetween(l.Lo, l.Hi, 0)
	step := max(1, r.interval(l.Step).Lo)
	if length <= 0 {
		return 0
	}
	return (length-1)/step + 1
}

// mostBetween returns the greatest that hi - lo may be. Names are looked
// through, so that a chunk from k0 to min(k0 + 32, K) has 32 at most.
func (r *ranger) mostBetween(lo, hi Expr, depth int) int64 {
	most := int64(math.MaxInt64)
	if d, ok := r.interval(hi).minus(r.interval(lo)); ok {
		most = d.Hi
	}
	if d, ok := Difference(hi, lo); ok {
		if end, ok := r.interval(lo).plus(Exactly(d)); ok && end.fits(lo.Type()) {
			most = min(most, d)
		}
	}
	if depth > 4 {
		return most
	}
	switch x := hi.(type) {
	case *Binary:
		if x.Op == op.Min {
			return min(most, r.mostBetween(lo, x.X, depth), r.mostBetween(lo, x.Y, depth))
		}
	case *Ref:
		if value := r.named[x.Var]; value != nil && lasts(value, r.changes) {
			return min(most, r.mostBetween(lo, value, depth+1))
		}
	}
	return most
}

// counter returns the interval of a loop's variable in its body.
func (r *ranger) counter(l *Loop) Interval {
	lo, hi := r.interval(l.Lo), r.interval(l.Hi)
	if hi.Hi <= lo.Lo {
		return Exactly(lo.Lo) // the body never runs
	}
	return Interval{lo.Lo, hi.Hi - 1}
}

// interval returns an interval of what an expression that is no float may be.
func (r *ranger) interval(e Expr) Interval {
	t := e.Type()
	all := every(t)
	known := func(i Interval, ok bool) Interval {
		if !ok || !i.fits(t) {
			return all
		}
		return i
	}
	switch e := e.(type) {
	case *Lit:
		if t.IsFloat() {
			return all
		}
		return Exactly(e.Value.I)
	case *Ref:
		if i, ok := r.of[e.Var]; ok {
			return i
		}
	case *Unary:
		if e.Op == op.Neg && !t.IsFloat() {
			return known(r.interval(e.X).negated())
		}
	case *Binary:
		if t.IsFloat() || e.X.Type().IsFloat() {
			return all
		}
		x, y := r.interval(e.X), r.interval(e.Y)
		switch e.Op {
		case op.Add:
			return known(x.plus(y))
		case op.Sub:
			return known(x.minus(y))
		case op.Mul:
			return known(x.times(y))
		case op.Div:
			return known(x.over(y))
		case op.Rem:
			return known(x.modulo(y), true)
		case op.And, op.Or:
			return known(x.masked(e.Op, y), true)
		case op.Min:
			return Interval{min(x.Lo, y.Lo), min(x.Hi, y.Hi)}
		case op.Max:
			return Interval{max(x.Lo, y.Lo), max(x.Hi, y.Hi)}
		}
		if holds, known := decided(e.Op, x, y); known {
			return Exactly(op.BoolOf(holds).I)
		}
	case *Select:
		if !t.IsFloat() {
			var x, y Interval
			r.under(e.Cond, true, func() { x = r.interval(e.X) })
			r.under(e.Cond, false, func() { y = r.interval(e.Y) })
			return x.join(y)
		}
	case *Cast:
		if from := e.X.Type(); !from.IsFloat() && !t.IsFloat() {
			return known(r.interval(e.X), true)
		}
	}
	return all
}

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

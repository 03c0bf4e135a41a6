package kernel

import "github.com/gridloom/gridloom/internal/compile/op"

// Ranges are the values that variables may have. Those that are not there may
// have any of their type.
type Ranges map[*Var]Interval

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
			if s.fromFirst() {
				f.grow(s.Var, f.interval(s.Value))
				continue
			}
			// A lane that the warp does not have gives anything.
			f.grow(s.Var, every(s.Var.Type))
		case *Loop:
			f.grow(s.Var, f.counter(s))
			f.list(s.Body)
		case *If:
			f.under(s.Cond, true, func() { f.list(s.Then) })
			f.under(s.Cond, false, func() { f.list(s.Else) })
		}
	}
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
	case *Phase:
		return Interval{0, e.Elements() - 1}
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

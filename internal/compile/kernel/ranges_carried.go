package kernel

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/op"
)

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

package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// Counted is how often statements of a kernel are carried out, by all threads of a launch together.
type Counted struct {
	Times map[Stmt]int64
	// Trips are the fewest and the most iterations of a loop that were seen, each time that it is come to.
	Trips map[*Loop][2]int64
}

// PiecewiseExecutions counts marked statements in milliseconds, for launches of any size. A condition that memory
// decides is left open, and both of its sides count.
//
// All iterations of all loops are counted if that takes no more than 10,000 statements. Otherwise loops are counted by
// pieces. Where iterations differ, they mostly do in few pieces, since the blocks at the edge of the domain differ from
// all others, and those are alike. So the first iteration, the last and the one in the middle are counted; those
// between two that are alike, or that grow evenly, are taken to be as they are; where two differ, the one in the middle
// of them is counted, and so on. All iterations are counted of short loops, of loops that change what decides, and of
// up to 1,024 threads or 64 other iterations where a remainder decides; of more of these, 64 stand for all.
func PiecewiseExecutions(k *Kernel, args map[*Var]op.Value, marked map[Stmt]bool) (*Counted, error) {
	c, err := piecewise(k, args, marked, true)
	if errors.Is(err, ErrLong) {
		c, err = piecewise(k, args, marked, false)
	}
	return c, err
}

// Statements that are carried out for a count at the most.
const (
	mostExact  = 10_000
	mostPieces = 20_000_000
)

func piecewise(k *Kernel, args map[*Var]op.Value, marked map[Stmt]bool, exact bool) (*Counted, error) {
	c := newCounter(args, marked)
	c.data = dataVars(k)
	nodes, err := c.nodes(k)
	if err != nil {
		return nil, err
	}
	p := &pieces{counter: c, trips: map[*Loop][2]int64{}, slot: map[*Var]int{}, exact: exact}
	list := p.list(nodes)
	p.values = make([]op.Value, len(p.slot))
	for v, i := range p.slot {
		p.values[i] = c.env[v]
		p.values[i].T = v.Type
	}
	if p.left = mostPieces; exact {
		p.left = mostExact
	}
	total := make([]int64, len(p.counted))
	p.run(list, total, 0, 1)
	if p.left < 0 {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, ErrLong)
	}
	out := &Counted{map[Stmt]int64{}, p.trips}
	for i, s := range p.counted {
		out.Times[s] += total[i]
	}
	return out, nil
}

const (
	fewIterations  = 6 // all iterations of so short loops are counted
	manyThreads    = 1024
	manyIterations = 64
)

// pieces counts by pieces.
type pieces struct {
	*counter
	counted []Stmt // what the counts are of, by index
	trips   map[*Loop][2]int64
	slot    map[*Var]int
	values  []op.Value // of variables, by slot
	exact   bool       // all iterations of all loops are counted
}

// piece is a statement that decides, or some that are counted.
type piece struct {
	counted [2]int      // from and to
	set     int         // the slot of the variable that is set to value; -1 if there is none
	value   computation // of a floating-point number
	number  whole       // value, if it is an integer or a condition
	cond    whole
	open    bool
	loop    *pieceLoop
	body    []piece
	other   []piece
}

type pieceLoop struct {
	of           *Loop
	slot         int
	lo, hi, step whole
	within       [2]int // the counts of its body, from and to
	alike        bool   // all iterations come to the same
	carries      bool   // an iteration changes what decides in the next
	periodic     bool   // a remainder decides, or which thread it is
}

// list prepares statements.
func (p *pieces) list(nodes []countNode) []piece {
	var out []piece
	for i := range nodes {
		n := &nodes[i]
		q := piece{set: -1}
		q.counted[0] = len(p.counted)
		p.counted = append(p.counted, n.marked...)
		q.counted[1] = len(p.counted)
		switch {
		case n.set != nil:
			if q.set = p.at(n.set); n.set.Type.IsFloat() {
				q.value = p.compute(n.value)
			} else {
				q.number = p.whole(n.value)
			}
		case n.cond != nil:
			if q.open = n.open; !n.open {
				q.cond = p.whole(n.cond)
			}
			q.body, q.other = p.list(n.body), p.list(n.other)
		case n.loop != nil:
			l := &pieceLoop{of: n.loop, slot: p.at(n.loop.Var), carries: p.carries(n.loop.Body)}
			l.alike = !p.decides[n.loop.Var] && !l.carries
			l.lo, l.hi, l.step = p.whole(n.loop.Lo), p.whole(n.loop.Hi), p.whole(n.loop.Step)
			l.within[0] = len(p.counted)
			q.body = p.list(n.body)
			l.within[1] = len(p.counted)
			l.periodic = !l.alike && periodic(n)
			q.loop = l
		}
		out = append(out, q)
	}
	return out
}

// carries reports whether a list changes a variable that decides and that is declared outside of it.
func (p *pieces) carries(list []Stmt) bool {
	own, found := map[*Var]bool{}, false
	WalkStmts(list, func(s Stmt) {
		switch s := s.(type) {
		case *Declare:
			own[s.Var] = true
		case *Assign:
			found = found || p.decides[s.Var] && !own[s.Var]
		}
	}, nil)
	return found
}

// periodic reports whether remainders of a loop's variable decide something in its body, or of a thread, which
// number it has.
func periodic(n *countNode) bool {
	derived, found := map[*Var]bool{n.loop.Var: true}, false
	reads := func(e Expr) bool { return dependsOn(e, derived) }
	look := func(e Expr) {
		if e == nil || found {
			return
		}
		Walk(e, func(e Expr) {
			if b, ok := e.(*Binary); ok {
				switch b.Op {
				case op.Rem:
					found = found || reads(b)
				case op.And, op.Or:
					found = found || b.Type().IsInt() && reads(b)
				case op.Eq, op.Ne:
					found = found || n.loop.Tag.IsThread() && reads(b)
				}
			}
		})
	}
	var walk func(list []countNode)
	walk = func(list []countNode) {
		for i := range list {
			m := &list[i]
			if m.set != nil {
				look(m.value)
				derived[m.set] = derived[m.set] || reads(m.value)
			}
			if !m.open {
				look(m.cond)
			}
			if m.loop != nil {
				look(m.loop.Lo)
				look(m.loop.Hi)
				look(m.loop.Step)
				derived[m.loop.Var] = derived[m.loop.Var] || reads(m.loop.Lo)
			}
			walk(m.body)
			walk(m.other)
		}
	}
	walk(n.body)
	return found
}

// dependsOn reports whether an expression reads one of the variables.
func dependsOn(e Expr, vars map[*Var]bool) bool {
	found := false
	Walk(e, func(e Expr) {
		if r, ok := e.(*Ref); ok {
			found = found || vars[r.Var]
		}
	})
	return found
}

// run carries out statements, and adds to counts, of which the first has an index, how often what is marked is
// carried out, so many times.
func (p *pieces) run(list []piece, counts []int64, first int, times int64) {
	for i := range list {
		if p.left--; p.left < 0 {
			return
		}
		q := &list[i]
		for at := q.counted[0]; at < q.counted[1]; at++ {
			counts[at-first] += times
		}
		switch {
		case q.number != nil:
			p.values[q.set].I = q.number(p.values)
		case q.set >= 0:
			p.values[q.set] = q.value(p.values)
		case q.loop != nil:
			p.loop(q, counts, first, times)
		default:
			var yes bool
			if q.cond != nil {
				yes = q.cond(p.values) != 0
			}
			if q.open || yes {
				p.run(q.body, counts, first, times)
			}
			if q.open || !yes {
				p.run(q.other, counts, first, times)
			}
		}
	}
}

// loop carries out a loop.
func (p *pieces) loop(q *piece, counts []int64, first int, times int64) {
	l := q.loop
	lo, hi, step := l.lo(p.values), l.hi(p.values), max(1, l.step(p.values))
	trips := int64(0)
	if lo < hi {
		trips = (hi-lo-1)/step + 1
	}
	seen, before := p.trips[l.of]
	if !before {
		seen = [2]int64{trips, trips}
	}
	p.trips[l.of] = [2]int64{min(seen[0], trips), max(seen[1], trips)}
	enter := func(i int64) { p.values[l.slot] = op.Int(l.of.Var.Type, lo+i*step) }
	many := int64(manyIterations)
	if l.of.Tag.IsThread() {
		many = manyThreads
	}
	switch {
	case trips == 0:
	case l.alike:
		p.run(q.body, counts, first, times*trips)
	case p.exact, l.carries, trips <= fewIterations, l.periodic && trips <= many:
		for i := int64(0); i < trips && p.left >= 0; i++ {
			enter(i)
			p.run(q.body, counts, first, times)
		}
	case l.periodic:
		for i := range int64(manyIterations) { // each stands for those from one bound to the next
			from, to := i*trips/manyIterations, (i+1)*trips/manyIterations
			enter(from + (to-from)*(i*golden%1000)/1000)
			p.run(q.body, counts, first, times*(to-from))
		}
	default:
		s := &pieceSum{counts: counts[l.within[0]-first : l.within[1]-first], times: times}
		s.count = func(i int64) []int64 {
			enter(i)
			one := make([]int64, l.within[1]-l.within[0])
			if p.left >= 0 {
				p.run(q.body, one, l.within[0], 1)
			}
			return one
		}
		s.all(trips)
	}
}

// pieceSum adds up the counts of a loop's iterations.
type pieceSum struct {
	counts []int64
	times  int64
	count  func(i int64) []int64 // of one iteration
}

func (s *pieceSum) add(one []int64, iterations int64) {
	for i, n := range one {
		s.counts[i] += s.times * iterations * n
	}
}

// all adds all of so many iterations: at least three.
func (s *pieceSum) all(trips int64) {
	at := [3]int64{0, trips / 2, trips - 1}
	var known [3][]int64
	for i, n := range at {
		known[i] = s.count(n)
		s.add(known[i], 1)
	}
	s.between(at[0], at[1], known[0], known[1])
	s.between(at[1], at[2], known[1], known[2])
}

// between adds the iterations between two that are known.
func (s *pieceSum) between(a, b int64, first, last []int64) {
	switch n := b - a - 1; {
	case n <= 0:
	case slices.Equal(first, last):
		s.add(first, n)
	default:
		m := a + (b-a)/2
		middle := s.count(m)
		if n > 1 && n%2 == 1 && evenly(first, middle, last) {
			s.add(middle, n)
			return
		}
		s.add(middle, 1)
		s.between(a, m, first, middle)
		s.between(m, b, middle, last)
	}
}

// evenly reports whether what is in the middle is the mean of all counts.
func evenly(first, middle, last []int64) bool {
	for i, n := range middle {
		if first[i]+last[i] != 2*n {
			return false
		}
	}
	return true
}

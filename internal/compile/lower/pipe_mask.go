package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// mask has a bit for each cell of a thread: what is known of the cells for all planes. A
// select by a bit costs less than to compare positions in every step.
type mask []kernel.Expr

// maskBits is how many cells one word has.
const maskBits = 31

func bitOf(n int64) kernel.Expr { return kernel.L(op.Int(types.I32, 1<<(n%maskBits))) }

// cellMask makes a mask of a condition on rows and cells. It is declared in the scope.
func (p *pipe) cellMask(body *scope, name string, holds func(r, x int64) kernel.Expr) mask {
	var m mask
	none := kernel.L(op.Int(types.I32, 0))
	for r := range p.rows {
		for x := range p.run {
			n := r*p.run + x
			if n%maskBits == 0 {
				m = append(m, none)
			}
			word := &m[n/maskBits]
			*word = kernel.Bin(op.Or, *word, kernel.Sel(holds(r, x), bitOf(n), none))
		}
	}
	for n := range m {
		v := body.declare(p.env, name, types.I32)
		body.emit(&kernel.Let{Var: v, Value: m[n]})
		m[n] = kernel.V(v)
	}
	return m
}

// each combines the words of masks.
func (m mask) each(f func(n int) kernel.Expr) mask {
	out := make(mask, len(m))
	for n := range m {
		out[n] = f(n)
	}
	return out
}

// has is the condition that some of the cells from r, x on have their bits.
func (p *pipe) has(m mask, r, x, cells int64, all bool) kernel.Expr {
	var cond kernel.Expr
	for n := r*p.run + x; cells > 0; {
		bits, first := int64(0), n/maskBits
		for ; cells > 0 && n/maskBits == first; n, cells = n+1, cells-1 {
			bits |= 1 << (n % maskBits)
		}
		of := kernel.L(op.Int(types.I32, bits))
		some := kernel.Bin(op.And, m[first], of)
		switch {
		case all:
			cond = conj(cond, kernel.Bin(op.Eq, some, of))
		case cond == nil:
			cond = kernel.Bin(op.Ne, some, kernel.L(op.Int(types.I32, 0)))
		default:
			cond = kernel.Bin(op.LOr, cond, kernel.Bin(op.Ne, some, kernel.L(op.Int(types.I32, 0))))
		}
	}
	return cond
}

// masks are what a thread knows of its cells.
type masks struct {
	mine   mask                     // the block's tile has them
	inside mask                     // the arrays have them
	rim    map[*pipeline.Stage]mask // the arrays have them, and the stage does not assign them
}

// findMasks declares the masks: in all loops that of the block's own cells, and in those with
// guards the others.
func (p *pipe) findMasks(body *scope, guarded bool) {
	last := len(p.axes) - 1
	within := func(r, x int64, rows, cells func(at kernel.Expr) kernel.Expr) kernel.Expr {
		cond := cells(kernel.Add(p.x0, kernel.I(x)))
		if p.middle() {
			cond = kernel.Bin(op.And, rows(kernel.Add(p.row0, kernel.I(r))), cond)
		}
		return cond
	}
	in := func(lo, hi kernel.Expr) func(at kernel.Expr) kernel.Expr {
		return func(at kernel.Expr) kernel.Expr {
			return kernel.Bin(op.And, kernel.Ge(at, lo), kernel.Le(at, hi))
		}
	}
	tile := func(k int) func(at kernel.Expr) kernel.Expr {
		return in(p.own[k][0], kernel.Sub(p.own[k][1], kernel.I(1)))
	}
	if !guarded {
		p.mine = p.cellMask(body, "own", func(r, x int64) kernel.Expr {
			array := within(r, x, in(p.lo[1], p.hi[1]), in(p.lo[last], p.hi[last]))
			return kernel.And(array, within(r, x, tile(1), tile(last)))
		})
		return
	}
	// Where an axis wraps, cells beyond the ends are those that they stand for.
	always := func(kernel.Expr) kernel.Expr { return kernel.L(op.BoolOf(true)) }
	array := func(k int) func(at kernel.Expr) kernel.Expr {
		if p.wraps(k) {
			return always
		}
		return in(p.lo[k], p.hi[k])
	}
	p.inside = p.cellMask(body, "inside", func(r, x int64) kernel.Expr { return within(r, x, array(1), array(last)) })
	p.rim = map[*pipeline.Stage]mask{}
	for n, st := range p.stream.Stages {
		for _, other := range p.stream.Stages[:n] { // most have one domain
			if st.Stmt.Domain.Equal(other.Stmt.Domain) {
				p.rim[st] = p.rim[other]
				break
			}
		}
		if p.rim[st] != nil {
			continue
		}
		domain := func(k int) func(at kernel.Expr) kernel.Expr {
			r := st.Stmt.Domain[p.axes[k]]
			within := in(p.low(r.Lo, p.lo[k]), p.high(r.Hi, p.hi[k]))
			if !p.wraps(k) {
				return within
			}
			return func(at kernel.Expr) kernel.Expr { return within(p.env.wrapped(at, &p.extents[k])) }
		}
		p.rim[st] = p.cellMask(body, "rim", func(r, x int64) kernel.Expr {
			assigned := within(r, x, domain(1), domain(last))
			return kernel.And(within(r, x, array(1), array(last)), kernel.Un(op.Not, assigned))
		})
	}
}

// planeIn is the condition under which a plane is within bounds on the stream's axis.
func (s *pipeStep) planeIn(name string, plane, lo, hi kernel.Expr) kernel.Expr {
	in := kernel.Bin(op.And, kernel.Ge(plane, lo), kernel.Le(plane, hi))
	return s.body.let(s.env, name, name, in)
}

// assigns is the condition under which a plane is in the stage's domain.
func (s *pipeStep) assigns(st *pipeline.Stage, plane kernel.Expr) kernel.Expr {
	r := st.Stmt.Domain[s.axes[0]]
	if s.wraps(0) {
		plane = s.env.wrapped(plane, &s.extents[0])
	}
	return s.planeIn("plane_assigned", plane, s.low(r.Lo, s.lo[0]), s.high(r.Hi, s.hi[0]))
}

// chosen declares a mask that is one of two, or of none, in a step.
func (s *pipeStep) chosen(name string, st *pipeline.Stage, cond kernel.Expr, then, otherwise mask) mask {
	return then.each(func(n int) kernel.Expr {
		other := kernel.L(op.Int(types.I32, 0))
		if otherwise != nil {
			other = otherwise[n]
		}
		key := fmt.Sprintf("%s-%d-%d", name, st.Number, n)
		return s.body.let(s.env, key, name, kernel.Sel(cond, then[n], other))
	})
}

// kept is the mask of the cells that a stage leaves as they were in this step.
func (s *pipeStep) kept(st *pipeline.Stage, plane kernel.Expr) mask {
	all := s.inside
	if !s.wraps(0) {
		all = s.chosen("there", st, s.planeIn("plane_there", plane, s.lo[0], s.hi[0]), s.inside, nil)
	}
	return s.chosen("kept", st, s.assigns(st, plane), s.rim[st], all)
}

// stored is the mask of the cells that an output has from the block in this step.
func (s *pipeStep) stored(st *pipeline.Stage, plane kernel.Expr) mask {
	own := kernel.Bin(op.And, kernel.Ge(plane, s.first), kernel.Lt(plane, s.end))
	own = s.body.let(s.env, "plane_own", "plane_own", own)
	m := s.chosen("stored", st, own, s.mine, nil)
	if st.Output.Spare {
		return m
	}
	if !s.guarded {
		if not := s.unassigned[st]; not != nil && s.withRims {
			m = m.each(func(n int) kernel.Expr {
				rim := kernel.Bin(op.And, m[n], not[n])
				return s.body.let(s.env, fmt.Sprintf("rimless-%d-%d", st.Number, n), "rimless", kernel.Sub(m[n], rim))
			})
		}
		return m
	}
	not := m.each(func(n int) kernel.Expr { // those that the stage does not assign
		out := kernel.Sel(s.assigns(st, plane), s.rim[st][n], m[n])
		return s.body.let(s.env, fmt.Sprintf("not-%d-%d", st.Number, n), "unassigned", kernel.Bin(op.And, m[n], out))
	})
	return m.each(func(n int) kernel.Expr {
		return s.body.let(s.env, fmt.Sprintf("assigned-%d-%d", st.Number, n), "assigned", kernel.Sub(m[n], not[n]))
	})
}

// old returns what a stage leaves as it was in a row: from the part that keeps it, if there is
// one, else brought now.
func (s *pipeStep) old(st *pipeline.Stage, r int64) []*kernel.Var {
	if !s.guarded || !st.Fills() || s.late {
		return nil
	}
	if parts := s.parts[st][r]; parts.Keeper >= 0 {
		return s.carriedIn(st, r, parts.Keeper, s.turn, 0)
	}
	var into []*kernel.Var
	for range s.run {
		v := s.body.declare(s.env, st.Stmt.Array.Name+"_kept", st.Stmt.Array.Type)
		s.body.emit(&kernel.Declare{Var: v, Init: zero(v.Type)})
		into = append(into, v)
	}
	s.keepIn(into, st, r, 0)
	return into
}

// keepIn gives variables what a stage leaves as it was in a row some steps later.
func (s *pipeStep) keepIn(into []*kernel.Var, st *pipeline.Stage, r, later int64) {
	plane := s.planeOf(st, later)
	kept := s.kept(st, plane)
	if before, age := s.before(st, r, later); before != nil {
		for x, v := range into {
			old := kernel.V(s.own(before, age, r, int64(x)))
			s.body.emit(&kernel.Assign{Var: v, Value: kernel.Sel(s.has(kept, r, int64(x), 1, true), old, kernel.V(v))})
		}
		return
	}
	home := s.gridStore(s.stream.Home(st.Value))
	b := s.bufferOf(home)
	b.reads = true
	for x, v := range into {
		at := s.flat(home, s.indices(s.position(plane, r, int64(x))))
		s.body.emit(&kernel.If{Cond: s.has(kept, r, int64(x), 1, true), Then: []kernel.Stmt{
			&kernel.Assign{Var: v, Value: &kernel.Load{Buffer: b.buffer, Index: at}},
		}})
	}
}

// before returns the source that has in registers what a stage leaves as it was some steps
// later, and how old the plane is; nil if memory alone has it.
func (p *pipe) before(st *pipeline.Stage, r, later int64) (*pipeline.Source, int64) {
	before := p.stream.Source(st.Value.Before)
	if before == nil {
		return nil, 0
	}
	age, planes := p.stream.Age(st, before, 0)-later, p.turns
	if p.circular[before] != nil {
		planes = p.sharedPlanes()
	}
	if parts := p.parts[st][r]; parts.Keeper >= 0 && !parts.Held || age >= planes {
		return nil, 0
	}
	return before, age
}

// prefetchKept has memory brought near that later steps leave as it was. Each grid is brought
// for the stage that needs it first.
func (s *pipeStep) prefetchKept() {
	if !s.guarded {
		return
	}
	if s.late {
		s.prefetchPlanes()
		return
	}
	last := len(s.axes) - 1
	seen := map[*ir.Grid]bool{}
	for _, st := range s.stream.Stages {
		parts := s.parts[st][0]
		later := int64(0)
		if parts.Keeper >= 0 {
			later = parts.List[parts.Keeper].At.Before
		}
		if !st.Fills() {
			continue
		}
		if before, _ := s.before(st, 0, later); before != nil {
			continue
		}
		grid := s.stream.Home(st.Value)
		if seen[grid] {
			continue
		}
		seen[grid] = true
		home := s.gridStore(grid)
		b := s.bufferOf(home)
		b.reads = true
		plane := s.clamped("plane_kept", 0, s.planeOf(st, later+max(s.prefetch, 1)+1))
		for r := range s.rows {
			for x := int64(0); x < s.run; x += s.vec {
				at := make([]index, len(s.axes))
				at[0] = index{axis: s.axes[0], at: plane, plain: true}
				if s.middle() {
					at[1] = index{axis: s.axes[1], at: kernel.Add(s.row0, kernel.I(r)), plain: true}
				}
				cell := kernel.Min(kernel.Max(kernel.Add(s.x0, kernel.I(x)), s.lo[last]), s.hi[last])
				at[last] = index{axis: s.axes[last], at: cell, plain: true}
				s.body.emit(&kernel.If{Cond: s.has(s.rim[st], r, x, s.vec, false), Then: []kernel.Stmt{
					&kernel.Prefetch{Buffer: b.buffer, Index: s.flat(home, at)},
				}})
			}
		}
	}
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// partOf is a part of a stage for one row of the thread, by its number.
type partOf struct {
	stage *pipeline.Stage
	row   int64
	part  int
}

// carriedIn returns the registers of a part, by cell, as they are in a turn for the plane that the stage computes so
// many steps later. Those of a cell of a source are for the plane of the source, whoever reads it.
func (p *pipe) carriedIn(st *pipeline.Stage, r int64, n int, turn, later int64) []*kernel.Var {
	parts := &p.parts[st][r]
	first := parts.Shares(n)
	if q := parts.List[n]; q.From != nil && n != parts.Keeper {
		later -= q.Came()
	}
	return p.carried[partOf{st, r, first}][mod(turn+later, p.turns)]
}

// meets reports whether the warps of a block exchange rows.
func (p *pipe) meets() bool {
	return slices.ContainsFunc(p.stream.Sources, func(x *pipeline.Source) bool { return x.Rows != (pipeline.Halo{}) })
}

// split reports whether warps do something else between their arrival and the others'.
func (p *pipe) split() bool { return p.set.Word(schedule.BlockBarrier) == schedule.SplitBarrier }

// isRead reports whether a stage reads a source.
func (p *pipe) isRead(x *pipeline.Source) bool { return x.Stage == nil || x.Stage.Kept }

// declareValues makes the variables that hold planes, and parts of what stages assign.
func (p *pipe) declareValues(body *scope) {
	cells := func(name string, t types.Type) []*kernel.Var {
		var list []*kernel.Var
		for range p.run {
			v := body.declare(p.env, name, t)
			body.emit(&kernel.Declare{Var: v, Init: zero(t)})
			list = append(list, v)
		}
		return list
	}
	plane := func(name string, t types.Type) [][]*kernel.Var {
		var list [][]*kernel.Var
		for range p.rows {
			list = append(list, cells(name, t))
		}
		return list
	}
	for _, x := range p.stream.Sources {
		if !p.isRead(x) {
			continue
		}
		name, t := x.Value.Name(), x.Value.Type()
		for range p.turns {
			p.held[x] = append(p.held[x], plane(name, t))
		}
		if x.Stage == nil && p.circular[x] == nil {
			p.next[x] = plane(name+"_early", t)
		}
	}
	for _, st := range p.stream.Stages {
		for r, parts := range p.parts[st] {
			for n, q := range parts.List {
				if parts.Shares(n) != n {
					continue
				}
				of := partOf{st, int64(r), n}
				for range p.turns {
					p.carried[of] = append(p.carried[of], cells(st.Stmt.Array.Name+"_part", q.Of.Type()))
				}
			}
		}
	}
}

// steps makes the loop along the stream.
func (p *pipe) steps(body *scope) {
	lag := int64(0)
	for _, st := range p.stream.Stages {
		if st.Output != nil {
			lag = max(lag, p.stream.Lag(st))
		}
	}
	start := kernel.Sub(p.first, kernel.I(p.halo[0].Low))
	if !p.wraps(0) { // and for parts of the first plane steps that come before it
		start = kernel.Max(start, kernel.Sub(p.lo[0], kernel.I(p.early())))
	}
	start = body.let(p.env, "start", "start", start)
	p.findMasks(body, false)
	step := func(turn int64, from kernel.Expr, in *scope, guarded, rimless bool) *pipeStep {
		s := &pipeStep{pipe: p, turn: turn, body: in, guarded: guarded, moved: map[string]*kernel.Var{}}
		s.withRims = p.late && !rimless
		s.made = map[*pipeline.Stage][][]*kernel.Var{}
		s.now = in.let(p.env, "now", "plane", kernel.Add(from, kernel.I(turn)))
		s.number = in.let(p.env, "number", "number", kernel.Sub(s.now, start))
		return s
	}
	before := step(0, start, body, true, false)
	for n := range max(p.prefetch, 1) {
		before.fetch(n)
		before.fetchOperands(n)
	}
	loop := func(guarded, rimless bool, lo, hi kernel.Expr) []kernel.Stmt {
		list := newScope(body)
		if guarded {
			p.findMasks(list, true)
		}
		t := list.declare(p.env, "t", types.I64)
		turns := newScope(list)
		for turn := range p.turns {
			step(turn, kernel.V(t), turns, guarded, rimless).write()
		}
		list.emit(&kernel.Loop{Var: t, Lo: lo, Hi: hi, Step: kernel.I(p.turns), Body: turns.stmts})
		return list.stmts
	}
	// Where all cells are computed the loop has no conditions. The planes near both ends of the
	// stream, and blocks at the edges, are made by the other loop, which comes before and after.
	// Its code is there once: a compiler finds registers for two loops, and spills for three.
	whole := func(n kernel.Expr, up bool, turns int64) kernel.Expr { // as a number of steps that turns divide
		n = kernel.Max(kernel.Sub(n, start), kernel.I(0))
		if up {
			n = kernel.Add(n, kernel.I(turns-1))
		}
		return kernel.Add(start, kernel.Mul(kernel.Bin(op.Div, n, kernel.I(turns)), kernel.I(turns)))
	}
	turns := p.turns
	for p.persists > 0 && turns%(2*p.mbarriers()) != 0 { // the next share begins with even phases again
		turns *= 2
	}
	stop := body.let(p.env, "stop", "stop", whole(kernel.Add(p.end, kernel.I(lag)), true, turns))
	if p.opts.Bare {
		body.emit(loop(false, true, start, stop)...)
		return
	}
	from, to := p.innerSteps(body)
	from = kernel.Min(whole(from, true, p.turns), stop)
	from = body.let(p.env, "from", "inner_first", kernel.Sel(p.inner(body), from, stop))
	to = body.let(p.env, "to", "inner_end", kernel.Max(kernel.Min(whole(to, false, p.turns), stop), from))
	part := body.declare(p.env, "part", types.I64)
	is := func(n int64) kernel.Expr { return kernel.Bin(op.Eq, kernel.V(part), kernel.I(n)) }
	lo, hi := kernel.Sel(is(0), start, to), kernel.Sel(is(0), from, stop)
	inner := loop(false, false, from, to)
	if p.late && p.set.Word(schedule.RimlessLoop) == schedule.OwnLoop && len(p.rimGrids()) > 0 &&
		!p.rimsAtTiles() {
		inner = []kernel.Stmt{&kernel.If{Cond: p.rimless(body), Then: loop(false, true, from, to), Else: inner}}
	}
	body.emit(&kernel.Loop{Var: part, Lo: kernel.I(0), Hi: kernel.I(3), Step: kernel.I(1), Body: []kernel.Stmt{
		&kernel.If{Cond: is(1), Then: inner, Else: loop(true, false, lo, hi)},
	}})
}

// early is how many steps before its first plane a stage begins with parts of it.
func (p *pipe) early() int64 {
	n := int64(0)
	for _, st := range p.stream.Stages {
		n = max(n, p.lead(st)-p.stream.Lag(st))
	}
	return n
}

// lead is how many steps before a stage's own its first part comes, at any row.
func (p *pipe) lead(st *pipeline.Stage) int64 {
	n := int64(0)
	for _, parts := range p.parts[st] {
		n = max(n, parts.Lead())
	}
	return n
}

// write makes a step. What other warps have left is used first; then all stages of a row
// follow each other, those first that other warps wait for; then what the next steps need is
// computed from what is there.
func (s *pipeStep) write() {
	if s.prefetch > 0 {
		s.body.emit(&kernel.AsyncWait{Pending: int(s.prefetch - 1)})
	}
	s.prepareAll(pipeline.Exchanged)
	order, edges := s.rowOrder()
	if s.withRims && s.set.Word(schedule.RimPlacement) == schedule.StepRims {
		edges = len(order)
	}
	if s.prefetch == 0 {
		for _, r := range order {
			s.receive(r)
		}
		s.fetch(1)
	}
	for n, r := range order {
		if n == edges {
			s.leave(order[:edges])
			s.arrive()
		}
		if s.prefetch > 0 {
			s.receive(r)
		}
		for _, st := range s.stream.Stages {
			s.stage(st, r)
			s.prepare(pipeline.Computed, st, r)
		}
	}
	if edges == len(order) {
		s.leave(order)
		s.arrive()
	} else {
		s.leave(order[edges:])
	}
	if s.prefetch > 0 {
		s.fetch(s.prefetch)
	}
	s.prefetchKept()
	s.prepareAll(pipeline.Finished)
	s.fetchOperands(s.prefetch)
	s.wait()
}

// leave makes what rows hold known: to other warps, and to memory.
func (s *pipeStep) leave(rows []int64) {
	if s.withRims {
		s.settle(rows)
	}
	for _, r := range rows {
		for _, st := range s.stream.Stages {
			if source := s.stream.Source(st.Value); s.isRead(source) {
				s.publish(source, r)
			}
			if st.Output != nil {
				s.store(st, r, s.planeOf(st, 0), s.made[st][r])
			}
		}
	}
}

// rowOrder returns the thread's rows, first those that other warps wait for, or that read what
// these have left, and how many there are of them.
func (s *pipeStep) rowOrder() (order []int64, edges int) {
	var inner []int64
	for r := range s.rows {
		exchanged := slices.ContainsFunc(s.stream.Sources, func(x *pipeline.Source) bool {
			return len(s.edgeRows(x, r)) > 0 || r < x.Rows.Low || r >= s.rows-x.Rows.High
		})
		if exchanged {
			order = append(order, r)
		} else {
			inner = append(inner, r)
		}
	}
	return append(order, inner...), len(order)
}

// prepareAll computes the parts that a phase makes possible, at all rows.
func (s *pipeStep) prepareAll(phase pipeline.Phase) {
	for r := range s.rows {
		for _, st := range s.stream.Stages {
			s.prepare(phase, st, r)
		}
	}
}

// prepare computes parts of what a stage will assign to a row. Those of planes to come are
// last: they take the places of others that are used here.
func (s *pipeStep) prepare(phase pipeline.Phase, st *pipeline.Stage, r int64) {
	parts := s.parts[st][r]
	for n, q := range slices.Backward(parts.List) {
		if q.At.Phase != phase || parts.Shares(n) != n {
			continue
		}
		into := s.carriedIn(st, r, n, s.turn, q.At.Before)
		for x, v := range into {
			c := &pipeCell{s, st, r, int64(x), q.At}
			s.body.emit(&kernel.Assign{Var: v, Value: c.compute(q.Of, q.In)})
		}
		if n == parts.Keeper && s.guarded {
			s.keepIn(into, st, r, q.At.Before)
		}
	}
}

// arrive says that the rows are there which other warps need.
func (s *pipeStep) arrive() {
	if s.arrived == nil {
		return
	}
	s.body.emit(&kernel.Barrier{Scope: kernel.WarpScope})
	s.body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, s.lane, kernel.I(0)), Then: append([]kernel.Stmt{
		&kernel.MbarrierArrive{Mbarrier: s.arrived, Slot: s.mbarrier()},
	}, s.arriveBeside()...)})
}

// wait waits for the rows of other warps.
func (s *pipeStep) wait() {
	switch {
	case s.arrived != nil:
		parity := kernel.Conv(types.I32, s.phase())
		s.body.emit(&kernel.MbarrierWait{Mbarrier: s.arrived, Slot: s.mbarrier(), Parity: parity})
	case s.meets():
		s.body.emit(s.meetAll())
	}
}

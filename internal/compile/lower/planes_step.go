package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// write makes the step: the newest cells of columns, all stages, first at the threads' own cells and then around the
// tile, and then what is held grows a step older. Neighbours see what was written when all threads have come to the end
// of the step.
func (s *planeStep) write() {
	s.holdStatements(s.body, true)
	if !s.issuesFirst {
		s.copyNext()
	}
	if !s.guarded {
		s.loadColumns()
	}
	order := s.set.Word(schedule.LoadOrder)
	separate := order == schedule.StatementLoads || order == schedule.TermLoads
	work := newScope(s.body) // after all loads that are for all stages
	for n, i := range s.plan.Order {
		list := newScope(work)
		s.ownCells(list, i)
		if n > 0 && !s.guarded && separate {
			work.emit(&kernel.Barrier{Scope: kernel.WarpScope}) // compilers move no loads across
		}
		s.inPlanes(work, i, list.stmts)
	}
	s.body.emit(work.stmts...)
	s.haloCells()
	s.age()
	if s.issuesFirst {
		s.copyNext()
	}
	copies := !s.guarded && len(s.copies) > 0
	switch {
	case !copies:
	case s.boxes != nil: // the engine overwrites what was read in this step
		s.body.emit(&kernel.AsyncFence{})
	default:
		s.body.emit(&kernel.AsyncWait{Pending: int(s.copyDistance() - 1)})
	}
	if copies || len(s.planes) > 0 {
		s.body.emit(&kernel.Barrier{Scope: kernel.BlockScope})
	}
}

// plane is what a stage computes in the step.
func (s *planeStep) plane(i int) kernel.Expr {
	lag := s.plan.Lags[i]
	return s.body.let(s.env, fmt.Sprint("plane", lag), "plane", kernel.Sub(s.at, kernel.I(lag)))
}

// inPlanes emits what a stage does in a step, in those in which it computes a plane that the block needs.
func (s *planeStep) inPlanes(list *scope, i int, stmts []kernel.Stmt) {
	if s.inEveryStep(i) {
		list.emit(stmts...)
		return
	}
	list.emit(&kernel.If{Cond: s.computing(i), Then: stmts})
}

// inEveryStep reports whether a stage computes a plane in every step, needed or not.
func (s *planeStep) inEveryStep(i int) bool {
	return !s.guarded && (!s.rimless || s.alike() || s.harmless(i))
}

// computing is the condition that the step is one in which a stage computes a plane that the block needs.
func (s *planeStep) computing(i int) kernel.Expr {
	st, lag, plane := s.pipeline.Stages[i], kernel.I(s.plan.Lags[i]), s.plane(i)
	from, to := s.needed(i)
	dim := st.Dim(s.axes[0])
	first, last := s.affine(dim.Lo), s.affine(dim.Hi)
	var some kernel.Expr
	if in := st.Inside[0]; s.rimless && !s.keeps[st] {
		first, last = s.low(in.Lo, first), s.high(in.Hi, last)
		for d := range s.threads {
			some = conj(some, s.notEmpty(st, d+1))
		}
	}
	lo, hi := most(kernel.Sub(from, lag), first), least(kernel.Sub(to, lag), kernel.Add(last, kernel.I(1)))
	return conj(some, kernel.And(kernel.Ge(plane, lo), kernel.Lt(plane, hi)))
}

// harmless reports whether a stage may compute planes that nobody needs: its values stay in registers, or are not
// stored, and all that it reads is there in every step. Then the stages of a step that read the same cells, as partial
// sums do, load them once.
func (s *planeStep) harmless(i int) bool {
	st := s.pipeline.Stages[i]
	if !s.rimless || s.keeps[st] || s.plan.Shared[i] > 0 || !st.Stmt.Array.Type.IsFloat() {
		return false
	}
	there := true
	_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
		from := s.pipeline.Stage(v)
		switch {
		case !s.plan.Direct(st, a):
			there = false
		case from != nil:
			there = there && s.plan.Shared[from.Number] == 0 && s.plan.InColumn(st, a)
		default:
			t, plane := s.plan.TileOf(v), a.Index[0].Offset-s.plan.Lags[i]
			there = there && v.Def == nil && (s.copies[t] != nil && t.Has(plane) || !s.pipeline.InPlace(v.Memory) ||
				s.plan.InColumn(st, a) && s.plan.ColumnOf(v).Has(plane) && s.columns[s.plan.ColumnOf(v)] != nil)
		}
		return nil
	})
	return there
}

// loadColumns brings the newest cells of columns: those that were loaded early, while those of the next step are.
func (s *planeStep) loadColumns() {
	for _, c := range s.plan.Columns {
		held, early := s.columns[c], s.early[c]
		if held == nil {
			continue
		}
		newest := s.copiedColumns(c)
		switch {
		case early != nil:
			newest = nil
			for _, v := range early {
				newest = append(newest, kernel.V(v))
			}
		case newest == nil:
			newest = s.columnCells(s.body, c, kernel.Add(s.at, kernel.I(c.Newest)))
		}
		for r := range held {
			s.body.emit(&kernel.Assign{Var: held[r][0], Value: newest[r]})
		}
		if early == nil {
			continue
		}
		next := kernel.Add(s.at, kernel.I(1))
		if !s.rimless { // the last step loads what it has once more: the next plane may be another block's
			next = s.body.let(s.env, "next", "step_next", kernel.Min(next, kernel.Sub(s.innerEnd, kernel.I(1))))
		}
		for r, value := range s.columnCells(s.body, c, kernel.Add(next, kernel.I(c.Newest))) {
			s.body.emit(&kernel.Assign{Var: early[r], Value: value})
		}
	}
}

// age makes what is held a step older.
func (s *planeStep) age() {
	shift := func(column []*kernel.Var) {
		for n := len(column) - 1; n > 0; n-- {
			s.body.emit(&kernel.Assign{Var: column[n], Value: kernel.V(column[n-1])})
		}
	}
	for _, st := range s.pipeline.Stages {
		for _, column := range s.held[st] {
			shift(column)
		}
	}
	if s.guarded {
		return
	}
	for _, c := range s.plan.Columns {
		for _, column := range s.columns[c] {
			shift(column)
		}
	}
}

// ownCells computes a stage at the thread's own cells, and stores them when all are computed, or each row of them when
// it is. Where there are steps in which nothing is stored, one condition has all stores.
func (s *planeStep) ownCells(list *scope, i int) {
	st, plane := s.pipeline.Stages[i], s.plane(i)
	s.vectors = map[string][]kernel.Expr{}
	s.always = s.inEveryStep(i)
	inMemory, shared := make([]*storedCell, len(s.own)), make([]*storedCell, len(s.own))
	batch := len(s.own) // cells that are stored at a time
	if s.set.Word(schedule.StoreOrder) == schedule.RowStores && s.storing(i) == nil {
		batch = int(s.vec)
	}
	if s.keeps[st] {
		work := newScope(list)
		var cells []*cell
		for r, place := range s.own {
			cells = append(cells, s.cell(work, work, i, r, plane, place))
		}
		values, assigned := s.keptValues(cells, work, s.own)
		for r, c := range cells {
			shared[r] = s.hand(work, i, r, values[r])
			inMemory[r] = s.stored(i, r, c, values[r], assigned[r])
		}
		list.emit(work.stmts...)
		s.storeCells(list, i, shared, inMemory)
		return
	}
	for r, place := range s.own {
		work := newScope(list)
		c := s.cell(list, work, i, r, plane, place)
		value, assigned := s.value(c, work)
		shared[r] = s.hand(work, i, r, value)
		inMemory[r] = s.stored(i, r, c, value, assigned)
		if s.guarded && !s.rimless {
			work.emit(append(shared[r].alone(), inMemory[r].alone()...)...)
			shared[r], inMemory[r] = nil, nil
		}
		s.within(list, st, c, work)
		if end := r + 1; end%batch == 0 {
			s.storeCells(list, i, shared[end-batch:end], inMemory[end-batch:end])
		}
	}
}

// storeCells stores some cells of a stage, for neighbours and in memory.
func (s *planeStep) storeCells(list *scope, i int, shared, inMemory []*storedCell) {
	st := s.pipeline.Stages[i]
	list.emit(s.together(shared, true)...)
	stores := s.together(inMemory, st.Output != nil && s.alignedIn(st.Value.Memory))
	if when := s.storing(i); when != nil && len(stores) > 0 {
		stores = []kernel.Stmt{&kernel.If{Cond: when, Then: stores}}
	}
	list.emit(stores...)
}

// storing is the condition, the same for all threads of a block, that what a stage computes in a step without rims is
// to be stored: on planes of its halo it is not, and not on those that nobody needs. It is nil if that is known.
func (s *planeStep) storing(i int) kernel.Expr {
	plane := s.plane(i)
	var when kernel.Expr
	if s.rimless && s.plan.Needs[i] != (pipeline.Halo{}) {
		when = kernel.And(kernel.Ge(plane, s.first), kernel.Lt(plane, s.to))
	}
	if s.harmless(i) && !s.alike() {
		when = conj(when, s.computing(i))
	}
	return when
}

// hand gives a value at one of the thread's own cells to those who need it: the columns, and, in shared memory, the
// neighbours.
func (s *planeStep) hand(work *scope, i, r int, value kernel.Expr) *storedCell {
	st := s.pipeline.Stages[i]
	if held := s.held[st]; held != nil {
		work.emit(&kernel.Assign{Var: held[r][0], Value: value})
	}
	if s.plan.Shared[i] == 0 {
		return nil
	}
	return &storedCell{to: s.planes[st], index: s.element(st, s.slot(work, i, i, nil), s.own[r], nil), value: value}
}

// itself is the condition that a cell stands for itself, and not for the nearest one of a domain that its tile, or its
// plane, is beyond.
func (s *planeStep) itself(c *cell, place []kernel.Expr) kernel.Expr {
	var own kernel.Expr
	st := c.stage.of
	within := func(k int, at kernel.Expr) {
		in := st.Inside[k]
		own = conj(own, kernel.And(kernel.Ge(at, s.low(in.Lo, nil)), kernel.Le(at, s.high(in.Hi, nil))))
	}
	for d := range s.threads {
		within(d+1, kernel.Add(s.start[d], place[d]))
	}
	if s.keeps[st] {
		within(0, s.plane(st.Number))
	}
	return own
}

// keep emits that a cell which the statement does not assign keeps what is in memory.
func (s *planeStep) keep(c *cell, work *scope, into *kernel.Var, place []kernel.Expr) {
	st := c.stage.of
	g := s.kept(st)
	memory := s.gridStore(g)
	b := s.bufferOf(memory)
	b.reads = true
	var idx []index
	var there kernel.Expr
	for d, dim := range st.Stmt.Array.Dims {
		at := s.position(st, d, place)
		if s.pipeline.InPlace(g) && d > 0 { // beyond the grid the nearest cell may just be stored
			there = conj(there, kernel.And(kernel.Ge(at, s.affine(dim.Lo)), kernel.Le(at, s.affine(dim.Hi))))
		}
		idx = append(idx, index{axis: dim.Axis, at: s.limited(dim, at), plain: true})
	}
	load := &kernel.Load{Buffer: b.buffer, Index: s.flat(memory, idx)}
	outside := kernel.Un(op.Not, s.itself(c, place))
	work.emit(&kernel.If{Cond: conj(there, outside), Then: []kernel.Stmt{&kernel.Assign{Var: into, Value: load}}})
}

// inPlace reads a cell that the thread is to store; 0 where it stands for another one, which another thread may just
// store.
func (s *planeStep) inPlace(c *cell, r int, a *ir.Access, v *graph.Value) kernel.Expr {
	var idx []index
	for d, ix := range a.Index {
		x, _ := c.stage.index(c, a, d, ix, false)
		idx = append(idx, x)
	}
	there := applied(c.stage.fromMemory(c, v.Memory, idx), idx)
	return kernel.Sel(s.itself(c, s.own[r]), there, zero(v.Type()))
}

// cell starts the code for a stage at a place of a plane: a row of the thread's own cells, or -1.
func (s *planeStep) cell(outer, body *scope, i, row int, plane kernel.Expr, place []kernel.Expr) *cell {
	st := s.pipeline.Stages[i]
	pos := map[int]kernel.Expr{s.axes[0]: plane}
	if in := st.Inside[0]; s.keeps[st] {
		at := kernel.Max(kernel.Min(plane, s.high(in.Hi, nil)), s.low(in.Lo, nil))
		pos[s.axes[0]] = outer.let(s.env, "plane_at", "plane_at", at)
	}
	for d := range s.threads {
		name := s.Program.Axes[s.axes[d+1]] + "_at"
		at := kernel.Add(s.start[d], place[d])
		if in := st.Inside[d+1]; s.rimless {
			at = kernel.Max(kernel.Min(at, s.high(in.Hi, nil)), s.low(in.Lo, nil))
		}
		pos[s.axes[d+1]] = outer.let(s.env, name, name, at)
	}
	c := s.newStageCell(st, pos, body, func(c *cell, from *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr {
		if s.plan.Shared[from.Number] == 0 { // what the cell held before
			return kernel.V(s.held[from][row][s.plan.Lags[i]-s.plan.Lags[from.Number]])
		}
		return s.stageCell(c, i, from, place, moved)
	})
	c.stage.held = func(c *cell, a *ir.Access, v *graph.Value) kernel.Expr {
		if x := s.inRegisters(i, row, a, v); x != nil {
			return x
		}
		if x := s.inVector(c, i, row, a, v); x != nil {
			return x
		}
		inColumn := row >= 0 && s.plan.InColumn(st, a)
		if inColumn && v.Def == nil && s.rimless && s.pipeline.InPlace(v.Memory) {
			return s.inPlace(c, row, a, v)
		}
		x := s.fromTile(s.plan.TileOf(v), i, place, a)
		if x == nil && inColumn && v.Def == nil {
			x = s.fromTile(s.newest[s.plan.ColumnOf(v)], i, place, a)
		}
		if row < 0 || v.Def != nil {
			return x
		}
		if x == nil && s.plan.Direct(st, a) {
			return s.nearest(i, row, a, v)
		}
		return s.copiedFirst(x, i, row, a, v)
	}
	if !s.guarded && row >= 0 && s.set.Word(schedule.LoadOrder) == schedule.TermLoads {
		c.stage.terms = terms{}
	}
	if !s.guarded || s.rimless {
		all := map[int]bool{}
		for _, axis := range s.axes {
			all[axis] = true
		}
		c.stage.assigned, c.stage.inside = all, all
	}
	return c
}

// stageCell is where a stage has another one's value, in shared memory, at a place moved on some axes.
func (s *planeStep) stageCell(c *cell, i int, from *pipeline.Stage, place []kernel.Expr,
	moved map[int]kernel.Expr) *kernel.Load {
	slot := s.slot(c.body, i, from.Number, moved[s.axes[0]])
	return &kernel.Load{Buffer: s.planes[from], Index: s.element(from, slot, place, moved)}
}

// inRegisters is what an access of a stage leads to from one of the cells of a thread, where the thread holds that: it
// is in that cell's own column, or in that of another one. Else it is nil.
func (s *planeStep) inRegisters(i, row int, a *ir.Access, v *graph.Value) kernel.Expr {
	if row < 0 || !s.plan.Direct(s.pipeline.Stages[i], a) {
		return nil
	}
	to, ok := s.ownAt(row, a.Index[1:])
	if !ok {
		return nil
	}
	age := s.plan.Lags[i] - a.Index[0].Offset // of the plane, less that of the newest there is
	var column []*kernel.Var
	if from := s.pipeline.Stage(v); from != nil {
		age -= s.plan.Lags[from.Number]
		if s.held[from] != nil {
			column = s.held[from][to]
		}
	} else if c := s.plan.ColumnOf(v); v.Def == nil && !s.guarded && s.columns[c] != nil {
		age += c.Newest
		column = s.columns[c][to]
	}
	if age < 0 || age >= int64(len(column)) {
		return nil
	}
	return kernel.V(column[age])
}

// value computes a stage at a cell; assigned is the condition that its statement does, nil if that is known.
func (s *planeStep) value(c *cell, work *scope) (value, assigned kernel.Expr) {
	array := c.stage.of.Stmt.Array
	value, assigned = c.compute()
	into := work.declare(s.env, array.Name+"_new", array.Type)
	made := &kernel.Declare{Var: into, Init: value}
	s.updates[made] = true
	work.emit(made)
	return kernel.V(into), assigned
}

// keptValues computes a stage at cells of which some may keep what is in memory. All of them are computed on planes of
// which the statement assigns cells: on others, which is the same for all threads of a block, what it would read of
// other stages may not be there. Then those that keep what they have load it. There are none in most blocks and steps:
// so that is asked for once, for all cells, by what is the same for all threads.
func (s *planeStep) keptValues(cells []*cell, work *scope, places [][]kernel.Expr) (values, assigned []kernel.Expr) {
	computed, kept := newScope(work), newScope(work)
	var onPlane kernel.Expr
	for n, c := range cells {
		st := c.stage.of
		into := work.declare(s.env, st.Stmt.Array.Name+"_new", st.Stmt.Array.Type)
		work.emit(&kernel.Declare{Var: into, Init: zero(into.Type)})
		c.row, c.body = computed, computed
		value, a := c.compute()
		made := &kernel.Assign{Var: into, Value: value}
		s.updates[made] = true
		computed.emit(made)
		s.keep(c, kept, into, places[n])
		values, assigned = append(values, kernel.V(into)), append(assigned, a)
		onPlane = kernel.Bin(op.Eq, c.pos[s.axes[0]], s.plane(st.Number))
	}
	work.emit(&kernel.If{Cond: onPlane, Then: computed.stmts})
	all := conj(s.covers(cells[0].stage.of), onPlane)
	work.emit(&kernel.If{Cond: kernel.Un(op.Not, all), Then: kept.stmts})
	return values, assigned
}

// covers is the condition, which is the same for all threads of a block, that a stage assigns all cells of the block's
// tile and of its halo, as far as the axes of threads go.
func (p *planeBlock) covers(st *pipeline.Stage) kernel.Expr {
	var all kernel.Expr
	for d := range p.threads {
		in, h := st.Inside[d+1], st.Halo[d+1]
		low := kernel.Sub(p.start[d], kernel.I(h.Low))
		high := kernel.Add(p.start[d], kernel.I(p.tile[d+1]+h.High-1))
		all = conj(all, kernel.And(kernel.Ge(low, p.low(in.Lo, nil)), kernel.Le(high, p.high(in.Hi, nil))))
	}
	return all
}

// within emits what a cell does if it is one of the stage's array.
func (s *planeStep) within(list *scope, st *pipeline.Stage, c *cell, work *scope) {
	if !s.guarded || s.rimless {
		list.emit(work.stmts...)
		return
	}
	var inside kernel.Expr
	for d := range s.threads {
		axis := s.axes[d+1]
		dim, at := st.Dim(axis), c.pos[axis]
		inside = conj(inside, kernel.And(kernel.Ge(at, s.affine(dim.Lo)), kernel.Le(at, s.affine(dim.Hi))))
	}
	list.emit(&kernel.If{Cond: inside, Then: work.stmts})
}

// slot is where a plane begins in the shared memory of a stage: for a stage that reads it, or writes it, moved along
// the stream.
func (s *planeStep) slot(body *scope, reader, from int, by kernel.Expr) kernel.Expr {
	planes := s.slots(s.plan.Shared[from])
	offset := kernel.Add(kernel.I(s.plan.Lags[from]-s.plan.Lags[reader]), kernel.I(0))
	if by != nil {
		offset = kernel.Add(offset, by)
	}
	n := kernel.Add(s.number, offset)
	if lit, ok := offset.(*kernel.Lit); ok { // numbers are not negative
		n = kernel.Add(s.number, kernel.I(mod(lit.Value.I, planes)))
		body = s.body
	} else {
		n = kernel.Add(n, kernel.I(planes*(1+s.plan.Lags[reader]+s.pipeline.Stages[from].Halo[0].Low)))
	}
	n = inTurn(n, planes)
	name := s.pipeline.Stages[from].Stmt.Array.Name + "_plane"
	return body.let(s.env, name, name, kernel.Mul(n, kernel.I(s.area(s.pipeline.Stages[from]))))
}

// element is where the value of a stage at a place is in shared memory, moved on some axes.
func (s *planeStep) element(of *pipeline.Stage, slot kernel.Expr, place []kernel.Expr,
	moved map[int]kernel.Expr) kernel.Expr {
	at := kernel.I(0)
	for d := range s.threads {
		x := kernel.Add(place[d], kernel.I(s.lowSide(of, d)))
		if by := moved[s.axes[d+1]]; by != nil {
			x = kernel.Add(x, by)
		}
		at = kernel.Add(kernel.Mul(at, kernel.I(s.side(of, d))), x)
	}
	return kernel.Spread(kernel.Add(slot, at))
}

// storedCell is a cell that goes to memory.
type storedCell struct {
	to    *kernel.Buffer
	index kernel.Expr
	value kernel.Expr
	own   kernel.Expr // the condition that it is one of the block's; nil if it is
	via   kernel.Via
}

// alone stores the cell; nothing if there is none.
func (c *storedCell) alone() []kernel.Stmt {
	if c == nil {
		return nil
	}
	list := []kernel.Stmt{&kernel.Store{Buffer: c.to, Index: c.index, Value: c.value, Via: c.via}}
	if c.own != nil {
		list = []kernel.Stmt{&kernel.If{Cond: c.own, Then: list}}
	}
	return list
}

// together stores the thread's cells of a stage: those of a vector at once, where the block has them all and they are
// aligned.
func (s *planeStep) together(cells []*storedCell, aligned bool) []kernel.Stmt {
	var list []kernel.Stmt
	for ; len(cells) > 0; cells = cells[s.vec:] {
		var single []kernel.Stmt
		for _, c := range cells[:s.vec] {
			single = append(single, c.alone()...)
		}
		first := cells[0]
		if first == nil || !aligned || Chunk(s.vec, first.value.Type()) < 2 {
			list = append(list, single...)
			continue
		}
		own := conj(first.own, cells[s.vec-1].own) // and all between them
		_, one := first.own.(*kernel.Ref)
		if _, other := cells[s.vec-1].own.(*kernel.Ref); one && other {
			own = s.outer.let(s.env, "all_inside", "all_inside", own)
			s.tested(own)
		}
		var all []kernel.Stmt
		for some := range slices.Chunk(cells[:s.vec], int(Chunk(s.vec, first.value.Type()))) {
			wide := &kernel.StoreVector{Buffer: first.to, Index: some[0].index, Via: first.via}
			for _, c := range some {
				wide.Values = append(wide.Values, c.value)
			}
			all = append(all, wide)
		}
		if own != nil {
			all = []kernel.Stmt{&kernel.If{Cond: own, Then: all, Else: single}}
		}
		list = append(list, all...)
	}
	return list
}

// stored is a cell of a stage as it goes to memory, if it is one of the block's own; nil if the stage stores nothing.
func (s *planeStep) stored(i, r int, c *cell, value, assigned kernel.Expr) *storedCell {
	st := s.pipeline.Stages[i]
	if st.Output == nil {
		return nil
	}
	plane := s.plane(i)
	into := s.gridStore(st.Value.Memory)
	whole := s.rimless && st.Output.Spare // it gets cells that are not assigned, too
	var own kernel.Expr
	if st.Output.Spare {
		into, _ = s.spareStore(st.Value.Memory)
	} else {
		own = assigned
	}
	if s.guarded {
		own = conj(own, kernel.And(kernel.Ge(plane, s.first), kernel.Lt(plane, s.to)))
	}
	if s.rimless && !whole {
		inside := s.itself(c, s.own[r])
		if inside != nil && !s.keeps[st] { // it is the same in all steps
			inside = s.outer.let(s.env, "inside", "inside", inside)
			s.tested(inside)
		}
		own = conj(own, inside)
	}
	b := s.bufferOf(into)
	b.writes = true
	var idx []index
	for d, dim := range st.Stmt.Array.Dims {
		at := c.pos[dim.Axis]
		if whole {
			at = s.position(st, d, s.own[r])
		}
		if whole && d > 0 {
			own = conj(own, kernel.And(kernel.Ge(at, s.affine(dim.Lo)), kernel.Le(at, s.affine(dim.Hi))))
		}
		idx = append(idx, index{axis: dim.Axis, at: at, plain: true})
	}
	element := s.flat(into, idx)
	if s.rimless && !whole {
		element = s.ownElement(into, st, r)
	}
	return &storedCell{b.buffer, element, value, own, storePath(s.set)}
}

// ownElement is where one of the thread's cells of a stage is in memory, if the grid has it: as far from where its
// first cell would be as from that cell.
func (s *planeStep) ownElement(into *store, st *pipeline.Stage, r int) kernel.Expr {
	var idx []index
	away := kernel.I(0)
	for d, dim := range st.Stmt.Array.Dims {
		idx = append(idx, index{axis: dim.Axis, at: s.position(st, d, s.own[0]), plain: true})
		if d > 0 {
			n, _ := kernel.Difference(s.own[r][d-1], s.own[0][d-1])
			away = kernel.Add(away, kernel.Mul(into.stride(d, s.size), kernel.I(n)))
		}
	}
	return kernel.Add(s.flat(into, idx), away)
}

// position is where a place of a stage's plane is on a dimension of its array, or beyond that.
func (s *planeStep) position(st *pipeline.Stage, d int, place []kernel.Expr) kernel.Expr {
	if d == 0 {
		return s.plane(st.Number)
	}
	return kernel.Add(s.start[d-1], place[d-1])
}

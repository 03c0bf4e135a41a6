package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// allocate makes shared memory: circular buffers of the planes that memory brings, and the
// rows that warps leave for others.
func (p *pipe) allocate(top *scope) []kernel.Stmt {
	var allocs []kernel.Stmt
	shared := func(name string, t types.Type, cells int64) *kernel.Buffer {
		b := &kernel.Buffer{
			Name: top.declare(p.env, name, types.I64).Name, Elem: t, Space: kernel.Shared,
			Mode: kernel.InOut, Cells: kernel.I(cells),
		}
		allocs = append(allocs, &kernel.Alloc{Buffer: b})
		return b
	}
	for _, x := range p.stream.Sources {
		if x.Stage == nil && p.prefetch > 0 {
			p.circular[x] = shared(x.Value.Name()+"_planes", x.Value.Type(), p.slots()*p.bufferRows()*p.pitch())
			continue
		}
		if rows := x.Rows.Low + x.Rows.High; rows > 0 {
			p.edges[x] = shared("edge_rows", x.Value.Type(), p.sharedPlanes()*p.edgeWarps()*rows*p.pitch())
		}
	}
	if p.late {
		for _, grid := range p.rimGrids() {
			p.planes[grid] = shared(grid.Name+"_rim", grid.Type, p.rimSlots()*p.rimCells())
		}
	}
	p.allocateOperands(shared)
	if p.meets() && p.split() {
		p.arrived = &kernel.Buffer{
			Name: top.declare(p.env, "arrived", types.I64).Name, Elem: types.I64, Space: kernel.Mbarrier,
			Mode: kernel.InOut, Cells: kernel.I(p.mbarriers()),
		}
		allocs = append(allocs, &kernel.Alloc{Buffer: p.arrived})
	}
	return allocs
}

// sharedPlanes is how many planes shared memory has of what warps read: that of this step, and older ones. It may be
// fewer than the turns of registers, where parts are carried for longer.
func (p *pipe) sharedPlanes() int64 { return p.oldest + 1 }

// slots is how many planes a circular buffer has: those ahead, and those that warps may still read.
func (p *pipe) slots() int64 { return Circular(p.prefetch + p.sharedPlanes()) }

// Circular is how many slots a circular buffer has that needs so many: a power of two, so that places are found by a
// mask, unless that takes two slots more or above.
func Circular(need int64) int64 {
	n := int64(1)
	for n < need {
		n *= 2
	}
	if n > need+1 {
		return need
	}
	return n
}

// padding is how many cells beyond a row in shared memory may be read; they are never used. Rows begin with a vector.
func (p *pipe) padding() int64 {
	last := len(p.axes) - 1
	n, vector := max(p.halo[last].Low, p.halo[last].High), max(p.vec, 4)
	return (n + vector - 1) / vector * vector
}

// pitch is how far apart rows start there.
func (p *pipe) pitch() int64 { return 32*p.run + 2*p.padding() }

// clear writes zeros to shared memory: rows are read before they are written where nothing
// depends on them.
func (p *pipe) clear(body *scope) {
	cleared := p.arrived != nil
	number := kernel.Add(kernel.Mul(p.warp, kernel.I(32)), p.lane)
	zeros := func(b *kernel.Buffer) {
		if b == nil {
			return
		}
		cleared = true
		i := body.declare(p.env, "cell", types.I64)
		body.emit(&kernel.Loop{Var: i, Lo: number, Hi: b.Cells, Step: kernel.I(32 * p.warps), Body: []kernel.Stmt{
			&kernel.Store{Buffer: b, Index: kernel.V(i), Value: zero(b.Elem)},
		}})
	}
	for _, x := range p.stream.Sources {
		if zeros(p.edges[x]); p.turns > 1 {
			zeros(p.circular[x])
		}
	}
	for _, grid := range p.rimGrids() {
		zeros(p.planes[grid])
	}
	for _, o := range p.lateOperands() {
		zeros(o.buffer)
	}
	if p.arrived != nil {
		var inits []kernel.Stmt
		for slot := range p.mbarriers() {
			inits = append(inits, &kernel.MbarrierInit{Mbarrier: p.arrived, Slot: kernel.I(slot), Count: p.arrivals()})
		}
		body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, number, kernel.I(0)), Then: inits})
	}
	if cleared {
		body.emit(p.meetAll())
	}
}

// clamped returns a position within the arrays.
func (s *pipeStep) clamped(key string, k int, x kernel.Expr) kernel.Expr {
	if !s.guarded && !s.opts.Bare {
		return x
	}
	if s.wraps(k) {
		return s.body.let(s.env, key, key, s.env.wrapped(x, &s.extents[k]))
	}
	return s.body.let(s.env, key, key, kernel.Min(kernel.Max(x, s.lo[k]), s.hi[k]))
}

// vectorsFit reports whether rows are known to be whole vectors, so that none goes beyond an end.
func (p *pipe) vectorsFit() bool {
	last := p.extents[len(p.axes)-1]
	if !p.baked {
		return false
	}
	e := p.opts.Bound.Extent(last)
	return mod(e.Lo, p.vec) == 0 && mod(e.Hi+1, p.vec) == 0
}

// tilesEndRows reports whether the last tile of a row ends where the row does.
func (p *pipe) tilesEndRows() bool { return p.vec == 1 || p.vectorsFit() }

// wholeVectors reports whether stores need no look at single cells of a vector. In two
// dimensions nobody asks: without the branches of stores one block of code is so long that a
// compiler moves too much of it about, and spills.
func (p *pipe) wholeVectors() bool { return p.middle() && p.vectorsFit() }

// elements calls f for the elements of a plane of a grid that the thread has, or others
// where it has none.
func (s *pipeStep) elements(grid *ir.Grid, plane kernel.Expr, name string,
	f func(b *kernel.Buffer, element kernel.Expr, r, c int64)) {
	for r := range s.rows {
		s.rowElements(grid, plane, name, r, func(b *kernel.Buffer, element kernel.Expr, c int64) {
			f(b, element, r, c)
		})
	}
}

// rowElements is elements of a row of the thread.
func (s *pipeStep) rowElements(grid *ir.Grid, plane kernel.Expr, name string, r int64,
	f func(b *kernel.Buffer, element kernel.Expr, c int64)) {
	last := len(s.axes) - 1
	st := s.gridStore(grid)
	b := s.bufferOf(st)
	b.reads = true
	at := make([]index, len(s.axes))
	at[0] = index{axis: s.axes[0], at: s.clamped("plane_"+name, 0, plane), plain: true}
	end := s.hi[last]
	if s.vec > 1 { // the last vector's first cell
		end = kernel.Sub(end, floorMod(end, kernel.I(s.vec)))
	}
	if s.middle() {
		row := s.clamped(fmt.Sprintf("row_in_%d", r), 1, kernel.Add(s.row0, kernel.I(r)))
		at[1] = index{axis: s.axes[1], at: row, plain: true}
	}
	for c := int64(0); c < s.run; c += s.vec {
		cell := kernel.Add(s.x0, kernel.I(c))
		switch guarded := s.guarded || s.opts.Bare; {
		case guarded && s.wraps(last):
			cell = s.env.wrapped(cell, &s.extents[last])
		case guarded:
			cell = kernel.Min(kernel.Max(cell, s.origin(last)), end)
		}
		cell = s.body.let(s.env, fmt.Sprintf("x_in_%d", c), fmt.Sprintf("x_in_%d", c), cell)
		at[last] = index{axis: s.axes[last], at: cell, plain: true}
		f(b.buffer, s.flat(st, at), c)
	}
}

// fetch begins to bring the planes of memory of a step that comes some steps later.
func (s *pipeStep) fetch(later int64) {
	plane := kernel.Add(s.now, kernel.I(later))
	for _, x := range s.stream.Sources {
		if x.Stage != nil {
			continue
		}
		name := planeName(later)
		s.elements(x.Value.Memory, plane, name, func(b *kernel.Buffer, element kernel.Expr, r, c int64) {
			if buffer := s.circular[x]; buffer != nil {
				to := kernel.Add(s.bufferRow(-later, s.warp, kernel.I(r)), kernel.I(c))
				s.body.emit(&kernel.AsyncCopy{To: buffer, At: to, From: b, Index: element, Cells: int(s.vec)})
				return
			}
			s.load(s.body, b, element, s.next[x][r][c:c+s.vec])
		})
	}
	if s.withRims {
		s.fetchRims(plane, later)
	}
	if s.prefetch > 0 && len(s.operands) == 0 {
		s.body.emit(&kernel.AsyncCommit{})
	}
}

// load brings neighbouring elements into variables.
func (s *pipeStep) load(body *scope, b *kernel.Buffer, element kernel.Expr, into []*kernel.Var) {
	if len(into) == 1 {
		body.emit(&kernel.Assign{Var: into[0], Value: &kernel.Load{Buffer: b, Index: element}})
		return
	}
	load := &kernel.LoadVector{Buffer: b, Index: element}
	for range into {
		load.Vars = append(load.Vars, body.declare(s.env, b.Name+"_in", b.Elem))
	}
	body.emit(load)
	for i, v := range load.Vars {
		body.emit(&kernel.Assign{Var: into[i], Value: kernel.V(v)})
	}
}

// receive gives a row of what memory has brought its place in registers.
func (s *pipeStep) receive(r int64) {
	for _, x := range s.stream.Sources {
		if x.Stage != nil {
			continue
		}
		into := s.held[x][s.turn][r]
		if buffer := s.circular[x]; buffer != nil {
			for c := int64(0); c < s.run; c += s.vec {
				s.load(s.body, buffer, kernel.Add(s.bufferRow(0, s.warp, kernel.I(r)), kernel.I(c)), into[c:c+s.vec])
			}
			s.send(x, r)
			continue
		}
		for c, v := range into {
			s.body.emit(&kernel.Assign{Var: v, Value: kernel.V(s.next[x][r][c])})
		}
		s.publish(x, r)
	}
}

// own is a cell of the thread as a source had it some steps ago: in a register, or in the
// circular buffer, where older planes take none.
func (s *pipeStep) own(from *pipeline.Source, age, r, x int64) *kernel.Var {
	buffer := s.circular[from]
	if buffer == nil || age == 0 {
		return s.pipe.held[from][mod(s.turn-age, s.turns)][r][x]
	}
	row := s.bufferRow(age, s.warp, kernel.I(r))
	return s.near(buffer, row, x, fmt.Sprintf("own.%p.%d.%d", from, age, r))
}

// near is a cell of a row in shared memory, counted from the thread's first. What a step has
// loaded, whole vectors where it can, it loads once; the name tells rows apart.
func (s *pipeStep) near(b *kernel.Buffer, row kernel.Expr, x int64, name string) *kernel.Var {
	key := func(x int64) string { return fmt.Sprintf("%s.%d", name, x) }
	if have := s.moved[key(x)]; have != nil {
		return have
	}
	if x < 0 || x >= s.run || s.vec == 1 {
		v := s.body.declare(s.env, "near", b.Elem)
		s.body.emit(&kernel.Let{Var: v, Value: &kernel.Load{Buffer: b, Index: kernel.Add(row, kernel.I(x))}})
		s.moved[key(x)] = v
		return v
	}
	first := x / s.vec * s.vec
	load := &kernel.LoadVector{Buffer: b, Index: kernel.Add(row, kernel.I(first))}
	for i := range s.vec {
		v := s.body.declare(s.env, "near", b.Elem)
		load.Vars = append(load.Vars, v)
		s.moved[key(first+i)] = v
	}
	s.body.emit(load)
	return s.moved[key(x)]
}

// slotOf is the place of what came some steps ago in a circular buffer of so many.
func (s *pipeStep) slotOf(age, slots int64) kernel.Expr {
	return inTurn(kernel.Add(s.number, kernel.I(mod(-age, slots))), slots)
}

// inTurn is which of so many places a number has that is not negative, if they are used in turn. Of a power of two it
// is the low bits, for a compiler does not know that a remainder is of no negative number.
func inTurn(n kernel.Expr, places int64) kernel.Expr {
	if places&(places-1) != 0 {
		return kernel.Bin(op.Rem, n, kernel.I(places))
	}
	return kernel.Bin(op.And, n, kernel.I(places-1))
}

// bufferRow is where the thread's cells of a row of a warp stand in a circular buffer, for the
// plane that came some steps ago.
func (s *pipeStep) bufferRow(age int64, warp, row kernel.Expr) kernel.Expr {
	slots := s.slots()
	slot := s.slotOf(age, slots)
	slot = s.body.let(s.env, fmt.Sprintf("slot-%d", mod(-age, slots)), "slot", slot)
	at := kernel.Add(kernel.Mul(kernel.Add(kernel.Mul(slot, kernel.I(s.warps)), warp), kernel.I(s.rows)), row)
	if s.clustered() {
		at = kernel.Add(kernel.Mul(slot, kernel.I(s.bufferRows())), kernel.Mul(warp, kernel.I(s.rows)))
		at = kernel.Add(at, kernel.Add(row, kernel.I(s.beside().Low)))
	}
	at = kernel.Add(kernel.Mul(at, kernel.I(s.pitch())), kernel.I(s.padding()))
	return kernel.Add(at, kernel.Mul(s.lane, kernel.I(s.run)))
}

// edgeRows returns the places of a row among those that a warp leaves for others.
func (p *pipe) edgeRows(x *pipeline.Source, r int64) []int64 {
	var list []int64
	if r < x.Rows.High { // a warp before this one reads it
		list = append(list, r)
	}
	if r >= p.rows-x.Rows.Low {
		list = append(list, x.Rows.High+r-(p.rows-x.Rows.Low))
	}
	return list
}

// edgeElement is where the cells of a row begin that a warp has left some steps ago.
func (s *pipeStep) edgeElement(x *pipeline.Source, age int64, warp kernel.Expr, place int64) kernel.Expr {
	rows, kept := x.Rows.Low+x.Rows.High, s.sharedPlanes()
	slot := kernel.Expr(kernel.I(mod(s.turn-age, kept)))
	if s.turns%kept != 0 {
		slot = s.slotOf(age, kept)
		slot = s.body.let(s.env, fmt.Sprintf("edge-%d", mod(-age, kept)), "edge_slot", slot)
	}
	at := kernel.Add(kernel.Mul(slot, kernel.I(s.edgeWarps())), warp)
	at = kernel.Mul(kernel.Add(kernel.Mul(at, kernel.I(rows)), kernel.I(place)), kernel.I(s.pitch()))
	return kernel.Add(kernel.Add(at, kernel.I(s.padding())), kernel.Mul(s.lane, kernel.I(s.run)))
}

// publish leaves a row of this step's plane to other warps, if they read it.
func (s *pipeStep) publish(x *pipeline.Source, r int64) {
	if b := s.edges[x]; b != nil {
		for _, place := range s.edgeRows(x, r) {
			s.body.emit(s.leaveRow(b, s.edgeElement(x, 0, s.warp, place), nil, s.held[x][s.turn][r])...)
		}
	}
	s.send(x, r)
}

// leaveRow stores the thread's cells of a row in shared memory: the block's own, or that of another of the cluster.
func (s *pipeStep) leaveRow(b *kernel.Buffer, row, rank kernel.Expr, cells []*kernel.Var) (list []kernel.Stmt) {
	for c := int64(0); c < s.run; c += s.vec {
		at := kernel.Add(row, kernel.I(c))
		if s.vec == 1 {
			list = append(list, &kernel.Store{Buffer: b, Index: at, Value: kernel.V(cells[c]), Rank: rank})
			continue
		}
		store := &kernel.StoreVector{Buffer: b, Index: at, Rank: rank}
		for i := range s.vec {
			store.Values = append(store.Values, kernel.V(cells[c+i]))
		}
		list = append(list, store)
	}
	return list
}

// foreign reads a cell of a row of another warp, of a plane that came some steps ago. Beyond
// the first and the last warp there is none, and nothing depends on what is read.
func (c *pipeCell) foreign(from *pipeline.Source, age, r, x int64) kernel.Expr {
	warp := kernel.Expr(kernel.Min(kernel.Add(c.warp, kernel.I(1)), kernel.I(c.warps-1)))
	if r < 0 {
		warp = kernel.Max(kernel.Sub(c.warp, kernel.I(1)), kernel.I(0))
	}
	var b *kernel.Buffer
	var row kernel.Expr
	buffer := c.circular[from]
	switch {
	case c.clustered():
		b, row = c.fromNeighbour(from, age, r)
	case buffer != nil:
		b, row = buffer, c.bufferRow(age, warp, kernel.I(mod(r, c.rows)))
	default:
		place := r - c.rows
		if r < 0 {
			place = from.Rows.High + from.Rows.Low + r
		}
		b, row = c.edges[from], c.edgeElement(from, age, warp, place)
	}
	return kernel.V(c.near(b, row, x, fmt.Sprintf("foreign.%p.%d.%d", from, age, r)))
}

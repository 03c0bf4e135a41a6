package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Where a block stands, what it loads and stores, and what it exchanges with others.

// blocks makes the loops over blocks and threads.
func (r *resident) blocks() []kernel.Stmt {
	top := newScope(nil)
	for k := range r.axes {
		r.lo, r.hi = append(r.lo, r.affine(r.extents[k].Lo)), append(r.hi, r.affine(r.extents[k].Hi))
	}
	column, stack := top.declare(r.env, "column", types.I64), top.declare(r.env, "stack", types.I64)
	lane, warp := top.declare(r.env, "lane", types.I64), top.declare(r.env, "warp", types.I64)
	r.block = []kernel.Expr{kernel.V(stack), kernel.V(column)}
	var allocs []kernel.Stmt
	for _, b := range r.edgeBuffers() {
		b.Name = top.declare(r.env, "edge_rows", types.I64).Name
		allocs = append(allocs, &kernel.Alloc{Buffer: b})
	}
	if r.split() {
		r.arrived = &kernel.Buffer{
			Name: top.declare(r.env, "arrived", types.I64).Name, Elem: types.I64, Space: kernel.Mbarrier,
			Mode: kernel.InOut, Cells: kernel.I(1),
		}
		allocs = append(allocs, &kernel.Alloc{Buffer: r.arrived})
	}
	body := newScope(top)
	r.lane, r.warp = kernel.V(lane), kernel.I(0)
	if r.warps > 1 { // as the first lane sees it: so compilers know that it is the same for all of a warp
		of := &kernel.Shuffle{
			Var: body.declare(r.env, "warp_of", types.I32), Kind: kernel.ShuffleFrom,
			Value: kernel.Conv(types.I32, kernel.V(warp)), By: kernel.L(op.Int(types.I32, 0)),
		}
		body.emit(of)
		r.warp = kernel.Conv(types.I64, kernel.V(of.Var))
	}
	r.stand(body)
	r.load(body)
	r.clearEdges(body)
	r.begin(body)
	for _, x := range r.results {
		if x.state == nil { // rounds store it
			r.replace(x.grid)
		}
	}
	r.allRounds(body)
	for _, x := range r.results {
		if x.state != nil {
			r.storeOwn(body, r.replace(x.grid), x.state.cells)
		}
	}
	threads := []launchLoop{{lane, kernel.I(32), kernel.ThreadX}, {warp, kernel.I(r.warps), kernel.ThreadY}}
	return wrapped([]launchLoop{
		{column, r.tiles(1, r.size), kernel.BlockX}, {stack, r.tiles(0, r.size), kernel.BlockY},
	}, append(allocs, wrapped(threads, body.stmts)...))
}

// stand says which cells the block and the thread have. The tiles of an axis share its cells evenly. The first
// and the last have no halo beyond the ends, but where a boundary wraps.
func (r *resident) stand(body *scope) {
	r.own, r.place = make([][2]kernel.Expr, len(r.axes)), make([][]kernel.Expr, len(r.axes))
	first := []kernel.Expr{
		kernel.Mul(r.warp, kernel.I(r.rows)), kernel.Mul(r.lane, kernel.I(r.run)),
	}
	for k, axis := range r.axes {
		name := r.Program.Axes[axis]
		let := func(what string, e kernel.Expr) kernel.Expr { return body.let(r.env, name+what, name+what, e) }
		count := r.tiles(k, r.size)
		if r.baked {
			count = kernel.I(kernel.Eval(count, nil).I)
		}
		r.count = append(r.count, let("_tiles", count))
		r.own[k] = [2]kernel.Expr{
			let("_own", r.end(k, r.block[k])), let("_end", r.end(k, kernel.Add(r.block[k], kernel.I(1)))),
		}
		start := let("_first", kernel.Add(r.start(k, r.own[k][0]), first[k]))
		for i := range r.each(k) {
			r.place[k] = append(r.place[k], let(fmt.Sprintf("_%d", i), kernel.Add(start, kernel.I(i))))
		}
	}
	r.layTiles()
}

// each is how many rows, or neighbouring cells, a thread has.
func (r *resident) each(k int) int64 { return []int64{r.rows, r.run}[k] }

// end is where the cells of the tiles before one end.
func (r *resident) end(k int, tile kernel.Expr) kernel.Expr {
	count := r.count[k]
	at := kernel.Bin(op.Div, kernel.Mul(tile, r.divided(k, r.size)), count)
	if !r.wraps(k) {
		at = kernel.Add(at, kernel.I(r.halo[k].Low))
		at = kernel.Sel(kernel.Lt(tile, count), at, r.cellsOn(k, r.size))
		at = kernel.Sel(kernel.Bin(op.Gt, tile, kernel.I(0)), at, kernel.I(0))
	}
	return kernel.Add(r.lo[k], at)
}

// start is the first cell that a block computes whose own begin somewhere.
func (r *resident) start(k int, own kernel.Expr) kernel.Expr {
	start := kernel.Sub(own, kernel.I(r.halo[k].Low))
	if !r.wraps(k) {
		start = kernel.Max(start, r.lo[k])
	}
	return start
}

// tileAt is where a tile of a domain of a known size is on an axis: its own cells, and the first that its block
// computes.
type tileAt struct{ own, end, start int64 }

// layTiles finds the tiles of a domain whose size the kernel holds as literals.
func (r *resident) layTiles() {
	r.laid = make([][]tileAt, len(r.axes))
	if !r.baked {
		return
	}
	number := func(e kernel.Expr) int64 { return kernel.Eval(e, nil).I }
	for k := range r.axes {
		for n := range number(r.count[k]) {
			own := r.end(k, kernel.I(n))
			r.laid[k] = append(r.laid[k], tileAt{number(own), number(r.end(k, kernel.I(n+1))), number(r.start(k, own))})
		}
	}
}

// anywhere reports whether a row, or a cell, of any thread may be at a place that is of a kind, as far as the block
// needs it. It is true where the size is not known.
func (r *resident) anywhere(k int, n int64, kind func(at int64) bool) bool {
	if !r.baked {
		return true
	}
	lo, hi := kernel.Eval(r.lo[k], nil).I, kernel.Eval(r.hi[k], nil).I
	return slices.ContainsFunc(r.laid[k], func(t tileAt) bool {
		for at := t.start + n; at < min(t.start+r.side(k), t.end+r.halo[k].High); at += r.each(k) {
			place := at
			if r.wraps(k) {
				place = lo + mod(at-lo, hi-lo+1)
			}
			if place >= lo && place <= hi && kind(place) {
				return true
			}
		}
		return false
	})
}

// wrappedPlace is the cell that a row, or a cell, of the thread stands for.
func (r *resident) wrappedPlace(body *scope, k int, n int64) kernel.Expr {
	name := fmt.Sprintf("%s_%d_wrapped", r.Program.Axes[r.axes[k]], n)
	return body.let(r.env, name, name, r.env.wrapped(r.place[k][n], &r.extents[k]))
}

// clampedPlace is that cell, or one of the arrays where there is none.
func (r *resident) clampedPlace(body *scope, k int, n int64) kernel.Expr {
	if r.wraps(k) {
		return r.wrappedPlace(body, k, n)
	}
	name := fmt.Sprintf("%s_%d_in", r.Program.Axes[r.axes[k]], n)
	return body.let(r.env, name, name, kernel.Min(kernel.Max(r.place[k][n], r.lo[k]), r.hi[k]))
}

// index is the position of a cell as indices of an array.
func (r *resident) index(at func(k int, n int64) kernel.Expr, row, x int64) []index {
	return []index{
		{axis: r.axes[0], at: at(0, row), plain: true}, {axis: r.axes[1], at: at(1, x), plain: true},
	}
}

// load brings the states into registers.
func (r *resident) load(body *scope) {
	clamped := func(k int, n int64) kernel.Expr { return r.clampedPlace(body, k, n) }
	for _, s := range r.states {
		st := r.gridStore(s.grid)
		b := r.bufferOf(st)
		b.reads = true
		for row := range r.rows {
			var cells []*kernel.Var
			for x := range r.run {
				v := body.declare(r.env, s.grid.Name+"_cell", s.grid.Type)
				at := r.flat(st, r.index(clamped, row, x))
				body.emit(&kernel.Declare{Var: v, Init: &kernel.Load{Buffer: b.buffer, Index: at}})
				cells = append(cells, v)
			}
			s.cells = append(s.cells, cells)
		}
	}
}

// storeOwn writes the cells of the block's own.
func (r *resident) storeOwn(body *scope, into *store, cells [][]*kernel.Var) {
	b := r.bufferOf(into)
	b.writes = true
	plain := func(k int, n int64) kernel.Expr { return r.place[k][n] }
	for row := range r.rows {
		var list []kernel.Stmt
		for x := range r.run {
			list = append(list, &kernel.If{Cond: r.isOwn(1, x), Then: []kernel.Stmt{&kernel.Store{
				Buffer: b.buffer, Index: r.flat(into, r.index(plain, row, x)), Value: kernel.V(cells[row][x]),
			}}})
		}
		body.emit(&kernel.If{Cond: r.isOwn(0, row), Then: list})
	}
}

func (r *resident) isOwn(k int, n int64) kernel.Expr {
	return between(r.place[k][n], r.own[k][0], kernel.Sub(r.own[k][1], kernel.I(1)))
}

// isInner is the condition that a cell is the block's own and no other block reads it, on one axis.
func (r *resident) isInner(k int, n int64) kernel.Expr {
	return between(r.place[k][n], kernel.Add(r.own[k][0], kernel.I(r.halo[k].High)),
		kernel.Sub(r.own[k][1], kernel.I(r.halo[k].Low+1)))
}

// isNeeded is the condition that a cell is the block's own or one of its halo.
func (r *resident) isNeeded(k int, n int64) kernel.Expr {
	lo, hi := kernel.Sub(r.own[k][0], kernel.I(r.halo[k].Low)), kernel.Add(r.own[k][1], kernel.I(r.halo[k].High-1))
	if !r.wraps(k) {
		lo, hi = kernel.Max(lo, r.lo[k]), kernel.Min(hi, r.hi[k])
	}
	return between(r.place[k][n], lo, hi)
}

// assigned is the condition that a stage assigns a row, or a cell, of the thread; nil if it always does.
func (b *residentRound) assigned(st *pipeline.Stage, k int, n int64) kernel.Expr {
	domain := st.Stmt.Domain[b.axes[k]]
	lo, hi := b.low(domain.Lo, b.lo[k]), b.high(domain.Hi, b.hi[k])
	if !b.anywhere(k, n, func(at int64) bool { return at < kernel.Eval(lo, nil).I || at > kernel.Eval(hi, nil).I }) {
		return nil
	}
	name := fmt.Sprintf("%s_%d_assigned", b.Program.Axes[b.axes[k]], n)
	return b.body.let(b.env, name, name, between(b.at(k, n), lo, hi))
}

// crosses reports whether a stage may read beyond the ends of an axis from a row, or a cell, of the thread.
func (b *residentRound) crosses(st *pipeline.Stage, k int, n int64) bool {
	far := stageReach(st, b.axes[k])
	return b.guarded && b.anywhere(k, n, func(at int64) bool {
		return at+far.Low < kernel.Eval(b.lo[k], nil).I || at+far.High > kernel.Eval(b.hi[k], nil).I
	})
}

// exchanges reports whether blocks exchange anything.
func (r *resident) exchanges() bool {
	return slices.ContainsFunc(r.states, func(s *residentState) bool { return s.exchanged })
}

// flags is memory that says how many rounds each block has done; nil if all blocks wait for each other.
func (r *resident) flags() *kernel.Buffer {
	if r.set.Word(schedule.BlockWait) == schedule.GridWait {
		return nil
	}
	var dims []storeDim
	for k := range r.axes {
		dims = append(dims, storeDim{
			axis: -1, lo: func(func(int) kernel.Expr) kernel.Expr { return kernel.I(0) },
			hi: func(size func(int) kernel.Expr) kernel.Expr { return kernel.Sub(r.tiles(k, size), kernel.I(1)) },
		})
	}
	dims = append(dims, storeDim{
		axis: -1, lo: func(func(int) kernel.Expr) kernel.Expr { return kernel.I(0) },
		hi: func(func(int) kernel.Expr) kernel.Expr { return kernel.I(flagPitch - 1) },
	})
	b := r.bufferOf(r.scratchStore(residentFlags{r.pipeline}, r.name+"_rounds", "rounds_done", types.I32, dims))
	b.reads, b.writes = true, true
	return b.buffer
}

// residentFlags and residentHalo are the keys of scratch.
type (
	residentFlags struct{ of *pipeline.Pipeline }
	residentHalo  struct {
		of   *pipeline.Pipeline
		grid *ir.Grid
	}
)

// haloStore is memory through which blocks exchange cells of a state: two grids, which rounds take in turn. So
// a block may leave the cells of a round while others still read those of the round before.
func (r *resident) haloStore(s *residentState) *store {
	two := storeDim{
		axis: -1, lo: func(func(int) kernel.Expr) kernel.Expr { return kernel.I(0) },
		hi: func(func(int) kernel.Expr) kernel.Expr { return kernel.I(1) },
	}
	name := s.grid.Name + "_halo"
	return r.scratchStore(residentHalo{r.pipeline, s.grid}, r.name+"_"+name, name, s.grid.Type,
		append([]storeDim{two}, r.extentsOf(r.extents)...))
}

// begin waits until all blocks are there, and the block's threads are ready.
func (r *resident) begin(body *scope) {
	var flags *kernel.Buffer
	if r.exchanges() {
		flags = r.flags()
	}
	if flags != nil {
		body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, r.number(), kernel.I(0)), Then: []kernel.Stmt{
			&kernel.FlagSet{Buffer: flags, Index: r.flagOf(r.block), Value: kernel.L(op.Int(types.I32, 0))},
		}})
		body.emit(&kernel.Barrier{Scope: kernel.GridScope})
		return
	}
	if r.meets > 0 {
		body.emit(&kernel.Barrier{Scope: kernel.BlockScope})
	}
}

// number is the thread's in its block.
func (r *resident) number() kernel.Expr { return kernel.Add(kernel.Mul(r.warp, kernel.I(32)), r.lane) }

// flagPitch is how far flags lie apart: each has a sector of the cache for itself, in which no other block writes.
const flagPitch = 8

// flagOf is where a block's flag is.
func (r *resident) flagOf(block []kernel.Expr) kernel.Expr {
	return kernel.Mul(kernel.Add(kernel.Mul(block[0], r.count[1]), block[1]), kernel.I(flagPitch))
}

// rounds is how many rounds the launch has.
func (r *resident) rounds() kernel.Expr { return kernel.Conv(types.I64, r.roundsVar()) }

// allRounds makes the loop over rounds.
func (r *resident) allRounds(body *scope) {
	round := body.declare(r.env, "round", types.I64)
	r.round = kernel.V(round)
	list := newScope(body)
	switch inner := r.inner(body); {
	case r.opts.Bare:
		list.emit(r.iterate(list, false)...)
	case inner == nil:
		list.emit(r.iterate(list, true)...)
	default:
		list.emit(&kernel.If{Cond: inner, Then: r.iterate(list, false), Else: r.iterate(list, true)})
	}
	if r.exchanges() {
		left, taken := r.exchanged(body)
		list.emit(&kernel.If{
			Cond: kernel.Lt(kernel.Add(r.round, kernel.I(1)), r.rounds()), Then: r.exchange(list, left, taken),
		})
	} else if r.meets > 0 { // an exchange has a barrier: edge rows are written anew after it
		list.emit(&kernel.Barrier{Scope: kernel.BlockScope})
	}
	body.emit(&kernel.Loop{Var: round, Lo: kernel.I(0), Hi: r.rounds(), Step: kernel.I(1), Body: list.stmts})
}

// cellMask has a bit for each of a thread's neighbouring cells. Masks are found before the rounds begin, and take a
// register each: conditions would be computed anew in every round.
func (r *resident) cellMask(body *scope, name string, is func(x int64) kernel.Expr) kernel.Expr {
	mask := kernel.Expr(kernel.L(op.Int(types.I32, 0)))
	for x := range r.run {
		bit := kernel.Sel(is(x), kernel.L(op.Int(types.I32, 1<<x)), kernel.L(op.Int(types.I32, 0)))
		mask = kernel.Add(mask, bit)
	}
	return body.let(r.env, name, name, mask)
}

// moves are cells of a row that a block exchanges.
type moves struct {
	is   func(row int64) kernel.Expr // the condition that a row is of the kind
	mask kernel.Expr                 // its cells
}

// exchanged finds which cells of a thread are left to other blocks, and which are theirs: of rows that are the
// block's own those at its ends, and of rows at its ends or beyond all.
func (r *resident) exchanged(body *scope) (left, taken []moves) {
	own := func(x int64) kernel.Expr { return r.isOwn(1, x) }
	not := func(e kernel.Expr) kernel.Expr { return kernel.Un(op.Not, e) }
	ownRow := func(y int64) kernel.Expr { return r.isOwn(0, y) }
	left = []moves{
		{func(y int64) kernel.Expr { return r.isInner(0, y) },
			r.cellMask(body, "edge_cells", func(x int64) kernel.Expr {
				return kernel.And(own(x), not(r.isInner(1, x)))
			})},
		{func(y int64) kernel.Expr { return kernel.And(ownRow(y), not(r.isInner(0, y))) },
			r.cellMask(body, "own_cells", own)},
	}
	taken = []moves{
		{ownRow, r.cellMask(body, "halo_cells", func(x int64) kernel.Expr {
			return kernel.And(r.isNeeded(1, x), not(own(x)))
		})},
		{func(y int64) kernel.Expr { return kernel.And(r.isNeeded(0, y), not(ownRow(y))) },
			r.cellMask(body, "needed_cells", func(x int64) kernel.Expr { return r.isNeeded(1, x) })},
	}
	return left, taken
}

// exchange leaves the cells at the tile's ends to other blocks, and takes theirs.
func (r *resident) exchange(outer *scope, left, taken []moves) []kernel.Stmt {
	body := newScope(outer)
	next := body.let(r.env, "next", "next_round", kernel.Add(r.round, kernel.I(1)))
	turn := body.let(r.env, "turn", "turn", kernel.Bin(op.Rem, next, kernel.I(2)))
	each := func(kinds []moves, at func(k int, n int64) kernel.Expr,
		move func(b *binding, element kernel.Expr, v *kernel.Var) kernel.Stmt) {
		for _, s := range r.states {
			if !s.exchanged {
				continue
			}
			st := r.haloStore(s)
			b := r.bufferOf(st)
			b.reads, b.writes = true, true
			for y := range r.rows {
				for _, kind := range kinds {
					var list []kernel.Stmt
					for x := range r.run {
						element := r.flat(st, append([]index{{axis: -1, at: turn}}, r.index(at, y, x)...))
						bit := kernel.Bin(op.And, kind.mask, kernel.L(op.Int(types.I32, 1<<x)))
						list = append(list, &kernel.If{
							Cond: kernel.Bin(op.Ne, bit, kernel.L(op.Int(types.I32, 0))),
							Then: []kernel.Stmt{move(b, element, s.cells[y][x])},
						})
					}
					body.emit(&kernel.If{Cond: kind.is(y), Then: list})
				}
			}
		}
	}
	each(left, func(k int, n int64) kernel.Expr { return r.place[k][n] },
		func(b *binding, element kernel.Expr, v *kernel.Var) kernel.Stmt {
			return &kernel.Store{Buffer: b.buffer, Index: element, Value: kernel.V(v)}
		})
	r.wait(body, next)
	each(taken, func(k int, n int64) kernel.Expr {
		if r.wraps(k) {
			return r.wrappedPlace(body, k, n)
		}
		return r.place[k][n]
	}, func(b *binding, element kernel.Expr, v *kernel.Var) kernel.Stmt {
		return &kernel.Assign{Var: v, Value: &kernel.Load{Buffer: b.buffer, Index: element}}
	})
	return body.stmts
}

// wait waits until the blocks whose cells the block reads have left those of the next round.
func (r *resident) wait(body *scope, next kernel.Expr) {
	flags := r.flags()
	if flags == nil {
		body.emit(&kernel.Barrier{Scope: kernel.GridScope})
		return
	}
	value := body.let(r.env, "done", "done", kernel.Conv(types.I32, next))
	body.emit(&kernel.Barrier{Scope: kernel.BlockScope})
	body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, r.number(), kernel.I(0)), Then: []kernel.Stmt{
		&kernel.FlagSet{Buffer: flags, Index: r.flagOf(r.block), Value: value},
	}})
	far := []kernel.Expr{ // tiles on either side
		body.let(r.env, "far_0", "far", r.far(0)), body.let(r.env, "far_1", "far", r.far(1)),
	}
	side := func(k int) kernel.Expr { return kernel.Add(kernel.Mul(far[k], kernel.I(2)), kernel.I(1)) }
	n := body.declare(r.env, "near_block", types.I64)
	list := newScope(body)
	near := []kernel.Expr{
		kernel.Sub(kernel.Add(r.block[0], kernel.Bin(op.Div, kernel.V(n), side(1))), far[0]),
		kernel.Sub(kernel.Add(r.block[1], kernel.Bin(op.Rem, kernel.V(n), side(1))), far[1]),
	}
	var there kernel.Expr
	for k := range near {
		name := "near_" + []string{"stack", "column"}[k]
		near[k] = list.let(r.env, name, name, near[k])
		if count := r.count[k]; r.wraps(k) {
			near[k] = list.let(r.env, name+"_wrapped", name+"_wrapped", floorMod(near[k], count))
		} else {
			there = conj(there, between(near[k], kernel.I(0), kernel.Sub(count, kernel.I(1))))
		}
	}
	wait := []kernel.Stmt{&kernel.FlagWait{Buffer: flags, Index: r.flagOf(near), Value: value}}
	if there != nil {
		wait = []kernel.Stmt{&kernel.If{Cond: there, Then: wait}}
	}
	list.emit(wait...)
	// Each warp waits by itself, and need not wait for other warps then.
	body.emit(&kernel.Loop{
		Var: n, Lo: r.lane, Hi: kernel.Mul(side(0), side(1)), Step: kernel.I(32), Body: list.stmts,
	})
	body.emit(&kernel.Barrier{Scope: kernel.WarpScope})
}

// far is how many tiles away on an axis a block may be whose cells a block reads.
func (r *resident) far(k int) kernel.Expr {
	least := kernel.Max(kernel.Bin(op.Div, r.divided(k, r.size), r.count[k]), kernel.I(1))
	return kernel.CeilDiv(kernel.I(max(r.halo[k].Low, r.halo[k].High)), least)
}

// inner is the condition under which all cells that the block computes of use are in the domains of all
// stages, and read nothing beyond the ends of the arrays; nil if it never holds for all stages.
func (r *resident) inner(body *scope) kernel.Expr {
	var cond kernel.Expr
	for k := range r.axes {
		from := kernel.Sub(r.own[k][0], kernel.I(r.halo[k].Low))
		to := kernel.Add(r.own[k][1], kernel.I(r.halo[k].High-1))
		for _, st := range r.pipeline.Stages {
			domain := st.Stmt.Domain[r.axes[k]]
			lo, hi := r.low(domain.Lo, r.lo[k]), r.high(domain.Hi, r.hi[k])
			far := stageReach(st, r.axes[k])
			lo = kernel.Max(lo, kernel.Sub(r.lo[k], kernel.I(far.Low)))
			hi = kernel.Min(hi, kernel.Sub(r.hi[k], kernel.I(far.High)))
			cond = conj(cond, kernel.And(kernel.Ge(from, lo), kernel.Le(to, hi)))
		}
	}
	return body.let(r.env, "inner", "inner", cond)
}

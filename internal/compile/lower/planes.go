package lower

import (
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The family "planes": all statements of a span in one kernel, plane by plane along the outermost axis
// (pipeline.Planes). A block of threads computes a tile; each thread has a few rows of one column of cells. What
// neighbours read of a statement goes through a circular buffer of planes in shared memory, with one barrier a plane;
// what a thread reads in its own columns, of statements and of memory, stays in its registers. So a block takes little
// memory and few registers where many statements over many grids share a kernel.

// planeBlock is a kernel of the family: the shape of its blocks, and where values are.
type planeBlock struct {
	*spanKernel
	plan     *pipeline.Planes
	threads  []int64 // of a block, by axis of a plane
	rows     int64   // of a thread
	vec      int64   // neighbouring cells of a row that a thread has
	prefetch int64
	distance int64   // planes by which copies come before their use
	tile     []int64 // cells that a block stores, by axis; 0 does not cut the stream
	// rimless says that no stage has cells but those that its statement assigns, with no access across a boundary, or
	// that keep what is in memory. Then cells that a tile has beyond the end are computed as the last one is, and not
	// stored.
	rimless bool
	// keeps are stages, where rimless, of which others need cells that keep what is in memory.
	keeps       map[*pipeline.Stage]bool
	issuesFirst bool                                // copies begin before the barrier
	round       bool                                // circular buffers have powers of two of slots
	tensor      bool                                // planes are brought as boxes of tensor maps
	tiles       []*pipeline.Tile                    // that are copied to shared memory
	newest      map[*pipeline.Column]*pipeline.Tile // that have the newest cells of a column; not of all
	boxes       *planeBoxes                         // nil if there are none
	// wholeRows says of a tile whether it has whole rows of the grid.
	wholeRows map[*pipeline.Tile]bool

	end       []kernel.Expr // of what is stored, by axis; exclusive, as all upper ends here
	first, to kernel.Expr   // planes that the block stores
	begin     kernel.Expr   // the first step
	innerEnd  kernel.Expr   // the step after the last without conditions
	start     []kernel.Expr // of the tile, by axis of a plane
	thread    kernel.Expr
	own       [][]kernel.Expr // places of the thread's cells from there, row by row
	held      map[*pipeline.Stage][][]*kernel.Var
	columns   map[*pipeline.Column][][]*kernel.Var // by cell and age
	early     map[*pipeline.Column][]*kernel.Var   // of the next step, by cell
	planes    map[*pipeline.Stage]*kernel.Buffer
	copies    map[*pipeline.Tile]*kernel.Buffer
}

// planeStep is a step of the loop along the stream.
type planeStep struct {
	*planeBlock
	at, number kernel.Expr // the step, and how many come before it
	from, stop kernel.Expr // where the loop begins and ends
	body       *scope
	outer      *scope                   // what comes before the loop
	vectors    map[string][]kernel.Expr // that a stage has loaded, by where they are
	near       map[string][]kernel.Expr // those that are loaded once for all stages
	always     bool                     // the present stage computes a plane in every step
	// tests are conditions at stores that are found before the loop, and what they are in blocks inside.
	tests map[*kernel.Var]kernel.Expr
	// guarded steps may have cells beyond the ends of arrays, or that statements leave as they were.
	guarded bool
}

// planeByPlane builds the kernel.
func (s *spanKernel) planeByPlane() ([]kernel.Stmt, error) {
	if word := s.set.Word(schedule.Retiming); word != "" && word != "no" {
		var err error
		if s.pipeline, err = s.retimedPipeline(); err != nil {
			return nil, err
		}
	}
	s.pipeline.UpdateInPlace()
	plan, err := pipeline.NewPlanes(s.pipeline, pipeline.Keeps{
		Held:    heldColumns[s.set.Word(schedule.HeldColumns)],
		Fetched: s.set.Int(schedule.Staging, 0) > 0 && s.set.Word(schedule.Refetch) == schedule.KeptPlanes,
	})
	if err != nil {
		return nil, err
	}
	if s.opts.Guard {
		if err := plan.Verify(); err != nil {
			return nil, err
		}
	}
	p := &planeBlock{
		spanKernel: s, plan: plan, threads: s.set.Ints(schedule.Threads), rows: s.set.Int(schedule.BlockedUnroll, 1),
		vec: s.set.Int(schedule.Vector, 1), prefetch: s.set.Int(schedule.Prefetch, 0),
		distance: s.set.Int(schedule.Staging, 0), issuesFirst: s.set.Word(schedule.CopyIssue) == schedule.BeforeBarrier,
		held:    map[*pipeline.Stage][][]*kernel.Var{},
		columns: map[*pipeline.Column][][]*kernel.Var{}, early: map[*pipeline.Column][]*kernel.Var{},
		planes: map[*pipeline.Stage]*kernel.Buffer{}, copies: map[*pipeline.Tile]*kernel.Buffer{},
		tensor: EngineCopies(s.set), newest: map[*pipeline.Column]*pipeline.Tile{},
		keeps: map[*pipeline.Stage]bool{}, wholeRows: map[*pipeline.Tile]bool{},
	}
	p.rimless = p.hasNoRims()
	if !p.rimless {
		p.keeps = nil
	}
	p.tile = append([]int64{s.set.Int(schedule.StreamLength, 0)}, p.threads...)
	if len(s.axes) == 3 {
		p.tile[1] *= p.rows
	}
	p.tile[len(p.threads)] *= p.vec
	s.tiled(p.tile)
	p.chooseCopies()
	p.chooseSlots()
	if bytes, gpu := p.sharedBytes(), s.opts.gpu(); bytes > gpu.SharedPerBlock {
		return nil, &ResourceLimit{s.name, "bytes of shared memory a block", bytes, gpu.SharedPerBlock, "a block"}
	}
	return p.blocks(), nil
}

// side returns how many cells of an axis of a plane a stage has in shared memory: those that it is computed on, rounded
// up along rows so that what a thread has together is aligned.
func (p *planeBlock) side(st *pipeline.Stage, d int) int64 {
	return p.inVectors(d, p.lowSide(st, d)+p.tile[d+1]+st.Halo[d+1].High)
}

// lowSide returns how many of them come before the tile.
func (p *planeBlock) lowSide(st *pipeline.Stage, d int) int64 {
	return p.inVectors(d, st.Halo[d+1].Low)
}

// inVectors rounds a number of cells up to whole vectors along rows.
func (p *planeBlock) inVectors(d int, n int64) int64 { return p.alongRows(d, n, p.vec) }

// alongRows rounds a number of cells on an axis up to a multiple of some, along rows.
func (p *planeBlock) alongRows(d int, n, of int64) int64 {
	if d < len(p.threads)-1 {
		return n
	}
	return (n + of - 1) / of * of
}

// area returns the cells of a plane of a stage.
func (p *planeBlock) area(st *pipeline.Stage) int64 {
	n := int64(1)
	for d := range p.threads {
		n *= p.side(st, d)
	}
	return n
}

// usualRegisters is how many registers threads of the family have at the least, as a rule.
const usualRegisters = 96

// chooseSlots gives circular buffers powers of two of slots, if as many blocks share a multiprocessor then.
func (p *planeBlock) chooseSlots() {
	least := p.sharedBytes()
	p.round = true
	p.round = RoundsSlots(p.opts.gpu(), product(p.threads), least, p.sharedBytes())
}

// RoundsSlots reports whether circular buffers of planes get powers of two of slots, by the bytes of a block with as
// many as are needed, and with those.
func RoundsSlots(gpu *machine.GPU, threads, least, round int64) bool {
	most := max(1, int64(gpu.Registers)/(threads*usualRegisters))
	blocks := func(bytes int64) int64 { return min(most, gpu.SharedPerBlock/max(1, bytes)) }
	return blocks(least) > 0 && blocks(round) == blocks(least)
}

// slots is how many slots a circular buffer has that needs so many.
func (p *planeBlock) slots(need int64) int64 {
	if !p.round || need == 0 {
		return need
	}
	return Circular(need)
}

func (p *planeBlock) sharedBytes() int64 {
	bytes := int64(0)
	for i, st := range p.pipeline.Stages {
		bytes += (p.slots(p.plan.Shared[i])*p.area(st)*int64(st.Stmt.Array.Type.Size()) + 15) / 16 * 16
	}
	for _, t := range p.tiles {
		bytes += (p.copySlots(t)*p.copyPitch(t)*int64(t.Grid.Type().Size()) + 15) / 16 * 16
	}
	return bytes
}

// stored returns the ends of what is stored on an axis: of whole arrays where a spare takes the place of a grid.
func (p *planeBlock) stored(k int) (lo, end kernel.Expr) {
	axis := p.axes[k]
	for _, st := range p.pipeline.Stages {
		if st.Output == nil {
			continue
		}
		dim, in := st.Dim(axis), st.Stmt.Domain[axis]
		l, h := p.affine(dim.Lo), p.affine(dim.Hi)
		if !st.Output.Spare {
			l, h = p.low(in.Lo, l), p.high(in.Hi, h)
		}
		h = kernel.Add(h, kernel.I(1))
		if lo == nil {
			lo, end = l, h
			continue
		}
		lo, end = least(lo, l), most(end, h)
	}
	return lo, end
}

// aligned is a position on the innermost axis where a line of memory begins, at or before one: then what warps load and
// store are whole lines.
func (p *planeBlock) aligned(at kernel.Expr) kernel.Expr {
	return kernel.Sub(at, floorMod(kernel.Sub(at, p.affine(p.lineStart())), kernel.I(p.lineCells())))
}

// lineCells returns how many cells a line of memory has, of what the last stage computes. Lines of smaller cells have
// more: it is no less than what their copies are aligned to.
func (p *planeBlock) lineCells() int64 {
	cells := alignedCells(p.pipeline.Stages[len(p.pipeline.Stages)-1])
	for _, t := range p.tiles {
		cells = max(cells, boxRun(t.Grid.Type()))
	}
	return cells
}

// linesOfWideTiles is how many lines of memory rows of a tile have at least that do not begin with a line. What they
// store begins within a sector, of which another tile stores the rest: that costs more the less wide tiles are.
const linesOfWideTiles = 8

// tilesFrom is where tiles begin on the innermost axis if what is stored begins somewhere: there, if what is copied for
// them begins a line of memory then, and they are wide; else where a line begins.
func (p *planeBlock) tilesFrom(lo kernel.Expr) kernel.Expr {
	if p.tile[len(p.threads)] >= linesOfWideTiles*p.lineCells() && p.copiesLines(lo) {
		return lo
	}
	return p.aligned(lo)
}

// copiesLines reports whether what is copied for tiles that begin somewhere begins a line of memory.
func (p *planeBlock) copiesLines(lo kernel.Expr) bool {
	last := len(p.threads) - 1
	n, known := kernel.Difference(lo, p.affine(p.lineStart()))
	if !known || len(p.tiles) == 0 || n%p.vec != 0 {
		return false
	}
	for _, t := range p.tiles {
		low := p.copyLow(t, last)
		if p.alongRow(t, last) && n != 0 || low%p.vec != 0 || (n-low)*int64(t.Grid.Type().Size())%lineBytes != 0 {
			return false
		}
	}
	return true
}

// alignedIn reports whether the cells that a thread has together are as aligned in the rows of a grid.
func (p *planeBlock) alignedIn(g *ir.Grid) bool {
	return (p.rimless || p.tensor) && p.alignedRuns(g, p.vec)
}

// alignedRuns reports whether so many cells of a row, from the beginning of a tile on, are as aligned in the rows of a
// grid.
func (p *planeBlock) alignedRuns(g *ir.Grid, n int64) bool {
	layout, last := p.layoutOf(g), len(p.threads)
	whole := layout.Align%n == 0 || p.opts.Sized && layout.Lead == 0 && p.rowLength(g)%n == 0
	by, known := g.Dims[last].Lo.Add(-layout.Lead).Diff(p.lineStart())
	return whole && known && by%n == 0
}

// lineStart is the position on the innermost axis from which lines of memory are counted.
func (p *planeBlock) lineStart() ir.Affine {
	last := p.pipeline.Stages[len(p.pipeline.Stages)-1]
	lo := last.Dim(p.axes[len(p.axes)-1]).Lo
	if g := last.Value.Memory; g != nil {
		return lo.Add(-p.layoutOf(g).Lead)
	}
	return lo
}

// blocks makes the launch: blocks of tiles and chunks, and the threads of each.
func (p *planeBlock) blocks() []kernel.Stmt {
	top := newScope(nil)
	var blocks []launchLoop
	p.end = make([]kernel.Expr, len(p.axes))
	at := make([]kernel.Expr, len(p.axes))
	for k := len(p.axes) - 1; k >= 0; k-- {
		name := p.Program.Axes[p.axes[k]]
		lo, end := p.stored(k)
		if (p.rimless || p.tensor) && k == len(p.axes)-1 {
			lo = p.tilesFrom(lo)
		}
		p.end[k] = end
		count := kernel.I(1)
		b := top.declare(p.env, name+"_block", types.I64)
		at[k] = lo
		if p.tile[k] > 0 {
			count = kernel.CeilDiv(kernel.Max(kernel.Sub(end, lo), kernel.I(0)), kernel.I(p.tile[k]))
			at[k] = kernel.Add(lo, kernel.Mul(kernel.V(b), kernel.I(p.tile[k])))
		}
		blocks = append(blocks, launchLoop{b, count, kernel.BlockX + kernel.Tag(len(blocks))})
	}
	allocs := p.allocate(top)
	thread := top.declare(p.env, "thread", types.I64)
	body := newScope(top)
	p.thread = kernel.V(thread)
	for d := range p.threads {
		name := p.Program.Axes[p.axes[d+1]] + "_tile"
		p.start = append(p.start, body.let(p.env, name, name, at[d+1]))
	}
	p.first, p.to = body.let(p.env, "first", "first", at[0]), p.end[0]
	if p.tile[0] > 0 {
		p.to = body.let(p.env, "to", "to", kernel.Min(kernel.Add(p.first, kernel.I(p.tile[0])), p.end[0]))
	}
	p.placeThreads(body)
	p.readyBoxes(body)
	p.holdStatements(body, false)
	p.holdColumns(body)
	p.steps(body)
	threads := []launchLoop{{thread, kernel.I(product(p.threads)), kernel.ThreadX}}
	return append(top.stmts, wrapped(blocks, append(allocs, wrapped(threads, body.stmts)...))...)
}

// allocate gives planes that neighbours read shared memory.
func (p *planeBlock) allocate(top *scope) []kernel.Stmt {
	var allocs []kernel.Stmt
	for i, st := range p.pipeline.Stages {
		if p.plan.Shared[i] == 0 {
			continue
		}
		name := top.declare(p.env, st.Stmt.Array.Name+"_planes", types.I64).Name
		b := &kernel.Buffer{
			Name: name, Elem: st.Stmt.Array.Type, Space: kernel.Shared, Mode: kernel.InOut,
			Cells: kernel.I(p.slots(p.plan.Shared[i]) * p.area(st)),
		}
		p.planes[st] = b
		allocs = append(allocs, &kernel.Alloc{Buffer: b})
	}
	for _, t := range p.tiles {
		name := top.declare(p.env, t.Grid.Name()+"_tile", types.I64).Name
		b := &kernel.Buffer{
			Name: name, Elem: t.Grid.Type(), Space: kernel.Shared, Mode: kernel.InOut,
			Cells: kernel.I(p.copySlots(t) * p.copyPitch(t)),
		}
		p.copies[t] = b
		allocs = append(allocs, &kernel.Alloc{Buffer: b})
	}
	return append(allocs, p.makeBoxes(top)...)
}

// placeThreads finds the cells of each thread.
func (p *planeBlock) placeThreads(body *scope) {
	last := len(p.threads) - 1
	inner := kernel.I(p.threads[last])
	x := p.thread
	if last > 0 {
		x = kernel.Bin(op.Rem, x, inner)
	}
	x = body.let(p.env, "x", "x", kernel.Mul(x, kernel.I(p.vec)))
	if last == 0 {
		for v := range p.vec {
			p.own = append(p.own, []kernel.Expr{kernel.Add(x, kernel.I(v))})
		}
		return
	}
	y := body.let(p.env, "y", "y", kernel.Mul(kernel.Bin(op.Div, p.thread, inner), kernel.I(p.rows)))
	for r := range p.rows {
		for v := range p.vec {
			p.own = append(p.own, []kernel.Expr{kernel.Add(y, kernel.I(r)), kernel.Add(x, kernel.I(v))})
		}
	}
}

// ownAt returns which of the thread's cells is so far from one of them, and whether it has that cell.
func (p *planeBlock) ownAt(r int, away []ir.Index) (int, bool) {
	last := len(away) - 1
	x := int64(r)%p.vec + away[last].Offset
	y := int64(r) / p.vec
	if last > 0 {
		y += away[0].Offset
	}
	to := y*p.vec + x
	return int(to), x >= 0 && x < p.vec && y >= 0 && to < int64(len(p.own))
}

// variables makes those of a column of each of a thread's cells of a plane.
func (p *planeBlock) variables(body *scope, name string, t types.Type, length int64) [][]*kernel.Var {
	var list [][]*kernel.Var
	for range p.own {
		var column []*kernel.Var
		for range length {
			v := body.declare(p.env, name, t)
			body.emit(&kernel.Declare{Var: v, Init: zero(t)})
			column = append(column, v)
		}
		list = append(list, column)
	}
	return list
}

// holdStatements makes the variables that hold columns of statements: those that are read in the step in which they are
// computed, and no later, or the others.
func (p *planeBlock) holdStatements(body *scope, inStep bool) {
	for i, st := range p.pipeline.Stages {
		if n := p.plan.Queue[i]; n > 0 && (n == 1) == inStep {
			p.held[st] = p.variables(body, st.Stmt.Array.Name+"_held", st.Stmt.Array.Type, n)
		}
	}
}

// holdColumns makes the variables that hold columns of memory.
func (p *planeBlock) holdColumns(body *scope) {
	for _, c := range p.plan.Columns {
		early := p.prefetch > 0 && p.newest[c] == nil
		if c.Length < 2 && !early {
			continue // as good as a load
		}
		p.columns[c] = p.variables(body, c.Grid.Name()+"_held", c.Grid.Type(), c.Length)
		if early {
			for _, early := range p.variables(body, c.Grid.Name()+"_early", c.Grid.Type(), 1) {
				p.early[c] = append(p.early[c], early[0])
			}
		}
	}
}

// needed returns the steps in which a stage computes planes that the block needs.
func (p *planeBlock) needed(i int) (from, to kernel.Expr) {
	lag, more := p.plan.Lags[i], p.plan.Needs[i]
	return kernel.Add(p.first, kernel.I(lag-more.Low)), kernel.Add(p.to, kernel.I(lag+more.High))
}

// steps makes the loop along the stream. Where there are no rims it is one loop. Else the steps in the midst of a block
// all of whose cells are computed have no conditions. Those at both ends of the stream, and all of blocks at the edges,
// are made by another loop, which comes before and after; its code is there once.
func (p *planeBlock) steps(body *scope) {
	var begin, stop, firstDone kernel.Expr
	for i := range p.pipeline.Stages {
		from, to := p.needed(i)
		if i == 0 {
			begin, stop, firstDone = from, to, to
			continue
		}
		begin, stop, firstDone = least(begin, from), most(stop, to), least(firstDone, to)
	}
	p.begin = body.let(p.env, "begin", "begin", begin)
	stop = body.let(p.env, "stop", "stop", stop)
	loop := func(guarded bool, lo, hi kernel.Expr) []kernel.Stmt {
		list := newScope(body)
		if !guarded { // copies are on their way first
			p.fillTiles(list, lo, hi)
			p.fillColumns(list, lo, hi)
		}
		t := list.declare(p.env, "step", types.I64)
		inner := newScope(list)
		s := &planeStep{planeBlock: p, at: kernel.V(t), from: lo, stop: hi, outer: list, body: inner,
			guarded: guarded, near: map[string][]kernel.Expr{}, tests: map[*kernel.Var]kernel.Expr{}}
		s.number = inner.let(p.env, "number", "number", kernel.Sub(s.at, p.begin))
		s.write()
		l := &kernel.Loop{Var: t, Lo: lo, Hi: hi, Step: kernel.I(1), Body: inner.stmts}
		if !guarded {
			l.Factor = int(p.set.Int(schedule.StreamUnroll, 0))
		}
		list.emit(s.rimlessLoop(l))
		return list.stmts
	}
	if p.rimless {
		body.emit(loop(false, p.begin, stop)...)
		return
	}
	from, to, inner := p.inner()
	if len(p.pipeline.Stages) > 1 {
		// A stage that is done in a few planes, before the last stage begins, has left none of those that inner steps,
		// in which all stages compute, would use.
		inner = conj(inner, kernel.Le(from, firstDone))
	}
	from = body.let(p.env, "from", "inner_first", kernel.Sel(inner, kernel.Min(kernel.Max(from, p.begin), stop), stop))
	to = body.let(p.env, "inner_to", "inner_end", kernel.Max(kernel.Min(to, stop), from))
	p.innerEnd = to
	part := body.declare(p.env, "part", types.I64)
	is := func(n int64) kernel.Expr { return kernel.Bin(op.Eq, kernel.V(part), kernel.I(n)) }
	lo, hi := kernel.Sel(is(0), p.begin, to), kernel.Sel(is(0), from, stop)
	body.emit(&kernel.Loop{Var: part, Lo: kernel.I(0), Hi: kernel.I(3), Step: kernel.I(1), Body: []kernel.Stmt{
		&kernel.If{Cond: is(1), Then: loop(false, from, to), Else: loop(true, lo, hi)},
	}})
}

// inner returns the steps in which every stage computes planes where it assigns all cells and no access crosses a
// boundary, and outputs are the block's own; and whether the tile and its halos allow that.
func (p *planeBlock) inner() (from, to, allowed kernel.Expr) {
	both := func(lo, hi kernel.Expr) {
		if from == nil {
			from, to = lo, hi
			return
		}
		from, to = kernel.Max(from, lo), kernel.Min(to, hi)
	}
	for i, st := range p.pipeline.Stages {
		lag := kernel.I(p.plan.Lags[i])
		in := st.Inside[0]
		both(kernel.Add(p.low(in.Lo, nil), lag), kernel.Add(kernel.Add(p.high(in.Hi, nil), kernel.I(1)), lag))
		if st.Output != nil {
			both(kernel.Add(p.first, lag), kernel.Add(p.to, lag))
		}
		allowed = conj(allowed, p.covers(st))
	}
	for d := range p.threads {
		last := kernel.Add(p.start[d], kernel.I(p.tile[d+1]))
		allowed = conj(allowed, kernel.Le(last, p.end[d+1]))
	}
	return from, to, p.copiesBegin(allowed)
}

// copiesBegin adds the condition that copies, which may begin before a tile's halo so that vectors of it are aligned,
// do not begin before the grid's memory, where that is not clear.
func (p *planeBlock) copiesBegin(all kernel.Expr) kernel.Expr {
	if p.tensor {
		return all
	}
	d := len(p.threads) - 1
	for _, t := range p.tiles {
		low, lead := p.copyLow(t, d), p.layoutOf(t.Grid.Memory).Lead
		if low-t.Halo[d].Low > lead {
			first := kernel.Sub(p.affine(t.Grid.Dims()[d+1].Lo), kernel.I(lead))
			all = conj(all, kernel.Ge(kernel.Sub(p.start[d], kernel.I(low)), first))
		}
	}
	return all
}

// alike reports whether all stages compute the same cells in the same steps, which are those that the block stores:
// then all steps are inner ones.
func (p *planeBlock) alike() bool {
	for i, st := range p.pipeline.Stages {
		if !p.rimless || p.keeps[st] || p.plan.Lags[i] != p.plan.Lags[0] || p.plan.Needs[i] != (pipeline.Halo{}) {
			return false
		}
		for k := range p.axes {
			if !st.Inside[k].Equal(p.pipeline.Stages[0].Inside[k]) {
				return false
			}
		}
	}
	return true
}

// notEmpty is the condition that a stage has cells on an axis; nil if it always has.
func (p *planeBlock) notEmpty(st *pipeline.Stage, k int) kernel.Expr {
	in := st.Inside[k]
	return kernel.Le(p.low(in.Lo, nil), p.high(in.Hi, nil))
}

// limited is a position on a dimension, which tiles go beyond where there are no rims.
func (p *planeBlock) limited(dim ir.Dim, at kernel.Expr) kernel.Expr {
	if !p.rimless {
		return at
	}
	return p.inside(dim, at)
}

// inside is a position, or the nearest one that an array has.
func (p *planeBlock) inside(dim ir.Dim, at kernel.Expr) kernel.Expr {
	return kernel.Max(kernel.Min(at, p.affine(dim.Hi)), p.affine(dim.Lo))
}

// limitedPlane is a plane of a grid, where steps at the ends of a stream go beyond its planes, or beyond those that the
// block itself updates in place. Nobody needs what they find.
func (p *planeBlock) limitedPlane(v *graph.Value, plane kernel.Expr) kernel.Expr {
	if p.rimless && p.pipeline.InPlace(v.Memory) {
		plane = p.ownPlane(plane)
	}
	return p.limited(v.Dims()[0], plane)
}

// ownPlane is a plane, or the nearest one that the block stores.
func (p *planeBlock) ownPlane(plane kernel.Expr) kernel.Expr {
	return kernel.Max(kernel.Min(plane, kernel.Sub(p.to, kernel.I(1))), p.first)
}

// hasAllPlanes reports whether a dimension along the stream has all planes that are stored.
func (p *planeBlock) hasAllPlanes(dim ir.Dim) bool {
	for _, st := range p.pipeline.Stages {
		if d := st.Dim(p.axes[0]); st.Output != nil && (!d.Lo.Equal(dim.Lo) || !d.Hi.Equal(dim.Hi)) {
			return false
		}
	}
	return true
}

// columnCell reads a plane of a column of memory at one of the thread's cells.
func (p *planeBlock) columnCell(c *pipeline.Column, row int, plane kernel.Expr) kernel.Expr {
	pos := []kernel.Expr{p.limitedPlane(c.Grid, plane)}
	for d := range p.threads {
		pos = append(pos, p.limited(c.Grid.Dims()[d+1], kernel.Add(p.start[d], p.own[row][d])))
	}
	load := p.cellInMemory(c.Grid, pos)
	if !p.rimless || !p.pipeline.InPlace(c.Grid.Memory) {
		return load
	}
	var there kernel.Expr // beyond the grid the position is another cell's, which a thread may just store
	if dim := c.Grid.Dims()[0]; !p.hasAllPlanes(dim) {
		at := p.ownPlane(plane)
		there = kernel.And(kernel.Ge(at, p.affine(dim.Lo)), kernel.Le(at, p.affine(dim.Hi)))
	}
	for d := range p.threads {
		at := kernel.Add(p.start[d], p.own[row][d])
		dim := c.Grid.Dims()[d+1]
		there = conj(there, kernel.And(kernel.Ge(at, p.affine(dim.Lo)), kernel.Le(at, p.affine(dim.Hi))))
	}
	return kernel.Sel(there, load, zero(c.Grid.Type()))
}

// fillColumns loads what columns hold before a step: all planes but the newest, and that, too, if it is loaded early.
func (p *planeBlock) fillColumns(list *scope, step, stop kernel.Expr) {
	filled := newScope(list)
	for _, c := range p.plan.Columns {
		held := p.columns[c]
		for age := int64(1); held != nil && age < c.Length; age++ { // as old as they are in the step
			for r, value := range p.columnCells(filled, c, kernel.Add(step, kernel.I(c.Newest-age))) {
				filled.emit(&kernel.Assign{Var: held[r][age], Value: value})
			}
		}
		if p.early[c] == nil {
			continue
		}
		for r, value := range p.columnCells(filled, c, kernel.Add(step, kernel.I(c.Newest))) {
			filled.emit(&kernel.Assign{Var: p.early[c][r], Value: value})
		}
	}
	if len(filled.stmts) > 0 {
		list.emit(&kernel.If{Cond: kernel.Lt(step, stop), Then: filled.stmts})
	}
}

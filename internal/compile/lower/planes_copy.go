package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Steps without conditions find planes of memory in shared memory, where threads copy them ahead, asynchronously: a
// tile with its halo, of each grid that they read at cells of others.

// chooseCopies finds the tiles that are copied.
func (p *planeBlock) chooseCopies() {
	if p.tensor {
		p.tiles = p.boxedTiles()
		return
	}
	for _, t := range p.plan.Tiles {
		if p.distance > 0 && t.Grid.Type().Size() >= LeastCopy {
			p.tiles = append(p.tiles, t)
		}
	}
	for _, c := range p.plan.Columns {
		if t := p.plan.TileOf(c.Grid); t.Has(c.Newest) && slices.Contains(p.tiles, t) {
			p.newest[c] = t
		}
	}
}

// copySlots returns how many planes of a tile are in shared memory: those that are read, and those on their way.
func (p *planeBlock) copySlots(t *pipeline.Tile) int64 {
	return p.slots(t.Planes + p.copyDistance())
}

// copyDistance is by how many planes copies come before their use. Those that are issued before the barrier of a step
// come one plane earlier, into a slot that no thread reads in that step.
func (p *planeBlock) copyDistance() int64 {
	if p.issuesFirst {
		return p.distance + 1
	}
	return p.distance
}

// copySide returns the cells of a copied plane on one of its axes.
func (p *planeBlock) copySide(t *pipeline.Tile, d int) int64 {
	if p.alongRow(t, d) {
		return p.tile[d+1]
	}
	return p.inRuns(t, d, p.copyLow(t, d)+p.tile[d+1]+t.Halo[d].High)
}

// copyLow returns how many cells of a copied plane come before the tile on an axis.
func (p *planeBlock) copyLow(t *pipeline.Tile, d int) int64 {
	if p.alongRow(t, d) {
		return 0
	}
	return p.inRuns(t, d, t.Halo[d].Low)
}

// alongRow reports whether an axis is that of a grid's rows, and tiles have whole rows of the grid: then nothing is
// copied beyond them.
func (p *planeBlock) alongRow(t *pipeline.Tile, d int) bool {
	if d < len(p.threads)-1 {
		return false
	}
	whole, found := p.wholeRows[t]
	if !found {
		whole = p.hasWholeRows(t.Grid.Memory)
		p.wholeRows[t] = whole
	}
	return whole
}

// hasWholeRows reports whether tiles have whole rows of a grid, from the first cell on: there is one tile along rows,
// and it begins where the grid does.
func (p *planeBlock) hasWholeRows(g *ir.Grid) bool {
	last := len(p.threads)
	by, known := g.Dims[last].Lo.Diff(p.lineStart())
	if !p.rimless || !p.opts.Sized || !known || by != 0 || p.layoutOf(g).Lead != 0 || p.tile[last] < p.rowLength(g) {
		return false
	}
	begin := p.opts.Bound.Extent(g.Dims[last]).Lo
	for _, st := range p.pipeline.Stages {
		if st.Output != nil && p.opts.Bound.Extent(*st.Dim(p.axes[last])).Hi >= begin+p.tile[last] {
			return false
		}
	}
	lo, _ := p.stored(last)
	n, known := kernel.Difference(lo, p.affine(p.lineStart()))
	return known && n >= 0 && n < alignedCells(p.pipeline.Stages[len(p.pipeline.Stages)-1])
}

// inRuns rounds a number of cells of a plane up, along its rows, to what its copies are aligned to.
func (p *planeBlock) inRuns(t *pipeline.Tile, d int, n int64) int64 {
	if !p.tensor {
		return p.alongRows(d, n, max(p.vec, p.copyRun(t)))
	}
	return p.alongRows(d, n, boxRun(t.Grid.Type()))
}

// copyRun returns how many cells of a row a thread copies at once: as many as 16 bytes have, if rows are aligned to
// that.
func (p *planeBlock) copyRun(t *pipeline.Tile) int64 {
	n := int64(MostCopy / t.Grid.Type().Size())
	if p.tensor || !p.rimless || p.pipeline.InPlace(t.Grid.Memory) || !p.alignedRuns(t.Grid.Memory, n) {
		return 1
	}
	return n
}

// copyArea returns the cells of a copied plane.
func (p *planeBlock) copyArea(t *pipeline.Tile) int64 {
	n := int64(1)
	for d := range p.threads {
		n *= p.copySide(t, d)
	}
	return n
}

// copyPitch returns how far apart planes of a tile are, in cells.
func (p *planeBlock) copyPitch(t *pipeline.Tile) int64 {
	if p.tensor {
		return boxPlaced(p.copyArea(t), t.Grid.Type())
	}
	return p.copyArea(t)
}

// copySlot is where a plane begins that is so many after that of a step.
func (p *planeBlock) copySlot(t *pipeline.Tile, step kernel.Expr, after int64) kernel.Expr {
	slots := p.copySlots(t)
	n := kernel.Add(kernel.Sub(step, p.begin), kernel.I(mod(after, slots)))
	return kernel.Mul(inTurn(n, slots), kernel.I(p.copyPitch(t)))
}

// mostCopies is how many copies of a plane a thread makes at most one after the other; more are made in a loop.
const mostCopies = 8

// copyPlanes copies of each tile the plane that is so many after the newest of a step. Its cells are those of another
// step, which may be an earlier one: then nobody reads them.
func (p *planeBlock) copyPlanes(list *scope, tiles []*pipeline.Tile, step, of kernel.Expr, after int64) {
	threads := product(p.threads)
	for len(tiles) > 0 {
		first, last := tiles[0], len(p.threads)-1
		run := p.copyRun(first)
		same := func(t *pipeline.Tile) bool {
			alike := func(x, y ir.Dim) bool { return x.Lo.Equal(y.Lo) && x.Hi.Equal(y.Hi) }
			return p.copyRun(t) == run && p.alongRow(t, last) == p.alongRow(first, last) &&
				slices.Equal(t.Halo, first.Halo) && slices.Equal(t.Beside, first.Beside) &&
				slices.EqualFunc(t.Grid.Dims(), first.Grid.Dims(), alike)
		}
		var some []*pipeline.Tile
		for _, t := range tiles {
			if same(t) {
				some = append(some, t)
			}
		}
		runs := p.copyArea(first) / run
		if runs > mostCopies*threads {
			n := list.declare(p.env, "copied", types.I64)
			body := newScope(list)
			p.copyRuns(list, body, some, kernel.V(n), step, of, after)
			list.emit(&kernel.Loop{
				Var: n, Lo: p.thread, Hi: kernel.I(runs), Step: kernel.I(threads), Body: body.stmts,
			})
		} else {
			for begin := int64(0); begin < runs; begin += threads {
				n := kernel.Add(p.thread, kernel.I(begin))
				body := newScope(list)
				p.copyRuns(list, body, some, n, step, of, after)
				if begin+threads <= runs {
					list.emit(body.stmts...)
					continue
				}
				list.emit(&kernel.If{Cond: kernel.Lt(n, kernel.I(runs)), Then: body.stmts})
			}
		}
		tiles = slices.DeleteFunc(slices.Clone(tiles), same)
	}
}

// copyRuns copies the n-th run of cells of a plane of tiles with the same cells.
func (p *planeBlock) copyRuns(list, body *scope, tiles []*pipeline.Tile, n, step, of kernel.Expr, after int64) {
	first, last := tiles[0], len(p.threads)-1
	run := p.copyRun(first)
	pos, rest := make([]kernel.Expr, len(p.axes)), n
	for d := last; d >= 0; d-- {
		at, each := rest, int64(1)
		if d == last {
			each = run
		}
		if d > 0 {
			side := kernel.I(p.copySide(first, d) / each)
			at, rest = kernel.Bin(op.Rem, rest, side), kernel.Bin(op.Div, rest, side)
		}
		name := p.Program.Axes[p.axes[d+1]] + "_copied"
		at = kernel.Sub(kernel.Mul(at, kernel.I(each)), kernel.I(p.copyLow(first, d)))
		if each > 1 {
			pos[d+1] = at // from the tile on
			continue
		}
		at = kernel.Add(p.start[d], at)
		if p.rimless || first.Beside[d] {
			at = p.inside(first.Grid.Dims()[d+1], at)
		}
		pos[d+1] = body.let(p.env, name, name, at)
	}
	for _, t := range tiles {
		pos[0] = p.limitedPlane(t.Grid, kernel.Add(of, kernel.I(t.Newest+after)))
		var from *kernel.Load
		if run > 1 {
			from = p.runInMemory(t.Grid, pos[:last+1], pos[last+1], run)
		} else {
			from = p.cellInMemory(t.Grid, pos)
		}
		name := t.Grid.Name() + "_to"
		slot := list.let(p.env, name, name, p.copySlot(t, step, t.Newest+after))
		body.emit(&kernel.AsyncCopy{
			To: p.copies[t], At: kernel.Spread(kernel.Add(slot, kernel.Mul(n, kernel.I(run)))), From: from.Buffer,
			Index: from.Index, Cells: int(run),
		})
	}
}

// fillTiles copies what a step reads, and the steps after it that are copied ahead.
func (p *planeBlock) fillTiles(list *scope, step, stop kernel.Expr) {
	tiles := p.tiles
	if len(tiles) == 0 {
		return
	}
	if p.boxes != nil {
		p.fillBoxes(list, step, stop)
		return
	}
	body := newScope(list)
	most := int64(0)
	for _, t := range tiles {
		most = max(most, t.Planes)
	}
	for after := 1 - most; after < p.copyDistance(); after++ {
		some := slices.DeleteFunc(slices.Clone(tiles), func(t *pipeline.Tile) bool { return after <= -t.Planes })
		of := step
		if after > 0 && !p.rimless {
			last := kernel.Sub(stop, kernel.I(1))
			of = kernel.Sub(kernel.Min(kernel.Add(step, kernel.I(after)), last), kernel.I(after))
		}
		planes := newScope(body)
		p.copyPlanes(planes, some, step, of, after)
		body.emit(planes.stmts...)
		if after >= 0 {
			body.emit(&kernel.AsyncCommit{})
		}
	}
	body.emit(&kernel.AsyncWait{Pending: int(p.copyDistance() - 1)}, &kernel.Barrier{Scope: kernel.BlockScope})
	list.emit(&kernel.If{Cond: kernel.Lt(step, stop), Then: body.stmts})
}

// copyNext copies the planes of a later step.
func (s *planeStep) copyNext() {
	tiles := s.tiles
	if s.guarded || len(tiles) == 0 {
		return
	}
	if s.boxes != nil {
		s.nextBoxes()
		return
	}
	of := s.at
	if !s.rimless { // the planes of the last step are copied once more: what is behind may not be there
		last := kernel.Sub(s.innerEnd, kernel.I(1))
		of = kernel.Sub(kernel.Min(kernel.Add(of, kernel.I(s.copyDistance())), last), kernel.I(s.copyDistance()))
		of = s.body.let(s.env, "ahead", "step_ahead", of)
	}
	s.copyPlanes(s.body, tiles, s.at, of, s.copyDistance())
	s.body.emit(&kernel.AsyncCommit{})
}

// fromTile reads a copied plane at a place, as an access of a stage says; nil if it is not there.
func (s *planeStep) fromTile(t *pipeline.Tile, i int, place []kernel.Expr, a *ir.Access) kernel.Expr {
	if s.guarded || !s.plan.Whole(a) {
		return nil
	}
	return s.copied(t, a.Index[0].Offset-s.plan.Lags[i], place, a.Index[1:], 1)
}

// copied reads a copied plane that is so many after that of the step, at a place or so far from it, the first of some
// cells; nil if it is not there.
func (s *planeStep) copied(t *pipeline.Tile, plane int64, place []kernel.Expr, from []ir.Index,
	cells int64) kernel.Expr {
	if s.copies[t] == nil || !t.Has(plane) {
		return nil
	}
	name := t.Grid.Name() + "_from"
	at := kernel.I(0)
	for d := range s.threads {
		by := s.copyLow(t, d)
		if from != nil {
			by += from[d].Offset
		}
		x := kernel.Add(place[d], kernel.I(by))
		if s.alongRow(t, d) { // nobody needs what is beyond
			x = kernel.Max(kernel.Min(x, kernel.I(s.tile[d+1]-cells)), kernel.I(0))
		}
		at = kernel.Add(kernel.Mul(at, kernel.I(s.copySide(t, d))), x)
	}
	slot := s.body.let(s.env, name, name, s.copySlot(t, s.at, plane))
	return &kernel.Load{Buffer: s.copies[t], Index: kernel.Spread(kernel.Add(slot, at))}
}

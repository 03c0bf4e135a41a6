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
		if p.distance > 0 && t.Grid.Type().Size() >= leastCopy {
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
func (p *planeBlock) copySlots(t *pipeline.Tile) int64 { return t.Planes + p.distance }

// copySide returns the cells of a copied plane on one of its axes.
func (p *planeBlock) copySide(t *pipeline.Tile, d int) int64 {
	return p.inRuns(t, d, p.copyLow(t, d)+p.tile[d+1]+t.Halo[d].High)
}

// copyLow returns how many cells of a copied plane come before the tile on an axis.
func (p *planeBlock) copyLow(t *pipeline.Tile, d int) int64 { return p.inRuns(t, d, t.Halo[d].Low) }

// inRuns rounds a number of cells of a plane up, along its rows, to what its copies are aligned to.
func (p *planeBlock) inRuns(t *pipeline.Tile, d int, n int64) int64 {
	if !p.tensor {
		return p.inVectors(d, n)
	}
	return p.alongRows(d, n, boxRun(t.Grid.Type()))
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

// copyPlanes copies of each tile the plane that is so many after the newest of a step. Its cells are those of another
// step, which may be an earlier one: then nobody reads them.
func (p *planeBlock) copyPlanes(list *scope, tiles []*pipeline.Tile, step, of kernel.Expr, after int64) {
	threads := product(p.threads)
	for len(tiles) > 0 {
		first := tiles[0]
		same := func(t *pipeline.Tile) bool {
			alike := func(x, y ir.Dim) bool { return x.Lo.Equal(y.Lo) && x.Hi.Equal(y.Hi) }
			return slices.Equal(t.Halo, first.Halo) && slices.Equal(t.Beside, first.Beside) &&
				slices.EqualFunc(t.Grid.Dims(), first.Grid.Dims(), alike)
		}
		n := list.declare(p.env, "copied", types.I64)
		body := newScope(list)
		pos, rest := map[int]kernel.Expr{}, kernel.Expr(kernel.V(n))
		for d := len(p.threads) - 1; d >= 0; d-- {
			at := rest
			if d > 0 {
				side := kernel.I(p.copySide(first, d))
				at, rest = kernel.Bin(op.Rem, rest, side), kernel.Bin(op.Div, rest, side)
			}
			name := p.Program.Axes[p.axes[d+1]] + "_copied"
			at = kernel.Add(kernel.Sub(p.start[d], kernel.I(p.copyLow(first, d))), at)
			if p.rimless || first.Beside[d] {
				at = p.inside(first.Grid.Dims()[d+1], at)
			}
			pos[p.axes[d+1]] = body.let(p.env, name, name, at)
		}
		for _, t := range tiles {
			if !same(t) {
				continue
			}
			pos[p.axes[0]] = p.limitedPlane(t.Grid, kernel.Add(of, kernel.I(t.Newest+after)))
			st := p.gridStore(t.Grid.Memory)
			b := p.bufferOf(st)
			b.reads = true
			var idx []index
			for _, dim := range t.Grid.Dims() {
				idx = append(idx, index{axis: dim.Axis, at: pos[dim.Axis], plain: true})
			}
			name := t.Grid.Name() + "_to"
			slot := list.let(p.env, name, name, p.copySlot(t, step, t.Newest+after))
			body.emit(&kernel.AsyncCopy{
				To: p.copies[t], At: kernel.Add(slot, kernel.V(n)), From: b.buffer, Index: p.flat(st, idx), Cells: 1,
			})
		}
		list.emit(&kernel.Loop{
			Var: n, Lo: p.thread, Hi: kernel.I(p.copyArea(first)), Step: kernel.I(threads), Body: body.stmts,
		})
		tiles = slices.DeleteFunc(slices.Clone(tiles), same)
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
	for after := 1 - most; after < p.distance; after++ {
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
	body.emit(&kernel.AsyncWait{Pending: int(p.distance - 1)}, &kernel.Barrier{Scope: kernel.BlockScope})
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
		of = kernel.Sub(kernel.Min(kernel.Add(of, kernel.I(s.distance)), last), kernel.I(s.distance))
		of = s.body.let(s.env, "ahead", "step_ahead", of)
	}
	s.copyPlanes(s.body, tiles, s.at, of, s.distance)
	s.body.emit(&kernel.AsyncCommit{})
}

// fromTile reads a copied plane at a place, as an access of a stage says; nil if it is not there.
func (s *planeStep) fromTile(t *pipeline.Tile, i int, place []kernel.Expr, a *ir.Access) kernel.Expr {
	if s.guarded || !s.plan.Whole(a) {
		return nil
	}
	return s.copied(t, a.Index[0].Offset-s.plan.Lags[i], place, a.Index[1:])
}

// copied reads a copied plane that is so many after that of the step, at a place or so far from it; nil if it is not
// there.
func (s *planeStep) copied(t *pipeline.Tile, plane int64, place []kernel.Expr, from []ir.Index) kernel.Expr {
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
		at = kernel.Add(kernel.Mul(at, kernel.I(s.copySide(t, d))), kernel.Add(place[d], kernel.I(by)))
	}
	slot := s.body.let(s.env, name, name, s.copySlot(t, s.at, plane))
	return &kernel.Load{Buffer: s.copies[t], Index: kernel.Spread(kernel.Add(slot, at))}
}

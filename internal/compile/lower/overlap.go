package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The family "overlap": a block of threads computes all stages of a tile in shared memory,
// each on the tile and its halo, so that tiles overlap and no block waits for another
// (overlapped tiling; Rawat et al. 2019, section III-A).

const overlapFamily = "overlap"

func init() {
	register(&family{
		name: overlapFamily, doc: "several iterations of a tile in shared memory, with halos computed by every tile",
		place:  60,
		target: GPU, rank: func(rank int) bool { return rank > 0 && rank <= 3 },
		declare: declareOverlap,
		span:    (*spanKernel).overlapped,
	})
}

func declareOverlap(axes []string) ([]schedule.Param, []schedule.Constraint) {
	tiles := map[int][]schedule.Value{
		1: {schedule.Int(512), schedule.Int(256), schedule.Int(1024), schedule.Int(2048), schedule.Int(32)},
		2: {
			schedule.Int(32, 32), schedule.Int(16, 64), schedule.Int(32, 64), schedule.Int(64, 64),
			schedule.Int(16, 32), schedule.Int(8, 32), schedule.Int(4, 16),
		},
		3: {
			schedule.Int(8, 8, 32), schedule.Int(8, 16, 32), schedule.Int(4, 8, 32), schedule.Int(16, 16, 16),
			schedule.Int(4, 4, 16), schedule.Int(2, 4, 8),
		},
	}[len(axes)]
	if len(tiles) == 0 {
		return nil, nil
	}
	threads := []schedule.Value{
		schedule.Int(256), schedule.Int(128), schedule.Int(512), schedule.Int(1024), schedule.Int(32),
	}
	return []schedule.Param{
		{
			Name: "block", Role: schedule.Threads, Axis: schedule.InnerAxis, Doc: "threads of a block",
			Source: "Zhang and Mueller 2013, section 3.1", Values: threads, Default: threads[0],
		},
		{
			Name: "tile", Role: schedule.Tile, Axis: schedule.InnerAxis,
			Doc:    "cells that a block computes to the end, outermost axis first",
			Source: "Rawat et al. 2019, section III-A", Values: tiles, Default: tiles[0],
		},
		sizesParam(),
	}, nil
}

// tileSlot is shared memory that values of one type take in turn.
type tileSlot struct {
	buffer *kernel.Buffer
	cells  int64
	free   int // the first stage that may write to it
}

// overlapTile is a tile of the family: where it starts, and where values are.
type overlapTile struct {
	*spanKernel
	tile  []int64
	start []kernel.Expr // of the tile, by axis of the pipeline
	slots map[*pipeline.Stage]*tileSlot
}

// overlapped builds the kernel.
func (s *spanKernel) overlapped() ([]kernel.Stmt, error) {
	t := &overlapTile{spanKernel: s, tile: s.set.Ints(schedule.Tile), slots: map[*pipeline.Stage]*tileSlot{}}
	s.tiled(t.tile)
	block := s.set.Int(schedule.Threads, 0)
	top := newScope(nil)
	var blocks []launchLoop
	for k := len(t.axes) - 1; k >= 0; k-- {
		lo, hi := t.extent(k)
		name := t.Program.Axes[t.axes[k]]
		b := top.declare(t.env, name+"_block", types.I64)
		count := kernel.CeilDiv(kernel.Max(kernel.Add(kernel.Sub(hi, lo), kernel.I(1)), kernel.I(0)),
			kernel.I(t.tile[k]))
		blocks = append(blocks, launchLoop{b, count, kernel.BlockX + kernel.Tag(len(blocks))})
	}
	if bytes, gpu := s.sharedBytes(s.pipeline, t.tile), s.opts.gpu(); bytes > gpu.SharedPerBlock {
		return nil, &ResourceLimit{s.name, "bytes of shared memory a block", bytes, gpu.SharedPerBlock, "a block"}
	}
	allocs := t.allocate(top)
	thread := top.declare(t.env, "thread", types.I64)
	body := newScope(top)
	t.start = make([]kernel.Expr, len(t.axes))
	for k := range t.axes {
		lo, _ := t.extent(k)
		name := t.Program.Axes[t.axes[k]] + "_tile"
		at := kernel.Add(lo, kernel.Mul(kernel.V(blocks[len(blocks)-1-k].v), kernel.I(t.tile[k])))
		t.start[k] = body.let(t.env, name, name, at)
	}
	for i, st := range t.pipeline.Stages {
		if i > 0 {
			body.emit(&kernel.Barrier{Scope: kernel.BlockScope})
		}
		body.emit(t.stage(body, st, kernel.V(thread), block))
	}
	threads := []launchLoop{{thread, kernel.I(block), kernel.ThreadX}}
	return append(top.stmts, wrapped(blocks, append(allocs, wrapped(threads, body.stmts)...))...), nil
}

// extent returns the first and last position on an axis of what is stored.
func (s *spanKernel) extent(k int) (lo, hi kernel.Expr) { return s.extentOf(k, s.size) }

// extentOf is extent as a function of the sizes.
func (s *spanKernel) extentOf(k int, size func(int) kernel.Expr) (lo, hi kernel.Expr) {
	for _, st := range s.pipeline.Stages {
		if st.Output == nil {
			continue
		}
		dim := st.Dim(s.axes[k])
		l, h := affine(dim.Lo, size), affine(dim.Hi, size)
		if lo == nil {
			lo, hi = l, h
			continue
		}
		lo, hi = kernel.Min(lo, l), kernel.Max(hi, h)
	}
	return lo, hi
}

// startsBelow reports whether the first tile may begin below the first cell of a stage's array.
func (s *spanKernel) startsBelow(of *pipeline.Stage, axis int) bool {
	return slices.ContainsFunc(s.pipeline.Stages, func(st *pipeline.Stage) bool {
		return st.Output != nil && !st.Dim(axis).Lo.Equal(of.Dim(axis).Lo)
	})
}

// side returns how many cells of an axis a stage is computed on.
func (t *overlapTile) side(st *pipeline.Stage, k int) int64 {
	return st.Halo[k].Low + t.tile[k] + st.Halo[k].High
}

func (t *overlapTile) cells(st *pipeline.Stage) int64 {
	n := int64(1)
	for k := range t.axes {
		n *= t.side(st, k)
	}
	return n
}

// allocate gives kept values shared memory. A slot is free again when the last stage that
// reads it is done.
func (t *overlapTile) allocate(top *scope) []kernel.Stmt {
	var slots []*tileSlot
	last := t.lastReaders()
	for i, st := range t.pipeline.Stages {
		if !st.Kept {
			continue
		}
		at := slices.IndexFunc(slots, func(s *tileSlot) bool {
			return s.free <= i && s.buffer.Elem == st.Stmt.Array.Type
		})
		if at < 0 {
			name := top.declare(t.env, "tile", types.I64).Name
			at = len(slots)
			slots = append(slots, &tileSlot{
				buffer: &kernel.Buffer{Name: name, Elem: st.Stmt.Array.Type, Space: kernel.Shared, Mode: kernel.InOut},
			})
		}
		slot := slots[at]
		slot.cells, slot.free = max(slot.cells, t.cells(st)), last[st]+1
		t.slots[st] = slot
	}
	var allocs []kernel.Stmt
	for _, slot := range slots {
		slot.buffer.Cells = kernel.I(slot.cells)
		allocs = append(allocs, &kernel.Alloc{Buffer: slot.buffer})
	}
	return allocs
}

// sharedBytes returns the shared memory that a pipeline takes with a tile.
func (s *spanKernel) sharedBytes(p *pipeline.Pipeline, tile []int64) int64 {
	k := *s
	k.pipeline = p
	t := &overlapTile{spanKernel: &k, tile: tile, slots: map[*pipeline.Stage]*tileSlot{}}
	t.allocate(newScope(nil))
	bytes, counted := int64(0), map[*tileSlot]bool{}
	for _, slot := range t.slots {
		if !counted[slot] {
			counted[slot] = true
			bytes += (slot.cells*int64(slot.buffer.Elem.Size()) + 15) / 16 * 16
		}
	}
	return bytes
}

// lastReaders returns the number of the last stage that reads each stage's values.
func (t *overlapTile) lastReaders() map[*pipeline.Stage]int {
	last := map[*pipeline.Stage]int{}
	for i, st := range t.pipeline.Stages {
		for _, from := range t.pipeline.Reads(st) {
			last[from] = i
		}
	}
	return last
}

// stage computes a stage on the tile and its halo: thread after thread takes a cell.
func (t *overlapTile) stage(outer *scope, st *pipeline.Stage, thread kernel.Expr, block int64) kernel.Stmt {
	number := outer.declare(t.env, "cell", types.I64)
	cells := newScope(outer)
	place := make([]kernel.Expr, len(t.axes)) // in the tile with the stage's halo
	rest := kernel.Expr(kernel.V(number))
	for k := len(t.axes) - 1; k >= 0; k-- {
		side := kernel.I(t.side(st, k))
		name := t.Program.Axes[t.axes[k]] + "_place"
		place[k] = rest
		if k > 0 {
			place[k] = kernel.Bin(op.Rem, rest, side)
			rest = kernel.Bin(op.Div, rest, side)
		}
		place[k] = cells.let(t.env, name, name, place[k])
	}
	pos := map[int]kernel.Expr{}
	var inside kernel.Expr
	for k, axis := range t.axes {
		dim := st.Dim(axis)
		name := t.Program.Axes[axis] + "_at"
		at := kernel.Add(t.start[k], kernel.Sub(place[k], kernel.I(st.Halo[k].Low)))
		x := cells.let(t.env, name, name, at)
		if t.pipeline.Wraps[k] {
			x = cells.let(t.env, name+"_wrapped", name, t.wrapped(x, dim))
		} else {
			inside = conj(inside, kernel.And(kernel.Ge(x, t.affine(dim.Lo)), kernel.Le(x, t.affine(dim.Hi))))
		}
		pos[axis] = x
	}
	work := newScope(cells)
	c := t.newStageCell(st, pos, work, func(c *cell, from *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr {
		return &kernel.Load{Buffer: t.slots[from].buffer, Index: t.place(st, from, place, moved)}
	})
	value, assigned := c.compute()
	if _, named := value.(*kernel.Ref); !named {
		value = work.let(t.env, "value", st.Stmt.Array.Name+"_new", value)
	}
	if st.Kept {
		work.emit(&kernel.Store{Buffer: t.slots[st].buffer, Index: t.place(st, st, place, nil), Value: value})
	}
	if st.Output != nil {
		t.store(work, st, pos, place, value, assigned)
	}
	list := work.stmts
	if inside != nil {
		list = []kernel.Stmt{&kernel.If{Cond: inside, Then: list}}
	}
	loop := &kernel.Loop{
		Var: number, Lo: thread, Hi: kernel.I(t.cells(st)), Step: kernel.I(block),
		Body: append(cells.stmts, list...),
	}
	t.updates[loop] = true
	return loop
}

// place is the element of another stage's values at a cell of a stage, moved on some axes.
func (t *overlapTile) place(st, from *pipeline.Stage, place []kernel.Expr, moved map[int]kernel.Expr) kernel.Expr {
	var at kernel.Expr
	for k, axis := range t.axes {
		x := kernel.Add(place[k], kernel.I(from.Halo[k].Low-st.Halo[k].Low))
		if by := moved[axis]; by != nil {
			x = kernel.Add(x, by)
		}
		if k == 0 {
			at = x
		} else {
			at = kernel.Add(kernel.Mul(at, kernel.I(t.side(from, k))), x)
		}
	}
	return at
}

// store writes a cell to memory, if it is one of the tile's own.
func (t *overlapTile) store(work *scope, st *pipeline.Stage, pos map[int]kernel.Expr, place []kernel.Expr,
	value, assigned kernel.Expr) {
	var own kernel.Expr
	for k, axis := range t.axes {
		h := st.Halo[k]
		if h.Low > 0 {
			own = conj(own, kernel.Ge(place[k], kernel.I(h.Low)))
		}
		if h.High > 0 {
			own = conj(own, kernel.Lt(place[k], kernel.I(h.Low+t.tile[k])))
		}
		if t.pipeline.Wraps[k] { // the last tile goes on beyond the end
			at := kernel.Add(t.start[k], kernel.Sub(place[k], kernel.I(h.Low)))
			own = conj(own, kernel.Le(at, t.affine(st.Dim(axis).Hi)))
			if t.startsBelow(st, axis) { // or begins below the other
				own = conj(own, kernel.Ge(at, t.affine(st.Dim(axis).Lo)))
			}
		}
	}
	into := t.gridStore(st.Value.Memory)
	if st.Output.Spare {
		into, _ = t.spareStore(st.Value.Memory)
	} else if assigned != nil {
		own = conj(own, assigned)
	}
	b := t.bufferOf(into)
	b.writes = true
	var idx []index
	for _, dim := range st.Stmt.Array.Dims {
		idx = append(idx, index{axis: dim.Axis, at: pos[dim.Axis], plain: true})
	}
	list := []kernel.Stmt{&kernel.Store{Buffer: b.buffer, Index: t.flat(into, idx), Value: value}}
	if own != nil {
		list = []kernel.Stmt{&kernel.If{Cond: own, Then: list}}
	}
	work.stmts = append(work.stmts, list...)
}

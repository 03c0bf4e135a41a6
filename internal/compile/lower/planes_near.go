package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// What threads read in memory around their own cells. Neighbouring cells of a thread, and statements, read many of the
// same cells: each is loaded once a step.

// readOnlyParam is a parameter of kernels of calls.
var readOnlyParam = schedule.Param{
	Name: "load", Role: schedule.LoadPath, Doc: "path of loads from grids that the kernel does not update",
	Source: loadSource, Values: schedule.Words(plain, readonly), Default: schedule.Word(plain),
}

// nearest reads a grid in memory where an access of a stage leads to from one of the thread's cells, or the cell of the
// grid that is nearest: what is beyond nobody needs. It is nil if tiles go no further than the grid, or if the block
// changes it.
func (s *planeStep) nearest(i, row int, a *ir.Access, v *graph.Value) kernel.Expr {
	if !s.rimless || s.pipeline.InPlace(v.Memory) {
		return nil
	}
	load := s.cellInMemory(v, s.nearestAt(i, s.own[row], a, v))
	if !s.loadsOnce() {
		return load
	}
	return s.body.let(s.env, s.nearKey(i, row, a, v), v.Name()+"_near", load)
}

// loadsOnce reports whether what the present stage loads in memory is loaded for all stages of the step.
func (s *planeStep) loadsOnce() bool {
	return s.loadsFirst() || s.always && s.set.Word(schedule.LoadOrder) == schedule.TogetherLoads
}

// loadsFirst reports whether what the present stage reads of copied planes is loaded before all stages, too.
func (s *planeStep) loadsFirst() bool {
	return s.always && s.set.Word(schedule.LoadOrder) == schedule.FirstLoads
}

// copiedFirst is the cell of a copied plane that an access leads to, loaded before all stages if that is asked for.
func (s *planeStep) copiedFirst(load kernel.Expr, i, row int, a *ir.Access, v *graph.Value) kernel.Expr {
	if load == nil || !s.loadsFirst() {
		return load
	}
	return s.body.let(s.env, s.nearKey(i, row, a, v), v.Name()+"_near", load)
}

// nearKey tells apart the cells that accesses of stages lead to from a thread's cells.
func (s *planeStep) nearKey(i, row int, a *ir.Access, v *graph.Value) string {
	last := len(a.Index) - 1
	y := int64(row) / s.vec
	if last > 1 {
		y += a.Index[1].Offset
	}
	return fmt.Sprint(v.Name(), ":", a.Index[0].Offset-s.plan.Lags[i], ",", y, ",",
		int64(row)%s.vec+a.Index[last].Offset)
}

// nearestAt is where an access of a stage leads to from a place, or the nearest cell of the grid, by axis.
func (s *planeStep) nearestAt(i int, place []kernel.Expr, a *ir.Access, v *graph.Value) []kernel.Expr {
	at := []kernel.Expr{s.limitedPlane(v, kernel.Add(s.at, kernel.I(a.Index[0].Offset-s.plan.Lags[i])))}
	for d, ix := range a.Index[1:] {
		moved := kernel.Add(place[d], kernel.I(ix.Offset))
		at = append(at, s.limited(v.Dims()[d+1], kernel.Add(s.start[d], moved)))
	}
	return at
}

// nearRun loads some neighbouring cells of a row of a grid in memory, from the one on that an access leads to from the
// thread's first cell of a row; nil if they are not aligned there. With prefetch those right above and below the
// thread's own cells come a step early, too.
func (s *planeStep) nearRun(c *cell, i, row int, a *ir.Access, v *graph.Value, n int64) []kernel.Expr {
	last := len(a.Index) - 1
	at := s.nearestAt(i, s.own[row], a, v)
	x := kernel.Add(s.own[row][last-1], kernel.I(a.Index[last].Offset))
	load := s.runInMemory(v, at[:last], x, n)
	if load == nil {
		return nil
	}
	list, known := c.body, s.vectors
	if s.loadsOnce() {
		list, known = s.body, s.near
	}
	key := s.nearKey(i, row, a, v)
	if known[key] != nil {
		return known[key]
	}
	if offset := a.Index[last].Offset; s.prefetch == 0 || !s.loadsOnce() || offset < 0 || offset >= s.vec {
		known[key] = s.loadedRun(list, v, load, n)
		return known[key]
	}
	next := func(step kernel.Expr) *kernel.Load {
		plane := kernel.Add(step, kernel.I(a.Index[0].Offset-s.plan.Lags[i]))
		return s.runInMemory(v, append([]kernel.Expr{s.limitedPlane(v, plane)}, at[1:last]...), x, n)
	}
	var early []*kernel.Var
	for _, cell := range s.loadedRun(s.outer, v, next(s.from), n) {
		e := s.outer.declare(s.env, v.Name()+"_early", v.Type())
		s.outer.emit(&kernel.Declare{Var: e, Init: cell})
		early = append(early, e)
		now := list.declare(s.env, v.Name()+"_near", v.Type())
		list.emit(&kernel.Let{Var: now, Value: kernel.V(e)})
		known[key] = append(known[key], kernel.V(now))
	}
	for k, cell := range s.loadedRun(list, v, next(kernel.Add(s.at, kernel.I(1))), n) {
		list.emit(&kernel.Assign{Var: early[k], Value: cell})
	}
	return known[key]
}

// runInMemory is the first of some neighbouring cells of a row of a grid in memory, at a position on the axes before
// and from a place of the tile on; nil if they are not aligned there, or if the block changes the grid. What is beyond
// a row nobody needs: the nearest run of the row stands for it.
func (p *planeBlock) runInMemory(v *graph.Value, pos []kernel.Expr, place kernel.Expr, n int64) *kernel.Load {
	g := v.Memory
	if n < 2 || !p.rimless || p.pipeline.InPlace(g) || !p.alignedRuns(g, n) {
		return nil
	}
	last := len(p.threads)
	dim := v.Dims()[last]
	lo := kernel.Sub(p.affine(dim.Lo), kernel.I(p.gridStore(g).layout.Lead%n))
	hi := p.affine(dim.Hi)
	hi = kernel.Sub(hi, floorMod(kernel.Sub(hi, lo), kernel.I(n)))
	pos = append(slices.Clone(pos), kernel.Max(kernel.Min(kernel.Add(p.start[last-1], place), hi), lo))
	return p.cellInMemory(v, pos)
}

// cellInMemory is the cell of a grid in memory at a position.
func (p *planeBlock) cellInMemory(v *graph.Value, pos []kernel.Expr) *kernel.Load {
	st := p.gridStore(v.Memory)
	var idx []index
	for d, dim := range v.Dims() {
		idx = append(idx, index{axis: dim.Axis, at: pos[d], plain: true})
	}
	b := p.bufferOf(st)
	b.reads = true
	return &kernel.Load{Buffer: b.buffer, Index: p.flat(st, idx), Via: p.loadPath(v.Memory)}
}

// loadPath returns the path of loads of a grid in memory: what the kernel updates in place takes the plain one.
func (p *planeBlock) loadPath(g *ir.Grid) kernel.Via {
	if p.set.Word(schedule.LoadPath) == readonly && !p.pipeline.InPlace(g) {
		return kernel.ReadOnly
	}
	return kernel.Plain
}

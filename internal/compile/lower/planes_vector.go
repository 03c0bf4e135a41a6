package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// A thread that has several cells of a row (vec) loads what they read side by side at once, in shared memory, and in
// memory where rows are aligned.

// inVector is what an access of a stage leads to from one of the thread's cells, if a neighbour in the same 16 bytes is
// read as well: both are loaded together, once for all cells of the row. Else it is nil.
func (s *planeStep) inVector(c *cell, i, row int, a *ir.Access, v *graph.Value) kernel.Expr {
	n := Chunk(s.vec, v.Type())
	if row < 0 || s.guarded || n < 2 || !s.plan.Direct(s.pipeline.Stages[i], a) {
		return nil
	}
	last := len(a.Index) - 1
	at := int64(row)%s.vec + a.Index[last].Offset
	first := at - mod(at, n)
	if s.readTogether(i, a, v, first, n) < 2 || !s.computes(s.pipeline.Stage(v), last, first, n) {
		return nil
	}
	begin := row - row%int(s.vec) // the first cell of the row
	from := &ir.Access{Array: a.Array, Index: slices.Clone(a.Index)}
	from.Index[last].Offset = first
	var vars []kernel.Expr
	switch load := s.sharedCell(c, i, s.own[begin], from, v); {
	case load != nil:
		key := fmt.Sprint(v.Name(), begin)
		for _, ix := range from.Index {
			key += fmt.Sprint(",", ix.Offset)
		}
		list, known := c.body, s.vectors
		if v.Def == nil && s.loadsFirst() {
			list, known, key = s.body, s.near, s.nearKey(i, begin, from, v)
		}
		if vars = known[key]; vars == nil {
			vars = s.loadedRun(list, v, load, n)
			known[key] = vars
		}
	case v.Def == nil:
		vars = s.nearRun(c, i, begin, from, v, n)
	}
	if vars == nil {
		return nil
	}
	return vars[at-first]
}

// computes reports whether a stage has computed all of some neighbouring cells of a row, from one on that is so far
// from the first cell of a thread, whichever thread that is. In memory all are there.
func (s *planeStep) computes(from *pipeline.Stage, axis int, first, n int64) bool {
	return from == nil || first >= -from.Halo[axis].Low && first+n-s.vec <= from.Halo[axis].High
}

// readTogether counts which of some cells side by side a stage reads for the thread's cells of a row, in the row and
// the plane that an access leads to.
func (s *planeStep) readTogether(i int, a *ir.Access, v *graph.Value, first, n int64) int {
	st, last := s.pipeline.Stages[i], len(a.Index)-1
	read := map[int64]bool{}
	_ = st.Accesses(func(b *ir.Access, w *graph.Value) error {
		if w != v || !s.plan.Direct(st, b) {
			return nil
		}
		for d := range last {
			if b.Index[d].Offset != a.Index[d].Offset {
				return nil
			}
		}
		for x := range s.vec {
			if at := x + b.Index[last].Offset; at >= first && at < first+n {
				read[at] = true
			}
		}
		return nil
	})
	return len(read)
}

// sharedCell is where an access of a stage leads to from a place in shared memory; nil if it is not there.
func (s *planeStep) sharedCell(c *cell, i int, place []kernel.Expr, a *ir.Access, v *graph.Value) *kernel.Load {
	if from := s.pipeline.Stage(v); from != nil {
		if s.plan.Shared[from.Number] == 0 {
			return nil
		}
		moved := map[int]kernel.Expr{}
		for d, ix := range a.Index {
			moved[s.axes[d]] = kernel.I(ix.Offset)
		}
		return s.stageCell(c, i, from, place, moved)
	}
	if v.Def != nil {
		return nil
	}
	if s.guarded || !s.plan.Whole(a) {
		return nil
	}
	plane := a.Index[0].Offset - s.plan.Lags[i]
	load, _ := s.copied(s.plan.TileOf(v), plane, place, a.Index[1:], Chunk(s.vec, v.Type())).(*kernel.Load)
	return load
}

// columnCells reads a plane of a column at all of the thread's cells.
func (p *planeBlock) columnCells(list *scope, c *pipeline.Column, plane kernel.Expr) []kernel.Expr {
	var cells []kernel.Expr
	n, last := int(Chunk(p.vec, c.Grid.Type())), len(p.threads)-1
	for r := 0; r < len(p.own); r += n {
		pos := []kernel.Expr{p.limitedPlane(c.Grid, plane)}
		for d, dim := range c.Grid.Dims()[1 : last+1] {
			pos = append(pos, p.limited(dim, kernel.Add(p.start[d], p.own[r][d])))
		}
		if load := p.runInMemory(c.Grid, pos, p.own[r][last], int64(n)); load != nil {
			cells = append(cells, p.loadedRun(list, c.Grid, load, int64(n))...)
			continue
		}
		for k := range n {
			cells = append(cells, p.columnCell(c, r+k, plane))
		}
	}
	return cells
}

// loadedRun loads neighbouring cells together.
func (p *planeBlock) loadedRun(body *scope, of *graph.Value, load *kernel.Load, n int64) []kernel.Expr {
	var list []kernel.Expr
	wide := &kernel.LoadVector{Buffer: load.Buffer, Index: load.Index, Via: load.Via}
	for range n {
		v := body.declare(p.env, of.Name()+"_near", load.Buffer.Elem)
		wide.Vars = append(wide.Vars, v)
		list = append(list, kernel.V(v))
	}
	body.emit(wide)
	return list
}

// copiedColumns are the newest cells of columns in shared memory, by the thread's cells; nil if they are not there.
func (s *planeStep) copiedColumns(c *pipeline.Column) []kernel.Expr {
	var list []kernel.Expr
	n := int(Chunk(s.vec, c.Grid.Type()))
	for r := 0; r < len(s.own); r += n {
		load, ok := s.copied(s.newest[c], c.Newest, s.own[r], nil, int64(n)).(*kernel.Load)
		if !ok {
			return nil
		}
		if n == 1 {
			list = append(list, load)
			continue
		}
		list = append(list, s.loadedRun(s.body, c.Grid, load, int64(n))...)
	}
	return list
}

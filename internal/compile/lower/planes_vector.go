package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// A thread that has several cells of a row (vec) loads what they read side by side in shared memory at once.

// inVector is what an access of a stage leads to from one of the thread's cells, if that is in shared memory and a
// neighbour in the same 16 bytes is read as well: both are loaded together, once for all cells of the row. Else it is
// nil.
func (s *planeStep) inVector(c *cell, i, row int, a *ir.Access, v *graph.Value) kernel.Expr {
	n := chunk(s.vec, v.Type())
	if row < 0 || s.guarded || n < 2 || !s.plan.Direct(s.pipeline.Stages[i], a) {
		return nil
	}
	last := len(a.Index) - 1
	at := int64(row)%s.vec + a.Index[last].Offset
	first := at - mod(at, n)
	if s.readTogether(i, a, v, first, n) < 2 {
		return nil
	}
	begin := row - row%int(s.vec) // the first cell of the row
	key := fmt.Sprint(v.Name(), begin, first)
	from := &ir.Access{Array: a.Array}
	for d, ix := range a.Index {
		if d < last {
			key += fmt.Sprint(",", ix.Offset)
		} else {
			ix.Offset = first
		}
		from.Index = append(from.Index, ix)
	}
	vars := s.vectors[key]
	if vars == nil {
		load := s.sharedCell(c, i, s.own[begin], from, v)
		if load == nil {
			return nil
		}
		for range n {
			vars = append(vars, c.body.declare(s.env, v.Name()+"_near", load.Buffer.Elem))
		}
		c.body.emit(&kernel.LoadVector{Vars: vars, Buffer: load.Buffer, Index: load.Index})
		s.vectors[key] = vars
	}
	return kernel.V(vars[at-first])
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
	load, _ := s.fromTile(s.plan.TileOf(v), i, place, a).(*kernel.Load)
	return load
}

// copiedColumns are the newest cells of columns in shared memory, by the thread's cells; nil if they are not there.
func (s *planeStep) copiedColumns(c *pipeline.Column) []kernel.Expr {
	var list []kernel.Expr
	n := int(chunk(s.vec, c.Grid.Type()))
	for r := 0; r < len(s.own); r += n {
		load, ok := s.copied(s.newest[c], c.Newest, s.own[r], nil).(*kernel.Load)
		if !ok {
			return nil
		}
		if n == 1 {
			list = append(list, load)
			continue
		}
		wide := &kernel.LoadVector{Buffer: load.Buffer, Index: load.Index}
		for range n {
			v := s.body.declare(s.env, c.Grid.Name()+"_near", load.Buffer.Elem)
			wide.Vars = append(wide.Vars, v)
			list = append(list, kernel.V(v))
		}
		s.body.emit(wide)
	}
	return list
}

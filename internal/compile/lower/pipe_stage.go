package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// pipeCell is a cell of a thread that a stage is computed at, or a part of it before.
type pipeCell struct {
	*pipeStep
	stage *pipeline.Stage
	r, x  int64
	at    pipeline.Time
}

// stage computes a stage at the cells of a row of the thread: everywhere, and cells that the
// statement leaves as they were take what they held instead, now or when the rows are through.
func (s *pipeStep) stage(st *pipeline.Stage, r int64) {
	old := s.old(st, r)
	source := s.stream.Source(st.Value)
	plane := s.planeOf(st, 0)
	var row []*kernel.Var
	for x := range s.run {
		c := &pipeCell{s, st, r, x, pipeline.Last}
		value := c.compute(st.Stmt.Value, nil)
		if old != nil {
			value = kernel.Sel(s.has(s.kept(st, plane), r, x, 1, true), kernel.V(old[x]), value)
		}
		into := s.body.declare(s.env, st.Stmt.Array.Name+"_new", st.Stmt.Array.Type)
		made := &kernel.Declare{Var: into, Init: value}
		s.updates[made] = true
		s.body.emit(made)
		row = append(row, into)
	}
	if s.late && s.guarded && st.Fills() {
		s.keepPlane(st, r, row)
	}
	if s.isRead(source) {
		held := s.held[source][s.turn][r]
		for x, v := range row {
			s.body.emit(&kernel.Assign{Var: held[x], Value: kernel.V(v)})
		}
		row = held
	}
	if s.made[st] == nil {
		s.made[st] = make([][]*kernel.Var, s.rows)
	}
	s.made[st][r] = row
}

// planeOf is the plane that a stage computes so many steps later.
func (s *pipeStep) planeOf(st *pipeline.Stage, later int64) kernel.Expr {
	lag := s.stream.Lag(st) - later
	return s.body.let(s.env, fmt.Sprintf("plane-%d", lag), "plane", kernel.Sub(s.now, kernel.I(lag)))
}

// place returns where a cell of the thread stands; where an axis wraps, it may be beyond the
// ends.
func (s *pipeStep) place(plane kernel.Expr, r, x int64) map[int]kernel.Expr {
	last := len(s.axes) - 1
	at := map[int]kernel.Expr{s.axes[0]: plane, s.axes[last]: kernel.Add(s.x0, kernel.I(x))}
	if s.middle() {
		at[s.axes[1]] = kernel.Add(s.row0, kernel.I(r))
	}
	return at
}

// position returns the grid's cell that a cell of the thread stands for.
func (s *pipeStep) position(plane kernel.Expr, r, x int64) map[int]kernel.Expr {
	at := s.place(plane, r, x)
	for k, axis := range s.axes {
		if s.guarded && s.wraps(k) {
			at[axis] = s.env.wrapped(at[axis], &s.extents[k])
		}
	}
	return at
}

// compute is what an expression of the stage's statement, or of one of its local scalars, is
// at the cell.
func (c *pipeCell) compute(e ir.Expr, in *ir.Temp) kernel.Expr {
	at := &cell{
		nest: c.nest, pos: c.position(c.planeOf(c.stage, c.at.Before), c.r, c.x), row: c.body, body: c.body,
		vals: map[*ir.Temp]kernel.Expr{},
		stage: &stageCell{
			of: c.stage, in: c.stage.Inputs[in], temporary: in, pipeline: c.pipeline, held: c.value, ready: c.ready,
		},
	}
	value := at.expr(e)
	c.body = at.body
	return value
}

// ready returns what an operation came to before, if it is one of the parts.
func (c *pipeCell) ready(e ir.Expr, in *ir.Temp) kernel.Expr {
	n := c.parts[c.stage][c.r].Before(e, in, c.at)
	if n < 0 {
		return nil
	}
	return kernel.V(c.carriedIn(c.stage, c.r, n, c.turn, c.at.Before)[c.x])
}

// value reads what an access means: from a register of this thread or another, from shared
// memory, or from memory where only single cells are read.
func (c *pipeCell) value(at *cell, a *ir.Access, v *graph.Value) kernel.Expr {
	from := c.stream.From(a, v)
	if from == nil {
		if value := c.fromOperand(a, v); value != nil {
			return value
		}
		var idx []index
		for d, ix := range a.Index {
			raw := index{axis: ix.Axis, offset: ix.Offset, at: kernel.I(ix.Offset), key: fmt.Sprintf("=%d", ix.Offset)}
			if ix.Axis >= 0 {
				raw.at = kernel.Add(at.pos[ix.Axis], kernel.I(ix.Offset))
				raw.key = fmt.Sprintf("%d.%d.%d%+d", ix.Axis, c.r, c.x, ix.Offset)
			}
			key := fmt.Sprintf("map:%s:%d:%s", a.Array.Name, d, raw.key)
			idx = append(idx, at.throughFaces(at.body, a.Array, d, raw, key, at.offsetName(raw), true, true))
		}
		return applied(at.stage.fromMemory(at, v.Memory, idx), idx)
	}
	ends := faceEnds(func(at *cell, d int, face pipeline.Face) kernel.Expr {
		switch {
		case c.guarded:
			return atFace(at, a.Index[d].Axis, c.lo[d], c.hi[d], face)
		case c.tileFaces[d]:
			return c.atTileFace(d, c.r, c.x, face)
		}
		return nil
	})
	return ends.through(at, a, func(o []int64) kernel.Expr { return c.held(from, o) })
}

// faceEnds is the condition under which a cell is at a face of an axis, or near it, where an access reads through a
// boundary; nil for cells that are known not to be there.
type faceEnds func(at *cell, d int, face pipeline.Face) kernel.Expr

// atFace compares a cell's position with a face of an axis.
func atFace(at *cell, axis int, lo, hi kernel.Expr, face pipeline.Face) kernel.Expr {
	end := kernel.Add(lo, kernel.I(face.Distance))
	if face.High {
		end = kernel.Sub(hi, kernel.I(face.Distance))
	}
	return kernel.Bin(op.Eq, at.pos[axis], end)
}

// through chooses between the places that an access leads to on one axis after the other, and
// reads at the offset of each.
func (f faceEnds) through(at *cell, a *ir.Access, read func([]int64) kernel.Expr) kernel.Expr {
	return f.choose(at, a, make([]int64, len(a.Index)), 0, false, read)
}

// choose is through from a dimension on. Signs multiply, and the first constant that is hit has none.
func (f faceEnds) choose(at *cell, a *ir.Access, offset []int64, d int, negated bool,
	read func([]int64) kernel.Expr) kernel.Expr {
	if d == len(a.Index) {
		value := read(offset)
		if negated {
			return kernel.Un(op.Neg, value)
		}
		return value
	}
	var value kernel.Expr
	for _, x := range pipeline.Mapped(a, d) {
		var there kernel.Expr
		if own := x.Distance < 0; !own {
			if there = f(at, d, x.Face); there == nil {
				continue
			}
		}
		offset[d] = x.Offset
		var v kernel.Expr
		faces := a.Array.Dims[d].Faces
		switch {
		case x.Constant && x.High:
			v = at.expr(faces.High.Value)
		case x.Constant:
			v = at.expr(faces.Low.Value)
		default:
			v = f.choose(at, a, offset, d+1, negated != x.Negated, read)
		}
		if there == nil {
			value = v
			continue
		}
		value = kernel.Sel(there, v, value)
	}
	return value
}

// held is the value that a source has at an offset from the cell.
func (c *pipeCell) held(from *pipeline.Source, offset []int64) kernel.Expr {
	last := len(offset) - 1
	age := c.stream.Age(c.stage, from, offset[0]) - c.at.Before
	r, x := c.r, c.x+offset[last]
	if last == 2 {
		r += offset[1]
	}
	if r < 0 || r >= c.rows {
		return c.foreign(from, age, r, x)
	}
	lanes := x / c.run
	if x < 0 {
		lanes = -((c.run - 1 - x) / c.run)
	}
	v := c.own(from, age, r, x-lanes*c.run)
	if lanes == 0 {
		return kernel.V(v)
	}
	key := fmt.Sprintf("%p.%d", v, lanes)
	if have := c.moved[key]; have != nil {
		return kernel.V(have)
	}
	s := &kernel.Shuffle{
		Var: c.body.declare(c.env, v.Name+"_near", v.Type), Kind: kernel.ShuffleDown, Value: kernel.V(v),
		By: kernel.L(op.Int(types.I32, lanes)),
	}
	if lanes < 0 {
		s.Kind, s.By = kernel.ShuffleUp, kernel.L(op.Int(types.I32, -lanes))
	}
	c.body.emit(s)
	c.moved[key] = s.Var
	return kernel.V(s.Var)
}

// between is the condition that a position is between two bounds, both included.
func between(x kernel.Expr, lo, hi kernel.Expr) kernel.Expr {
	return kernel.And(kernel.Ge(x, lo), kernel.Le(x, hi))
}

// store writes a row of an output: the cells that are the tile's own.
func (s *pipeStep) store(st *pipeline.Stage, r int64, plane kernel.Expr, row []*kernel.Var) {
	into := s.gridStore(st.Value.Memory)
	if st.Output.Spare {
		into, _ = s.spareStore(st.Value.Memory)
	}
	b := s.bufferOf(into)
	b.writes = true
	stored := s.stored(st, plane)
	for c := int64(0); c < s.run; c += s.vec {
		at := func(x int64) kernel.Expr { return s.flat(into, s.indices(s.place(plane, r, x))) }
		var cells, values = []kernel.Stmt{}, []kernel.Expr{}
		for x := c; x < c+s.vec; x++ {
			store := &kernel.Store{Buffer: b.buffer, Index: at(x), Value: kernel.V(row[x])}
			cells = append(cells, &kernel.If{Cond: s.has(stored, r, x, 1, true), Then: []kernel.Stmt{store}})
			values = append(values, kernel.V(row[x]))
		}
		if s.vec == 1 {
			s.body.emit(cells...)
			continue
		}
		all := &kernel.StoreVector{Buffer: b.buffer, Index: at(c), Values: values}
		some := []kernel.Stmt{}
		whole := s.has(stored, r, c, 1, false) // one instruction, where a vector is the tile's own or is not
		parts := s.guarded || s.withRims && !st.Output.Spare || s.late && s.overhang() > 0
		if parts && !(st.Output.Spare && s.wholeVectors()) {
			some = []kernel.Stmt{&kernel.If{Cond: s.has(stored, r, c, s.vec, false), Then: cells}}
			whole = s.has(stored, r, c, s.vec, true)
		}
		s.body.emit(&kernel.If{Cond: whole, Then: []kernel.Stmt{all}, Else: some})
	}
}

// indices are a position as indices of an array with all axes.
func (s *pipeStep) indices(pos map[int]kernel.Expr) []index {
	var idx []index
	for _, axis := range s.axes {
		idx = append(idx, index{axis: axis, at: pos[axis], plain: true})
	}
	return idx
}

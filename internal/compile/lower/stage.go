package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// stageCell is what a cell of a stage needs to know: where what it reads is. The cell's
// positions are those in the grid; where an axis wraps, tiles go on beyond its ends, and
// the place in the tile differs from the position.
type stageCell struct {
	pipeline *pipeline.Pipeline
	of       *pipeline.Stage
	in       map[*ir.Array]*graph.Value // what the expression that is being written reads
	// onChip reads another stage's value at the cell, moved on some axes.
	onChip func(c *cell, st *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr
	// held finds values in a family's own way; nil for those that it leaves to the above.
	held func(c *cell, a *ir.Access, v *graph.Value) kernel.Expr
	// ready returns the value of an operation that was computed before, else nil; the scalar
	// is that which the operation belongs to.
	ready     func(e ir.Expr, in *ir.Temp) kernel.Expr
	temporary *ir.Temp // the local scalar that is being written; nil for the statement
	terms     terms    // that were computed before; nil where expressions are computed as a whole
	// assigned are the axes on which the statement's domain is known to have the cell, inside
	// those on which no access crosses a boundary.
	assigned, inside map[int]bool
	earlier          kernel.Expr // iterations of rounds before that of the stage, an I32; nil for none
	// row is where values are named that do not vary along the row; nil for the cell itself.
	row *scope
}

// newStageCell starts the code for a cell of a stage.
func (s *spanKernel) newStageCell(st *pipeline.Stage, pos map[int]kernel.Expr, body *scope,
	onChip func(c *cell, st *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr) *cell {
	return &cell{
		nest: s.nest, pos: pos, row: body, body: body, vals: map[*ir.Temp]kernel.Expr{},
		stage: &stageCell{of: st, in: st.Inputs[nil], pipeline: s.pipeline, onChip: onChip},
	}
}

// value reads what an access means: from the chip if a stage computes it, else from memory.
func (s *stageCell) value(c *cell, a *ir.Access) kernel.Expr {
	v := s.in[a.Array]
	if s.held != nil {
		if value := s.held(c, a, v); value != nil {
			return value
		}
	}
	made := v.Def != nil
	var idx []index
	moved := map[int]kernel.Expr{} // from the cell, on each axis
	for d, ix := range a.Index {
		x, by := s.index(c, a, d, ix, made)
		idx = append(idx, x)
		if ix.Axis >= 0 {
			moved[ix.Axis] = by
		}
	}
	if made {
		return applied(s.onChip(c, s.pipeline.Stage(v), moved), idx)
	}
	return applied(s.fromMemory(c, v.Memory, idx), idx)
}

// fromMemory reads a grid as it was when the kernel began.
func (s *stageCell) fromMemory(c *cell, g *ir.Grid, idx []index) kernel.Expr {
	st := c.gridStore(g)
	b := c.bufferOf(st)
	b.reads = true
	return &kernel.Load{Buffer: b.buffer, Index: c.flat(st, idx)}
}

// index maps one index of an access, and says how far from the cell it leads. What is on
// the chip beyond an end that wraps stands there as itself.
func (s *stageCell) index(c *cell, a *ir.Access, d int, ix ir.Index, made bool) (index, kernel.Expr) {
	out := index{axis: ix.Axis, offset: ix.Offset, plain: true}
	if ix.Axis < 0 {
		out.at, out.key, out.plain = kernel.I(ix.Offset), fmt.Sprintf("=%d", ix.Offset), false
	} else {
		out.at, out.key = kernel.Add(c.pos[ix.Axis], kernel.I(ix.Offset)), fmt.Sprintf("%d%+d", ix.Axis, ix.Offset)
	}
	by := kernel.Expr(kernel.I(ix.Offset))
	if ix.Axis >= 0 && s.inside[ix.Axis] {
		return out, by
	}
	faces := a.Array.Dims[d].Faces
	low, high := faces.Low.Kind != ir.None, faces.High.Kind != ir.None
	if ix.Axis >= 0 && faces.Low.Kind == ir.Periodic && made {
		return out, by
	}
	if !low && !high || ix.Axis >= 0 && ix.Offset == 0 && c.stays(a, d) {
		return out, by
	}
	key := fmt.Sprintf("map:%s:%d:%s", a.Array.Name, d, out.key)
	in := c.body
	if s.row != nil && ix.Axis != c.inner() {
		in = s.row
	}
	to := c.throughFaces(in, a.Array, d, out, key, c.offsetName(out), low, high)
	if ix.Axis >= 0 {
		by = kernel.Sub(to.at, c.pos[ix.Axis])
	}
	return to, by
}

// stays reports whether a cell of the stage's array is one of another array on a dimension.
func (c *cell) stays(a *ir.Access, d int) bool {
	dim := c.stage.of.Dim(a.Index[d].Axis)
	return dim != nil && a.Array.Holds(d).Equal(ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}})
}

// temp computes a local scalar from what arrays held when it was assigned.
func (s *stageCell) temp(c *cell, t *ir.Temp) kernel.Expr {
	outer, of := s.in, s.temporary
	s.in, s.temporary = s.of.Inputs[t], t
	defer func() { s.in, s.temporary = outer, of }()
	for _, st := range s.of.Call.Body {
		if st.Temp == t {
			v := c.body.declare(c.env, t.Name, t.Type)
			c.body.emit(&kernel.Let{Var: v, Value: c.inTerms(st.Value)})
			c.vals[t] = kernel.V(v)
			return c.vals[t]
		}
	}
	panic("lower: a local scalar without a statement")
}

// inDomain is the condition under which the stage's statement assigns the cell; nil if it
// always does.
func (c *cell) inDomain() kernel.Expr {
	st := c.stage.of
	var cond kernel.Expr
	for _, axis := range st.Stmt.Axes {
		if c.stage.assigned[axis] {
			continue
		}
		r, dim := st.Stmt.Domain[axis], st.Dim(axis)
		if !sameBounds(r.Lo, []ir.Affine{dim.Lo}) {
			cond = conj(cond, kernel.Ge(c.pos[axis], c.low(r.Lo, nil)))
		}
		if !sameBounds(r.Hi, []ir.Affine{dim.Hi}) {
			cond = conj(cond, kernel.Le(c.pos[axis], c.high(r.Hi, nil)))
		}
	}
	if st.Stmt.Color != nil {
		cond = conj(cond, c.hasColor(st.Stmt.Color))
	}
	return cond
}

// compute writes the stage's value at the cell, which is one of the array's: what the
// statement assigns, or what the array held before. Where a local grid is not assigned it
// is undefined, and here 0. assigned is the condition of the first; nil if it always holds.
func (c *cell) compute() (value kernel.Expr, assigned kernel.Expr) {
	st := c.stage.of
	assigned = c.inDomain()
	if assigned == nil {
		return c.inTerms(st.Stmt.Value), nil
	}
	outer := c.body
	assigned = outer.let(c.env, "assigned", "assigned", assigned)
	kept := outer.declare(c.env, st.Stmt.Array.Name+"_new", st.Stmt.Array.Type)
	outer.emit(&kernel.Declare{Var: kept, Init: zero(kept.Type)})
	write := func(value func() kernel.Expr) []kernel.Stmt {
		c.body = newScope(outer)
		v := value()
		c.body.emit(&kernel.Assign{Var: kept, Value: v})
		return c.body.stmts
	}
	choice := &kernel.If{Cond: assigned, Then: write(func() kernel.Expr { return c.expr(st.Stmt.Value) })}
	if st.Value.Before != nil {
		choice.Else = write(c.before)
	}
	c.body, c.row = outer, outer
	c.vals = map[*ir.Temp]kernel.Expr{}
	outer.emit(choice)
	return kernel.V(kept), assigned
}

// before reads what the stage's array held at the cell before.
func (c *cell) before() kernel.Expr {
	st := c.stage.of
	if v := st.Value.Before; v.Def != nil {
		return c.stage.onChip(c, c.stage.pipeline.Stage(v), map[int]kernel.Expr{})
	}
	var idx []index
	for _, dim := range st.Stmt.Array.Dims {
		idx = append(idx, index{axis: dim.Axis, at: c.pos[dim.Axis], plain: true})
	}
	return c.stage.fromMemory(c, st.Value.Before.Memory, idx)
}

// wrapped returns the position of a cell that may lie beyond an end of a dimension which
// wraps.
func (e *env) wrapped(x kernel.Expr, dim *ir.Dim) kernel.Expr {
	lo := e.affine(dim.Lo)
	n := kernel.Add(kernel.Sub(e.affine(dim.Hi), lo), kernel.I(1))
	at := kernel.Add(floorMod(kernel.Sub(x, lo), n), lo)
	return kernel.Sel(kernel.And(kernel.Ge(x, lo), kernel.Bin(op.Le, x, e.affine(dim.Hi))), x, at)
}

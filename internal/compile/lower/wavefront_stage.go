package lower

import (
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// waveRow is a row of a stage, or a part of it: places in the block, which are positions in
// the grid but where an axis wraps.
type waveRow struct {
	*wavefront
	stage *pipeline.Stage
	axes  []waveAxis
	plane *scope        // that of the plane
	place []kernel.Expr // by axis
	pos   map[int]kernel.Expr
}

// waveAxis is an axis of a stage: the places that are computed, and those in the interior.
type waveAxis struct {
	from, to     kernel.Expr
	inFrom, inTo kernel.Expr // not limited to the block
	low, high    bool        // whether there are places below or above the interior
}

// stage computes a stage: a plane of the block, or the block if plane is nil.
func (w *wavefront) stage(s *scope, st *pipeline.Stage, plane kernel.Expr) {
	r := &waveRow{
		wavefront: w, stage: st, plane: s, place: make([]kernel.Expr, len(w.axes)), pos: map[int]kernel.Expr{},
	}
	for k, axis := range w.axes {
		a, in, dim := waveAxis{}, w.interior(st, k), st.Dim(axis)
		a.from, a.to = w.places(st, k)
		a.inFrom, a.inTo = w.low(in.Lo, nil), kernel.Add(w.high(in.Hi, nil), kernel.I(1))
		a.low = w.wraps(st, k) || !sameBounds(in.Lo, []ir.Affine{dim.Lo})
		a.high = w.wraps(st, k) || !sameBounds(in.Hi, []ir.Affine{dim.Hi})
		r.axes = append(r.axes, a)
	}
	k := 0
	if plane != nil {
		r.at(s, 0, plane)
		k = 1
	}
	r.rows(s, k)
	if st.Kept && st.Output != nil {
		r.copyRows(s, plane != nil)
	}
}

// at sets the place on an axis.
func (r *waveRow) at(s *scope, k int, place kernel.Expr) {
	axis := r.wavefront.axes[k]
	r.place[k], r.pos[axis] = place, place
	if r.wraps(r.stage, k) {
		name := r.Program.Axes[axis] + "_at"
		r.pos[axis] = s.let(r.env, name, name, r.wrapped(place, r.stage.Dim(axis)))
	}
}

// rows makes the loops over the rows from an axis on.
func (r *waveRow) rows(s *scope, k int) {
	if k == len(r.axes)-1 {
		r.row(s)
		return
	}
	a := r.axes[k]
	v := r.counter(k)
	inner := newScope(s)
	r.at(inner, k, kernel.V(v))
	r.rows(inner, k+1)
	s.emit(&kernel.Loop{Var: v, Lo: a.from, Hi: a.to, Step: kernel.I(1), Body: inner.stmts})
}

// row computes a row: where it is inside on the other axes without any guard but at its ends.
func (r *waveRow) row(s *scope) {
	var cond kernel.Expr
	inside, outside := map[int]bool{}, map[int]bool{}
	last := len(r.axes) - 1
	for k, a := range r.axes[:last] {
		axis := r.wavefront.axes[k]
		inside[axis], outside[axis] = true, !a.low && !a.high
		if a.low {
			cond = conj(cond, kernel.Ge(r.place[k], a.inFrom))
		}
		if a.high {
			cond = conj(cond, kernel.Lt(r.place[k], a.inTo))
		}
	}
	if cond == nil {
		r.parts(s, inside)
		return
	}
	then, other := newScope(s), newScope(s)
	r.parts(then, inside)
	r.parts(other, outside)
	s.emit(&kernel.If{Cond: cond, Then: then.stmts, Else: other.stmts})
}

// parts computes a row in three parts: those at the ends have guards.
func (r *waveRow) parts(s *scope, inside map[int]bool) {
	last := len(r.axes) - 1
	a, axis, name := r.axes[last], r.wavefront.axes[last], r.Program.Axes[r.wavefront.axes[last]]
	from, to := a.from, a.to
	if a.low {
		from = s.let(r.env, "from", name+"_from", least(most(a.inFrom, a.from), a.to))
	}
	if a.high {
		to = s.let(r.env, "to", name+"_to", most(least(a.inTo, a.to), from))
	}
	ends, middle := map[int]bool{}, map[int]bool{axis: true}
	for axis, in := range inside {
		ends[axis], middle[axis] = in, in
	}
	if a.low {
		r.part(s, ends, a.from, from, false)
	}
	r.part(s, middle, from, to, true)
	if a.high {
		r.part(s, ends, to, a.to, false)
	}
}

// part makes a loop over cells of a row; inside are the axes on which they are in the interior.
func (r *waveRow) part(row *scope, inside map[int]bool, lo, hi kernel.Expr, long bool) {
	last := len(r.axes) - 1
	i := r.counter(last)
	body := newScope(row)
	r.place[last], r.pos[r.wavefront.axes[last]] = kernel.V(i), kernel.V(i)
	if !long {
		r.at(body, last, kernel.V(i))
	}
	loop := &kernel.Loop{Var: i, Lo: lo, Hi: hi, Step: kernel.I(1), Path: kernel.Interior}
	for _, axis := range r.wavefront.axes {
		if !inside[axis] {
			loop.Path = kernel.Edge
		}
	}
	c := &cell{nest: r.nest, pos: r.pos, row: row, body: body, vals: map[*ir.Temp]kernel.Expr{}}
	c.stage = &stageCell{
		of: r.stage, in: r.stage.Inputs[nil], pipeline: r.pipeline, inside: inside, row: row, held: r.value,
		onChip: func(c *cell, st *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr {
			return &kernel.Load{Buffer: r.planes[st].buffer, Index: r.element(r, c, st, moved)}
		},
	}
	value, assigned := c.compute()
	c.row = row
	switch {
	case r.stage.Kept:
		c.body.emit(&kernel.Store{Buffer: r.planes[r.stage].buffer, Index: r.element(r, c, r.stage, nil), Value: value})
	default:
		store := r.toMemory(c, value)
		if assigned != nil && !r.stage.Output.Spare {
			store = &kernel.If{Cond: assigned, Then: []kernel.Stmt{store}}
		}
		c.body.emit(store)
	}
	if long && r.stage.Stmt.Color == nil {
		loop.Tag = kernel.Vector
	}
	if r.stage.Stmt.Color != nil {
		loop.Path = kernel.Edge // each cell is tested
	}
	loop.Body = c.body.stmts
	row.emit(loop)
}

// value reads what an access means: from the planes of another stage, or from memory.
func (r *waveRow) value(c *cell, a *ir.Access, v *graph.Value) kernel.Expr {
	var idx []index
	moved := map[int]kernel.Expr{}
	for d, ix := range a.Index {
		x, by := c.stage.index(c, a, d, ix, v.Def != nil)
		idx = append(idx, x)
		if ix.Axis >= 0 {
			moved[ix.Axis] = by
		}
	}
	if v.Def != nil {
		return applied(c.stage.onChip(c, r.pipeline.Stage(v), moved), idx)
	}
	st := c.gridStore(v.Memory)
	b := c.bufferOf(st)
	b.reads = true
	return applied(&kernel.Load{Buffer: b.buffer, Index: c.element(st, idx)}, idx)
}

// toMemory stores a value at the cell.
func (r *waveRow) toMemory(c *cell, value kernel.Expr) kernel.Stmt {
	into := r.gridStore(r.stage.Value.Memory)
	if r.stage.Output.Spare {
		into, _ = r.spareStore(r.stage.Value.Memory)
	}
	b := r.bufferOf(into)
	b.writes = true
	var idx []index
	for _, dim := range r.stage.Stmt.Array.Dims {
		idx = append(idx, index{axis: dim.Axis, at: c.pos[dim.Axis], plain: true, key: "own"})
	}
	return &kernel.Store{Buffer: b.buffer, Index: c.element(into, idx), Value: value}
}

// copyRows stores what the block has computed of an output that later stages read, too: its
// own cells, of those the ones that are assigned unless all are to be stored.
func (r *waveRow) copyRows(s *scope, plane bool) {
	var from, to []kernel.Expr
	for k, axis := range r.wavefront.axes {
		dim := r.stage.Dim(axis)
		lo, hi := r.affine(dim.Lo), kernel.Add(r.affine(dim.Hi), kernel.I(1))
		if !r.stage.Output.Spare {
			in := r.stage.Stmt.Domain[axis]
			lo, hi = r.low(in.Lo, lo), kernel.Add(r.high(in.Hi, kernel.Sub(hi, kernel.I(1))), kernel.I(1))
		}
		from, to = append(from, most(r.from[k], lo)), append(to, least(r.to[k], hi))
	}
	last := len(r.axes) - 1
	var next func(s *scope, k int)
	next = func(s *scope, k int) {
		v := r.counter(k)
		inner := newScope(s)
		r.place[k], r.pos[r.wavefront.axes[k]] = kernel.V(v), kernel.V(v)
		loop := &kernel.Loop{Var: v, Lo: from[k], Hi: to[k], Step: kernel.I(1)}
		if k < last {
			next(inner, k+1)
		} else {
			loop.Tag = kernel.Vector
			c := &cell{nest: r.nest, pos: r.pos, row: s, body: inner}
			value := &kernel.Load{Buffer: r.planes[r.stage].buffer, Index: r.element(r, c, r.stage, nil)}
			inner.emit(r.toMemory(c, value))
		}
		loop.Body = inner.stmts
		s.emit(loop)
	}
	if !plane {
		next(s, 0)
		return
	}
	r.pos[r.wavefront.axes[0]] = r.place[0]
	own := newScope(s)
	next(own, 1)
	s.emit(&kernel.If{Cond: kernel.And(kernel.Ge(r.place[0], from[0]), kernel.Lt(r.place[0], to[0])), Then: own.stmts})
}

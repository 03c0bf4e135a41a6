package lower

import (
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
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
	exact        bool        // whether those are left as they were, all of them
}

// stage computes a stage: a plane of the block, or the block if plane is nil.
func (w *wavefront) stage(s *scope, st *pipeline.Stage, plane kernel.Expr) {
	r := &waveRow{
		wavefront: w, stage: st, plane: s, place: make([]kernel.Expr, len(w.axes)), pos: map[int]kernel.Expr{},
	}
	for k, axis := range w.axes {
		a, in, dim := waveAxis{}, st.Inside[k], st.Dim(axis)
		a.from, a.to = w.places(st, k)
		a.inFrom, a.inTo = w.low(in.Lo, nil), kernel.Add(w.high(in.Hi, nil), kernel.I(1))
		a.low = w.wraps(st, k) || !sameBounds(in.Lo, []ir.Affine{dim.Lo})
		a.high = w.wraps(st, k) || !sameBounds(in.Hi, []ir.Affine{dim.Hi})
		a.exact = !w.wraps(st, k) && in.Equal(st.Stmt.Domain[axis])
		r.axes = append(r.axes, a)
	}
	k := 0
	if plane != nil {
		r.place[0] = plane
		r.at(s, 0)
		k = 1
	}
	// The ends of all rows come first: a row's alone may wait for memory, and all wait together.
	if last := r.axes[len(r.axes)-1]; last.low || last.high {
		r.rows(s, k, r.ends)
	}
	r.rows(s, k, r.middle)
	if st.Kept && st.Output != nil {
		r.copyRows(s, plane != nil)
	}
}

// at finds the position on an axis that the place stands for.
func (r *waveRow) at(s *scope, k int) {
	axis, place := r.wavefront.axes[k], r.place[k]
	r.pos[axis] = place
	if r.wraps(r.stage, k) {
		name := r.Program.Axes[axis] + "_at"
		r.pos[axis] = s.let(r.env, name, name, r.wrapped(place, r.stage.Dim(axis)))
	}
}

// rowCells are cells of a row: the axes on which the statement's domain has them, and on which
// no access crosses a boundary. Those that are left keep what they were.
type rowCells struct {
	assigned, inside map[int]bool
	left             bool
}

// rows makes the loops over the rows from an axis on, with what row makes for each.
func (r *waveRow) rows(s *scope, k int, row func(s *scope)) {
	if k == len(r.axes)-1 {
		row(s)
		return
	}
	inner := newScope(s)
	loop := r.over(k, r.axes[k].from, r.axes[k].to)
	r.at(inner, k)
	r.rows(inner, k+1, row)
	loop.Body = inner.stmts
	s.emit(loop)
}

// over makes a loop over places on an axis, which are positions unless the axis wraps.
func (r *waveRow) over(k int, from, to kernel.Expr) *kernel.Loop {
	axis := r.wavefront.axes[k]
	v := kernel.NewVar(r.Program.Axes[axis], types.I64)
	r.place[k], r.pos[axis] = kernel.V(v), kernel.V(v)
	return &kernel.Loop{Var: v, Lo: from, Hi: to, Step: kernel.I(1)}
}

// versions makes a row as it is inside on the other axes, without any guard for them, and
// elsewhere one that the statement assigns and one that it leaves as it was.
func (r *waveRow) versions(s *scope, cells func(s *scope, of rowCells)) {
	var inner, domain kernel.Expr
	exact := true
	all, some := map[int]bool{}, map[int]bool{}
	for k, a := range r.axes[:len(r.axes)-1] {
		axis := r.wavefront.axes[k]
		all[axis], some[axis], exact = true, !a.low && !a.high, exact && a.exact
		if a.low {
			inner = conj(inner, kernel.Ge(r.place[k], a.inFrom))
		}
		if a.high {
			inner = conj(inner, kernel.Lt(r.place[k], a.inTo))
		}
		in, dim := r.stage.Stmt.Domain[axis], r.stage.Dim(axis)
		if !sameBounds(in.Lo, []ir.Affine{dim.Lo}) {
			domain = conj(domain, kernel.Ge(r.pos[axis], r.low(in.Lo, nil)))
		}
		if !sameBounds(in.Hi, []ir.Affine{dim.Hi}) {
			domain = conj(domain, kernel.Le(r.pos[axis], r.high(in.Hi, nil)))
		}
	}
	version := func(of rowCells) []kernel.Stmt {
		list := newScope(s)
		cells(list, of)
		return list.stmts
	}
	list := version(rowCells{assigned: all, inside: all})
	if inner != nil {
		var other []kernel.Stmt
		if !exact {
			other = version(rowCells{assigned: all, inside: some})
		}
		if domain != nil {
			left := version(rowCells{left: true})
			if exact {
				other = left
			} else {
				other = []kernel.Stmt{&kernel.If{Cond: domain, Then: other, Else: left}}
			}
		}
		list = []kernel.Stmt{&kernel.If{Cond: inner, Then: list, Else: other}}
	}
	s.emit(list...)
}

// interior returns where the interior of a row begins and ends, within the block.
func (r *waveRow) interior() (from, to kernel.Expr) {
	last := len(r.axes) - 1
	a, name := r.axes[last], r.Program.Axes[r.wavefront.axes[last]]
	from, to = a.from, a.to
	if a.low {
		from = r.plane.let(r.env, "from", name+"_from", least(most(a.inFrom, a.from), a.to))
	}
	if a.high {
		to = r.plane.let(r.env, "to", name+"_to", most(least(a.inTo, a.to), from))
	}
	return from, to
}

// ends computes the cells of a row outside its interior, each with guards.
func (r *waveRow) ends(s *scope) {
	a := r.axes[len(r.axes)-1]
	from, to := r.interior()
	both := func(s *scope, of rowCells) {
		if a.low {
			r.cells(s, of, a.from, from)
		}
		if a.high {
			r.cells(s, of, to, a.to)
		}
	}
	if a.exact {
		both(s, rowCells{left: true})
		return
	}
	r.versions(s, both)
}

// middle computes the interior of a row.
func (r *waveRow) middle(s *scope) { r.versions(s, r.interiorCells) }

// interiorCells begin with those before the first one that is aligned in memory, if others are
// not.
func (r *waveRow) interiorCells(s *scope, of rowCells) {
	last := r.wavefront.axes[len(r.axes)-1]
	of.assigned, of.inside = with(of.assigned, last), with(of.inside, last)
	from, to := r.interior()
	if start := r.aligned(s, from, to); start != nil {
		r.cells(s, of, from, start)
		from = start
	}
	r.cells(s, of, from, to)
}

func with(axes map[int]bool, axis int) map[int]bool {
	all := map[int]bool{axis: true}
	maps.Copy(all, axes)
	return all
}

// aligned returns the first cell of a row's interior that is aligned; nil if the interior is to
// begin where it does, as it is laid out between stages. Memory that is read may lie otherwise,
// and so do blocks that begin elsewhere than the interior.
func (r *waveRow) aligned(s *scope, from, to kernel.Expr) kernel.Expr {
	last := len(r.axes) - 1
	name := r.Program.Axes[r.wavefront.axes[last]] + "_aligned"
	if b, element := r.memoryRow(s, from); b != nil {
		return s.let(r.env, name, name, alignedFrom(b, element, from, to))
	}
	if r.block[last] == 0 {
		return nil
	}
	first := r.axes[last].inFrom
	start := kernel.Add(first, roundUp(kernel.Sub(from, first), alignedCells(r.stage)))
	return r.plane.let(r.env, name, name, least(start, to))
}

// memoryRow returns the memory that most accesses of the stage read, and its element at a cell
// of the row; nil if most read what is between stages.
func (r *waveRow) memoryRow(s *scope, first kernel.Expr) (*kernel.Buffer, kernel.Expr) {
	n := 0
	var read *ir.Access
	var memory *ir.Grid
	_ = r.stage.Accesses(func(a *ir.Access, v *graph.Value) error {
		if v.Def != nil {
			n--
			return nil
		}
		n++
		if len(a.Array.Dims) == len(r.axes) {
			read, memory = a, v.Memory
		}
		return nil
	})
	if n <= 0 || read == nil {
		return nil, nil
	}
	pos := maps.Clone(r.pos)
	pos[r.wavefront.axes[len(r.axes)-1]] = first
	var idx []index
	for _, dim := range read.Array.Dims {
		idx = append(idx, index{axis: dim.Axis, at: pos[dim.Axis], plain: true, key: "own"})
	}
	c, st := &cell{nest: r.nest, pos: pos, row: s}, r.gridStore(memory)
	b := r.bufferOf(st)
	b.reads = true
	return b.buffer, c.element(st, idx)
}

// cells makes a loop over cells of a row.
func (r *waveRow) cells(row *scope, of rowCells, from, to kernel.Expr) {
	if of.left && !r.stage.Kept && !r.stage.Output.Spare {
		return
	}
	k := len(r.axes) - 1
	last, body := r.wavefront.axes[k], newScope(row)
	loop := r.over(k, from, to)
	if !of.inside[last] {
		r.at(body, k)
	}
	c := &cell{nest: r.nest, pos: r.pos, row: row, body: body, vals: map[*ir.Temp]kernel.Expr{}}
	c.stage = &stageCell{
		of: r.stage, in: r.stage.Inputs[nil], pipeline: r.pipeline, row: row, held: r.value,
		assigned: of.assigned, inside: of.inside,
		onChip: func(c *cell, st *pipeline.Stage, moved map[int]kernel.Expr) kernel.Expr {
			return &kernel.Load{Buffer: r.planes[st].buffer, Index: r.element(c, st, moved)}
		},
	}
	value, assigned := r.valueOf(c, of.left)
	c.row = row
	switch {
	case r.stage.Kept:
		c.body.emit(&kernel.Store{Buffer: r.planes[r.stage].buffer, Index: r.element(c, r.stage, nil), Value: value})
	case r.stage.Output.Spare || assigned == nil:
		c.body.emit(r.toMemory(c, value))
	default:
		c.body.emit(&kernel.If{Cond: assigned, Then: []kernel.Stmt{r.toMemory(c, value)}})
	}
	loop.Body = c.body.stmts
	coloured := r.stage.Stmt.Color != nil && !of.left
	if of.inside[last] && !coloured {
		loop.Tag = kernel.Vector
	}
	loop.Path = kernel.Edge
	if !coloured && !slices.ContainsFunc(r.wavefront.axes, func(axis int) bool { return !of.inside[axis] }) {
		loop.Path = kernel.Interior
	}
	if n, ok := kernel.Trips(loop); ok && n == 1 {
		at := &kernel.Let{Var: loop.Var, Value: from}
		r.updates[at] = !of.left
		row.emit(append([]kernel.Stmt{at}, loop.Body...)...)
		return
	}
	r.updates[loop] = !of.left
	row.emit(loop)
}

// valueOf is the value of the stage at a cell, and where the statement assigns it; nil if it
// always does, or if the cell is left as it was.
func (r *waveRow) valueOf(c *cell, left bool) (value, assigned kernel.Expr) {
	switch {
	case !left:
		return c.compute()
	case r.stage.Value.Before == nil: // undefined
		return zero(r.stage.Stmt.Array.Type), nil
	}
	return c.before(), nil
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
	var next func(s *scope, k int)
	next = func(s *scope, k int) {
		inner := newScope(s)
		loop := r.over(k, from[k], to[k])
		if k < len(r.axes)-1 {
			next(inner, k+1)
		} else {
			loop.Tag = kernel.Vector
			c := &cell{nest: r.nest, pos: r.pos, row: s, body: inner}
			value := &kernel.Load{Buffer: r.planes[r.stage].buffer, Index: r.element(c, r.stage, nil)}
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

package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// compute writes the group's statements for the cells of a thread: the first
// statement at all of them, then the next. Values are computed everywhere;
// stores ask whether the cell is one to be updated. Only a statement that is
// confined to its cells runs at no others.
func (w *tiledKernel) compute() {
	for _, s := range w.stmts {
		for from := 0; from < len(w.cells); from += int(w.vec) {
			vector := w.cells[from : from+int(w.vec)]
			if w.confined(s) {
				w.guardedVector(s, vector)
				continue
			}
			w.put(s, vector, w.values(s, vector))
		}
	}
}

// confined reports whether a statement may run at its own cells only: it reads an
// array that the group writes, so that other threads may be writing the cells
// beyond its domain, or a temp of an earlier kernel, which has no values there.
func (w *tiledKernel) confined(s *statement) bool {
	for _, a := range accesses(s.src.Value) {
		if w.written[a.Array] && w.snapshots[a.Array] == nil {
			return true
		}
	}
	return w.readsForeign(s)
}

// readsForeign reports whether a statement reads a temp of an earlier kernel.
func (n *nest) readsForeign(s *statement) (foreign bool) {
	ir.Walk(s.src.Value, func(e ir.Expr) {
		t, ok := e.(ir.TempRef)
		foreign = foreign || ok && !n.local[t.Temp]
	})
	return foreign
}

// guardedVector runs a statement at those cells of a vector that are the statement's.
func (w *tiledKernel) guardedVector(s *statement, vector []*cell) {
	if s.src.Reduce == nil || !w.blockReduction.folds(s) {
		for _, c := range vector {
			w.guarded(s, c, nil)
		}
		return
	}
	var values []kernel.Expr
	for _, c := range vector {
		kept := w.blockReduction.keep(w.now, s)
		w.guarded(s, c, kept)
		values = append(values, kernel.V(kept))
	}
	w.fold(s, vector[0], values)
}

// fold gives the values of a vector, of which c is the first cell, to the block reduction.
func (w *tiledKernel) fold(s *statement, c *cell, values []kernel.Expr) {
	place := vectorPlace{number: w.threadNumber(), at: c.at, guard: w.reaches(s.where[0], c.place, segmentOf)}
	if v, ok := w.thread[w.inner()]; ok {
		place.thread = kernel.V(v)
	}
	w.blockReduction.fold(w.now, s, values, place)
}

// guarded runs a statement at one cell, if it is one of the statement's. The value
// of a reduction goes into a variable, if there is one for it.
func (w *tiledKernel) guarded(s *statement, c *cell, kept *kernel.Var) {
	cond := w.updates(s, c)
	inner := w.inside(w.now)
	outerNow := w.now
	var keep *kernel.Var
	if t := s.src.Temp; t != nil {
		keep = w.now.declare(w.env, t.Name, t.Type)
		w.now.emit(&kernel.Declare{Var: keep, Init: zero(t.Type)})
	}
	w.now, c.body = inner, inner
	value := c.expr(s.src.Value)
	switch {
	case keep != nil:
		inner.emit(&kernel.Assign{Var: keep, Value: value})
		c.vals[s.src.Temp] = kernel.V(keep)
		if s.into != nil {
			inner.emit(w.storeCell(s, c, kernel.V(keep)))
		}
	case kept != nil:
		inner.emit(&kernel.Assign{Var: kept, Value: w.colored(s, c, value)})
	case s.src.Reduce != nil:
		inner.emit(w.partial(s, c, value))
	default:
		inner.emit(w.storeCell(s, c, value))
	}
	w.now = outerNow
	w.when(cond, inner.stmts)
}

// when emits statements under a condition; nil is none.
func (w *tiledKernel) when(cond kernel.Expr, list []kernel.Stmt) {
	if cond == nil {
		w.now.stmts = append(w.now.stmts, list...)
		return
	}
	w.now.emit(&kernel.If{Cond: cond, Then: list})
}

// values computes what a statement gives to a vector of cells.
func (w *tiledKernel) values(s *statement, vector []*cell) []kernel.Expr {
	var values []kernel.Expr
	for _, c := range vector {
		c.body = w.now
		value := c.expr(s.src.Value)
		switch value.(type) {
		case *kernel.Lit, *kernel.Ref:
		default:
			name := "value"
			switch {
			case s.src.Temp != nil:
				name = s.src.Temp.Name
			case s.src.Array != nil:
				name = "new_" + s.src.Array.Name
			}
			v := w.now.declare(w.env, name, value.Type())
			w.now.emit(&kernel.Let{Var: v, Value: value})
			value = kernel.V(v)
		}
		if s.src.Temp != nil {
			c.vals[s.src.Temp] = value
		}
		values = append(values, value)
	}
	return values
}

// put stores the values of those cells of a vector that a statement updates.
func (w *tiledKernel) put(s *statement, vector []*cell, values []kernel.Expr) {
	if s.src.Reduce != nil && w.blockReduction.folds(s) {
		var own []kernel.Expr
		for i, c := range vector {
			value := w.colored(s, c, values[i])
			if cond := w.updates(s, c); cond != nil {
				value = kernel.Sel(cond, value, neutral(s.src.Reduce.Kind, value.Type()))
			}
			own = append(own, value)
		}
		w.fold(s, vector[0], own)
		return
	}
	if s.src.Reduce != nil {
		for i, c := range vector {
			w.when(w.updates(s, c), []kernel.Stmt{w.partial(s, c, values[i])})
		}
		return
	}
	if s.into == nil {
		return
	}
	var single []kernel.Stmt
	for i, c := range vector {
		st := w.storeCell(s, c, values[i])
		if cond := w.updates(s, c); cond != nil {
			st = &kernel.If{Cond: cond, Then: []kernel.Stmt{st}}
		}
		single = append(single, st)
	}
	whole, ok := w.whole(s, vector)
	if !ok {
		w.now.stmts = append(w.now.stmts, single...)
		return
	}
	b := w.cells[0].bufferOf(s.into)
	b.writes = true
	n := Chunk(w.vec, s.into.elem)
	var wide []kernel.Stmt
	for from := int64(0); from < w.vec; from += n {
		at := vector[from].here(s.into)
		wide = append(wide, &kernel.StoreVector{
			Buffer: b.buffer, Index: at, Values: values[from : from+n], Via: w.stores,
		})
	}
	if whole == nil {
		w.now.stmts = append(w.now.stmts, wide...)
		return
	}
	w.now.emit(&kernel.If{Cond: whole, Then: wide, Else: single})
}

// partial takes what one cell gives to a reduction.
func (w *tiledKernel) partial(s *statement, c *cell, value kernel.Expr) kernel.Stmt {
	return w.blockReduction.sink(c)(s, w.colored(s, c, value))
}

// colored is what a cell gives to a reduction, also one of another colour.
func (w *tiledKernel) colored(s *statement, c *cell, value kernel.Expr) kernel.Expr {
	if s.src.Color == nil {
		return value
	}
	return kernel.Sel(c.hasColor(s.src.Color), value, identity(s.src.Reduce.Kind, value.Type()))
}

func (w *tiledKernel) storeCell(s *statement, c *cell, value kernel.Expr) kernel.Stmt {
	b := c.bufferOf(s.into)
	b.writes = true
	return &kernel.Store{Buffer: b.buffer, Index: c.here(s.into), Value: value, Via: w.stores}
}

// whole returns the condition under which a statement updates all cells of a
// vector and they are neighbours in aligned memory; whether that can be at all.
func (w *tiledKernel) whole(s *statement, vector []*cell) (kernel.Expr, bool) {
	if w.vec == 1 || len(s.where) != 1 || s.where[0].Color != nil {
		return nil, false
	}
	if s.src.Array == nil || !w.vectors(s.src.Array) || Chunk(w.vec, s.into.elem) == 1 {
		return nil, false
	}
	return w.within(s.where[0], vector[0].place, w.vec), true
}

// updates returns the condition under which a statement runs at a cell, or nil
// if it always does.
func (w *tiledKernel) updates(s *statement, c *cell) kernel.Expr {
	var any kernel.Expr
	for _, cells := range s.where {
		in := w.within(cells, c.place, 1)
		if cells.Color != nil {
			in = conj(in, c.hasColor(cells.Color))
		}
		if in == nil {
			return nil
		}
		if any == nil {
			any = in
		} else {
			any = kernel.Bin(op.LOr, any, in)
		}
	}
	return any
}

// within returns the condition under which so many neighbours from a place of
// the thread's tile on are all in a box; nil if they always are.
func (w *tiledKernel) within(cells analysis.Cells, place map[int]int64, run int64) kernel.Expr {
	return w.reaches(cells, place, stretch{last: run - 1})
}

// stretch is a run of neighbours from a place on. It reaches a box if its cell first
// is not before it and its cell last not after it.
type stretch struct{ first, last int64 }

// segmentOf reaches a box if any cell of the segment is in it.
var segmentOf = stretch{first: ir.Segment - 1}

// reaches returns the condition under which a stretch reaches a box; nil if it always
// does.
func (w *tiledKernel) reaches(cells analysis.Cells, place map[int]int64, run stretch) kernel.Expr {
	var all kernel.Expr
	key := fmt.Sprintf("within:%d:%d", run.first, run.last)
	for _, axis := range w.axes {
		r := cells.Box[axis]
		sp := w.span[axis]
		first := kernel.Add(w.pos[axis], kernel.I(place[axis]))
		last := first
		if axis == w.inner() {
			first, last = kernel.Add(first, kernel.I(run.first)), kernel.Add(first, kernel.I(run.last))
		}
		exact := w.exact(axis)
		lo, hi := r.Lo, r.Hi
		if !(axis != w.inner() && (len(lo) == 0 || sameBounds(lo, sp.loBounds))) {
			all = conj(all, kernel.Ge(first, w.low(lo, sp.lo)))
		}
		if !(exact && (len(hi) == 0 || sameBounds(hi, sp.hiBounds))) {
			all = conj(all, kernel.Le(last, w.high(hi, kernel.Sub(sp.hi, kernel.I(1)))))
		}
		key += fmt.Sprintf(":%d:%s", place[axis], w.rangeKey(r))
	}
	if own := w.hasCells(); own != nil {
		all = conj(all, own)
	}
	if all == nil {
		return nil
	}
	name := "inside"
	switch {
	case run == segmentOf:
		name = "segment_inside"
	case run.last > 0:
		name = "all_inside"
	}
	return w.pre.let(w.env, key, name, all)
}

// value returns what an access of a cell of the thread's tile reads.
func (w *tiledKernel) value(c *cell, a *ir.Access) kernel.Expr {
	if w.written[a.Array] && w.snapshots[a.Array] == nil {
		value, _ := w.anywhere(c, a) // a statement may have changed it meanwhile
		return value
	}
	if w.readsRow(a) {
		r, x := w.row(a, c.place)
		return r.held[x]
	}
	value, key := w.anywhere(c, a)
	return w.pre.let(w.env, key, a.Array.Name+"_value", value)
}

// anywhere loads what an access reads at a cell of the thread's tile, wherever
// that is; equal keys, equal values.
func (w *tiledKernel) anywhere(c *cell, a *ir.Access) (value kernel.Expr, key string) {
	st, buf, via := w.source(a.Array, 1)
	var idx []index
	key = fmt.Sprintf("load:%p", a.Array)
	for d, ix := range a.Index {
		if ix.Axis < 0 {
			idx = append(idx, w.fixedIndex(a.Array, d, ix.Offset))
		} else {
			idx = append(idx, w.index(a.Array, d, ix.Axis, ix.Offset+c.place[ix.Axis]))
		}
		key += idx[d].key + ";"
	}
	return applied(&kernel.Load{Buffer: buf, Index: w.element(st, idx), Via: via}, idx), key
}

// fixedIndex maps a constant index.
func (w *tiledKernel) fixedIndex(a *ir.Array, d int, at int64) index {
	c := w.cells[0]
	row, body := c.row, c.body
	c.row, c.body = w.pre, w.pre
	edge := c.edge
	c.edge = map[int]bool{}
	out := c.index(&ir.Access{Array: a}, d, ir.Index{Axis: -1, Offset: at})
	c.row, c.body, c.edge = row, body, edge
	return out
}

// threadNumber names the thread's number in the block.
func (w *tiledKernel) threadNumber() kernel.Expr { return w.pre.let(w.env, "lane", "lane", w.lane) }

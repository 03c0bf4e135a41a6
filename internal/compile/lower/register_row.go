package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// registerRow is a row of cells that a thread reads, each loaded once: those of one of the thread's vectors, and those
// beside it. They are numbered from the first of the vector; those below 0 and from vec on belong to other lanes.
type registerRow struct {
	array  *ir.Array
	offset []int64 // by dimension, of all but the inner one
	first  int64   // of the vector, from the thread's position on the inner axis
	need   map[int64]bool
	held   map[int64]kernel.Expr
}

// readsRow reports whether an access reads a run of memory that a row can
// hold: no index is constant, the last dimension is the inner axis, and no
// thread writes the array.
func (w *tiledKernel) readsRow(a *ir.Access) bool {
	if w.written[a.Array] && w.snapshots[a.Array] == nil {
		return false
	}
	last := len(a.Index) - 1
	for d, ix := range a.Index {
		if ix.Axis < 0 || (ix.Axis == w.inner()) != (d == last) {
			return false
		}
	}
	return last >= 0
}

// row finds the row and the cell that an access of a cell of the thread's tile reads.
func (w *tiledKernel) row(a *ir.Access, place map[int]int64) (r *registerRow, cell int64) {
	r = &registerRow{array: a.Array, need: map[int64]bool{}, held: map[int64]kernel.Expr{}}
	key := fmt.Sprintf("%p", a.Array)
	for _, ix := range a.Index {
		off := ix.Offset + place[ix.Axis]
		if ix.Axis == w.inner() {
			r.first = place[ix.Axis] - mod(place[ix.Axis], w.vec)
			cell = off - r.first
			r.offset = append(r.offset, 0)
			key += fmt.Sprintf(":%d", r.first)
			continue
		}
		r.offset = append(r.offset, off)
		key += fmt.Sprintf(";%d", off)
	}
	if old, ok := w.rowOf[key]; ok {
		return old, cell
	}
	w.rowOf[key] = r
	w.rows = append(w.rows, r)
	return r, cell
}

// plan finds the rows that the thread's cells read.
func (w *tiledKernel) plan() {
	for _, s := range w.stmts {
		for _, a := range accesses(s.src.Value) {
			for _, c := range w.cells {
				if w.readsRow(a) {
					r, x := w.row(a, c.place)
					r.need[x] = true
				}
			}
		}
	}
}

func sorted(set map[int64]bool) []int64 {
	var out []int64
	for x := range set {
		out = append(out, x)
	}
	slices.Sort(out)
	return out
}

// own reports whether a cell is one of the thread's vector.
func (w *tiledKernel) own(x int64) bool { return x >= 0 && x < w.vec }

// load makes the cells of all rows available.
func (w *tiledKernel) load() {
	for _, r := range w.rows {
		if !w.fromRegisters(r) {
			r.held = w.loadOwn(r)
		}
		w.extend(r, sorted(r.need))
	}
}

// cellName names a cell of a row: u_kp1 or u_jm1_ip2.
func (w *tiledKernel) cellName(r *registerRow, x int64) string {
	name := r.array.Name
	for d, dim := range r.array.Dims {
		off := r.offset[d]
		if dim.Axis == w.inner() {
			off = r.first + x
		}
		if off != 0 {
			name += "_" + w.cells[0].offsetName(index{axis: dim.Axis, offset: off})
		}
	}
	return name
}

// outerIndex returns the indices of a row on all axes but the inner one.
func (w *tiledKernel) outerIndex(r *registerRow) []index {
	var idx []index
	for d, dim := range r.array.Dims {
		if dim.Axis != w.inner() {
			idx = append(idx, w.index(r.array, d, dim.Axis, r.offset[d]))
		}
	}
	return idx
}

// inMemory returns the store that a row is loaded from.
func (w *tiledKernel) inMemory(a *ir.Array) (*store, *kernel.Buffer) {
	st := w.cells[0].storeOf(a)
	b := w.cells[0].bufferOf(st)
	b.reads = true
	return st, b.buffer
}

// via is how an array is loaded from the device's own memory: the read-only
// path is for what the kernel does not write.
func (w *tiledKernel) via(a *ir.Array) kernel.Via {
	if w.loadPath(a) == plain {
		return kernel.Plain
	}
	return kernel.ReadOnly
}

// one loads a single cell of a row, wherever it is.
func (w *tiledKernel) one(r *registerRow, outer []index, x int64) kernel.Expr {
	st, buf, via := w.source(r.array, 1)
	last := len(r.array.Dims) - 1
	idx := append(slices.Clip(outer), w.index(r.array, last, w.inner(), r.first+x))
	value := kernel.Expr(&kernel.Load{Buffer: buf, Index: w.element(st, idx), Via: via})
	return applied(value, idx)
}

// keep names a cell's value.
func (w *tiledKernel) keep(r *registerRow, x int64, value kernel.Expr) kernel.Expr {
	v := w.pre.declare(w.env, w.cellName(r, x), r.array.Type)
	w.pre.emit(&kernel.Let{Var: v, Value: value})
	return kernel.V(v)
}

// loadOwn loads the cells of the thread's vector.
func (w *tiledKernel) loadOwn(r *registerRow) map[int64]kernel.Expr {
	if t := w.sharedTileOf(r.array); t != nil && !w.fromRegisters(r) {
		return w.fromSharedTile(t, r, 0, w.vec)
	}
	held := map[int64]kernel.Expr{}
	outer := w.outerIndex(r)
	n := w.run(r.array)
	if n == 1 || !w.vectors(r.array) {
		for x := range w.vec {
			held[x] = w.keep(r, x, w.one(r, outer, x))
		}
		return held
	}
	st, buf, via := w.source(r.array, n)
	start := w.vectorAt(r)
	row := w.start(st, append(slices.Clip(outer), index{axis: w.inner(), at: start}))
	for from := int64(0); from < w.vec; from += n {
		var vars []*kernel.Var
		for x := from; x < from+n; x++ {
			v := w.pre.declare(w.env, w.cellName(r, x), r.array.Type)
			vars = append(vars, v)
			held[x] = kernel.V(v)
		}
		at := kernel.Add(kernel.Add(row, start), kernel.I(from))
		w.pre.emit(&kernel.LoadVector{Vars: vars, Buffer: buf, Index: at, Via: via})
	}
	for x := range w.vec {
		if value := applied(held[x], outer); value != held[x] {
			held[x] = w.keep(r, x, value)
		}
	}
	w.mend(r, outer, held)
	return held
}

// vectorAt returns where the thread's vector of a row starts on the inner
// axis: its own place, or the nearest that has a cell of the array.
func (w *tiledKernel) vectorAt(r *registerRow) kernel.Expr {
	last := len(r.array.Dims) - 1
	holds := r.array.Holds(last)
	x := kernel.Add(w.pos[w.inner()], kernel.I(r.first))
	lo, hi := w.down(w.low(holds.Lo, nil), w.vec), w.down(w.high(holds.Hi, nil), w.vec)
	ix := ir.Index{Axis: w.inner()}
	cell := w.cells[0]
	x = kernel.Min(x, hi)
	if cell.crosses(ix, holds.Lo, cell.loBounds, -1) || w.startsBefore(lo) {
		x = kernel.Max(x, lo)
	}
	key := fmt.Sprintf("vector:%s:%d", w.rangeKey(holds), r.first)
	return w.pre.let(w.env, key, w.Program.Axes[w.inner()]+"_vector", x)
}

// startsBefore reports whether blocks that start with a segment may start before
// an array's first vector, which is at lo, though their first cell does not.
func (w *tiledKernel) startsBefore(lo kernel.Expr) bool {
	n, known := kernel.IntLit(lo)
	return w.aligned && !(known && mod(n, ir.Segment) == 0)
}

// mend replaces the cells of a thread's vector that lie beyond the ends of a
// row by what the boundary makes of them: others read them as neighbours.
func (w *tiledKernel) mend(r *registerRow, outer []index, held map[int64]kernel.Expr) {
	last := len(r.array.Dims) - 1
	faces := r.array.Dims[last].Faces
	holds := r.array.Holds(last)
	lo, hi := w.low(holds.Lo, nil), w.high(holds.Hi, nil)
	x := kernel.Add(w.pos[w.inner()], kernel.I(r.first))
	var ragged kernel.Expr
	whole := func(end kernel.Expr, plus int64) bool {
		n, ok := kernel.IntLit(end)
		return ok && mod(n+plus-w.origin, w.vec) == 0
	}
	ix, cell := ir.Index{Axis: w.inner()}, w.cells[0]
	if faces.Low.Kind != ir.None && !(whole(lo, 0) && !cell.crosses(ix, holds.Lo, cell.loBounds, -1)) {
		ragged = kernel.Lt(x, lo)
	}
	// Of threads beyond the row's end shared memory has the cells.
	beyond := w.fromRegisters(r) && !w.threadsEnd(hi)
	if faces.High.Kind != ir.None && !(whole(hi, 1) && !beyond && !cell.crosses(ix, holds.Hi, cell.hiBounds, 1)) {
		over := kernel.Lt(hi, kernel.Add(x, kernel.I(w.vec-1)))
		if ragged == nil {
			ragged = over
		} else {
			ragged = kernel.Bin(op.LOr, ragged, over)
		}
	}
	if ragged == nil || !w.strays(r) {
		return
	}
	cond := w.pre.let(w.env, fmt.Sprintf("ragged:%s:%d", w.rangeKey(holds), r.first), "ragged", ragged)
	var inside []kernel.Stmt
	for x := range w.vec {
		v := w.pre.declare(w.env, w.cellName(r, x), r.array.Type)
		w.pre.emit(&kernel.Declare{Var: v, Init: held[x]})
		inside = append(inside, &kernel.Assign{Var: v, Value: w.one(r, outer, x)})
		held[x] = kernel.V(v)
	}
	w.pre.emit(&kernel.If{Cond: cond, Then: inside})
}

// threadsEnd reports whether the last thread's last cell on the inner axis is
// surely the last of a row.
func (w *tiledKernel) threadsEnd(hi kernel.Expr) bool {
	start, _ := w.blocksOn(w.inner())
	first, known := kernel.IntLit(start)
	last, alsoKnown := kernel.IntLit(hi)
	return known && alsoKnown && mod(last+1-first, w.along[w.inner()].width()) == 0
}

// strays reports whether a row is read by cells beside it or beyond its ends.
func (w *tiledKernel) strays(r *registerRow) bool {
	last := len(r.array.Dims) - 1
	holds, cell := r.array.Holds(last), w.cells[0]
	for _, s := range w.stmts {
		for _, a := range accesses(s.src.Value) {
			if a.Array != r.array || !w.readsRow(a) {
				continue
			}
			ix := a.Index[last]
			if ix.Offset != 0 || cell.crosses(ix, holds.Lo, cell.loBounds, -1) ||
				cell.crosses(ix, holds.Hi, cell.hiBounds, 1) {
				return true
			}
		}
	}
	return false
}

// extend makes cells beside the thread's vector available.
func (w *tiledKernel) extend(r *registerRow, cells []int64) {
	held := r.held
	byLane := map[int64][]int64{}
	var lanes []int64
	for _, x := range cells {
		if _, ok := held[x]; ok {
			continue
		}
		q := (x - mod(x, w.vec)) / w.vec
		if byLane[q] == nil {
			lanes = append(lanes, q)
		}
		byLane[q] = append(byLane[q], x)
	}
	for _, q := range lanes {
		if w.shuffle && r.array.Type != types.Bool && r.array.Type != types.U8 {
			w.shuffled(r, q, byLane[q])
			continue
		}
		n := w.run(r.array)
		t := w.sharedTileOf(r.array)
		if t != nil {
			n = Chunk(w.vec, r.array.Type)
		}
		for from := q * w.vec; from < (q+1)*w.vec; from += n {
			some := slices.DeleteFunc(slices.Clone(byLane[q]), func(x int64) bool { return x < from || x >= from+n })
			if t != nil && len(some) > 1 {
				for x, v := range w.fromSharedTile(t, r, from, n) {
					held[x] = v
				}
				continue
			}
			if t != nil {
				for _, x := range some {
					held[x] = w.keep(r, x, w.oneOfSharedTile(t, r, x))
				}
				continue
			}
			if len(some) > 1 && w.vectors(r.array) {
				w.neighbour(r, from, some)
				continue
			}
			outer := w.outerIndex(r)
			for _, x := range some {
				held[x] = w.keep(r, x, w.one(r, outer, x))
			}
		}
	}
}

// shuffled takes cells from the lane that is q further, or where there is none
// or the row ends before it, from memory.
func (w *tiledKernel) shuffled(r *registerRow, q int64, cells []int64) {
	t := w.sharedTileOf(r.array)
	var outer []index
	if t == nil {
		outer = w.outerIndex(r)
	}
	kind, by := kernel.ShuffleDown, q
	if q < 0 {
		kind, by = kernel.ShuffleUp, -q
	}
	cond := w.alone(r, q)
	var inside []kernel.Stmt
	for _, x := range cells {
		moved := w.pre.declare(w.env, w.cellName(r, x), r.array.Type)
		w.pre.emit(&kernel.Shuffle{
			Var: moved, Kind: kind, Value: r.held[mod(x, w.vec)], By: kernel.Conv(types.I32, kernel.I(by)),
		})
		v := w.pre.declare(w.env, w.cellName(r, x), r.array.Type)
		w.pre.emit(&kernel.Declare{Var: v, Init: kernel.V(moved)})
		single := kernel.Expr(nil)
		if t != nil {
			single = w.oneOfSharedTile(t, r, x)
		} else {
			single = w.one(r, outer, x)
		}
		inside = append(inside, &kernel.Assign{Var: v, Value: single})
		r.held[x] = kernel.V(v)
	}
	w.pre.emit(&kernel.If{Cond: cond, Then: inside})
}

// alone returns the condition under which the lane that is q further does not
// have the cells there: it is in another warp, or beyond the row's end.
func (w *tiledKernel) alone(r *registerRow, q int64) kernel.Expr {
	last := len(r.array.Dims) - 1
	holds := r.array.Holds(last)
	lane := kernel.Bin(op.Rem, kernel.V(w.thread[w.inner()]), kernel.I(32))
	x := kernel.Add(w.pos[w.inner()], kernel.I(r.first))
	var cond kernel.Expr
	if q < 0 {
		cond = kernel.Lt(lane, kernel.I(-q))
	} else {
		cond = kernel.Ge(lane, kernel.I(32-q))
	}
	// A thread beyond the row's end has the row's last cells, not what the
	// boundary makes of those there: its vector was moved to the array.
	cond = kernel.Bin(op.LOr, cond, kernel.Lt(kernel.Add(x, kernel.I(q*w.vec)), w.low(holds.Lo, nil)))
	cond = kernel.Bin(op.LOr, cond, kernel.Lt(w.high(holds.Hi, nil), kernel.Add(x, kernel.I((q+1)*w.vec-1))))
	side := "right"
	if q < 0 {
		side = "left"
	}
	return w.pre.let(w.env, fmt.Sprintf("alone:%s:%d:%d", w.rangeKey(holds), r.first, q), side+"_alone", cond)
}

// neighbour loads several of the cells beside the thread's vector, from one on,
// with one access, or one by one where the row ends before.
func (w *tiledKernel) neighbour(r *registerRow, from int64, cells []int64) {
	s := w.pre
	outer := w.outerIndex(r)
	last := len(r.array.Dims) - 1
	holds := r.array.Holds(last)
	n := w.run(r.array)
	st, buf, via := w.source(r.array, n)
	x0 := kernel.Add(w.pos[w.inner()], kernel.I(r.first+from))
	in := conj(kernel.Ge(x0, w.low(holds.Lo, nil)), kernel.Le(kernel.Add(x0, kernel.I(n-1)), w.high(holds.Hi, nil)))
	side := "right"
	if from < 0 {
		side = "left"
	}
	cond := s.let(w.env, fmt.Sprintf("beside:%s:%d:%d", w.rangeKey(holds), r.first, from), side+"_inside", in)
	var vars []*kernel.Var
	for x := from; x < from+n; x++ {
		vars = append(vars, s.declare(w.env, w.cellName(r, x)+"_beside", r.array.Type))
	}
	row := w.start(st, append(slices.Clip(outer), index{axis: w.inner(), at: x0}))
	then := []kernel.Stmt{&kernel.LoadVector{Vars: vars, Buffer: buf, Index: kernel.Add(row, x0), Via: via}}
	var other []kernel.Stmt
	for _, x := range cells {
		v := s.declare(w.env, w.cellName(r, x), r.array.Type)
		s.emit(&kernel.Declare{Var: v, Init: zero(r.array.Type)})
		then = append(then, &kernel.Assign{Var: v, Value: applied(kernel.V(vars[x-from]), outer)})
		other = append(other, &kernel.Assign{Var: v, Value: w.one(r, outer, x)})
		r.held[x] = kernel.V(v)
	}
	s.emit(&kernel.If{Cond: cond, Then: then, Else: other})
}

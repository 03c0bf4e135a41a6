package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// With staging=halos, only the cells around a block's own ones are copied to shared memory, and of these only what some
// thread reads: no corners for a star. Every thread loads its own cells to its registers, as it does without shared
// memory, and stores them from there for its neighbours (Zhang and Mueller 2013, section 2.2; Rawat et al. 2019,
// section III). So the caches are asked for a cell once a block.

// axesOf returns the axes of an array, the inner one last.
func axesOf(a *ir.Array) []int {
	var axes []int
	for _, d := range a.Dims {
		axes = append(axes, d.Axis)
	}
	return axes
}

// spread reports whether every thread has cells of its own in an array.
func (w *tiledKernel) spread(a *ir.Array) bool {
	return !slices.ContainsFunc(w.axes, func(axis int) bool { return !slices.Contains(axesOf(a), axis) })
}

// ownRow reports whether a row is one that the thread computes.
func (w *tiledKernel) ownRow(r *registerRow) bool {
	for d, dim := range r.array.Dims {
		if dim.Axis == w.inner() {
			continue
		}
		s := w.along[dim.Axis]
		if off := r.offset[d]; off < 0 || off >= s.width() || off%(s.threads*s.blocked) >= s.blocked {
			return false
		}
	}
	return true
}

// sideways reports whether a thread reads cells of a row that other threads have.
func (w *tiledKernel) sideways(r *registerRow) bool {
	if !w.ownRow(r) && len(r.need) > 0 {
		return true
	}
	for x := range r.need {
		if !w.own(x) {
			return true
		}
	}
	return false
}

// newHaloTile measures the tile that an array needs for what its threads have
// of each other and what lies around the block; nil if that is nothing.
func (w *tiledKernel) newHaloTile(a *ir.Array) *sharedTile {
	if !w.spread(a) {
		return nil
	}
	t := &sharedTile{
		array: a, from: map[int]int64{}, len: map[int]int64{}, n: Chunk(w.vec, a.Type), halos: true, cells: 1,
	}
	var read []box
	for _, r := range w.rows {
		if r.array == a && w.sideways(r) {
			read = append(read, w.readOf(r))
		}
	}
	if len(read) == 0 {
		return nil
	}
	axes := axesOf(a)
	own := box{}
	for _, axis := range axes {
		own[axis] = extent{0, w.along[axis].width()}
	}
	t.parts = around(own, read, axes, t.n)
	for _, axis := range axes {
		all := own[axis]
		for _, p := range t.parts {
			all = all.hull(p[axis])
		}
		t.from[axis], t.len[axis] = all.from, all.len
		t.cells *= all.len
	}
	return t
}

// leaveOut finds the parts of a tile that some thread reads, where that is not
// all of it: the block's own cells, and those around them but for corners.
func (w *tiledKernel) leaveOut(t *sharedTile) {
	axes := axesOf(t.array)
	own := box{}
	for _, axis := range axes {
		own[axis] = extent{0, w.along[axis].width()}
		if t.from[axis] > 0 || t.from[axis]+t.len[axis] < own[axis].len {
			return
		}
	}
	var read []box
	for _, r := range w.rows {
		if r.array == t.array {
			read = append(read, w.readOf(r))
		}
	}
	t.parts = append([]box{own}, around(own, read, axes, t.n)...)
}

// readOf returns the cells that the threads of a block have of a row.
func (w *tiledKernel) readOf(r *registerRow) box {
	b := box{}
	for d, dim := range r.array.Dims {
		e := extent{r.offset[d], 1}
		if dim.Axis == w.inner() {
			e = extent{r.first, w.vec}
			for x := range r.need {
				e = e.hull(extent{r.first + x, 1})
			}
		}
		s := w.along[dim.Axis]
		e.len += (s.threads - 1) * s.blocked
		b[dim.Axis] = e
	}
	return b
}

// fromRegisters reports whether a row's cells of the thread's vector come from
// memory to the thread's registers, though its array has a tile in shared memory.
func (w *tiledKernel) fromRegisters(r *registerRow) bool {
	t := w.sharedTileOf(r.array)
	return t != nil && t.halos && w.ownRow(r)
}

// ownRows finds the rows of a thread's own cells, which go to a tile.
func (w *tiledKernel) ownRows(t *sharedTile) {
	for _, cell := range w.cells {
		if mod(cell.place[w.inner()], w.vec) != 0 {
			continue
		}
		a := &ir.Access{Array: t.array}
		for _, d := range t.array.Dims {
			a.Index = append(a.Index, ir.Index{Axis: d.Axis})
		}
		r, _ := w.row(a, cell.place)
		for x := range w.vec {
			r.need[x] = true
		}
		t.own = append(t.own, r)
	}
}

// keepOwn loads the thread's own cells and stores those that neighbours read.
func (w *tiledKernel) keepOwn() {
	for _, t := range w.sharedTiles {
		for _, r := range t.own {
			r.held = w.loadOwn(r)
		}
	}
	for _, t := range w.sharedTiles {
		for _, r := range t.own {
			w.toSharedTile(t, r)
		}
	}
}

// toSharedTile stores the cells of the thread's vector.
func (w *tiledKernel) toSharedTile(t *sharedTile, r *registerRow) {
	start := w.sharedRow(t, r)
	for from := int64(0); from < w.vec; from += t.n {
		index := kernel.Add(start, kernel.I(from))
		if t.n == 1 {
			w.pre.emit(&kernel.Store{Buffer: t.buf, Index: index, Value: r.held[from]})
			continue
		}
		var values []kernel.Expr
		for x := from; x < from+t.n; x++ {
			values = append(values, r.held[x])
		}
		w.pre.emit(&kernel.StoreVector{Buffer: t.buf, Index: index, Values: values})
	}
}

package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// sharedTile is the part of an array that a block holds in shared memory: its own cells and those that they read around
// them. They are copied there by the threads together, without registers (asynchronous copies), so that every cell
// comes from the caches once a block. With staging=halos only those around the block's own are (shared_tile_halo.go).
type sharedTile struct {
	array     *ir.Array
	buf       *kernel.Buffer
	from, len map[int]int64 // by axis: the first cell, from the block's corner, and the number of cells
	cells     int64
	n         int64       // cells of a copy
	copies    []*tileCopy // of a thread
	parts     []box       // that are copied; nil for all
	// halos says that the block's own cells are not among those, and that threads
	// store the rows of theirs.
	halos bool
	own   []*registerRow
}

// tileCopy is one of the runs of cells that a thread copies.
type tileCopy struct {
	valid kernel.Expr // whether there is such a run; nil if always
	outer []index     // the row
	at    kernel.Expr // the run's place in shared memory
	x     kernel.Expr // where the run starts on the inner axis, within the array
	raw   kernel.Expr // the same before it was clipped to the array
	name  string
}

// makeSharedTiles gives arrays of which several threads read the same cells a tile in shared memory.
func (w *tiledKernel) makeSharedTiles() {
	if !w.shared {
		return
	}
	var tiles []*sharedTile
	for _, r := range w.rows {
		known := slices.ContainsFunc(tiles, func(t *sharedTile) bool { return t.array == r.array })
		if known || !AsyncRun(w.vec, r.array.Type) || !w.vectors(r.array) || !w.staged(r.array) {
			continue
		}
		if w.demanded(r.array) || w.sharesCells(r.array) {
			tiles = append(tiles, w.newSharedTile(r.array))
		}
	}
	w.sharedTiles, w.resourceLimit = w.ration(tiles)
	for _, t := range w.sharedTiles {
		w.allocate(t)
		if t.halos {
			w.ownRows(t)
		}
	}
}

// AsyncRun reports whether the runs of a type that go with vectors of so many
// cells can be copied asynchronously.
func AsyncRun(vec int64, t types.Type) bool {
	bytes := Chunk(vec, t) * int64(t.Size())
	return bytes == 4 || bytes == 8 || bytes == 16
}

// bytes is what the tile takes of shared memory.
func (t *sharedTile) bytes() int64 { return t.cells * int64(t.array.Type.Size()) }

// sharesCells reports whether threads read cells of an array that are not
// their own.
func (w *tiledKernel) sharesCells(a *ir.Array) bool {
	rows := map[string]bool{}
	for _, r := range w.rows {
		if r.array != a {
			continue
		}
		rows[fmt.Sprint(r.offset, r.first)] = true
		for x := range r.need {
			if !w.own(x) {
				return true
			}
		}
	}
	own := int64(1)
	for _, axis := range w.outer() {
		own *= w.along[axis].blocked * w.along[axis].cyclic
	}
	return int64(len(rows)) > own*w.along[w.inner()].cyclic
}

// sharedTileOf returns the tile of an array; nil if it has none.
func (w *tiledKernel) sharedTileOf(a *ir.Array) *sharedTile {
	for _, t := range w.sharedTiles {
		if t.array == a {
			return t
		}
	}
	return nil
}

// newSharedTile measures the tile that an array needs.
func (w *tiledKernel) newSharedTile(a *ir.Array) *sharedTile {
	if w.halos {
		if t := w.newHaloTile(a); t != nil {
			return t
		}
	}
	t := &sharedTile{array: a, from: map[int]int64{}, len: map[int]int64{}, n: Chunk(w.vec, a.Type)}
	last := map[int]int64{}
	reach := func(axis int, lo, hi int64) {
		s := w.along[axis]
		hi += (s.computing() - 1) * s.blocked
		if _, ok := t.from[axis]; !ok {
			t.from[axis], last[axis] = lo, hi
		}
		t.from[axis], last[axis] = min(t.from[axis], lo), max(last[axis], hi)
	}
	for _, r := range w.rows {
		if r.array != a {
			continue
		}
		for d, dim := range a.Dims {
			if dim.Axis != w.inner() {
				reach(dim.Axis, r.offset[d], r.offset[d])
				continue
			}
			reach(dim.Axis, r.first, r.first+w.vec-1)
			for x := range r.need {
				reach(dim.Axis, r.first+x, r.first+x)
			}
		}
	}
	w.cover(t, last)
	inner := w.inner()
	t.from[inner] -= mod(t.from[inner], t.n)
	t.cells = 1
	for _, dim := range a.Dims {
		t.len[dim.Axis] = last[dim.Axis] - t.from[dim.Axis] + 1
		if dim.Axis == inner {
			t.len[inner] = (t.len[inner] + t.n - 1) / t.n * t.n
		}
		t.cells *= t.len[dim.Axis]
	}
	if w.perspective == "" {
		w.leaveOut(t)
	}
	return t
}

// allocate gives a tile its memory.
func (w *tiledKernel) allocate(t *sharedTile) {
	st, _ := w.inMemory(t.array)
	t.buf = &kernel.Buffer{
		Name: w.pre.declare(w.env, st.name+"_shared", t.array.Type).Name, Elem: t.array.Type, Space: kernel.Shared,
		Mode: kernel.InOut, Cells: kernel.I(t.cells),
	}
	w.allocs = append(w.allocs, &kernel.Alloc{Buffer: t.buf})
	w.shareCopies(t)
}

// shareCopies shares the runs of a tile out among the threads of the block.
func (w *tiledKernel) shareCopies(t *sharedTile) {
	if w.perspective != "" {
		w.ownCopies(t)
		return
	}
	threads := w.threads()
	parts := t.parts
	if parts == nil {
		parts = []box{t.whole(axesOf(t.array))}
	}
	runs := int64(0)
	for _, p := range parts {
		runs += p.cells() / t.n
	}
	lane := w.threadNumber()
	for i := range (runs + threads - 1) / threads {
		name := fmt.Sprintf("copy%d", i)
		number := kernel.Add(lane, kernel.I(i*threads))
		c := &tileCopy{name: name, at: kernel.Mul(number, kernel.I(t.n))}
		if (i+1)*threads > runs {
			c.valid = w.pre.let(w.env, fmt.Sprintf("valid:%p:%d", t, i), name+"_valid",
				kernel.Lt(number, kernel.I(runs)))
		}
		from := w.runFrom(t, parts, i*threads, number)
		if t.parts != nil {
			c.at = w.pre.let(w.env, fmt.Sprintf("place:%p:%d", t, i), name+"_at", t.within(from, axesOf(t.array)))
		}
		w.addCopy(t, c, from)
	}
}

// addCopy adds a run that a thread copies, given where it starts by axis, from
// the block's corner.
func (w *tiledKernel) addCopy(t *sharedTile, c *tileCopy, from map[int]kernel.Expr) {
	inner, lastDim, number := w.inner(), len(t.array.Dims)-1, len(t.copies)
	holds := t.array.Holds(lastDim)
	for d, dim := range t.array.Dims[:lastDim] {
		axis := dim.Axis
		x := kernel.Add(w.corner[axis], from[axis])
		raw := index{axis: axis, at: x, key: fmt.Sprintf("%p:%s:%d", t, c.name, axis)}
		c.outer = append(c.outer, w.mapped(t.array, d, raw, c.name+"_"+w.Program.Axes[axis], true, true))
	}
	raw := kernel.Add(w.corner[inner], from[inner])
	c.raw = w.pre.let(w.env, fmt.Sprintf("run:%p:%d", t, number), c.name+"_"+w.Program.Axes[inner], raw)
	clipped := kernel.Max(kernel.Min(c.raw, w.down(w.high(holds.Hi, nil), t.n)), w.down(w.low(holds.Lo, nil), t.n))
	c.x = w.pre.let(w.env, fmt.Sprintf("runin:%p:%d", t, number), c.name+"_from", clipped)
	t.copies = append(t.copies, c)
}

// copyTile starts to copy an array's cells. What a boundary makes of cells
// beyond the array is no run of memory: such runs are copied cell by cell.
func (w *tiledKernel) copyTile(t *sharedTile) {
	st, buf := w.inMemory(t.array)
	lastDim := len(t.array.Dims) - 1
	holds, faces := t.array.Holds(lastDim), t.array.Dims[lastDim].Faces
	for _, c := range t.copies {
		outer := slices.Clone(c.outer)
		beyond := beyondArray(outer)
		if faces.Low.Kind != ir.None {
			beyond = disj(beyond, w.pre.let(w.env, fmt.Sprintf("below:%p:%s", t, c.name), c.name+"_below",
				kernel.Lt(c.raw, w.low(holds.Lo, nil))))
		}
		if faces.High.Kind != ir.None {
			over := kernel.Lt(w.high(holds.Hi, nil), kernel.Add(c.raw, kernel.I(t.n-1)))
			beyond = disj(beyond, w.pre.let(w.env, fmt.Sprintf("above:%p:%s", t, c.name), c.name+"_above", over))
		}
		row := w.start(st, append(slices.Clip(outer), index{axis: w.inner()}))
		list := []kernel.Stmt{&kernel.AsyncCopy{
			To: t.buf, At: c.at, From: buf, Index: kernel.Add(row, c.x), Cells: int(t.n),
		}}
		if beyond != nil {
			var single []kernel.Stmt
			for e := range t.n {
				raw := index{
					axis: w.inner(), at: kernel.Add(c.raw, kernel.I(e)), key: fmt.Sprintf("%p:%s:cell%d", t, c.name, e),
				}
				idx := append(slices.Clip(outer),
					w.mapped(t.array, lastDim, raw, fmt.Sprintf("%s_cell%d", c.name, e), true, true))
				value := applied(&kernel.Load{Buffer: buf, Index: w.element(st, idx), Via: w.via(t.array)}, idx)
				single = append(single, &kernel.Store{
					Buffer: t.buf, Index: kernel.Add(c.at, kernel.I(e)), Value: value,
				})
			}
			list = []kernel.Stmt{&kernel.If{Cond: beyond, Then: single, Else: list}}
		}
		w.when(c.valid, list)
	}
}

// beyondArray returns the condition under which what boundaries make of a row is no
// row of the array; nil if that cannot be.
func beyondArray(outer []index) kernel.Expr {
	var any kernel.Expr
	for _, x := range outer {
		if x.negate != nil {
			any = disj(any, x.negate)
		}
		for _, hit := range x.constants {
			any = disj(any, hit.cond)
		}
	}
	return any
}

// disj returns the condition that one of two holds; nil stands for none.
func disj(x, y kernel.Expr) kernel.Expr {
	if x == nil {
		return y
	}
	return kernel.Bin(op.LOr, x, y)
}

// fillSharedTiles copies all that a block reads, and waits for it.
func (w *tiledKernel) fillSharedTiles() {
	if len(w.sharedTiles) == 0 {
		return
	}
	w.keepOwn()
	for _, t := range w.sharedTiles {
		w.copyTile(t)
	}
	w.pre.emit(&kernel.AsyncCommit{})
	w.pre.emit(&kernel.AsyncWait{Pending: 0})
	w.pre.emit(&kernel.Barrier{Scope: kernel.BlockScope})
}

// sharedRow returns where a thread's row starts in a tile, less the cell's number in the row.
func (w *tiledKernel) sharedRow(t *sharedTile, r *registerRow) kernel.Expr {
	sum := kernel.I(0)
	for d, dim := range t.array.Dims {
		axis, off := dim.Axis, r.offset[d]
		if axis == w.inner() {
			off = r.first
		}
		at := kernel.I(off - t.from[axis])
		if thread, ok := w.threadAt(axis); ok {
			at = kernel.Add(kernel.Mul(thread, kernel.I(w.along[axis].blocked)), at)
		}
		sum = kernel.Add(kernel.Mul(sum, kernel.I(t.len[axis])), at)
	}
	return w.pre.let(w.env, fmt.Sprintf("shared:%p:%v:%d", t, r.offset, r.first), t.buf.Name+"_row", sum)
}

// fromSharedTile reads n cells of a row from one on.
func (w *tiledKernel) fromSharedTile(t *sharedTile, r *registerRow, from, n int64) map[int64]kernel.Expr {
	held := map[int64]kernel.Expr{}
	if t.n == 1 {
		for x := from; x < from+n; x++ {
			held[x] = w.keep(r, x, w.oneOfSharedTile(t, r, x))
		}
		return held
	}
	start := w.sharedRow(t, r)
	for x := from; x < from+n; x += t.n {
		var vars []*kernel.Var
		for y := x; y < x+t.n; y++ {
			v := w.pre.declare(w.env, w.cellName(r, y), r.array.Type)
			vars = append(vars, v)
			held[y] = kernel.V(v)
		}
		w.pre.emit(&kernel.LoadVector{Vars: vars, Buffer: t.buf, Index: kernel.Add(start, kernel.I(x))})
	}
	return held
}

// oneOfSharedTile reads one cell of a row.
func (w *tiledKernel) oneOfSharedTile(t *sharedTile, r *registerRow, x int64) kernel.Expr {
	return &kernel.Load{Buffer: t.buf, Index: kernel.Add(w.sharedRow(t, r), kernel.I(x))}
}

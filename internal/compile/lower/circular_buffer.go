package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// circularBuffer is the part of some planes of an array that a block holds in shared
// memory while it goes along the streamed axis: its own cells and those that
// they read around them. Planes are copied there by the threads together,
// without registers, some steps before they are needed (ARTEMIS's prefetching,
// Rawat et al. 2019, section III-A3, by asynchronous copies), so that many
// loads are under way and every cell comes from the caches once a block. What
// is copied by other ways is in circular_buffer_bulk.go and circular_buffer_halo.go.
//
// The circular buffer has room for the planes that are read, for those under way, and for
// those that slower threads may still be reading: one barrier a step is enough.
// A block that goes along no axis has all that it reads in a single "plane".
type circularBuffer struct {
	array *ir.Array
	buf   *kernel.Buffer
	// low and high are the offsets of the planes that rows are read from.
	low, high int64
	planes    int64         // that there is room for
	from, len map[int]int64 // by axis: the first cell, from the block's corner, and the number of cells
	cells     int64         // of a plane
	pitch     int64         // cells from where a plane starts to where the next does
	n         int64         // cells of a copy
	copies    []*planeCopy  // of a thread
	bulk      *bulkRows     // nil if threads copy all cells
	tensor    *tensorPlane  // nil if the copy engine brings rows
	parts     []box         // that are copied; nil for all
	// halos says that the block's own cells are not among those, and that threads
	// store the rows of theirs.
	halos bool
	own   []*registerQueue
}

// planeCopy is one of the runs of cells that a thread copies of every plane.
type planeCopy struct {
	valid kernel.Expr // whether there is such a run; nil if always
	outer []index     // the row, without the streamed axis
	at    kernel.Expr // the run's place in a plane of the circular buffer
	x     kernel.Expr // where the run starts on the inner axis, within the array
	raw   kernel.Expr // the same before it was clipped to the array
	name  string
}

// makeCircularBuffers gives arrays that several threads read the same cells of a circular buffer.
func (w *tiledKernel) makeCircularBuffers() {
	if w.shared == 0 {
		return
	}
	var circularBuffers []*circularBuffer
	for _, c := range w.registerQueues {
		known := slices.ContainsFunc(circularBuffers, func(r *circularBuffer) bool { return r.array == c.array })
		if known || w.stream != noAxis && !c.moves || !asyncBytes(w.vec, c.array.Type) ||
			!w.vectors(c.array) || !w.staged(c.array) {
			continue
		}
		if w.demanded(c.array) || w.sharesCells(c.array) {
			circularBuffers = append(circularBuffers, w.newCircularBuffer(c.array))
		}
	}
	for _, r := range circularBuffers {
		r.pitch = r.cells
	}
	w.chooseFetch(circularBuffers)
	w.circularBuffers, w.resourceLimit = w.ration(circularBuffers)
	w.makeFetch()
	w.chooseSplit()
	for _, r := range w.circularBuffers {
		w.allocate(r)
		if r.halos {
			w.ownRows(r)
		}
	}
}

// asyncBytes reports whether the runs of a type that go with vectors of so many
// cells can be copied asynchronously.
func asyncBytes(vec int64, t types.Type) bool {
	bytes := chunk(vec, t) * int64(t.Size())
	return bytes == 4 || bytes == 8 || bytes == 16
}

// bytes is what the circular buffer takes of shared memory.
func (r *circularBuffer) bytes() int64 { return r.planes * r.pitch * int64(r.array.Type.Size()) }

// sharesCells reports whether threads read cells of an array that are not
// their own.
func (w *tiledKernel) sharesCells(a *ir.Array) bool {
	rows := map[string]bool{}
	for _, c := range w.registerQueues {
		if c.array != a {
			continue
		}
		rows[fmt.Sprint(c.offset, c.first)] = true
		for _, p := range c.planes {
			for x := range p.need {
				if !w.own(x) {
					return true
				}
			}
		}
	}
	own := int64(1)
	for _, axis := range w.outer() {
		if axis != w.stream {
			own *= w.along[axis].blocked * w.along[axis].cyclic
		}
	}
	return int64(len(rows)) > own*w.along[w.inner()].cyclic
}

// circularBufferOf returns the circular buffer that a row is read from in the loop over planes.
func (w *tiledKernel) circularBufferOf(c *registerQueue) *circularBuffer {
	if w.prologue {
		return nil
	}
	for _, r := range w.circularBuffers {
		if r.array == c.array {
			return r
		}
	}
	return nil
}

// newCircularBuffer measures the circular buffer that an array needs.
func (w *tiledKernel) newCircularBuffer(a *ir.Array) *circularBuffer {
	if w.halos {
		if r := w.newHaloBuffer(a); r != nil {
			return r
		}
	}
	r := &circularBuffer{array: a, from: map[int]int64{}, len: map[int]int64{}, n: chunk(w.vec, a.Type)}
	first := true
	last := map[int]int64{}
	reach := func(axis int, lo, hi int64) {
		s := w.along[axis]
		hi += (s.computing() - 1) * s.blocked
		if _, ok := r.from[axis]; !ok {
			r.from[axis], last[axis] = lo, hi
		}
		r.from[axis], last[axis] = min(r.from[axis], lo), max(last[axis], hi)
	}
	for _, c := range w.registerQueues {
		if c.array != a {
			continue
		}
		lowest, highest := w.fresh(c)
		if first {
			r.low, r.high, first = lowest, highest, false
		}
		r.low, r.high = min(r.low, lowest), max(r.high, highest)
		for d, dim := range a.Dims {
			switch dim.Axis {
			case w.stream:
			case w.inner():
				reach(dim.Axis, c.first, c.first+w.vec-1)
				for _, p := range c.planes {
					for x := range p.need {
						reach(dim.Axis, c.first+x, c.first+x)
					}
				}
			default:
				reach(dim.Axis, c.offset[d], c.offset[d])
			}
		}
	}
	w.cover(r, last)
	inner := w.inner()
	r.from[inner] -= mod(r.from[inner], r.n)
	r.cells = 1
	for _, dim := range a.Dims {
		if dim.Axis == w.stream {
			continue
		}
		r.len[dim.Axis] = last[dim.Axis] - r.from[dim.Axis] + 1
		if dim.Axis == inner {
			r.len[inner] = (r.len[inner] + r.n - 1) / r.n * r.n
		}
		r.cells *= r.len[dim.Axis]
	}
	if w.stream == noAxis {
		r.planes = 1
		if w.perspective == "" {
			w.leaveOut(r)
		}
		return r
	}
	r.planes = r.high - r.low + 1 + (w.shared+1)*w.step()
	return r
}

// allocate gives a circular buffer its memory.
func (w *tiledKernel) allocate(r *circularBuffer) {
	st, _ := w.inMemory(r.array)
	r.buf = &kernel.Buffer{
		Name: w.pre.declare(w.env, st.name+"_shared", r.array.Type).Name, Elem: r.array.Type, Space: kernel.Shared,
		Mode: kernel.InOut, Cells: kernel.I(r.planes * r.pitch),
	}
	w.allocs = append(w.allocs, &kernel.Alloc{Buffer: r.buf})
	if r.bulk == nil || r.bulk.singles {
		w.planeCopies(r)
	}
	switch {
	case r.tensor != nil:
		w.tensorMaps(r)
	case r.bulk != nil:
		w.bulkRows(r)
	}
}

// fresh returns the lowest and the highest plane at which cells of a row are
// read that no queue holds.
func (w *tiledKernel) fresh(c *registerQueue) (lowest, highest int64) {
	highest = w.top(c)
	lowest = highest
	for at := w.queued(c) + 1; at <= highest; at++ {
		if len(w.needed(c, at)) > 0 {
			lowest = min(lowest, at)
		}
	}
	for _, p := range c.planes {
		carried := w.carried(c, p.at)
		if p.at > w.queued(c) {
			carried = nil
		}
		for x := range p.need {
			if !slices.Contains(carried, x) {
				lowest = min(lowest, p.at)
			}
		}
	}
	return lowest, highest
}

// planeCopies shares the runs of a plane out among the threads of the block.
func (w *tiledKernel) planeCopies(r *circularBuffer) {
	if w.perspective != "" {
		w.ownCopies(r)
		return
	}
	threads := w.threads()
	parts := r.parts
	if parts == nil {
		parts = []box{r.whole(w.planeAxes(r.array))}
	}
	runs := int64(0)
	for _, p := range parts {
		runs += p.cells() / r.n
	}
	lane := w.pre.let(w.env, "lane", "lane", w.lane)
	for i := range (runs + threads - 1) / threads {
		name := fmt.Sprintf("copy%d", i)
		number := kernel.Add(lane, kernel.I(i*threads))
		c := &planeCopy{name: name, at: kernel.Mul(number, kernel.I(r.n))}
		if (i+1)*threads > runs {
			c.valid = w.pre.let(w.env, fmt.Sprintf("valid:%p:%d", r, i), name+"_valid",
				kernel.Lt(number, kernel.I(runs)))
		}
		from := w.runFrom(r, parts, i*threads, number)
		if r.parts != nil {
			c.at = w.pre.let(w.env, fmt.Sprintf("place:%p:%d", r, i), name+"_at", r.within(from, w.planeAxes(r.array)))
		}
		w.addCopy(r, c, from)
	}
}

// addCopy adds a run that a thread copies, given where it starts by axis, from
// the block's corner.
func (w *tiledKernel) addCopy(r *circularBuffer, c *planeCopy, from map[int]kernel.Expr) {
	inner, lastDim, number := w.inner(), len(r.array.Dims)-1, len(r.copies)
	holds := r.array.Holds(lastDim)
	for d, dim := range r.array.Dims[:lastDim] {
		axis := dim.Axis
		if axis == w.stream {
			c.outer = append(c.outer, index{axis: axis})
			continue
		}
		x := kernel.Add(w.corner[axis], from[axis])
		raw := index{axis: axis, at: x, key: fmt.Sprintf("%p:%s:%d", r, c.name, axis)}
		c.outer = append(c.outer, w.mapped(r.array, d, raw, c.name+"_"+w.Program.Axes[axis], true, true))
	}
	raw := kernel.Add(w.corner[inner], from[inner])
	c.raw = w.pre.let(w.env, fmt.Sprintf("run:%p:%d", r, number), c.name+"_"+w.Program.Axes[inner], raw)
	clipped := kernel.Max(kernel.Min(c.raw, w.down(w.high(holds.Hi, nil), r.n)), w.down(w.low(holds.Lo, nil), r.n))
	c.x = w.pre.let(w.env, fmt.Sprintf("runin:%p:%d", r, number), c.name+"_from", clipped)
	r.copies = append(r.copies, c)
}

// place returns where a plane of the circular buffer starts.
func (w *tiledKernel) place(r *circularBuffer, at int64) kernel.Expr {
	s := kernel.I(at - r.low)
	if !w.prologue && w.stream != noAxis {
		gone := kernel.Sub(w.pos[w.stream], w.first)
		s = kernel.Bin(op.Rem, kernel.Add(gone, s), kernel.I(r.planes))
	}
	key := fmt.Sprintf("ring:%p:%d%s", r, at, w.phase)
	return w.now.let(w.env, key, fmt.Sprintf("%s_plane%d", r.buf.Name, at-r.low), kernel.Mul(s, kernel.I(r.pitch)))
}

// copyPlane starts to copy a plane to the circular buffer. What a boundary makes of cells
// beyond the array is no run of memory: such runs are copied cell by cell.
func (w *tiledKernel) copyPlane(r *circularBuffer, at int64) {
	st, buf := w.inMemory(r.array)
	lastDim := len(r.array.Dims) - 1
	holds, faces := r.array.Holds(lastDim), r.array.Dims[lastDim].Faces
	to := w.place(r, at)
	for _, c := range r.copies {
		outer := slices.Clone(c.outer)
		var beyond kernel.Expr
		either := func(x kernel.Expr) {
			if beyond == nil {
				beyond = x
			} else {
				beyond = kernel.Bin(op.LOr, beyond, x)
			}
		}
		for d := range outer {
			if outer[d].axis == w.stream {
				outer[d] = w.index(r.array, d, w.stream, at)
			}
			if outer[d].negate != nil {
				either(outer[d].negate)
			}
			for _, hit := range outer[d].constants {
				either(hit.cond)
			}
		}
		if faces.Low.Kind != ir.None {
			either(w.pre.let(w.env, fmt.Sprintf("below:%p:%s", r, c.name), c.name+"_below",
				kernel.Lt(c.raw, w.low(holds.Lo, nil))))
		}
		if faces.High.Kind != ir.None {
			over := kernel.Lt(w.high(holds.Hi, nil), kernel.Add(c.raw, kernel.I(r.n-1)))
			either(w.pre.let(w.env, fmt.Sprintf("above:%p:%s", r, c.name), c.name+"_above", over))
		}
		row := w.start(st, append(slices.Clip(outer), index{axis: w.inner()}))
		list := []kernel.Stmt{&kernel.AsyncCopy{
			To: r.buf, At: kernel.Add(to, c.at), From: buf, Index: kernel.Add(row, c.x), Cells: int(r.n),
		}}
		if r.bulk != nil {
			list = nil
		}
		if beyond != nil {
			var single []kernel.Stmt
			for e := range r.n {
				raw := index{
					axis: w.inner(), at: kernel.Add(c.raw, kernel.I(e)), key: fmt.Sprintf("%p:%s:cell%d", r, c.name, e),
				}
				idx := append(slices.Clip(outer),
					w.mapped(r.array, lastDim, raw, fmt.Sprintf("%s_cell%d", c.name, e), true, true))
				value := applied(&kernel.Load{Buffer: buf, Index: w.element(st, idx), Via: w.via(r.array)}, idx)
				single = append(single, &kernel.Store{
					Buffer: r.buf, Index: kernel.Add(kernel.Add(to, c.at), kernel.I(e)), Value: value,
				})
			}
			list = []kernel.Stmt{&kernel.If{Cond: beyond, Then: single, Else: list}}
		}
		if len(list) > 0 {
			w.when(c.valid, list)
		}
	}
}

// fillCircularBuffers copies all that a block reads, and waits for it.
func (w *tiledKernel) fillCircularBuffers() {
	if len(w.circularBuffers) == 0 {
		return
	}
	w.keepOwn()
	for _, r := range w.circularBuffers {
		w.copyPlane(r, 0)
	}
	w.now.emit(&kernel.AsyncCommit{})
	w.now.emit(&kernel.AsyncWait{Pending: 0})
	w.now.emit(&kernel.Barrier{Scope: kernel.BlockScope})
}

// startCircularBuffers copies the planes that the first step reads, and those of the
// steps that follow it as far as they are under way.
func (w *tiledKernel) startCircularBuffers() {
	circularBuffers := w.asyncBuffers()
	if len(circularBuffers) == 0 {
		return
	}
	for prefetchDistance := range w.shared {
		for _, r := range circularBuffers {
			from, to := r.low, r.high
			if prefetchDistance > 0 {
				from, to = r.high+(prefetchDistance-1)*w.step()+1, r.high+prefetchDistance*w.step()
			}
			for at := from; at <= to; at++ {
				w.copyPlane(r, at)
			}
		}
		w.now.emit(&kernel.AsyncCommit{})
	}
	for _, r := range w.circularBuffers {
		w.startOwn(r)
	}
	if w.meeting != nil {
		w.sayCopied()
	}
}

// feedCircularBuffers starts to copy the planes that a later step of the block reads, and
// waits for those of this one.
func (w *tiledKernel) feedCircularBuffers(last kernel.Expr) {
	w.feedBulk(last)
	circularBuffers := w.asyncBuffers()
	if len(circularBuffers) == 0 {
		return
	}
	if w.meeting != nil {
		w.waitCopied()
	}
	outer := w.now
	for _, r := range circularBuffers {
		for at := r.high + (w.shared-1)*w.step() + 1; at <= r.high+w.shared*w.step(); at++ {
			if w.unrollStream { // steps beyond the block's end read it, too
				w.copyPlane(r, at)
				continue
			}
			// The plane enters when the thread's position is that much further.
			further := at - r.high - (w.step() - 1)
			w.now = w.inside(outer)
			w.copyPlane(r, at)
			list := w.now.stmts
			w.now = outer
			w.now.emit(&kernel.If{Cond: kernel.Lt(kernel.Add(w.pos[w.stream], kernel.I(further)), last), Then: list})
		}
	}
	w.now.emit(&kernel.AsyncCommit{})
	if w.meeting != nil {
		w.sayCopied()
		return
	}
	w.now.emit(&kernel.AsyncWait{Pending: int(w.shared)})
	w.now.emit(&kernel.Barrier{Scope: kernel.BlockScope})
}

// circularBufferRow returns where a thread's row starts in a plane of the circular buffer, less the
// cell's number in the row.
func (w *tiledKernel) circularBufferRow(r *circularBuffer, c *registerQueue) kernel.Expr {
	local := func(axis int, off int64) kernel.Expr {
		at := kernel.I(off - r.from[axis])
		if thread, ok := w.threadAt(axis); ok {
			at = kernel.Add(kernel.Mul(thread, kernel.I(w.along[axis].blocked)), at)
		}
		return at
	}
	section, sum := kernel.I(0), kernel.I(0)
	for d, dim := range r.array.Dims {
		off := c.offset[d]
		switch {
		case dim.Axis == w.stream:
			continue
		case dim.Axis == w.inner():
			off = c.first
		case r.sections():
			section = w.sectionRow(r, off-r.from[dim.Axis])
			continue
		}
		sum = kernel.Add(kernel.Mul(sum, kernel.I(r.len[dim.Axis])), local(dim.Axis, off))
	}
	sum = kernel.Add(section, sum)
	return w.pre.let(w.env, fmt.Sprintf("ringrow:%p:%v:%d", r, c.offset, c.first), r.buf.Name+"_row", sum)
}

// fromCircularBuffer reads n cells of a row from one on.
func (w *tiledKernel) fromCircularBuffer(r *circularBuffer, c *registerQueue, at, from, n int64) map[int64]kernel.Expr {
	held := map[int64]kernel.Expr{}
	if r.n == 1 {
		for x := from; x < from+n; x++ {
			held[x] = w.keep(c, at, x, w.oneOfCircularBuffer(r, c, at, x))
		}
		return held
	}
	start := kernel.Add(w.place(r, at), w.circularBufferRow(r, c))
	for x := from; x < from+n; x += r.n {
		var vars []*kernel.Var
		for y := x; y < x+r.n; y++ {
			v := w.now.declare(w.env, w.cellName(c, at, y), c.array.Type)
			vars = append(vars, v)
			held[y] = kernel.V(v)
		}
		w.now.emit(&kernel.LoadVector{Vars: vars, Buffer: r.buf, Index: kernel.Add(start, kernel.I(x))})
	}
	return held
}

// oneOfCircularBuffer reads one cell of a row.
func (w *tiledKernel) oneOfCircularBuffer(r *circularBuffer, c *registerQueue, at, x int64) kernel.Expr {
	return &kernel.Load{
		Buffer: r.buf, Index: kernel.Add(kernel.Add(w.place(r, at), w.circularBufferRow(r, c)), kernel.I(x)),
	}
}

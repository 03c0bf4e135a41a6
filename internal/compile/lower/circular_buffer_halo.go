package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// With staging=halos, only the cells around a block's own ones are copied to a
// circular buffer, and of these only what some thread reads: no corners for a star. Every
// thread loads its own cells to the registers of its queue, as it does without
// shared memory, and stores them from there to the circular buffer when their plane becomes
// one that neighbours read (register queues and shared planes together: Zhang
// and Mueller 2013, section 2.2; Rawat et al. 2019, section III). So the circular buffer
// holds the planes that are read across threads and no others, and the caches
// are asked for a cell once a block.

// preferStagedPart makes that the default where no access goes to a corner: then threads need of each other the plane
// that they compute and no other, the middle one. Accesses with corners need cells of all planes from each other, and
// those come through shared memory as they are read.
func (n *nest) preferStagedPart(f *schedule.Family) {
	p := f.For(schedule.StagedPart)
	word := schedule.Word(schedule.HaloCells)
	if p == nil || n.corners() || !slices.ContainsFunc(p.Values, word.Equal) {
		return
	}
	f.Params = slices.Clone(f.Params)
	f.For(schedule.StagedPart).Default = word
}

// corners reports whether the group reads cells that are away from its own on several axes.
func (n *nest) corners() bool {
	return slices.ContainsFunc(n.stmts, func(s *statement) bool {
		return slices.ContainsFunc(accesses(s.src.Value), func(a *ir.Access) bool {
			away := 0
			for _, ix := range a.Index {
				if ix.Offset != 0 {
					away++
				}
			}
			return away > 1
		})
	})
}

// planeAxes returns the axes of an array's planes, the inner one last.
func (w *tiledKernel) planeAxes(a *ir.Array) []int {
	var axes []int
	for _, d := range a.Dims {
		if d.Axis != w.stream {
			axes = append(axes, d.Axis)
		}
	}
	return axes
}

// spread reports whether every thread has cells of its own in an array's planes.
func (w *tiledKernel) spread(a *ir.Array) bool {
	axes := w.planeAxes(a)
	return !slices.ContainsFunc(w.axes, func(axis int) bool { return axis != w.stream && !slices.Contains(axes, axis) })
}

// ownRow reports whether a row is one that the thread computes.
func (w *tiledKernel) ownRow(c *registerQueue) bool {
	for d, dim := range c.array.Dims {
		if dim.Axis == w.stream || dim.Axis == w.inner() {
			continue
		}
		s := w.along[dim.Axis]
		if off := c.offset[d]; off < 0 || off >= s.width() || off%(s.threads*s.blocked) >= s.blocked {
			return false
		}
	}
	return true
}

// sideways returns the lowest and the highest plane of a row at which a thread
// reads cells that other threads have, and whether it does at all.
func (w *tiledKernel) sideways(c *registerQueue) (lowest, highest int64, any bool) {
	take := func(at int64) {
		if !any {
			lowest, highest, any = at, at, true
		}
		lowest, highest = min(lowest, at), max(highest, at)
	}
	if top := c.planes[0].at; !w.ownRow(c) {
		for at := top - w.step() + 1; at <= top; at++ {
			if len(w.needed(c, at)) > 0 {
				take(at)
			}
		}
	}
	for _, p := range c.planes {
		for x := range p.need {
			if !w.own(x) && !w.known(c, x, p.at) {
				take(p.at)
			}
		}
	}
	return lowest, highest, any
}

// newHaloBuffer measures the circular buffer that an array needs for what its threads have
// of each other and what lies around the block; nil if that is nothing.
func (w *tiledKernel) newHaloBuffer(a *ir.Array) *circularBuffer {
	if !w.spread(a) {
		return nil
	}
	r := &circularBuffer{
		array: a, from: map[int]int64{}, len: map[int]int64{}, n: chunk(w.vec, a.Type), halos: true, cells: 1,
	}
	var read []box
	for _, c := range w.registerQueues {
		if c.array != a {
			continue
		}
		lowest, highest, any := w.sideways(c)
		if !any {
			continue
		}
		if len(read) == 0 {
			r.low, r.high = lowest, highest
		}
		r.low, r.high = min(r.low, lowest), max(r.high, highest)
		read = append(read, w.readOf(c))
	}
	if len(read) == 0 {
		return nil
	}
	axes := w.planeAxes(a)
	own := box{}
	for _, axis := range axes {
		own[axis] = extent{0, w.along[axis].width()}
	}
	r.parts = around(own, read, axes, r.n)
	for _, axis := range axes {
		all := own[axis]
		for _, p := range r.parts {
			all = all.hull(p[axis])
		}
		r.from[axis], r.len[axis] = all.from, all.len
		r.cells *= all.len
	}
	r.planes = r.high - r.low + 1 + (w.shared+1)*w.step()
	if w.stream == noAxis {
		r.planes = 1
	}
	return r
}

// leaveOut finds the parts of a circular buffer that some thread reads, where that is not
// all of it: the block's own cells, and those around them but for corners.
func (w *tiledKernel) leaveOut(r *circularBuffer) {
	axes := w.planeAxes(r.array)
	own := box{}
	for _, axis := range axes {
		own[axis] = extent{0, w.along[axis].width()}
		if r.from[axis] > 0 || r.from[axis]+r.len[axis] < own[axis].len {
			return
		}
	}
	var read []box
	for _, c := range w.registerQueues {
		if c.array == r.array {
			read = append(read, w.readOf(c))
		}
	}
	r.parts = append([]box{own}, around(own, read, axes, r.n)...)
}

// readOf returns the cells that the threads of a block have of a row.
func (w *tiledKernel) readOf(c *registerQueue) box {
	b := box{}
	for d, dim := range c.array.Dims {
		if dim.Axis == w.stream {
			continue
		}
		e := extent{c.offset[d], 1}
		if dim.Axis == w.inner() {
			e = extent{c.first, w.vec}
			for _, p := range c.planes {
				for x := range p.need {
					e = e.hull(extent{c.first + x, 1})
				}
			}
		}
		s := w.along[dim.Axis]
		e.len += (s.threads - 1) * s.blocked
		b[dim.Axis] = e
	}
	return b
}

// haloBufferOf returns the circular buffer of an array of which threads have their own cells
// in registers.
func (w *tiledKernel) haloBufferOf(a *ir.Array) *circularBuffer {
	for _, r := range w.circularBuffers {
		if r.array == a && r.halos {
			return r
		}
	}
	return nil
}

// fromRegisters reports whether a row's cells of the thread's vector come from
// memory to the thread's registers, though its array has a circular buffer.
func (w *tiledKernel) fromRegisters(c *registerQueue) bool {
	return w.haloBufferOf(c.array) != nil && w.ownRow(c)
}

// ownRows finds the rows of a thread's own cells, and has them held until they
// go to the circular buffer.
func (w *tiledKernel) ownRows(r *circularBuffer) {
	for _, cell := range w.cells {
		if mod(cell.place[w.inner()], w.vec) != 0 || w.stream != noAxis && cell.place[w.stream] != 0 {
			continue
		}
		a := &ir.Access{Array: r.array}
		for _, d := range r.array.Dims {
			a.Index = append(a.Index, ir.Index{Axis: d.Axis})
		}
		c, _, _ := w.row(a, cell.place)
		for at := r.high - w.step() + 1; at <= r.high; at++ {
			p := c.plane(at)
			for x := range w.vec {
				p.need[x] = true
			}
		}
		c.sort()
		r.own = append(r.own, c)
	}
}

// keepOwn loads the thread's own cells of new planes and stores those of the
// planes that neighbours read from this step on.
func (w *tiledKernel) keepOwn() {
	for _, r := range w.circularBuffers {
		for _, c := range r.own {
			if w.stream == noAxis {
				c.held[r.low] = w.loadOwn(c, r.low)
			} else {
				w.enter(c)
			}
		}
	}
	for _, r := range w.circularBuffers {
		for _, c := range r.own {
			for at := r.high - w.step() + 1; at <= r.high; at++ {
				w.toCircularBuffer(r, c, at, c.held[at])
			}
		}
	}
}

// startOwn stores the thread's own cells of the planes that neighbours read at
// the first step, but for those that the step stores itself.
func (w *tiledKernel) startOwn(r *circularBuffer) {
	for _, c := range r.own {
		for at := r.low; at <= r.high-w.step(); at++ {
			held := c.held[at]
			if held == nil {
				held = w.loadOwn(c, at)
			}
			w.toCircularBuffer(r, c, at, held)
		}
	}
}

// toCircularBuffer stores the cells of the thread's vector.
func (w *tiledKernel) toCircularBuffer(r *circularBuffer, c *registerQueue, at int64, held map[int64]kernel.Expr) {
	start := kernel.Add(w.place(r, at), w.circularBufferRow(r, c))
	for from := int64(0); from < w.vec; from += r.n {
		index := kernel.Add(start, kernel.I(from))
		if r.n == 1 {
			w.now.emit(&kernel.Store{Buffer: r.buf, Index: index, Value: held[from]})
			continue
		}
		var values []kernel.Expr
		for x := from; x < from+r.n; x++ {
			values = append(values, held[x])
		}
		w.now.emit(&kernel.StoreVector{Buffer: r.buf, Index: index, Values: values})
	}
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// With stage=halos, only the cells around a block's own ones are copied to a
// ring, and of these only what some thread reads: no corners for a star. Every
// thread loads its own cells to the registers of its queue, as it does without
// shared memory, and stores them from there to the ring when their plane becomes
// one that neighbours read (register queues and shared planes together: Zhang
// and Mueller 2013, section 2.2; Rawat et al. 2019, section III). So the ring
// holds the planes that are read across threads and no others, and the caches
// are asked for a cell once a block.

// box is a part of a plane, by axis, from the block's corner.
type box map[int]extent

// extent is a run of cells.
type extent struct{ from, len int64 }

// end returns the cell after the extent's last.
func (e extent) end() int64 { return e.from + e.len }

// hull returns the smallest extent that holds two.
func (e extent) hull(f extent) extent {
	from := min(e.from, f.from)
	return extent{from, max(e.end(), f.end()) - from}
}

// rounded returns the extent made of whole runs of n cells.
func (e extent) rounded(n int64) extent {
	from := e.from - mod(e.from, n)
	end := e.end() + mod(-e.end(), n)
	return extent{from, end - from}
}

// cells returns the number of cells of a box.
func (b box) cells() int64 {
	n := int64(1)
	for _, e := range b {
		n *= e.len
	}
	return n
}

// whole returns all that a ring holds of a plane.
func (r *ring) whole(axes []int) box {
	b := box{}
	for _, axis := range axes {
		b[axis] = extent{r.from[axis], r.len[axis]}
	}
	return b
}

// within returns the place of a cell in a plane of the ring.
func (r *ring) within(cell map[int]kernel.Expr, axes []int) kernel.Expr {
	sum := kernel.I(0)
	for _, axis := range axes {
		sum = kernel.Add(kernel.Mul(sum, kernel.I(r.len[axis])), kernel.Sub(cell[axis], kernel.I(r.from[axis])))
	}
	return sum
}

// runFrom returns the first cell of a run by axis, from the block's corner: of
// the run of that number among those of all parts, which is one of as many as
// there are threads, from first on.
func (w *sweep) runFrom(r *ring, parts []box, first int64, number kernel.Expr) map[int]kernel.Expr {
	axes := w.planeAxes(r.array)
	var from map[int]kernel.Expr
	before := int64(0)
	for _, p := range parts {
		end := before + p.cells()/r.n
		if end > first && before < first+w.threads() {
			cell := map[int]kernel.Expr{}
			rest := kernel.Sub(number, kernel.I(before))
			for i := len(axes) - 1; i >= 0; i-- { // the last varies fastest
				axis, run := axes[i], int64(1)
				if axis == w.inner() {
					run = r.n
				}
				at := rest
				if i > 0 {
					at = kernel.Bin(op.Rem, rest, kernel.I(p[axis].len/run))
					rest = kernel.Bin(op.Div, rest, kernel.I(p[axis].len/run))
				}
				cell[axis] = kernel.Add(kernel.Mul(at, kernel.I(run)), kernel.I(p[axis].from))
			}
			if from == nil {
				from = cell
			} else {
				for _, axis := range axes {
					from[axis] = kernel.Sel(kernel.Lt(number, kernel.I(before)), from[axis], cell[axis])
				}
			}
		}
		before = end
	}
	return from
}

// planeAxes returns the axes of an array's planes, the inner one last.
func (w *sweep) planeAxes(a *ir.Array) []int {
	var axes []int
	for _, d := range a.Dims {
		if d.Axis != w.stream {
			axes = append(axes, d.Axis)
		}
	}
	return axes
}

// spread reports whether every thread has cells of its own in an array's planes.
func (w *sweep) spread(a *ir.Array) bool {
	axes := w.planeAxes(a)
	return !slices.ContainsFunc(w.axes, func(axis int) bool { return axis != w.stream && !slices.Contains(axes, axis) })
}

// ownRow reports whether a row is one that the thread computes.
func (w *sweep) ownRow(c *chain) bool {
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
func (w *sweep) sideways(c *chain) (lowest, highest int64, any bool) {
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

// newHaloRing measures the ring that an array needs for what its threads have
// of each other and what lies around the block; nil if that is nothing.
func (w *sweep) newHaloRing(a *ir.Array) *ring {
	if !w.spread(a) {
		return nil
	}
	r := &ring{array: a, from: map[int]int64{}, len: map[int]int64{}, n: chunk(w.vec, a.Type), halos: true, cells: 1}
	var read []box
	for _, c := range w.chains {
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

// leaveOut finds the parts of a ring that some thread reads, where that is not
// all of it: the block's own cells, and those around them but for corners.
func (w *sweep) leaveOut(r *ring) {
	axes := w.planeAxes(r.array)
	own := box{}
	for _, axis := range axes {
		own[axis] = extent{0, w.along[axis].width()}
		if r.from[axis] > 0 || r.from[axis]+r.len[axis] < own[axis].len {
			return
		}
	}
	var read []box
	for _, c := range w.chains {
		if c.array == r.array {
			read = append(read, w.readOf(c))
		}
	}
	r.parts = append([]box{own}, around(own, read, axes, r.n)...)
}

// readOf returns the cells that the threads of a block have of a row.
func (w *sweep) readOf(c *chain) box {
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

// around cuts what is read outside of a block's own cells into boxes: those
// below and above it on the first axis, and the same on the next of what lies
// between. Runs on the last axis are of n cells.
func around(own box, read []box, axes []int, n int64) []box {
	if len(axes) == 0 {
		return nil
	}
	axis, rest := axes[0], axes[1:]
	inside := own[axis]
	run := int64(1)
	if len(rest) == 0 {
		run = n
	}
	// cut adds the hull of what is read on one side of the own cells.
	var parts []box
	cut := func(outside func(e extent) (extent, bool)) {
		part := box{}
		for _, b := range read {
			e, some := outside(b[axis])
			if !some {
				continue
			}
			if len(part) == 0 {
				part[axis] = e
				for _, other := range rest {
					part[other] = b[other]
				}
				continue
			}
			part[axis] = part[axis].hull(e)
			for _, other := range rest {
				part[other] = part[other].hull(b[other])
			}
		}
		if len(part) == 0 {
			return
		}
		last := axes[len(axes)-1]
		part[last] = part[last].rounded(n)
		parts = append(parts, part)
	}
	cut(func(e extent) (extent, bool) {
		e = e.rounded(run)
		return extent{e.from, inside.from - e.from}, e.from < inside.from
	})
	cut(func(e extent) (extent, bool) {
		e = e.rounded(run)
		return extent{inside.end(), e.end() - inside.end()}, e.end() > inside.end()
	})
	var between []box
	for _, b := range read {
		if b[axis].end() > inside.from && b[axis].from < inside.end() {
			between = append(between, b)
		}
	}
	for _, part := range around(own, between, rest, n) {
		part[axis] = inside
		parts = append(parts, part)
	}
	return parts
}

// haloRing returns the ring of an array of which threads have their own cells
// in registers.
func (w *sweep) haloRing(a *ir.Array) *ring {
	for _, r := range w.rings {
		if r.array == a && r.halos {
			return r
		}
	}
	return nil
}

// fromRegisters reports whether a row's cells of the thread's vector come from
// memory to the thread's registers, though its array has a ring.
func (w *sweep) fromRegisters(c *chain) bool { return w.haloRing(c.array) != nil && w.ownRow(c) }

// ownRows finds the rows of a thread's own cells, and has them held until they
// go to the ring.
func (w *sweep) ownRows(r *ring) {
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
func (w *sweep) keepOwn() {
	for _, r := range w.rings {
		for _, c := range r.own {
			if w.stream == noAxis {
				c.held[r.low] = w.loadOwn(c, r.low)
			} else {
				w.enter(c)
			}
		}
	}
	for _, r := range w.rings {
		for _, c := range r.own {
			for at := r.high - w.step() + 1; at <= r.high; at++ {
				w.toRing(r, c, at, c.held[at])
			}
		}
	}
}

// startOwn stores the thread's own cells of the planes that neighbours read at
// the first step, but for those that the step stores itself.
func (w *sweep) startOwn(r *ring) {
	for _, c := range r.own {
		for at := r.low; at <= r.high-w.step(); at++ {
			held := c.held[at]
			if held == nil {
				held = w.loadOwn(c, at)
			}
			w.toRing(r, c, at, held)
		}
	}
}

// toRing stores the cells of the thread's vector.
func (w *sweep) toRing(r *ring, c *chain, at int64, held map[int64]kernel.Expr) {
	start := kernel.Add(w.place(r, at), w.ringRow(r, c))
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

package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// bulkFetch is how the block's copy engine fills circular buffers: threads of one warp
// start the copies of a plane, each of some rows, and announce their bytes at an
// mbarrier, at which all threads wait before the step that reads the plane
// first. All are at a barrier before the copies that take the place of what was
// read in the step before, and at a fence before that: without it, the copies
// may overtake loads that are still under way.
//
// The cells of a circular buffer's rows that the array has are the same for all rows and
// planes of a block. What a boundary makes of the others is no run of memory:
// threads copy it cell by cell (copyPlane).
type bulkFetch struct {
	full    *kernel.Buffer // mbarriers, of the steps whose planes are under way
	slots   int64
	issuers int64 // threads that start copies
	// empty are mbarriers at which threads arrive when they are through with a
	// step, in the place of the barrier, and extra the threads that do nothing but
	// wait there and start copies; nil and 0 if there are none.
	empty *kernel.Buffer
	extra int64
}

// bulkRows is what the copy engine brings of every plane of a circular buffer.
type bulkRows struct {
	rows []*bulkRow // of a thread
	// Where a row of the circular buffer starts on the inner axis, and the cells that are
	// brought of it.
	start, begin, end, length kernel.Expr
	singles                   bool // there may be cells that threads have to copy
}

// bulkRow is one of the rows that a thread starts to copy of every plane.
type bulkRow struct {
	valid kernel.Expr // whether there is such a row; nil if always
	outer []index     // the row, without the streamed axis
	at    kernel.Expr // where it starts in a plane of the circular buffer
}

// bulkBytes is what bulk copies are aligned to.
const bulkBytes = 16

// chooseFetch finds the circular buffers that the copy engine fills: those with runs that
// are aligned to what it needs. It overwrites nothing that a slower thread might
// still be reading.
func (w *tiledKernel) chooseFetch(circularBuffers []*circularBuffer) {
	for _, r := range circularBuffers {
		if w.bulk && !r.halos && r.n*int64(r.array.Type.Size()) == bulkBytes {
			r.bulk = &bulkRows{singles: w.singles(r.array, noAxis)}
		}
	}
	w.slack = w.split && !w.warp && w.separable(circularBuffers)
	for _, r := range circularBuffers {
		if r.bulk != nil && !w.slack {
			r.planes -= w.step()
		}
	}
	w.chooseTensors(circularBuffers)
}

// makeFetch makes what bulk copies take beside the circular buffers.
func (w *tiledKernel) makeFetch() {
	circularBuffers := w.bulkBuffers()
	if len(circularBuffers) == 0 {
		return
	}
	f := &bulkFetch{slots: 1}
	for _, r := range circularBuffers {
		rows := r.cells / r.len[w.inner()]
		if r.tensor != nil {
			rows = 1
		}
		f.issuers = max(f.issuers, min(rows, warpSize))
	}
	// All threads have waited for a phase when the next of its mbarrier begins:
	// they are through with its step. Numbers of steps are cut down to powers of
	// two without a division.
	phases := w.shared + 1
	if w.slack { // some wait for the planes of the step before
		phases++
	}
	for f.slots < phases {
		f.slots *= 2
	}
	f.full = w.mbarriers("arrived", f.slots)
	w.fetch = f
	if (w.warp || w.tensor || w.slack) && w.separable(w.circularBuffers) {
		f.empty = w.mbarriers("free", f.slots)
		if w.warp {
			w.widen()
		}
	}
}

// mbarriers makes some for the block.
func (w *tiledKernel) mbarriers(name string, n int64) *kernel.Buffer {
	return &kernel.Buffer{
		Name: w.pre.declare(w.env, name, types.I64).Name, Elem: types.I64, Space: kernel.Mbarrier,
		Mode: kernel.InOut, Cells: kernel.I(n),
	}
}

// bulkBuffers returns the circular buffers that the copy engine fills.
func (w *tiledKernel) bulkBuffers() []*circularBuffer {
	return slices.DeleteFunc(slices.Clone(w.circularBuffers), func(r *circularBuffer) bool { return r.bulk == nil })
}

// asyncBuffers returns those that the threads fill.
func (w *tiledKernel) asyncBuffers() []*circularBuffer {
	return slices.DeleteFunc(slices.Clone(w.circularBuffers), func(r *circularBuffer) bool { return r.bulk != nil })
}

// singles reports whether a boundary makes of cells beyond an array what is no
// part of a row: one of an axis, or of any.
func (w *tiledKernel) singles(a *ir.Array, on int) bool {
	for d, dim := range a.Dims {
		if on != noAxis && dim.Axis != on {
			continue
		}
		for _, f := range []ir.Boundary{dim.Faces.Low, dim.Faces.High} {
			switch f.Kind {
			case ir.None:
			case ir.Constant, ir.AntiMirror, ir.AntiReflect:
				return true
			default: // another row
				if d == len(a.Dims)-1 {
					return true
				}
			}
		}
	}
	return false
}

// bulkRows shares the rows of a plane out among the threads that start copies,
// and finds the cells of a row that are brought.
func (w *tiledKernel) bulkRows(r *circularBuffer) {
	inner := w.inner()
	lastDim := len(r.array.Dims) - 1
	rows, issuers := r.cells/r.len[inner], w.fetch.issuers
	lane := w.issuer()
	for i := range (rows + issuers - 1) / issuers {
		name := fmt.Sprintf("bulk%d", i)
		number := kernel.Add(lane, kernel.I(i*issuers))
		b := &bulkRow{at: kernel.Mul(number, kernel.I(r.len[inner]))}
		if (i+1)*issuers > rows {
			b.valid = kernel.Lt(number, kernel.I(rows))
		}
		left := rows // that the axes not yet taken apart make up
		for d, dim := range r.array.Dims[:lastDim] {
			axis := dim.Axis
			if axis == w.stream {
				b.outer = append(b.outer, index{axis: axis})
				continue
			}
			at := number
			if left > r.len[axis] {
				at = kernel.Bin(op.Div, number, kernel.I(left/r.len[axis]))
				number = kernel.Bin(op.Rem, number, kernel.I(left/r.len[axis]))
			}
			left /= r.len[axis]
			x := kernel.Add(kernel.Add(w.corner[axis], at), kernel.I(r.from[axis]))
			raw := index{axis: axis, at: x, key: fmt.Sprintf("%p:%s:%d", r, name, axis)}
			b.outer = append(b.outer, w.mapped(r.array, d, raw, name+"_"+w.Program.Axes[axis], true, true))
		}
		r.bulk.rows = append(r.bulk.rows, b)
	}
	holds, faces := r.array.Holds(lastDim), r.array.Dims[lastDim].Faces
	down := func(x kernel.Expr) kernel.Expr { return w.down(x, r.n) }
	up := func(x kernel.Expr) kernel.Expr { return down(kernel.Add(x, kernel.I(r.n-1))) }
	first, end := w.low(holds.Lo, nil), kernel.Add(w.high(holds.Hi, nil), kernel.I(1))
	// Padding around the row may be read where nobody needs what is there.
	low, high := down(first), up(end)
	if faces.Low.Kind != ir.None {
		low = up(first)
	}
	if faces.High.Kind != ir.None {
		high = down(end)
	}
	let := func(name string, value kernel.Expr) kernel.Expr {
		return w.pre.let(w.env, fmt.Sprintf("bulk:%p:%s", r, name), r.buf.Name+"_"+name, value)
	}
	b := r.bulk
	b.start = let("start", kernel.Add(w.corner[inner], kernel.I(r.from[inner])))
	b.begin = let("begin", kernel.Max(b.start, low))
	b.end = let("end", kernel.Min(kernel.Add(b.start, kernel.I(r.len[inner])), high))
	b.length = let("brought", kernel.Max(kernel.Sub(b.end, b.begin), kernel.I(0)))
}

// threadNumber names the thread's number in the block.
func (w *tiledKernel) threadNumber() kernel.Expr { return w.pre.let(w.env, "lane", "lane", w.lane) }

// beyond returns the condition under which what boundaries make of a row is no
// row of the array; nil if that cannot be.
func beyond(outer []index) kernel.Expr {
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

// bulkCopies has those planes brought that a step reads first, which is counted
// from the block's first.
// What they take the place of is free after some statements.
func (w *tiledKernel) bulkCopies(number kernel.Expr, planes func(*circularBuffer) []int64, free ...kernel.Stmt) {
	outside := w.now
	w.now = w.inside(outside)
	w.now.emit(free...)
	slot, _ := w.slotOf(number)
	slot = w.now.let(w.env, "slot", w.fetch.full.Name+"_slot", slot)
	bytes := kernel.I(0)
	var copies []kernel.Stmt
	for _, r := range w.bulkBuffers() {
		for _, at := range planes(r) {
			if r.tensor != nil {
				brought, list := kernel.I(r.planeBytes()), w.tensorCopies(r, at, slot)
				if w.fetch.issuers > 1 {
					first := kernel.Lt(w.issuer(), kernel.I(1))
					brought = kernel.Sel(first, brought, kernel.I(0))
					list = []kernel.Stmt{&kernel.If{Cond: first, Then: list}}
				}
				bytes, copies = kernel.Add(bytes, brought), append(copies, list...)
				continue
			}
			for i, row := range r.bulk.rows {
				outer := w.rowOf(r, row, at)
				cells := r.bulk.length
				if row.valid != nil {
					cells = kernel.Sel(row.valid, cells, kernel.I(0))
				}
				if not := beyond(outer); not != nil {
					cells = kernel.Sel(not, kernel.I(0), cells)
				}
				cells = w.now.let(w.env, fmt.Sprintf("brought:%p:%d:%d", r, at, i), r.buf.Name+"_run", cells)
				bytes = kernel.Add(bytes, kernel.Mul(cells, kernel.I(int64(r.array.Type.Size()))))
				copies = append(copies, w.bulkCopy(r, row, at, outer, cells, slot))
			}
		}
	}
	w.now.emit(&kernel.MbarrierArrive{Mbarrier: w.fetch.full, Slot: slot, Bytes: kernel.Conv(types.I32, bytes)})
	list := append(w.now.stmts, copies...)
	w.now = outside
	if w.fetch.extra > 0 {
		w.now.stmts = append(w.now.stmts, list...)
		return
	}
	w.now.emit(&kernel.If{Cond: w.issues(), Then: list})
	for _, r := range w.bulkBuffers() {
		if r.bulk.singles {
			for _, at := range planes(r) {
				w.copyPlane(r, at)
			}
		}
	}
}

// issues returns the condition under which a thread starts copies.
func (w *tiledKernel) issues() kernel.Expr {
	is := kernel.Lt(w.issuer(), kernel.I(w.fetch.issuers))
	if w.fetch.extra > 0 && w.firstIssuer() > w.threads() {
		return kernel.And(kernel.Ge(w.issuer(), kernel.I(0)), is)
	}
	return is
}

// issuer returns the thread's number among those of the warp that starts copies.
func (w *tiledKernel) issuer() kernel.Expr {
	if w.fetch.extra == 0 {
		return w.threadNumber()
	}
	return w.pre.let(w.env, "issuer", "issuer", kernel.Sub(w.threadNumber(), kernel.I(w.firstIssuer())))
}

// bulkCopy brings a row of a plane, or such a part of it.
func (w *tiledKernel) bulkCopy(r *circularBuffer, row *bulkRow, at int64, outer []index,
	cells, slot kernel.Expr) kernel.Stmt {
	outside := w.now
	w.now = w.inside(outside)
	st, buf := w.inMemory(r.array)
	from := w.start(st, append(slices.Clip(outer), index{axis: w.inner()}))
	to := kernel.Add(w.place(r, at), row.at)
	w.now.emit(&kernel.BulkCopy{
		To: r.buf, At: kernel.Add(to, kernel.Sub(r.bulk.begin, r.bulk.start)),
		From: buf, Index: kernel.Add(from, r.bulk.begin), Cells: cells, Mbarrier: w.fetch.full, Slot: slot,
	})
	list := w.now.stmts
	w.now = outside
	return &kernel.If{Cond: kernel.Lt(kernel.I(0), cells), Then: list}
}

// rowOf returns the indices of a row of a plane.
func (w *tiledKernel) rowOf(r *circularBuffer, row *bulkRow, at int64) []index {
	outer := slices.Clone(row.outer)
	for d := range outer {
		if outer[d].axis == w.stream {
			outer[d] = w.index(r.array, d, w.stream, at)
		}
	}
	return outer
}

// entering returns the planes of a circular buffer that a step reads first, which is so
// many after the one at hand; the block's first step reads all its planes first.
func (w *tiledKernel) entering(further int64) func(*circularBuffer) []int64 {
	return func(r *circularBuffer) []int64 {
		from, to := r.high+(further-1)*w.step()+1, r.high+further*w.step()
		if w.prologue && further == 0 {
			from = r.low
		}
		var list []int64
		for at := from; at <= to; at++ {
			list = append(list, at)
		}
		return list
	}
}

// slotOf returns the mbarrier of a step and the parity of its phase there.
func (w *tiledKernel) slotOf(step kernel.Expr) (slot, parity kernel.Expr) {
	return phaseOf(step, w.fetch.slots)
}

// phaseOf returns which of so many mbarriers a step has if they are used in turn, and the parity of its phase there.
func phaseOf(step kernel.Expr, mbarriers int64) (slot, parity kernel.Expr) {
	n := kernel.I(mbarriers)
	round := kernel.Bin(op.Rem, kernel.Bin(op.Div, step, n), kernel.I(2))
	return kernel.Bin(op.Rem, step, n), kernel.Conv(types.I32, round)
}

// comes returns the condition under which the loop over planes, now at one
// plane and at one of the steps that it makes at a time, comes to a step so
// many further; nil if it does so anyway. Copies are started for such steps and
// no others, so that none is under way when the block ends.
func (w *tiledKernel) comes(at kernel.Expr, unrolledStep, further int64, last kernel.Expr) kernel.Expr {
	unrollFactor := w.unrollFactor()
	rounds := (unrolledStep + further) / unrollFactor
	if rounds == 0 {
		return nil
	}
	return kernel.Lt(kernel.Add(at, kernel.I(rounds*unrollFactor*w.step())), last)
}

// readyBulk makes the mbarriers and what the copy engine does not bring. All
// threads do that; it returns where they do, and leaves w where those go on that
// compute.
func (w *tiledKernel) readyBulk() *scope {
	common := w.pre
	f := w.fetch
	if f == nil {
		return common
	}
	outside := w.now
	w.now = common
	lane := w.threadNumber()
	var inits []kernel.Stmt
	init := func(b *kernel.Buffer, count kernel.Expr) {
		w.allocs = append(w.allocs, &kernel.Alloc{Buffer: b})
		inits = append(inits, &kernel.MbarrierInit{Mbarrier: b, Slot: lane, Count: kernel.Conv(types.I32, count)})
	}
	init(f.full, kernel.I(f.issuers))
	if f.empty != nil {
		init(f.empty, w.allLeavers())
	}
	w.once().emit(&kernel.If{Cond: kernel.Lt(lane, kernel.I(f.slots)), Then: inits})
	made := len(common.stmts)
	for _, r := range w.bulkBuffers() {
		if r.tensor == nil {
			w.pad(r)
		}
	}
	if w.shares == nil || len(common.stmts) > made { // and not all have met after that
		common.emit(w.meetBlock())
	}
	w.now = outside
	if w.issuer(); f.extra > 0 { // named for both branches
		w.pre = w.inside(common)
		w.now = w.pre
		for _, c := range w.cells {
			c.row, c.body = w.pre, w.pre
		}
	}
	return common
}

// startBulk has the planes brought that the first steps read.
func (w *tiledKernel) startBulk(last kernel.Expr) {
	if w.fetch == nil || w.fetch.extra > 0 {
		return
	}
	for prefetchDistance := range w.shared {
		outside := w.now
		w.now = w.inside(outside)
		w.bulkCopies(w.firstStep(kernel.I(prefetchDistance)), w.entering(prefetchDistance))
		list := w.now.stmts
		w.now = outside
		w.when(w.comes(w.first, 0, prefetchDistance, last), list)
	}
}

// feedBulk has the planes brought of a later step, and waits for those of this
// one.
func (w *tiledKernel) feedBulk(last kernel.Expr) {
	if w.fetch == nil {
		return
	}
	number := w.stepNumber()
	if w.fetch.extra == 0 {
		var free []kernel.Stmt
		if w.fetch.empty == nil {
			w.now.emit(&kernel.AsyncFence{})
			w.now.emit(&kernel.Barrier{Scope: kernel.BlockScope})
		} else {
			behind := int64(1)
			if w.slack {
				behind++
			}
			free = w.freed(kernel.Sub(number, kernel.I(behind)))
		}
		outside := w.now
		w.now = w.inside(outside)
		w.bulkCopies(kernel.Add(number, kernel.I(w.shared)), w.entering(w.shared), free...)
		list := w.now.stmts
		w.now = outside
		at := kernel.Sub(w.pos[w.stream], kernel.I(w.unrolledStep*w.step()))
		w.when(w.comes(at, w.unrolledStep, w.shared, last), list)
	}
	slot, parity := w.slotOf(number)
	w.now.emit(&kernel.MbarrierWait{Mbarrier: w.fetch.full, Slot: slot, Parity: parity})
}

// stepNumber names the number of the step, counted from the block's first.
func (w *tiledKernel) stepNumber() kernel.Expr {
	gone := kernel.Sub(w.pos[w.stream], w.first)
	number := w.firstStep(kernel.Bin(op.Div, gone, kernel.I(w.step())))
	return w.now.let(w.env, "step:"+w.phase, "step", number)
}

// pad stores zeros to those cells of a circular buffer at the ends of its rows that neither
// the array nor a boundary has: the vectors of threads beyond have them.
func (w *tiledKernel) pad(r *circularBuffer) {
	faces, b := r.array.Dims[len(r.array.Dims)-1].Faces, r.bulk
	length := kernel.I(r.len[w.inner()])
	s := w.inside(w.now)
	v := kernel.NewVar(s.free(w.env, "cell"), types.I64)
	x := s.let(w.env, "x", w.Program.Axes[w.inner()]+"_cell",
		kernel.Add(b.start, kernel.Bin(op.Rem, kernel.V(v), length)))
	var out, any kernel.Expr
	if faces.Low.Kind == ir.None {
		out, any = disj(out, kernel.Lt(x, b.begin)), disj(any, kernel.Lt(b.start, b.begin))
	}
	if faces.High.Kind == ir.None {
		out, any = disj(out, kernel.Ge(x, b.end)), disj(any, kernel.Lt(b.end, kernel.Add(b.start, length)))
	}
	if out == nil {
		return
	}
	s.emit(&kernel.If{
		Cond: out, Then: []kernel.Stmt{&kernel.Store{Buffer: r.buf, Index: kernel.V(v), Value: zero(r.array.Type)}},
	})
	loop := &kernel.Loop{
		Var: v, Lo: w.threadNumber(), Hi: kernel.I(r.planes * r.cells),
		Step: kernel.I(w.threads() + w.fetch.extra), Body: s.stmts,
	}
	w.now.emit(&kernel.If{Cond: any, Then: []kernel.Stmt{loop}})
}

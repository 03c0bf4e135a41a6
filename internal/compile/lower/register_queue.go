package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// registerQueue is a row of cells that a thread reads, on its way past the thread: the
// same row of the planes at several offsets along the streamed axis. It enters
// at the highest offset and moves down with every step, so that it is loaded
// once. Its cells are numbered from the first of the thread's
// vector; those below 0 and from vec on belong to other lanes.
type registerQueue struct {
	array  *ir.Array
	offset []int64 // by dimension, of all but the streamed axis and the inner one
	first  int64   // of the vector, from the thread's position on the inner axis
	moves  bool    // the array has the streamed axis
	planes []*plane
	held   map[int64]map[int64]kernel.Expr // by plane offset, then cell
	queue  map[int64]map[int64]*kernel.Var // what is carried from plane to plane
}

// plane is one offset along the streamed axis with the cells that are needed.
type plane struct {
	at   int64
	need map[int64]bool
}

// reach returns the plane offsets from the highest to the lowest.
func (c *registerQueue) lowest() int64 { return c.planes[len(c.planes)-1].at }

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

// row finds the register queue, the plane and the cell that an access of a cell of the
// thread's tile reads.
func (w *tiledKernel) row(a *ir.Access, place map[int]int64) (c *registerQueue, at, cell int64) {
	c = &registerQueue{
		array: a.Array, held: map[int64]map[int64]kernel.Expr{}, queue: map[int64]map[int64]*kernel.Var{},
	}
	key := fmt.Sprintf("%p", a.Array)
	for _, ix := range a.Index {
		off := ix.Offset + place[ix.Axis]
		switch ix.Axis {
		case w.stream:
			c.moves, at = true, off
			c.offset = append(c.offset, 0)
			continue
		case w.inner():
			c.first = place[ix.Axis] - mod(place[ix.Axis], w.vec)
			cell = off - c.first
			c.offset = append(c.offset, 0)
			key += fmt.Sprintf(":%d", c.first)
			continue
		}
		c.offset = append(c.offset, off)
		key += fmt.Sprintf(";%d", off)
	}
	if old, ok := w.registerQueueOf[key]; ok {
		return old, at, cell
	}
	w.registerQueueOf[key] = c
	w.registerQueues = append(w.registerQueues, c)
	return c, at, cell
}

// plan finds the rows that the thread's cells read.
func (w *tiledKernel) plan() {
	w.reads(func(a *ir.Access, place map[int]int64) {
		if w.readsRow(a) {
			c, at, x := w.row(a, place)
			c.plane(at).need[x] = true
		}
	})
	for _, c := range w.registerQueues {
		c.sort()
	}
}

// plane finds or makes the plane at an offset.
func (c *registerQueue) plane(at int64) *plane {
	i := slices.IndexFunc(c.planes, func(p *plane) bool { return p.at == at })
	if i < 0 {
		i = len(c.planes)
		c.planes = append(c.planes, &plane{at, map[int64]bool{}})
	}
	return c.planes[i]
}

// sort puts the planes in order, the highest first.
func (c *registerQueue) sort() {
	slices.SortFunc(c.planes, func(p, q *plane) int { return int(q.at - p.at) })
}

// at returns what is needed of a plane, nil if nothing is.
func (c *registerQueue) at(at int64) map[int64]bool {
	for _, p := range c.planes {
		if p.at == at {
			return p.need
		}
	}
	return nil
}

// needed returns the cells of a plane that somebody reads while it is at an
// offset or at those to which steps take it later.
func (w *tiledKernel) needed(c *registerQueue, from int64) []int64 {
	set := map[int64]bool{}
	for at := from; at >= c.lowest(); at -= w.step() {
		for x := range c.at(at) {
			set[x] = true
		}
		if !c.moves {
			break
		}
	}
	return sorted(set)
}

// step returns how many planes the threads go on by.
func (w *tiledKernel) step() int64 {
	if w.stream == noAxis {
		return 1
	}
	return w.along[w.stream].blocked
}

func sorted(set map[int64]bool) []int64 {
	var out []int64
	for x := range set {
		out = append(out, x)
	}
	slices.Sort(out)
	return out
}

// known reports whether a cell has been read before its plane came to an
// offset.
func (w *tiledKernel) known(c *registerQueue, x, at int64) bool {
	for at += w.step(); at <= c.planes[0].at; at += w.step() {
		if c.at(at)[x] {
			return true
		}
	}
	return false
}

// own reports whether a cell is one of the thread's vector.
func (w *tiledKernel) own(x int64) bool { return x >= 0 && x < w.vec }

// top is the highest plane of a row that is loaded, and queued the highest
// that comes from a queue. What a circular buffer holds needs no other planes early, and
// what goes to one has to be there a step before.
func (w *tiledKernel) top(c *registerQueue) int64 {
	top := c.planes[0].at
	r := w.haloBufferOf(c.array)
	switch {
	case r == nil:
		return top + w.prefetchDistance
	case w.ownRow(c):
		return max(top+w.prefetchDistance, r.high+w.step())
	}
	return top
}

func (w *tiledKernel) queued(c *registerQueue) int64 { return w.top(c) - w.step() }

// carried returns the cells of a plane that come from a queue: the thread's
// own, which shuffles may need too, and others once they are read.
func (w *tiledKernel) carried(c *registerQueue, at int64) []int64 {
	var out []int64
	need := w.needed(c, at)
	if len(need) == 0 {
		return nil
	}
	for x := range w.vec {
		out = append(out, x)
	}
	for _, x := range need {
		if !w.own(x) && w.known(c, x, at) {
			out = append(out, x)
		}
	}
	return out
}

// load makes the cells of all rows available: before the planes those that the
// first plane finds in the queues, and at each plane the new ones.
func (w *tiledKernel) load() {
	for _, c := range w.registerQueues {
		switch {
		case w.stream == noAxis, w.prologue && !c.moves:
			w.loadRow(c, 0)
		case w.prologue:
			w.fill(c)
		case c.moves:
			w.advance(c)
		}
	}
}

// loadRow loads all that is read of a row that no queue holds.
func (w *tiledKernel) loadRow(c *registerQueue, at int64) {
	if w.prologue || !w.fromRegisters(c) {
		c.held[at] = w.loadOwn(c, at)
	}
	w.extend(c, at, w.needed(c, at))
}

// fill makes the queues and loads what they hold at the first plane.
func (w *tiledKernel) fill(c *registerQueue) {
	for at := c.lowest(); at <= w.queued(c); at++ {
		cells := w.carried(c, at)
		if len(cells) == 0 {
			continue
		}
		c.held[at] = w.loadOwn(c, at)
		w.extend(c, at, cells)
		c.queue[at] = map[int64]*kernel.Var{}
		for _, x := range cells {
			v := w.pre.declare(w.env, strings.TrimSuffix(w.cellName(c, at, x), "_"+w.phase), c.array.Type)
			w.pre.emit(&kernel.Declare{Var: v, Init: c.held[at][x]})
			c.queue[at][x] = v
		}
	}
}

// advance loads the rows of new planes and completes those below them.
func (w *tiledKernel) advance(c *registerQueue) {
	if !w.fromRegisters(c) {
		w.enter(c)
	}
	for _, p := range c.planes {
		w.extend(c, p.at, sorted(p.need))
	}
}

// enter moves what queues hold to its new planes and loads the thread's cells
// of those that enter.
func (w *tiledKernel) enter(c *registerQueue) {
	before := c.held
	c.held = map[int64]map[int64]kernel.Expr{}
	for at := c.lowest(); at <= w.queued(c); at++ {
		cells := w.carried(c, at)
		if len(cells) == 0 {
			continue
		}
		c.held[at] = map[int64]kernel.Expr{}
		for _, x := range cells {
			if w.unrolledStep == 0 {
				c.held[at][x] = kernel.V(c.queue[at][x])
			} else {
				c.held[at][x] = before[at+w.step()][x]
			}
		}
	}
	for at := w.queued(c) + 1; at <= w.top(c); at++ {
		if len(w.needed(c, at)) > 0 {
			c.held[at] = w.loadOwn(c, at)
		}
	}
}

// unrollFactor returns how many steps the loop over planes makes at a time: where that
// is asked for so many that no queue has to be moved on between them, or fewer.
func (w *tiledKernel) unrollFactor() int64 {
	n := int64(1)
	for _, c := range w.registerQueues {
		if w.unrollStream && c.moves {
			n = max(n, (w.top(c)-c.lowest())/w.step()+1)
		}
	}
	if w.unrollStream && w.early != nil {
		n = max(n, w.early.unrollFactor(w.step()))
	}
	if w.steps > 0 {
		n = min(n, w.steps)
	}
	return n
}

// shift moves the queues on by one plane.
func (w *tiledKernel) shift() {
	for _, c := range w.registerQueues {
		if !c.moves {
			continue
		}
		for at := c.lowest(); at <= w.queued(c); at++ {
			for _, x := range w.carried(c, at) {
				w.now.emit(&kernel.Assign{Var: c.queue[at][x], Value: c.held[at+w.step()][x]})
			}
		}
	}
}

// cellName names a cell of a row: u_kp1 or u_jm1_ip2.
func (w *tiledKernel) cellName(c *registerQueue, at, x int64) string {
	name := c.array.Name
	for d, dim := range c.array.Dims {
		off := c.offset[d]
		switch dim.Axis {
		case w.stream:
			off = at
		case w.inner():
			off = c.first + x
		}
		if off != 0 {
			name += "_" + w.cells[0].offsetName(index{axis: dim.Axis, offset: off})
		}
	}
	if w.phase != "" {
		name += "_" + w.phase
	}
	return name
}

// outer returns the indices of a row on all axes but the inner one.
func (w *tiledKernel) outerIndex(c *registerQueue, at int64) []index {
	var idx []index
	for d, dim := range c.array.Dims {
		off := c.offset[d]
		switch dim.Axis {
		case w.stream:
			off = at
		case w.inner():
			continue
		}
		idx = append(idx, w.index(c.array, d, dim.Axis, off))
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
func (w *tiledKernel) one(c *registerQueue, outer []index, x int64) kernel.Expr {
	st, buf, via := w.source(c.array, 1)
	last := len(c.array.Dims) - 1
	idx := append(slices.Clip(outer), w.index(c.array, last, w.inner(), c.first+x))
	value := kernel.Expr(&kernel.Load{Buffer: buf, Index: w.element(st, idx), Via: via})
	return applied(value, idx)
}

// keep names a cell's value.
func (w *tiledKernel) keep(c *registerQueue, at, x int64, value kernel.Expr) kernel.Expr {
	s := w.scopeFor(c)
	v := s.declare(w.env, w.cellName(c, at, x), c.array.Type)
	s.emit(&kernel.Let{Var: v, Value: value})
	return kernel.V(v)
}

// scopeFor returns where a row's cells are loaded.
func (w *tiledKernel) scopeFor(c *registerQueue) *scope {
	if c.moves {
		return w.now
	}
	return w.pre
}

// loadOwn loads the cells of the thread's vector.
func (w *tiledKernel) loadOwn(c *registerQueue, at int64) map[int64]kernel.Expr {
	if r := w.circularBufferOf(c); r != nil && !w.fromRegisters(c) {
		return w.fromCircularBuffer(r, c, at, 0, w.vec)
	}
	held := map[int64]kernel.Expr{}
	outer := w.outerIndex(c, at)
	n := w.run(c.array)
	if n == 1 || !w.vectors(c.array) {
		for x := range w.vec {
			held[x] = w.keep(c, at, x, w.one(c, outer, x))
		}
		return held
	}
	s := w.scopeFor(c)
	st, buf, via := w.source(c.array, n)
	start := w.vectorAt(c)
	row := w.start(st, append(slices.Clip(outer), index{axis: w.inner(), at: start}))
	for from := int64(0); from < w.vec; from += n {
		var vars []*kernel.Var
		for x := from; x < from+n; x++ {
			v := s.declare(w.env, w.cellName(c, at, x), c.array.Type)
			vars = append(vars, v)
			held[x] = kernel.V(v)
		}
		at := kernel.Add(kernel.Add(row, start), kernel.I(from))
		s.emit(&kernel.LoadVector{Vars: vars, Buffer: buf, Index: at, Via: via})
	}
	for x := range w.vec {
		if value := applied(held[x], outer); value != held[x] {
			held[x] = w.keep(c, at, x, value)
		}
	}
	w.mend(c, at, outer, held)
	return held
}

// vectorAt returns where the thread's vector of a row starts on the inner
// axis: its own place, or the nearest that has a cell of the array.
func (w *tiledKernel) vectorAt(c *registerQueue) kernel.Expr {
	last := len(c.array.Dims) - 1
	holds := c.array.Holds(last)
	x := kernel.Add(w.pos[w.inner()], kernel.I(c.first))
	lo, hi := w.down(w.low(holds.Lo, nil), w.vec), w.down(w.high(holds.Hi, nil), w.vec)
	ix := ir.Index{Axis: w.inner()}
	cell := w.cells[0]
	x = kernel.Min(x, hi)
	if cell.crosses(ix, holds.Lo, cell.loBounds, -1) || w.startsBefore(lo) {
		x = kernel.Max(x, lo)
	}
	key := fmt.Sprintf("vector:%s:%d", w.rangeKey(holds), c.first)
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
func (w *tiledKernel) mend(c *registerQueue, at int64, outer []index, held map[int64]kernel.Expr) {
	last := len(c.array.Dims) - 1
	faces := c.array.Dims[last].Faces
	holds := c.array.Holds(last)
	lo, hi := w.low(holds.Lo, nil), w.high(holds.Hi, nil)
	x := kernel.Add(w.pos[w.inner()], kernel.I(c.first))
	var ragged kernel.Expr
	whole := func(end kernel.Expr, plus int64) bool {
		n, ok := kernel.IntLit(end)
		return ok && mod(n+plus-w.origin, w.vec) == 0
	}
	ix, cell := ir.Index{Axis: w.inner()}, w.cells[0]
	if faces.Low.Kind != ir.None && !(whole(lo, 0) && !cell.crosses(ix, holds.Lo, cell.loBounds, -1)) {
		ragged = kernel.Lt(x, lo)
	}
	// Of threads beyond the row's end a circular buffer has the cells.
	beyond := w.fromRegisters(c) && !w.threadsEnd(hi)
	if faces.High.Kind != ir.None && !(whole(hi, 1) && !beyond && !cell.crosses(ix, holds.Hi, cell.hiBounds, 1)) {
		over := kernel.Lt(hi, kernel.Add(x, kernel.I(w.vec-1)))
		if ragged == nil {
			ragged = over
		} else {
			ragged = kernel.Bin(op.LOr, ragged, over)
		}
	}
	if ragged == nil || !w.strays(c) {
		return
	}
	cond := w.pre.let(w.env, fmt.Sprintf("ragged:%s:%d", w.rangeKey(holds), c.first), "ragged", ragged)
	s := w.scopeFor(c)
	var inside []kernel.Stmt
	for x := range w.vec {
		v := s.declare(w.env, w.cellName(c, at, x), c.array.Type)
		s.emit(&kernel.Declare{Var: v, Init: held[x]})
		inside = append(inside, &kernel.Assign{Var: v, Value: w.one(c, outer, x)})
		held[x] = kernel.V(v)
	}
	s.emit(&kernel.If{Cond: cond, Then: inside})
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
func (w *tiledKernel) strays(c *registerQueue) bool {
	last := len(c.array.Dims) - 1
	holds, cell := c.array.Holds(last), w.cells[0]
	for _, s := range w.stmts {
		for _, a := range accesses(s.src.Value) {
			if a.Array != c.array || !w.readsRow(a) {
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
func (w *tiledKernel) extend(c *registerQueue, at int64, cells []int64) {
	held := c.held[at]
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
		if w.shuffle && c.array.Type != types.Bool && c.array.Type != types.U8 {
			w.shuffled(c, at, q, byLane[q])
			continue
		}
		n := w.run(c.array)
		r := w.circularBufferOf(c)
		if r != nil {
			n = chunk(w.vec, c.array.Type)
		}
		for from := q * w.vec; from < (q+1)*w.vec; from += n {
			some := slices.DeleteFunc(slices.Clone(byLane[q]), func(x int64) bool { return x < from || x >= from+n })
			if r != nil && len(some) > 1 {
				for x, v := range w.fromCircularBuffer(r, c, at, from, n) {
					held[x] = v
				}
				continue
			}
			if r != nil {
				for _, x := range some {
					held[x] = w.keep(c, at, x, w.oneOfCircularBuffer(r, c, at, x))
				}
				continue
			}
			if len(some) > 1 && w.vectors(c.array) {
				w.neighbour(c, at, from, some)
				continue
			}
			outer := w.outerIndex(c, at)
			for _, x := range some {
				held[x] = w.keep(c, at, x, w.one(c, outer, x))
			}
		}
	}
}

// shuffled takes cells from the lane that is q further, or where there is none
// or the row ends before it, from memory.
func (w *tiledKernel) shuffled(c *registerQueue, at, q int64, cells []int64) {
	s := w.scopeFor(c)
	r := w.circularBufferOf(c)
	var outer []index
	if r == nil {
		outer = w.outerIndex(c, at)
	}
	kind, by := kernel.ShuffleDown, q
	if q < 0 {
		kind, by = kernel.ShuffleUp, -q
	}
	cond := w.alone(c, q)
	var inside []kernel.Stmt
	for _, x := range cells {
		moved := s.declare(w.env, w.cellName(c, at, x), c.array.Type)
		s.emit(&kernel.Shuffle{
			Var: moved, Kind: kind, Value: c.held[at][mod(x, w.vec)], By: kernel.Conv(types.I32, kernel.I(by)),
		})
		v := s.declare(w.env, w.cellName(c, at, x), c.array.Type)
		s.emit(&kernel.Declare{Var: v, Init: kernel.V(moved)})
		single := kernel.Expr(nil)
		if r != nil {
			single = w.oneOfCircularBuffer(r, c, at, x)
		} else {
			single = w.one(c, outer, x)
		}
		inside = append(inside, &kernel.Assign{Var: v, Value: single})
		c.held[at][x] = kernel.V(v)
	}
	s.emit(&kernel.If{Cond: cond, Then: inside})
}

// alone returns the condition under which the lane that is q further does not
// have the cells there: it is in another warp, or beyond the row's end.
func (w *tiledKernel) alone(c *registerQueue, q int64) kernel.Expr {
	last := len(c.array.Dims) - 1
	holds := c.array.Holds(last)
	lane := kernel.Bin(op.Rem, kernel.V(w.thread[w.inner()]), kernel.I(32))
	x := kernel.Add(w.pos[w.inner()], kernel.I(c.first))
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
	return w.pre.let(w.env, fmt.Sprintf("alone:%s:%d:%d", w.rangeKey(holds), c.first, q), side+"_alone", cond)
}

// neighbour loads several of the cells beside the thread's vector, from one on,
// with one access, or one by one where the row ends before.
func (w *tiledKernel) neighbour(c *registerQueue, at, from int64, cells []int64) {
	s := w.scopeFor(c)
	outer := w.outerIndex(c, at)
	last := len(c.array.Dims) - 1
	holds := c.array.Holds(last)
	n := w.run(c.array)
	st, buf, via := w.source(c.array, n)
	x0 := kernel.Add(w.pos[w.inner()], kernel.I(c.first+from))
	in := conj(kernel.Ge(x0, w.low(holds.Lo, nil)), kernel.Le(kernel.Add(x0, kernel.I(n-1)), w.high(holds.Hi, nil)))
	side := "right"
	if from < 0 {
		side = "left"
	}
	cond := w.pre.let(w.env, fmt.Sprintf("beside:%s:%d:%d", w.rangeKey(holds), c.first, from), side+"_inside", in)
	var vars []*kernel.Var
	for x := from; x < from+n; x++ {
		vars = append(vars, s.declare(w.env, w.cellName(c, at, x)+"_beside", c.array.Type))
	}
	row := w.start(st, append(slices.Clip(outer), index{axis: w.inner(), at: x0}))
	then := []kernel.Stmt{&kernel.LoadVector{Vars: vars, Buffer: buf, Index: kernel.Add(row, x0), Via: via}}
	var other []kernel.Stmt
	for _, x := range cells {
		v := s.declare(w.env, w.cellName(c, at, x), c.array.Type)
		s.emit(&kernel.Declare{Var: v, Init: zero(c.array.Type)})
		then = append(then, &kernel.Assign{Var: v, Value: applied(kernel.V(vars[x-from]), outer)})
		other = append(other, &kernel.Assign{Var: v, Value: w.one(c, outer, x)})
		c.held[at][x] = kernel.V(v)
	}
	s.emit(&kernel.If{Cond: cond, Then: then, Else: other})
}

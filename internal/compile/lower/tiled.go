package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The families of tile.go and stream.go share the machinery of this file: a thread
// computes a small tile of cells, a vector of neighbours on the inner axis and
// perhaps several rows. A stream sends the threads of a block along one axis,
// plane by plane, and keeps what the next planes need in registers (2.5D
// blocking: Zhang and Mueller 2013, section 2.2; Rawat et al. 2019, section II).
//
// There is one path for all cells. Where an access lands at a boundary is
// worked out before the planes: indices are mapped, or where the source says
// nothing clipped to the array, so that every load is good wherever a thread
// stands, and only stores ask whether their cells are to be updated.

// tiling is how a group's cells are shared out among threads and blocks.
type tiling struct {
	vec              int64 // neighbours on the inner axis that a thread moves together
	along            map[int]share
	stream           int   // the axis that blocks go along, or noAxis
	chunk            int64 // planes of a block; 0 for all
	prefetchDistance int64 // planes that are loaded before they are needed
	// shuffle says that neighbours on the inner axis come from other lanes.
	shuffle bool
	// unrollStream says that the loop over planes is unrolled, so that queues move less
	// often: to as many steps, or with 0 until they need no moves.
	unrollStream bool
	steps        int64
	// shared is how many steps planes are copied to shared memory before they
	// are needed, or without planes whether cells are; 0 keeps nothing there.
	shared int64
	bulk   bool // the block's copy engine fetches them
	warp   bool // and a warp of its own tells it to
	tensor bool // and it fetches whole planes, by tensor maps
	// cluster is how many blocks, side by side on the axis next to the inner one, send each
	// other the rows that both read.
	cluster int64
	// persists is the blocks of the whole device, which share all tiles; 0 if each tile, or chunk of one, has its own.
	persists int64
	split    bool // threads go on before others have read what a step reads
	halos    bool // and only what threads do not load themselves
	stores   kernel.Via
	// rimless says that blocks without cells at a rim take a loop of their own.
	rimless bool
	// retiming says how statements are computed in pieces: "yes" or "sums"; empty
	// if they are not.
	retiming string
	// perspective says which axes have threads for the halo: "input", "inner" or "outer";
	// empty if none has.
	perspective string
}

// share is how an axis is shared out: threads of a block, neighbouring cells
// of a thread, and how often that repeats at the distance of a block.
type share struct {
	threads, blocked, cyclic int64
	margin                   int64 // threads at either side that only load
}

// width returns the cells of a block.
func (s share) width() int64 { return s.computing() * s.blocked * s.cyclic }

// tiledKernel is a group on its way to a kernel of these families.
type tiledKernel struct {
	*nest
	tiling
	written map[*ir.Array]bool
	pre     *scope // what does not change from plane to plane
	now     *scope // of the plane
	// prologue says that the queues are being filled, before the loop over
	// planes; unrolledStep counts the steps that the loop makes at a time, and phase
	// tells apart what is named in them.
	prologue        bool
	unrolledStep    int64
	phase           string
	last            kernel.Expr // where the block's planes end, if a step may be beyond
	pos             map[int]kernel.Expr
	corner          map[int]kernel.Expr // where the block starts, by axis
	block           map[int]kernel.Expr // its number, by axis
	thread          map[int]*kernel.Var
	rank            *kernel.Var         // the block's in its cluster; nil without clusters
	starts          map[int]kernel.Expr // where an axis' first block starts
	counts          map[int]kernel.Expr // how many blocks an axis has, or clusters
	shares          *tileShares         // nil if blocks do not share tiles
	lane            kernel.Expr         // the thread's number in the block
	launch          []launchLoop        // over the threads of a block
	allocs          []kernel.Stmt
	blockReduction  *blockReduction
	cells           []*cell // in the order of their places
	circularBuffers []*circularBuffer
	fetch           *bulkFetch     // nil if there are no bulk copies
	meeting         *kernel.Buffer // where threads say what they have copied; nil if they meet at a barrier
	slack           bool           // circular buffers have room for a step more
	first           kernel.Expr    // the block's first plane
	registerQueues  []*registerQueue
	registerQueueOf map[string]*registerQueue
	early           *retiming // nil if statements are computed at once
	tests           rimTests  // of the loop over planes
}

// tiling returns the tiling that the nest's configuration asks for, if it is
// one of a family that has such.
func (n *nest) tiling() (tiling, bool) {
	set := n.set
	if !set.Has(schedule.Vector) {
		return tiling{}, false
	}
	t := tiling{vec: set.Int(schedule.Vector, 1), along: map[int]share{}, stream: noAxis}
	shape := n.shape(set)
	for i, axis := range n.axes {
		s := shape.On[i]
		t.along[axis] = share{threads: s.Threads, blocked: s.Vector * s.Blocked, cyclic: s.Cyclic}
	}
	if shape.Stream >= 0 {
		t.stream, t.chunk, t.prefetchDistance = n.axes[shape.Stream], shape.Length, set.Int(schedule.Prefetch, 0)
	}
	t.shared = set.Int(schedule.Staging, 0)
	if copies := set.Word(schedule.StagingCopy); copies != "" {
		t.bulk, t.warp = copies != schedule.AsyncCopies, copies == copyWarp || copies == copyTensorWarp
		t.tensor = copies == copyTensor || copies == copyTensorWarp
	}
	t.split = set.Word(schedule.BlockBarrier) == schedule.SplitBarrier
	t.cluster = set.Int(schedule.ClusterBlocks, 1)
	t.persists = n.opts.persistentBlocks(set.Int(schedule.PersistentBlocks, 0))
	if len(n.reductions()) > 0 {
		t.cluster, t.persists = 1, 0
	}
	t.rimless = set.Word(schedule.RimlessLoop) == schedule.OwnLoop
	t.halos = set.Word(schedule.StagedPart) == schedule.HaloCells
	if word := set.Word(schedule.Retiming); word != "no" {
		t.retiming = word
	}
	if v, ok := set.Get(schedule.StreamUnroll); ok && !v.Equal(schedule.No) {
		t.unrollStream = true
		t.steps = set.Int(schedule.StreamUnroll, 0)
	}
	t.shuffle = set.Is(schedule.LaneExchange)
	t.stores = storePath(set)
	if word := set.Word(schedule.Perspective); word != "" && word != outputPerspective {
		t.perspective = word
		n.addMargins(&t)
	}
	return t, true
}

// shape returns how a configuration shares out the kernel's axes.
func (n *nest) shape(set schedule.ByRole) schedule.Shape {
	names := make([]string, len(n.axes))
	for i, axis := range n.axes {
		names[i] = n.Program.Axes[axis]
	}
	return set.Shape(names)
}

func without(list []int, x int) []int {
	var out []int
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}

func (n *nest) axisNamed(name string) int {
	for _, a := range n.axes {
		if n.Program.Axes[a] == name {
			return a
		}
	}
	panic("lower: no axis is called " + name)
}

// tileable reports whether the group may be computed by tiled kernels: no cell that
// one thread writes is read by another.
func (n *nest) tileable() bool { return len(n.axes) > 0 && !n.group.InPlace }

// chunk returns how many elements of a type a vector access moves, for vectors
// of so many cells.
func chunk(vec int64, t types.Type) int64 {
	n := min(vec, 16/int64(t.Size()), 8)
	if n < 2 {
		return 1
	}
	return n
}

// tiledKernel builds the kernel of a tiled kernel.
func (n *nest) tiledKernel() ([]kernel.Stmt, []func()) {
	t, _ := n.tiling()
	n.strided = nil // every thread has its cells: colours are guards
	w := &tiledKernel{
		nest: n, tiling: t, written: map[*ir.Array]bool{}, pre: newScope(nil),
		pos: map[int]kernel.Expr{}, corner: map[int]kernel.Expr{}, thread: map[int]*kernel.Var{},
		registerQueueOf: map[string]*registerQueue{},
	}
	for _, s := range n.stmts {
		if s.src.Array != nil {
			w.written[s.src.Array] = true
		}
	}
	var lanes *segmentLanes
	if along := w.along[n.inner()]; along.margin == 0 {
		lanes = n.segmentLanes(w.threads(), along.threads, w.vec)
	}
	n.aligned = lanes != nil
	w.blockReduction = n.newBlockReduction(w.blocks(), w.threads(), w.cellsOfBlock(), lanes)
	wrap := w.geometry()
	if w.persists > 0 {
		if w.shareTiles(); w.resourceLimit != nil {
			return nil, nil
		}
		return wrap(w.pre), nil
	}
	w.stand(nil)
	w.blockReduction.begin(w.pre)
	if w.stream == noAxis {
		w.now = w.pre
		w.tiles()
		w.plan()
		if w.makeCircularBuffers(); w.resourceLimit != nil {
			return nil, nil
		}
		w.fillCircularBuffers()
		w.load()
		w.compute()
		return wrap(w.pre), w.blockReduction.after()
	}
	first := w.pos[w.stream]
	last := w.pre.let(w.env, "last", w.Program.Axes[w.stream]+"_end", w.end(first))
	common := w.planes(first, last)
	if w.resourceLimit != nil {
		return nil, nil
	}
	w.endCluster(common)
	return wrap(common), w.blockReduction.after()
}

// planes computes a tile's planes from one on and before another. It returns where all threads of the block do that.
func (w *tiledKernel) planes(first, last kernel.Expr) *scope {
	axis := w.stream
	w.now = w.pre
	w.tiles()
	if w.retiming != "" {
		first = w.retime(first)
	}
	w.first = first
	w.plan()
	if w.makeCircularBuffers(); w.resourceLimit != nil {
		return nil
	}
	w.meetShare()
	common := w.readyBulk()
	w.readyMeeting()
	w.prologue, w.phase = true, "first"
	w.startBulk(last)
	w.load()
	w.startCircularBuffers()
	w.prologue, w.phase = false, ""
	v := kernel.NewVar(w.pre.free(w.env, w.Program.Axes[axis]), types.I64)
	w.now = w.inside(w.pre)
	unrollFactor := w.unrollFactor()
	for w.unrolledStep = range unrollFactor {
		w.pos[axis] = kernel.Add(kernel.V(v), kernel.I(w.unrolledStep*w.step()))
		if w.unrolledStep > 0 {
			w.phase = fmt.Sprintf("s%d", w.unrolledStep)
			w.last = last
		}
		for _, c := range w.cells {
			c.vals = map[*ir.Temp]kernel.Expr{}
		}
		w.keepOwn()
		w.feedCircularBuffers(last)
		w.load()
		w.compute()
		w.leaveStep()
	}
	w.shift()
	if w.early != nil {
		w.shiftParts()
	}
	w.pre.emit(w.rimlessLoop(first, last, &kernel.Loop{
		Var: v, Lo: first, Hi: last, Step: kernel.I(unrollFactor * w.step()), Body: w.now.stmts,
	}))
	w.produce(common, last)
	return common
}

// threads is the number of threads of a block.
func (w *tiledKernel) threads() int64 {
	n := int64(1)
	for _, axis := range w.axes {
		n *= w.along[axis].threads
	}
	return n
}

// cellsOfBlock is the number of cells of a block; 0 if it goes along an axis
// to its end.
func (w *tiledKernel) cellsOfBlock() int64 {
	n := int64(1)
	for _, axis := range w.axes {
		if axis == w.stream {
			n *= w.chunk
		} else {
			n *= w.along[axis].width()
		}
	}
	return n
}

// blocks is the number of blocks of the launch.
func (w *tiledKernel) blocks() kernel.Expr {
	count := kernel.I(1)
	for _, axis := range w.axes {
		_, n := w.blocksOn(axis)
		count = kernel.Mul(count, n)
	}
	return count
}

// blocksOn returns where the first block of an axis starts and how many there
// are: on the inner axis at the vector that holds the first cell, or at the segment.
func (w *tiledKernel) blocksOn(axis int) (start, count kernel.Expr) {
	sp := w.span[axis]
	start = sp.lo
	width := w.along[axis].width()
	switch {
	case axis == w.inner() && w.aligned:
		start = segmentStart(sp.lo)
	case axis == w.inner() && w.vec > 1:
		start = w.down(sp.lo, w.vec)
	case axis == w.stream && w.chunk == 0:
		return start, kernel.I(1)
	case axis == w.stream:
		width = w.chunk
	}
	return start, kernel.CeilDiv(kernel.Max(kernel.Sub(sp.hi, start), kernel.I(0)), kernel.I(width))
}

// inside returns a scope within another. All scopes of a tiled kernel share their
// names: what is named outside may come after what is named inside.
func (w *tiledKernel) inside(outer *scope) *scope {
	return &scope{outer: outer, named: map[string][]*kernel.Let{}, names: w.pre.names, tried: w.pre.tried}
}

// free returns a name that is free in scope.
func (s *scope) free(e *env, name string) string { return s.declare(e, name, types.I64).Name }

// end returns where the planes of a block end.
func (w *tiledKernel) end(first kernel.Expr) kernel.Expr {
	hi := w.span[w.stream].hi
	if w.chunk == 0 {
		return hi
	}
	return kernel.Min(kernel.Add(first, kernel.I(w.chunk)), hi)
}

// geometry names where each thread stands and returns what wraps a body in the
// loops of blocks and threads.
func (w *tiledKernel) geometry() func(*scope) []kernel.Stmt {
	head := newScope(nil)
	start, count := map[int]kernel.Expr{}, map[int]kernel.Expr{}
	w.starts, w.counts = start, count
	for i := len(w.axes) - 1; i >= 0; i-- {
		axis := w.axes[i]
		w.nameBounds(head, axis)
		first, n := w.blocksOn(axis)
		start[axis] = head.let(w.env, fmt.Sprintf("start:%d", axis), w.Program.Axes[axis]+"_start", first)
		count[axis] = n
	}
	var threads, blocks []launchLoop
	for i := len(w.axes) - 1; i >= 0; i-- {
		axis := w.axes[i]
		if n := w.along[axis].threads; n > 1 {
			v := head.declare(w.env, w.Program.Axes[axis]+"_thread", types.I64)
			w.thread[axis] = v
			threads = append(threads, launchLoop{v, kernel.I(n), kernel.ThreadX + kernel.Tag(len(threads))})
		}
	}
	w.block = map[int]kernel.Expr{}
	var rest []int // the axes whose blocks share the launch's third dimension
	var cluster []launchLoop
	if w.persists > 0 {
		blocks, cluster = w.shareLaunch(head)
	}
	for i := len(w.axes) - 1; i >= 0 && w.persists == 0; i-- {
		axis := w.axes[i]
		if n, ok := kernel.IntLit(count[axis]); ok && n == 1 {
			w.block[axis] = kernel.I(0)
			continue
		}
		if i < len(w.axes)-2 && axis != w.clusterAxis() {
			rest = append(rest, axis)
			continue
		}
		v := head.declare(w.env, w.Program.Axes[axis]+"_block", types.I64)
		w.block[axis] = kernel.V(v)
		tag := kernel.Tag(len(blocks))
		if axis == w.clusterAxis() {
			w.rank = head.declare(w.env, w.Program.Axes[axis]+"_rank", types.I64)
			cluster = append(cluster, launchLoop{w.rank, kernel.I(w.cluster), kernel.ClusterX + tag})
			w.block[axis] = kernel.Add(kernel.Mul(kernel.V(v), kernel.I(w.cluster)), kernel.V(w.rank))
			count[axis] = kernel.CeilDiv(count[axis], kernel.I(w.cluster)) // of clusters
		}
		blocks = append(blocks, launchLoop{v, count[axis], kernel.BlockX + tag})
	}
	if len(rest) > 0 {
		total, name := kernel.I(1), "outer"
		for _, axis := range rest {
			total = kernel.Mul(total, count[axis])
		}
		if len(rest) == 1 {
			name = w.Program.Axes[rest[0]]
		}
		v := head.declare(w.env, name+"_block", types.I64)
		blocks = append(blocks, launchLoop{v, total, kernel.BlockX + kernel.Tag(len(blocks))})
		left := kernel.V(v)
		for i, axis := range rest {
			w.block[axis] = left
			if i < len(rest)-1 {
				w.block[axis] = kernel.Bin(op.Rem, left, count[axis])
				left = kernel.Bin(op.Div, left, count[axis])
			}
		}
	}
	w.allocs = w.blockReduction.allocs(head)
	w.pre = newScope(head)
	w.lane, w.launch = number(threads), threads
	return func(body *scope) []kernel.Stmt {
		w.blockReduction.end(body, number(threads), number(blocks))
		list := append(w.allocs, wrapped(threads, body.stmts)...)
		return append(head.stmts, wrapped(blocks, wrapped(cluster, list))...)
	}
}

// stand names where the block's tile starts and where its threads stand. first is the tile's first plane; nil if the
// block's number says which that is.
func (w *tiledKernel) stand(first kernel.Expr) {
	for _, axis := range w.axes {
		width := w.along[axis].width()
		if axis == w.stream {
			width = w.chunk
		}
		x := kernel.Add(w.starts[axis], kernel.Mul(w.block[axis], kernel.I(width)))
		name := w.Program.Axes[axis]
		if axis == w.stream {
			name += "_first"
			if first != nil {
				x = first
			}
		}
		w.corner[axis] = x
		if at, ok := w.threadAt(axis); ok {
			x = kernel.Add(x, kernel.Mul(at, kernel.I(w.along[axis].blocked)))
		}
		w.pos[axis] = w.pre.let(w.env, fmt.Sprintf("pos:%d", axis), name, x)
	}
}

// tiles makes the cells of a thread: for every place of its tile one cell, the
// members of a vector next to each other.
func (w *tiledKernel) tiles() {
	places := []map[int]int64{{}}
	for _, axis := range w.axes {
		s := w.along[axis]
		var more []map[int]int64
		for _, p := range places {
			for c := range s.cyclic {
				for b := range s.blocked {
					q := map[int]int64{axis: c*s.threads*s.blocked + b}
					for k, v := range p {
						q[k] = v
					}
					more = append(more, q)
				}
			}
		}
		places = more
	}
	for _, p := range places {
		c := w.newCell(nil, w.pos, w.pre)
		c.tiledKernel, c.place = w, p
		w.cells = append(w.cells, c)
	}
}

// exact reports whether threads have no positions outside the span of an axis.
func (w *tiledKernel) exact(axis int) bool {
	if axis == w.stream && w.unrollStream {
		return false // the last steps of a block may be beyond its end
	}
	if axis == w.clusterAxis() {
		return false // a cluster's last blocks may be
	}
	return axis != w.inner() && w.along[axis].width() == 1
}

// scopeOf returns where a value that varies with an axis is named.
func (w *tiledKernel) scopeOf(axis int) (*scope, string) {
	if axis == w.stream {
		return w.now, w.phase
	}
	return w.pre, ""
}

// index maps one index of an access at an offset from the thread's position,
// so that it can be loaded wherever the thread is.
func (w *tiledKernel) index(a *ir.Array, d int, axis int, off int64) index {
	_, phase := w.scopeOf(axis)
	holds := a.Holds(d)
	out := index{axis: axis, offset: off, plain: true, key: fmt.Sprintf("%d%+d%s", axis, off, phase)}
	out.at = kernel.Add(w.pos[axis], kernel.I(off))
	low, high := true, true
	ix, c := ir.Index{Axis: axis, Offset: off}, w.cells[0]
	if axis != w.inner() { // no thread starts before the span
		low = c.crosses(ir.Index{Axis: axis, Offset: off - w.lead(axis)}, holds.Lo, c.loBounds, -1)
	}
	if w.exact(axis) {
		high = c.crosses(ix, holds.Hi, c.hiBounds, 1)
	}
	if !low && !high {
		return out
	}
	name := c.offsetName(out)
	if phase != "" {
		name += "_" + phase
	}
	return w.mapped(a, d, out, name, low, high)
}

// mapped is throughFaces for whatever cell the index belongs to: equal ranges
// and boundaries share what they need.
func (w *tiledKernel) mapped(a *ir.Array, d int, raw index, name string, low, high bool) index {
	s, _ := w.scopeOf(raw.axis)
	key := fmt.Sprintf("map:%s:%s:%s", w.rangeKey(a.Holds(d)), facesKey(w.Program, a.Dims[d].Faces), raw.key)
	return w.cells[0].throughFaces(s, a, d, raw, key, name, low, high)
}

func (w *tiledKernel) rangeKey(r ir.Range) string {
	key := ""
	for _, a := range r.Lo {
		key += a.Text(w.Program.Params) + ","
	}
	key += ":"
	for _, a := range r.Hi {
		key += a.Text(w.Program.Params) + ","
	}
	return key
}

func facesKey(p *ir.Program, f ir.Faces) string {
	key := ""
	for _, b := range []ir.Boundary{f.Low, f.High} {
		key += b.Kind.String()
		if b.Kind == ir.Constant {
			key += fmt.Sprintf("%p", b.Value)
			if v, ok := b.Value.(ir.Const); ok {
				key += v.Value.String()
			}
		}
		key += ";"
	}
	return key
}

// start returns the element at which the row of an access starts, less the
// position on the inner axis. What changes from plane to plane is apart from
// what does not.
func (w *tiledKernel) start(st *store, idx []index) kernel.Expr {
	last := len(idx) - 1
	var fixed, moving kernel.Expr
	add := func(to *kernel.Expr, x kernel.Expr) {
		if *to == nil {
			*to = x
		} else {
			*to = kernel.Add(*to, x)
		}
	}
	key, moves := "row:"+st.shapeKey(), ""
	name := "row"
	if w.cells[0].rowName(st) != "row" {
		name = st.name + "_row"
	}
	plane := st.name + "_plane"
	if name == "row" {
		plane = "plane"
	}
	for d, x := range idx[:last] {
		rel := kernel.Sub(x.at, st.dims[d].lo(w.size))
		stride := w.pre.let(w.env, fmt.Sprintf("stride:%s:%d", st.shapeKey(), d),
			st.name+"_stride", st.stride(d, w.size))
		term := kernel.Mul(rel, stride)
		if x.axis == w.stream {
			add(&moving, term)
			moves += x.key
			plane += w.cells[0].rowSuffix(x)
		} else {
			add(&fixed, term)
			key += x.key + ";"
			name += w.cells[0].rowSuffix(x)
		}
	}
	origin := kernel.Sub(kernel.I(st.layout.Lead), st.dims[last].lo(w.size))
	add(&fixed, origin)
	row := w.pre.let(w.env, key, name, fixed)
	if moving == nil {
		return row
	}
	if w.phase != "" {
		plane += "_" + w.phase
		name += "_" + w.phase
	}
	p := w.now.let(w.env, "plane:"+st.shapeKey()+moves, plane, moving)
	return kernel.Add(p, row)
}

// element returns the element that an access at an inner position lands on.
func (w *tiledKernel) element(st *store, idx []index) kernel.Expr {
	if len(idx) == 0 {
		return kernel.I(0)
	}
	last := len(idx) - 1
	return kernel.Add(w.start(st, idx), idx[last].at)
}

// moves reports whether an access changes from plane to plane.
func (w *tiledKernel) moves(a *ir.Access) bool {
	for _, ix := range a.Index {
		if ix.Axis == w.stream {
			return true
		}
	}
	return false
}

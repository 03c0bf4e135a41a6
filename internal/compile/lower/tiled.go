package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A thread of the family "tile" computes a small tile of cells: a vector of neighbours on the inner axis, and perhaps
// several rows.
//
// There is one path for all cells. Where an access lands at a boundary is
// worked out first: indices are mapped, or where the source says
// nothing clipped to the array, so that every load is good wherever a thread
// stands, and only stores ask whether their cells are to be updated.

// tiling is how a group's cells are shared out among threads and blocks.
type tiling struct {
	vec   int64 // neighbours on the inner axis that a thread moves together
	along map[int]share
	// shuffle says that neighbours on the inner axis come from other lanes.
	shuffle bool
	shared  bool // cells are copied to shared memory
	halos   bool // and only what threads do not load themselves
	stores  kernel.Via
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

// tiledKernel is a group on its way to a kernel of the family.
type tiledKernel struct {
	*nest
	tiling
	written        map[*ir.Array]bool
	pre            *scope // what all cells of a thread share
	now            *scope // of the statement at hand
	pos            map[int]kernel.Expr
	corner         map[int]kernel.Expr // where the block starts, by axis
	block          map[int]kernel.Expr // its number, by axis
	thread         map[int]*kernel.Var
	starts         map[int]kernel.Expr // where an axis' first block starts
	lane           kernel.Expr         // the thread's number in the block
	allocs         []kernel.Stmt
	blockReduction *blockReduction
	cells          []*cell // in the order of their places
	rows           []*registerRow
	rowOf          map[string]*registerRow
	sharedTiles    []*sharedTile
}

// tiling returns the tiling that the nest's configuration asks for, if it is
// one of a family that has such.
func (n *nest) tiling() (tiling, bool) {
	set := n.set
	if f := familyNamed(n.config.Family); !set.Has(schedule.Vector) || f.span != nil {
		return tiling{}, false
	}
	t := tiling{vec: set.Int(schedule.Vector, 1), along: map[int]share{}}
	shape := n.shape(set)
	for i, axis := range n.axes {
		s := shape.On[i]
		t.along[axis] = share{threads: s.Threads, blocked: s.Vector * s.Blocked, cyclic: s.Cyclic}
	}
	t.shared = set.Int(schedule.Staging, 0) > 0
	t.halos = set.Word(schedule.StagedPart) == schedule.HaloCells
	t.shuffle = set.Is(schedule.LaneExchange)
	t.stores = storePath(set)
	if word := set.Word(schedule.Perspective); word != "" && word != schedule.OutputThreads {
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

// Chunk returns how many elements of a type a vector access moves, for vectors
// of so many cells.
func Chunk(vec int64, t types.Type) int64 {
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
		rowOf: map[string]*registerRow{},
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
	w.stand()
	w.blockReduction.begin(w.pre)
	w.now = w.pre
	w.tiles()
	w.plan()
	if w.makeSharedTiles(); w.resourceLimit != nil {
		return nil, nil
	}
	w.fillSharedTiles()
	w.load()
	w.compute()
	return wrap(w.pre), w.blockReduction.after()
}

// threads is the number of threads of a block.
func (w *tiledKernel) threads() int64 {
	n := int64(1)
	for _, axis := range w.axes {
		n *= w.along[axis].threads
	}
	return n
}

// cellsOfBlock is the number of cells of a block.
func (w *tiledKernel) cellsOfBlock() int64 {
	n := int64(1)
	for _, axis := range w.axes {
		n *= w.along[axis].width()
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
	}
	return start, kernel.CeilDiv(kernel.Max(kernel.Sub(sp.hi, start), kernel.I(0)), kernel.I(width))
}

// inside returns a scope within another. All scopes of a tiled kernel share their
// names: what is named outside may come after what is named inside.
func (w *tiledKernel) inside(outer *scope) *scope {
	return &scope{outer: outer, named: map[string][]*kernel.Let{}, names: w.pre.names, tried: w.pre.tried}
}

// geometry names where each thread stands and returns what wraps a body in the
// loops of blocks and threads.
func (w *tiledKernel) geometry() func(*scope) []kernel.Stmt {
	head := newScope(nil)
	start, count := map[int]kernel.Expr{}, map[int]kernel.Expr{}
	w.starts = start
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
	for i := len(w.axes) - 1; i >= 0; i-- {
		axis := w.axes[i]
		if n, ok := kernel.IntLit(count[axis]); ok && n == 1 {
			w.block[axis] = kernel.I(0)
			continue
		}
		if i < len(w.axes)-2 {
			rest = append(rest, axis)
			continue
		}
		v := head.declare(w.env, w.Program.Axes[axis]+"_block", types.I64)
		w.block[axis] = kernel.V(v)
		blocks = append(blocks, launchLoop{v, count[axis], kernel.BlockX + kernel.Tag(len(blocks))})
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
	w.lane = number(threads)
	return func(body *scope) []kernel.Stmt {
		w.blockReduction.end(body, number(threads), number(blocks))
		list := append(w.allocs, wrapped(threads, body.stmts)...)
		return append(head.stmts, wrapped(blocks, list)...)
	}
}

// stand names where the block's tile starts and where its threads stand.
func (w *tiledKernel) stand() {
	for _, axis := range w.axes {
		x := kernel.Add(w.starts[axis], kernel.Mul(w.block[axis], kernel.I(w.along[axis].width())))
		name := w.Program.Axes[axis]
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
func (w *tiledKernel) exact(axis int) bool { return axis != w.inner() && w.along[axis].width() == 1 }

// index maps one index of an access at an offset from the thread's position,
// so that it can be loaded wherever the thread is.
func (w *tiledKernel) index(a *ir.Array, d int, axis int, off int64) index {
	holds := a.Holds(d)
	out := index{axis: axis, offset: off, plain: true, key: fmt.Sprintf("%d%+d", axis, off)}
	out.at = kernel.Add(w.pos[axis], kernel.I(off))
	low, high := true, true
	ix, c := ir.Index{Axis: axis, Offset: off}, w.cells[0]
	if axis != w.inner() { // no thread starts before the span
		low = c.crosses(ix, holds.Lo, c.loBounds, -1)
	}
	if w.exact(axis) {
		high = c.crosses(ix, holds.Hi, c.hiBounds, 1)
	}
	if !low && !high {
		return out
	}
	return w.mapped(a, d, out, c.offsetName(out), low, high)
}

// mapped is throughFaces for whatever cell the index belongs to: equal ranges
// and boundaries share what they need.
func (w *tiledKernel) mapped(a *ir.Array, d int, raw index, name string, low, high bool) index {
	key := fmt.Sprintf("map:%s:%s:%s", w.rangeKey(a.Holds(d)), facesKey(w.Program, a.Dims[d].Faces), raw.key)
	return w.cells[0].throughFaces(w.pre, a, d, raw, key, name, low, high)
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
// position on the inner axis.
func (w *tiledKernel) start(st *store, idx []index) kernel.Expr {
	last := len(idx) - 1
	var sum kernel.Expr
	add := func(x kernel.Expr) {
		if sum == nil {
			sum = x
		} else {
			sum = kernel.Add(sum, x)
		}
	}
	key, name := "row:"+st.shapeKey(), "row"
	if w.cells[0].rowName(st) != "row" {
		name = st.name + "_row"
	}
	for d, x := range idx[:last] {
		rel := kernel.Sub(x.at, st.dims[d].lo(w.size))
		stride := w.pre.let(w.env, fmt.Sprintf("stride:%s:%d", st.shapeKey(), d),
			st.name+"_stride", st.stride(d, w.size))
		add(kernel.Mul(rel, stride))
		key += x.key + ";"
		name += w.cells[0].rowSuffix(x)
	}
	add(kernel.Sub(kernel.I(st.layout.Lead), st.dims[last].lo(w.size)))
	return w.pre.let(w.env, key, name, sum)
}

// element returns the element that an access at an inner position lands on.
func (w *tiledKernel) element(st *store, idx []index) kernel.Expr {
	if len(idx) == 0 {
		return kernel.I(0)
	}
	last := len(idx) - 1
	return kernel.Add(w.start(st, idx), idx[last].at)
}

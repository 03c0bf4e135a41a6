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

// With copy=tensor, a plane of a circular buffer is one box of a tensor map, which a single thread has brought. A box
// may lie over the array's edge: it has zeros there, which no cell that is stored depends on. So this is for arrays
// without a boundary condition within planes; rows of others are copied as with copy=bulk.
//
// Nobody waits at a barrier of the block: each warp says at an mbarrier when it is through with a step, and the thread
// that has a later one brought waits for all of them.
//
// In a cluster, blocks lie side by side on an axis, and two neighbours read some rows both. One of them has those
// brought, and the copy engine sends them to both (multicast). It puts them to the same place of both blocks' shared
// memory. So a plane has three sections, each of whole rows: those shared with one neighbour, the block's own, and
// those shared with the other neighbour. What is the last section of one block is the first of the next, so that blocks
// of odd ranks have the first and the last section in each other's place.

// tensorPlane is a plane of a circular buffer as boxes.
type tensorPlane struct {
	boxes []*tensorBox
	// Of a plane in sections: where the second and the third start, in cells from the plane's start, the rows of the
	// first and of the third, and the row at which the third starts. shared is 0 for a plane of one box.
	own, far            int64
	shared, height, run int64
}

// tensorBox is a box that is copied of every plane.
type tensorBox struct {
	of   *kernel.Buffer // the tensor map
	from map[int]int64  // where it starts on each axis of the plane, from the block's corner
	at   kernel.Expr    // its place in a plane of the circular buffer
	cond kernel.Expr    // whether this block has it brought; nil if always
	to   kernel.Expr    // the blocks that get it; nil for this one alone
}

// clusterAxis is the axis on which a cluster's blocks lie side by side: that next to the inner one; noAxis if blocks
// are in no cluster.
func (w *tiledKernel) clusterAxis() int {
	outer := without(w.outer(), w.stream)
	if w.cluster < 2 || len(outer) != 1 {
		return noAxis
	}
	return outer[0]
}

// sections reports whether planes are in sections that neighbours of a cluster share.
func (r *circularBuffer) sections() bool { return r.tensor != nil && r.tensor.shared > 0 }

// multicasts reports whether blocks of a cluster send each other anything.
func (w *tiledKernel) multicasts() bool {
	return slices.ContainsFunc(w.circularBuffers, (*circularBuffer).sections)
}

// boxable reports whether the planes of a circular buffer can be boxes of a tensor map.
func (w *tiledKernel) boxable(r *circularBuffer) bool {
	a, st := r.array, w.cells[0].storeOf(r.array)
	if len(a.Dims) > kernel.MaxTensorAxes || st.layout.Lead != 0 || w.written[a] || w.singles(a, w.stream) {
		return false
	}
	t := &kernel.Tensor{}
	for _, dim := range a.Dims {
		n := int64(1)
		if dim.Axis != w.stream {
			if n = r.len[dim.Axis]; dim.Faces.Low.Kind != ir.None || dim.Faces.High.Kind != ir.None {
				return false
			}
		}
		if dim.Axis != w.inner() && n > kernel.MaxBoxElements {
			return false
		}
		t.Box = append(t.Box, n)
	}
	return t.Unit(a.Type) > 0
}

// chooseTensors has the planes of those circular buffers be boxes that can be.
func (w *tiledKernel) chooseTensors(circularBuffers []*circularBuffer) {
	if !w.tensor {
		return
	}
	together := w.rank != nil && w.separable(circularBuffers)
	for _, r := range circularBuffers {
		if r.bulk == nil || !w.boxable(r) {
			continue
		}
		r.tensor = &tensorPlane{}
		if together {
			w.cutSections(r)
		}
		if !r.sections() {
			r.pitch = r.placed(r.cells)
		}
	}
}

// placed rounds a number of cells up to where a box may start.
func (r *circularBuffer) placed(cells int64) int64 { return boxPlaced(cells, r.array.Type) }

// boxPlaced rounds a number of elements up to where a box may start.
func boxPlaced(cells int64, elem types.Type) int64 {
	each := kernel.TensorPlaceUnit / int64(elem.Size())
	return (cells + each - 1) / each * each
}

// cutSections cuts the planes of a circular buffer into sections, if neighbours read rows both and no third block does.
func (w *tiledKernel) cutSections(r *circularBuffer) {
	axis := w.clusterAxis()
	if axes := w.planeAxes(r.array); len(axes) != 2 || axes[0] != axis {
		return
	}
	height := w.along[axis].width()
	shared, run := r.len[axis]-height, r.len[w.inner()]
	if shared < 1 || shared > height {
		return
	}
	t := r.tensor
	t.shared, t.height, t.run = shared, height, run
	t.own = r.placed(shared * run)
	t.far = t.own + r.placed((height-shared)*run)
	r.pitch = t.far + r.placed(shared*run)
}

// tensorMaps makes the tensor maps that a circular buffer needs, and the boxes that a plane is made of.
func (w *tiledKernel) tensorMaps(r *circularBuffer) {
	t := r.tensor
	from := map[int]int64{}
	for _, axis := range w.planeAxes(r.array) {
		from[axis] = r.from[axis]
	}
	if !r.sections() {
		t.boxes = []*tensorBox{{of: w.tensorMap(r, r.len), from: from, at: kernel.I(0)}}
		return
	}
	axis := w.clusterAxis()
	section := func(first, rows int64) *tensorBox {
		b := &tensorBox{from: map[int]int64{}}
		size := map[int]int64{}
		for a, x := range from {
			b.from[a], size[a] = x, r.len[a]
		}
		b.from[axis] += first
		size[axis] = rows
		b.of = w.tensorMap(r, size)
		return b
	}
	odd := w.oddRank()
	// The first block of the cluster has nobody who would send it its first section.
	near := section(0, t.shared)
	near.at, near.cond = kernel.I(0), kernel.Bin(op.Eq, kernel.V(w.rank), kernel.I(0))
	t.boxes = append(t.boxes, near)
	if t.shared < t.height {
		own := section(t.shared, t.height-t.shared)
		own.at = kernel.I(t.own)
		t.boxes = append(t.boxes, own)
	}
	far := section(t.height, t.shared)
	far.at = kernel.Sel(odd, kernel.I(0), kernel.I(t.far))
	far.to = w.pre.let(w.env, "receivers", "receivers", w.receivers())
	t.boxes = append(t.boxes, far)
}

// receivers is the set of blocks that get a block's last section: itself and the next, if that is in the cluster.
func (w *tiledKernel) receivers() kernel.Expr {
	set := func(bits int64) kernel.Expr { return kernel.Conv(types.I32, kernel.I(bits)) }
	all := set(1 << (w.cluster - 1))
	for rank := w.cluster - 2; rank >= 0; rank-- {
		all = kernel.Sel(kernel.Lt(kernel.V(w.rank), kernel.I(rank+1)), set(3<<rank), all)
	}
	return all
}

// oddRank returns the condition that the block's rank in its cluster is odd.
func (w *tiledKernel) oddRank() kernel.Expr {
	rest := kernel.Bin(op.Rem, kernel.V(w.rank), kernel.I(2))
	return w.pre.let(w.env, "odd", w.Program.Axes[w.clusterAxis()]+"_odd", kernel.Bin(op.Eq, rest, kernel.I(1)))
}

// tensorMap returns the tensor map of a circular buffer's array with boxes of so many cells on the axes of its planes.
func (w *tiledKernel) tensorMap(r *circularBuffer, size map[int]int64) *kernel.Buffer {
	var box []int64
	for _, dim := range r.array.Dims {
		n := int64(1)
		if dim.Axis != w.stream {
			n = size[dim.Axis]
		}
		box = append(box, n)
	}
	return w.env.tensorMap(w.cells[0].storeOf(r.array), box)
}

// tensorMap returns the tensor map of a store with boxes of so many cells on its axes.
func (e *env) tensorMap(st *store, box []int64) *kernel.Buffer {
	t := &kernel.Tensor{Box: box}
	key := special{Arg: st.arg, space: kernel.TensorMap}
	var name []string
	for d, n := range box {
		key.box[d] = n
		// What rows are padded by belongs to the map: its strides are those of a dense array.
		t.Extents = append(t.Extents, st.pitch(d, e.size))
		name = append(name, fmt.Sprint(n))
	}
	b := e.buffer(key, st.order, st.name+"_box"+strings.Join(name, "x"), st.elem, func() kernel.Expr {
		return st.cells(e.size)
	})
	b.buffer.Tensor, b.reads = t, true
	return b.buffer
}

// planeBytes is what is brought of a plane, in bytes.
func (r *circularBuffer) planeBytes() int64 { return r.cells * int64(r.array.Type.Size()) }

// tensorCopies has a plane brought.
func (w *tiledKernel) tensorCopies(r *circularBuffer, at int64, slot kernel.Expr) []kernel.Stmt {
	outside := w.now
	w.now = w.inside(outside)
	st := w.cells[0].storeOf(r.array)
	place := w.place(r, at)
	for _, b := range r.tensor.boxes {
		c := &kernel.TensorCopy{
			To: r.buf, At: kernel.Add(place, b.at), From: b.of, Mbarrier: w.fetch.full, Slot: slot, Blocks: b.to,
		}
		for d, dim := range r.array.Dims {
			x := kernel.Add(w.corner[dim.Axis], kernel.I(b.from[dim.Axis]))
			if dim.Axis == w.stream {
				x = w.index(r.array, d, w.stream, at).at
			}
			c.Corner = append(c.Corner, kernel.Conv(types.I32, kernel.Sub(x, st.dims[d].lo(w.size))))
		}
		if b.cond != nil {
			w.now.emit(&kernel.If{Cond: b.cond, Then: []kernel.Stmt{c}})
			continue
		}
		w.now.emit(c)
	}
	list := w.now.stmts
	w.now = outside
	return list
}

// sectionRow returns where a row starts in a plane in sections, by its number from the thread's first one.
func (w *tiledKernel) sectionRow(r *circularBuffer, number int64) kernel.Expr {
	t, axis := r.tensor, w.clusterAxis()
	blocked := w.along[axis].blocked
	first := kernel.I(0)
	if thread, ok := w.threadAt(axis); ok {
		first = kernel.Mul(thread, kernel.I(blocked))
	}
	// So many rows at a time are in one section for every thread, and share what they add.
	many := gcd(blocked, t.shared)
	row := kernel.Add(first, kernel.I(number-number%many))
	odd := w.oddRank()
	either := func(inOdd, inEven int64) kernel.Expr { return kernel.Sel(odd, kernel.I(inOdd), kernel.I(inEven)) }
	more := kernel.Sel(kernel.Lt(row, kernel.I(t.shared)), either(t.far, 0),
		kernel.Sel(kernel.Lt(row, kernel.I(t.height)), kernel.I(t.own-t.shared*t.run),
			either(-t.height*t.run, t.far-t.height*t.run)))
	start := w.pre.let(w.env, fmt.Sprintf("section:%p:%d", r, number/many), r.buf.Name+"_section",
		kernel.Add(kernel.Mul(first, kernel.I(t.run)), more))
	return kernel.Add(start, kernel.I(number*t.run))
}

func gcd(x, y int64) int64 {
	for y != 0 {
		x, y = y, x%y
	}
	return x
}

// meetBlock is the barrier before the first copies: of the cluster where others send copies here.
func (w *tiledKernel) meetBlock() kernel.Stmt {
	if w.multicasts() {
		return &kernel.Barrier{Scope: kernel.ClusterScope}
	}
	return &kernel.Barrier{Scope: kernel.BlockScope}
}

// endCluster keeps blocks until others have sent them all that they send.
func (w *tiledKernel) endCluster(s *scope) {
	if w.multicasts() {
		s.emit(&kernel.Barrier{Scope: kernel.ClusterScope})
	}
}

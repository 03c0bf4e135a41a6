package lower

import (
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Rows at the edges of a warp's rows, which the warps above and below it read in shared memory.

// edgeRows is where a value's rows are that other warps read: Low of those before their first
// row, which are the last of a warp, and High of those after their last.
type edgeRows struct {
	pipeline.Halo
	*edgeBuffer
}

// edgeBuffer is shared memory that values of one type take in turn.
type edgeBuffer struct {
	buffer *kernel.Buffer
	cells  int64
	free   int // the first time at which it may be written to
}

// shareEdges decides which values warps leave to each other, and where. Time 0 is when a round
// begins, and stage n comes at time n+1.
func (r *resident) shareEdges() error {
	last := map[*graph.Value]int{}
	for n, st := range r.pipeline.Stages {
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			r.stream.Offsets(a, func(offset []int64, _ []pipeline.Face) {
				e := r.edges[v]
				if offset[0] != 0 && e == nil {
					e = &edgeRows{}
					r.edges[v] = e
				}
				if e != nil {
					e.Low, e.High = max(e.Low, -offset[0]), max(e.High, offset[0])
					last[v] = n + 1
				}
			})
			return nil
		})
	}
	for _, e := range r.edges {
		if rows := max(e.Low, e.High); rows > r.rows {
			return &ResourceLimit{r.name, "rows of a neighbouring thread", rows, r.rows, "a thread"}
		}
	}
	if r.warps == 1 { // rows beyond the block: nothing depends on them
		return nil
	}
	var published [][]*graph.Value // by time
	var states []*graph.Value
	for _, s := range r.states {
		for v := range r.edges {
			if v.Def == nil && v.Memory == s.grid {
				states = append(states, v)
			}
		}
	}
	published = append(published, states)
	for _, st := range r.pipeline.Stages {
		var list []*graph.Value
		if r.edges[st.Value] != nil {
			list = append(list, st.Value)
			r.last[st] = true
		}
		published = append(published, list)
	}
	var buffers []*edgeBuffer
	for time, list := range published {
		if len(list) > 0 {
			r.meets++
		}
		for _, v := range list {
			var to *edgeBuffer
			for _, b := range buffers {
				if b.free <= time && b.buffer.Elem == v.Type() {
					to = b
					break
				}
			}
			if to == nil {
				to = &edgeBuffer{buffer: &kernel.Buffer{Elem: v.Type(), Space: kernel.Shared, Mode: kernel.InOut}}
				buffers = append(buffers, to)
			}
			e := r.edges[v]
			e.edgeBuffer = to
			to.cells = max(to.cells, r.warps*(e.Low+e.High)*r.edgePitch())
			to.buffer.Cells = kernel.I(to.cells)
			to.free = len(published) // unless all warps meet after the last has been read
			for meet := last[v]; meet < len(published); meet++ {
				if len(published[meet]) > 0 {
					to.free = meet + 1
					break
				}
			}
		}
	}
	return nil
}

// edgeBuffers returns the shared memory of edge rows, each buffer once.
func (r *resident) edgeBuffers() []*kernel.Buffer {
	var list []*kernel.Buffer
	seen := map[*edgeBuffer]bool{}
	add := func(v *graph.Value) {
		if e := r.edges[v]; e != nil && e.edgeBuffer != nil && !seen[e.edgeBuffer] {
			seen[e.edgeBuffer] = true
			list = append(list, e.buffer)
		}
	}
	for _, st := range r.pipeline.Stages {
		_ = st.Accesses(func(_ *ir.Access, v *graph.Value) error { add(v); return nil })
	}
	return list
}

// split reports whether warps do something else between their arrival and the others'.
func (r *resident) split() bool {
	return r.meets > 0 && r.set.Word(schedule.BlockBarrier) == schedule.SplitBarrier
}

// edgePadding is how many cells beyond a row may be read; they are never used.
func (r *resident) edgePadding() int64 {
	n := max(r.halo[1].Low, r.halo[1].High)
	return (n + 3) / 4 * 4
}

func (r *resident) edgePitch() int64 { return 32*r.run + 2*r.edgePadding() }

// edgeVector is how many cells an access to an edge row moves.
func (r *resident) edgeVector(t types.Type) int64 {
	n := int64(1)
	for n < 4 && 2*n*int64(t.Size()) <= 16 && r.run%(2*n) == 0 {
		n *= 2
	}
	return n
}

// edgeElement is where the thread's cells of a row that a warp has left begin.
func (r *resident) edgeElement(e *edgeRows, warp kernel.Expr, place int64) kernel.Expr {
	at := kernel.Mul(kernel.Add(kernel.Mul(warp, kernel.I(e.Low+e.High)), kernel.I(place)), kernel.I(r.edgePitch()))
	return kernel.Add(kernel.Add(at, kernel.I(r.edgePadding())), kernel.Mul(r.lane, kernel.I(r.run)))
}

// edgePlaces returns the places of a row among those that a warp leaves.
func (r *resident) edgePlaces(e *edgeRows, row int64) []int64 {
	var list []int64
	if row < e.High { // a warp before this one reads it
		list = append(list, row)
	}
	if row >= r.rows-e.Low {
		list = append(list, e.High+row-(r.rows-e.Low))
	}
	return list
}

// publish leaves the rows of a value that other warps read.
func (b *residentRound) publish(v *graph.Value, cells [][]*kernel.Var) {
	e := b.edges[v]
	if e == nil || e.edgeBuffer == nil {
		return
	}
	vec := b.edgeVector(v.Type())
	for row := range b.rows {
		for _, place := range b.edgePlaces(e, row) {
			at := b.edgeElement(e, b.warp, place)
			for c := int64(0); c < b.run; c += vec {
				if vec == 1 {
					b.body.emit(&kernel.Store{
						Buffer: e.buffer, Index: kernel.Add(at, kernel.I(c)), Value: kernel.V(cells[row][c]),
					})
					continue
				}
				store := &kernel.StoreVector{Buffer: e.buffer, Index: kernel.Add(at, kernel.I(c))}
				for i := range vec {
					store.Values = append(store.Values, kernel.V(cells[row][c+i]))
				}
				b.body.emit(store)
			}
		}
	}
}

// foreign reads a cell of a row of another warp. Beyond the first and the last warp there is
// none, and nothing depends on what is read.
func (b *residentRound) foreign(v *graph.Value, row, x int64) kernel.Expr {
	e := b.edges[v]
	if e.edgeBuffer == nil {
		return kernel.V(b.valueOf(v)[mod(row, b.rows)][mod(x, b.run)])
	}
	warp, place := kernel.Expr(kernel.Min(kernel.Add(b.warp, kernel.I(1)), kernel.I(b.warps-1))), row-b.rows
	if row < 0 {
		warp, place = kernel.Max(kernel.Sub(b.warp, kernel.I(1)), kernel.I(0)), e.High+e.Low+row
	}
	return kernel.V(b.near(e, b.edgeElement(e, warp, place), v, row, x))
}

// near is a cell of a row in shared memory, counted from the thread's first; whole vectors are
// loaded once.
func (b *residentRound) near(e *edgeRows, at kernel.Expr, v *graph.Value, row, x int64) *kernel.Var {
	key := func(x int64) movedCell { return movedCell{v, row, x} }
	if have := b.moved[key(x)]; have != nil {
		return have
	}
	vec := b.edgeVector(v.Type())
	if x < 0 || x >= b.run || vec == 1 {
		near := b.body.declare(b.env, "near", v.Type())
		b.body.emit(&kernel.Let{Var: near, Value: &kernel.Load{Buffer: e.buffer, Index: kernel.Add(at, kernel.I(x))}})
		b.moved[key(x)] = near
		return near
	}
	first := x / vec * vec
	load := &kernel.LoadVector{Buffer: e.buffer, Index: kernel.Add(at, kernel.I(first))}
	for i := range vec {
		near := b.body.declare(b.env, "near", v.Type())
		load.Vars = append(load.Vars, near)
		b.moved[key(first+i)] = near
	}
	b.body.emit(load)
	return b.moved[key(x)]
}

// clearEdges writes zeros to the edge rows: cells beyond their ends are read.
func (r *resident) clearEdges(body *scope) {
	number := kernel.Add(kernel.Mul(r.warp, kernel.I(32)), r.lane)
	for _, b := range r.edgeBuffers() {
		i := body.declare(r.env, "cell", types.I64)
		body.emit(&kernel.Loop{Var: i, Lo: number, Hi: b.Cells, Step: kernel.I(32 * r.warps), Body: []kernel.Stmt{
			&kernel.Store{Buffer: b, Index: kernel.V(i), Value: zero(b.Elem)},
		}})
	}
	if r.arrived != nil {
		body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, number, kernel.I(0)), Then: []kernel.Stmt{
			&kernel.MbarrierInit{Mbarrier: r.arrived, Slot: kernel.I(0), Count: kernel.L(op.Int(types.I32, r.warps))},
		}})
	}
}

// arrive says that the warp's rows are there which others read.
func (b *residentRound) arrive() {
	if b.arrived == nil {
		return
	}
	b.body.emit(&kernel.Barrier{Scope: kernel.WarpScope})
	b.body.emit(&kernel.If{Cond: kernel.Bin(op.Eq, b.lane, kernel.I(0)), Then: []kernel.Stmt{
		&kernel.MbarrierArrive{Mbarrier: b.arrived, Slot: kernel.I(0)},
	}})
}

// meet waits for the rows of other warps.
func (b *residentRound) meet() {
	if b.arrived == nil {
		b.body.emit(&kernel.Barrier{Scope: kernel.BlockScope})
		return
	}
	phase := kernel.Add(kernel.Mul(b.round, kernel.I(b.meets%2)), kernel.I(b.met))
	b.met++
	parity := kernel.Conv(types.I32, kernel.Bin(op.Rem, phase, kernel.I(2)))
	b.body.emit(&kernel.MbarrierWait{Mbarrier: b.arrived, Slot: kernel.I(0), Parity: parity})
}

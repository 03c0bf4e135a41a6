package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// retiming is a tiled kernel whose statements are computed in pieces, each as soon as
// the planes that it reads have come (transform.Retime). A piece that is ready
// at the offset r is computed for cells that are top-r planes beyond those whose
// values are stored, and waits in a queue of registers for the pieces that use
// it. A block starts some planes before its first one, to fill these queues;
// what is in them before is never stored.
type retiming struct {
	*pieces
	lead  int64       // planes before the block's first, in whole steps
	begin kernel.Expr // the block's first plane
	parts map[*ir.Temp]*part
}

// pieces are a group's statements in pieces.
type pieces struct {
	*transform.Retimed
	roots map[*ir.Stmt]*statement
}

// part is what a thread has of a piece that others use: by column, which is all
// of a cell's place in the tile but its plane, and by plane.
type part struct {
	*transform.Piece
	held  map[string]map[int64]kernel.Expr
	queue map[string]map[int64]*kernel.Var
}

// retimed returns the group's statements in pieces along an axis; nil if that
// cannot be. Where sums is set, sums are put in the order of their planes
// before, which fast arithmetic allows.
func (n *nest) retimed(axis int, sums bool) *pieces {
	out := &pieces{roots: map[*ir.Stmt]*statement{}}
	var stmts []*ir.Stmt
	for _, s := range n.stmts {
		if n.readsTargets(s) || n.readsForeign(s) {
			return nil // what it reads may be another value later, or not be there yet
		}
		st := s.src
		if sums && st.Temp == nil {
			st = n.inPlanes(st, axis)
		}
		stmts = append(stmts, st)
		if s.anchored() {
			out.roots[st] = s
		}
	}
	var err error
	out.Retimed, err = transform.Retime(n.Program, stmts, axis, func(st *ir.Stmt) bool { return out.roots[st] != nil })
	if err != nil {
		return nil
	}
	return out
}

// inPlanes returns a statement with the terms of its sums in the order of their
// planes, or as it is if it has no sums of such.
func (n *nest) inPlanes(st *ir.Stmt, axis int) *ir.Stmt {
	return sumsInPlanes(n.Program, n.call, st, axis, n.folds())
}

// mostSums is how many parts of a statement are tried, from the whole of it to
// its operands, until it is left as it is.
const mostSums = 64

// sumsInPlanes returns a statement of a call with the terms of its sums in the order of their planes. Where folds is
// set, those of a plane that have one coefficient are added first.
func sumsInPlanes(program *ir.Program, call *ir.Call, st *ir.Stmt, axis int, folds bool) *ir.Stmt {
	tries := mostSums
	var sorted func(e ir.Expr) ir.Expr
	sorted = func(e ir.Expr) ir.Expr {
		if tries--; tries < 0 {
			return e
		}
		part := *st
		part.Value = e
		planes, err := transform.Decompose(program, call, &part, axis)
		if err != nil {
			return ir.MapChildren(e, sorted)
		}
		if len(planes) < 2 {
			return e
		}
		if folds {
			for i := range planes {
				planes[i].Value, _ = transform.Fold(program, planes[i].Value)
			}
		}
		return transform.Joined(planes, len(program.Axes), axis)
	}
	out := *st
	out.Value = sorted(st.Value)
	return &out
}

// readsTargets reports whether a statement reads an array that the group
// writes, and not from before.
func (n *nest) readsTargets(s *statement) bool {
	return slices.ContainsFunc(accesses(s.src.Value), func(a *ir.Access) bool {
		return !slices.Contains(n.group.Snapshot, a.Array) &&
			slices.ContainsFunc(n.stmts, func(t *statement) bool { return t.src.Array == a.Array })
	})
}

// readsForeign reports whether a statement reads a temp of an earlier kernel.
func (n *nest) readsForeign(s *statement) (foreign bool) {
	ir.Walk(s.src.Value, func(e ir.Expr) {
		t, ok := e.(ir.TempRef)
		foreign = foreign || ok && !n.local[t.Temp]
	})
	return foreign
}

// retime cuts the tiled kernel's statements in pieces, and returns the plane with which
// a block starts, given its first.
func (w *tiledKernel) retime(first kernel.Expr) kernel.Expr {
	r := &retiming{pieces: w.pieces, parts: map[*ir.Temp]*part{}}
	r.lead = (r.Lead() + w.step() - 1) / w.step() * w.step()
	for _, q := range r.Pieces {
		if q.Temp != nil {
			r.parts[q.Temp] = &part{q, map[string]map[int64]kernel.Expr{}, map[string]map[int64]*kernel.Var{}}
		}
	}
	if w.step() == 1 {
		// Who uses a piece comes before it, so that its queue can move on at
		// once; pieces of one plane keep their order.
		slices.SortStableFunc(r.Pieces, func(p, q *transform.Piece) int { return int(q.Ready - p.Ready) })
	}
	w.early = r
	r.begin = first
	axis := w.stream
	w.pos[axis] = w.pre.let(w.env, "lead", w.Program.Axes[axis]+"_lead", kernel.Sub(first, kernel.I(r.lead)))
	w.makeParts()
	return w.pos[axis]
}

// reads calls f for every access of the statements at every cell of a thread's
// tile, with the place that it is read from.
func (w *tiledKernel) reads(f func(a *ir.Access, place map[int]int64)) {
	if w.early == nil {
		for _, s := range w.stmts {
			for _, a := range accesses(s.src.Value) {
				for _, c := range w.cells {
					f(a, c.place)
				}
			}
		}
		return
	}
	for _, q := range w.early.Pieces {
		for _, a := range accesses(q.Value) {
			for _, c := range w.cells {
				f(a, w.beyond(c, q).place)
			}
		}
	}
}

// beyond is the cell for which a piece is computed while another cell's value
// is stored.
func (w *tiledKernel) beyond(c *cell, q *transform.Piece) *cell {
	d := *c
	d.place, d.vals, d.body = maps.Clone(c.place), map[*ir.Temp]kernel.Expr{}, w.now
	d.place[w.stream] += w.early.Top - q.Ready
	return &d
}

// column names a cell's column in the tile.
func (w *tiledKernel) column(c *cell) string {
	key := ""
	for _, axis := range w.axes {
		if axis != w.stream {
			key += fmt.Sprintf(":%d", c.place[axis])
		}
	}
	return key
}

// makeParts makes the queues of pieces, with nothing in them yet.
func (w *tiledKernel) makeParts() {
	for _, q := range w.early.Pieces {
		if q.Carried == 0 {
			continue
		}
		p := w.early.parts[q.Temp]
		for _, c := range w.cells {
			column := w.column(c)
			if p.queue[column] != nil {
				continue
			}
			p.queue[column] = map[int64]*kernel.Var{}
			for at := -q.Carried; at < 0; at++ {
				v := w.pre.declare(w.env, w.partName(q, c, at), q.Temp.Type)
				w.pre.emit(&kernel.Declare{Var: v, Init: zero(v.Type)})
				p.queue[column][at] = v
			}
		}
	}
}

// partName names a piece's value for the cell of a column that is at planes
// from the one for which it is computed.
func (w *tiledKernel) partName(q *transform.Piece, c *cell, at int64) string {
	name := q.Temp.Name
	for _, axis := range w.axes {
		off := c.place[axis]
		if axis == w.stream {
			off = w.early.Top - q.Ready + at
		}
		if off != 0 {
			name += "_" + c.offsetName(index{axis: axis, offset: off})
		}
	}
	if w.phase != "" {
		name += "_" + w.phase
	}
	return name
}

// lead returns how many planes before its first a block starts on an axis.
func (w *tiledKernel) lead(axis int) int64 {
	if w.early == nil || axis != w.stream {
		return 0
	}
	return w.early.lead
}

// unrollFactor returns how many steps the longest queue of a piece lasts.
func (r *retiming) unrollFactor(step int64) int64 {
	n := int64(1)
	for _, q := range r.Pieces {
		n = max(n, (q.Carried+step-1)/step+1)
	}
	return n
}

// inPlace reports whether queues of pieces move on as soon as there is a new
// value.
func (w *tiledKernel) inPlace() bool { return w.step() == 1 && !w.unrollStream }

// computePieces computes all pieces for their cells.
func (w *tiledKernel) computePieces() {
	r := w.early
	for _, q := range r.Pieces {
		if q.Temp != nil {
			w.recall(r.parts[q.Temp])
		}
	}
	for _, q := range r.Pieces {
		if q.Stmt != nil {
			w.computeRoot(q)
			continue
		}
		p := r.parts[q.Temp]
		for _, c := range w.cells {
			value := w.pieceAt(q, c)
			held := p.held[w.column(c)]
			at := c.place[w.stream]
			queue := p.queue[w.column(c)]
			if w.inPlace() && q.Carried > 0 {
				for d := q.Carried; d > 1; d-- {
					w.now.emit(&kernel.Assign{Var: queue[-d], Value: kernel.V(queue[1-d])})
				}
				w.now.emit(&kernel.Assign{Var: queue[-1], Value: value})
				held[at] = kernel.V(queue[-1])
				continue
			}
			v := w.now.declare(w.env, w.partName(q, c, at), q.Temp.Type)
			w.now.emit(&kernel.Let{Var: v, Value: value})
			held[at] = kernel.V(v)
		}
	}
}

// recall finds what is in a piece's queues at the start of a step.
func (w *tiledKernel) recall(p *part) {
	for _, c := range w.cells {
		column := w.column(c)
		if c.place[w.stream] != 0 {
			continue
		}
		before := p.held[column]
		p.held[column] = map[int64]kernel.Expr{}
		for at := -p.Carried; at < 0; at++ {
			if w.unrolledStep == 0 {
				p.held[column][at] = kernel.V(p.queue[column][at])
			} else {
				p.held[column][at] = before[at+w.step()]
			}
		}
	}
}

// pieceAt returns a piece's value for the cell that it is computed for with
// another one.
func (w *tiledKernel) pieceAt(q *transform.Piece, c *cell) kernel.Expr {
	d := w.beyond(c, q)
	w.give(q, c, d)
	return d.expr(q.Value)
}

// give tells a cell the values of the pieces that one uses.
func (w *tiledKernel) give(q *transform.Piece, c, to *cell) {
	for _, u := range q.Uses {
		to.vals[u.Temp] = w.early.parts[u.Temp].held[w.column(c)][c.place[w.stream]-u.Delay]
	}
}

// computeRoot computes a statement's values and stores those of the block's
// own planes.
func (w *tiledKernel) computeRoot(q *transform.Piece) {
	s := w.early.roots[q.Stmt]
	outer, inner := w.now, w.inside(w.now)
	for vector := range slices.Chunk(w.cells, int(w.vec)) {
		for _, c := range vector {
			w.give(q, c, c)
		}
		values := w.values(s, q.Value, vector)
		w.now = inner
		w.put(s, vector, values)
		w.now = outer
	}
	if w.early.lead == 0 {
		w.now.stmts = append(w.now.stmts, inner.stmts...)
		return
	}
	w.now.emit(&kernel.If{Cond: kernel.Ge(w.pos[w.stream], w.early.begin), Then: inner.stmts})
}

// shiftParts moves the queues of pieces on by a step of the loop.
func (w *tiledKernel) shiftParts() {
	if w.inPlace() {
		return
	}
	for _, q := range w.early.Pieces {
		if q.Carried == 0 {
			continue
		}
		p := w.early.parts[q.Temp]
		for _, c := range w.cells {
			if c.place[w.stream] != 0 {
				continue
			}
			column := w.column(c)
			for at := -q.Carried; at < 0; at++ {
				w.now.emit(&kernel.Assign{Var: p.queue[column][at], Value: p.held[column][at+w.step()]})
			}
		}
	}
}

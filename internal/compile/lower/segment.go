package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// inOrder reports whether a reduction's values have to be combined over the tree
// that ir.Reduce describes: integers, and floats that may be rearranged, need not be.
func (n *nest) inOrder(s *statement) bool {
	return n.Program.Arithmetic.Exact() && s.src.Reduce.Scalar.Type.IsFloat()
}

// ordered returns the group's reductions that are in order.
func (n *nest) ordered() []*statement {
	var out []*statement
	for _, s := range n.reductions() {
		if n.inOrder(s) {
			out = append(out, s)
		}
	}
	return out
}

// segmentStart returns the start of the segment that a position is in.
func segmentStart(x kernel.Expr) kernel.Expr {
	return kernel.Sub(x, floorMod(x, kernel.I(ir.Segment)))
}

// segments says where the segments of a reduction are: rows over the outer axes
// of its box, and in each so many, of which the first starts at start.
type segments struct {
	lo, hi, start, each kernel.Expr // hi is inclusive
	rows                bool        // whether there may be several
}

// segmentsOf returns where a reduction's segments are, over the sizes of an env.
func (n *nest) segmentsOf(e *env, s *statement) segments {
	r := s.src.Domain[n.inner()]
	g := segments{lo: e.low(r.Lo, nil), hi: e.high(r.Hi, nil), rows: len(n.axes) > 1}
	g.start = segmentStart(g.lo)
	g.each = kernel.CeilDiv(kernel.Sub(kernel.Add(g.hi, kernel.I(1)), g.start), kernel.I(ir.Segment))
	return g
}

// touches returns the condition under which a segment that starts at x has cells of
// the reduction; a side that is not asked for holds anyway.
func (g segments) touches(x kernel.Expr, low, high bool) kernel.Expr {
	var cond kernel.Expr
	if low {
		cond = kernel.Ge(kernel.Add(x, kernel.I(ir.Segment-1)), g.lo)
	}
	if high {
		cond = conj(cond, kernel.Le(x, g.hi))
	}
	return cond
}

// named gives names in a scope to what is computed often.
func (g segments) named(top *scope, e *env, s *statement) segments {
	name := s.src.Reduce.Scalar.Name
	g.start = top.let(e, "segments:"+name, name+"_start", g.start)
	if g.rows {
		g.each = top.let(e, "each:"+name, name+"_segments", g.each)
	}
	return g
}

// reducedRows is the number of rows that a reduction runs over.
func (n *nest) reducedRows(s *statement) kernel.Expr {
	count := kernel.I(1)
	for _, axis := range n.outer() {
		r := s.src.Domain[axis]
		count = kernel.Mul(count, kernel.Add(kernel.Sub(n.high(r.Hi, nil), n.low(r.Lo, nil)), kernel.I(1)))
	}
	return count
}

// segmentCount is the number of segments that a reduction runs over.
func (n *nest) segmentCount(s *statement) kernel.Expr {
	return kernel.Mul(n.reducedRows(s), n.segmentsOf(n.env, s).each)
}

// reducedCells is the number of cells that a reduction runs over.
func (n *nest) reducedCells(s *statement) kernel.Expr {
	r := s.src.Domain[n.inner()]
	return kernel.Mul(n.reducedRows(s), kernel.Add(kernel.Sub(n.high(r.Hi, nil), n.low(r.Lo, nil)), kernel.I(1)))
}

// rowOf numbers the rows of a reduction's box in row-major order.
func (n *nest) rowOf(s *statement, at func(axis int) kernel.Expr) kernel.Expr {
	num := kernel.I(0)
	for _, axis := range n.outer() {
		r := s.src.Domain[axis]
		lo := n.low(r.Lo, nil)
		size := kernel.Add(kernel.Sub(n.high(r.Hi, nil), lo), kernel.I(1))
		num = kernel.Add(kernel.Mul(num, size), kernel.Sub(at(axis), lo))
	}
	return num
}

// segmentNumber numbers the segments of a reduction: that of a row which starts
// at start.
func (g segments) number(row, start kernel.Expr) kernel.Expr {
	return kernel.Add(kernel.Mul(row, g.each), kernel.Bin(op.Div, kernel.Sub(start, g.start), kernel.I(ir.Segment)))
}

// halves combines values whose number is a power of two, the first half with the
// second, until one is left. Every combination gets a name.
func halves(s *scope, e *env, name string, join op.Op, values []kernel.Expr) kernel.Expr {
	for len(values) > 1 {
		half := len(values) / 2
		next := make([]kernel.Expr, half)
		for l := range next {
			v := s.declare(e, name, values[l].Type())
			s.emit(&kernel.Let{Var: v, Value: kernel.Bin(join, values[l], values[l+half])})
			next[l] = kernel.V(v)
		}
		values = next
	}
	return values[0]
}

// cellwise is the memory for the values of a reduction's cells, where the lanes of
// no warp hold whole segments: one for each cell, which another kernel combines to one
// for each segment.
type cellwise struct {
	stmt  *statement
	store *store
}

func (n *nest) newCellwise(s *statement) *cellwise {
	return &cellwise{s, n.partialStore(cellwiseKey{s.src}, s, "_cells", n.reducedCells(s))}
}

type cellwiseKey struct{ stmt *ir.Stmt }

// put stores a cell's value.
func (w *cellwise) put(c *cell, value kernel.Expr) kernel.Stmt {
	n := c.nest
	b := n.buffer(w.store.arg, w.store.order, w.store.name, w.store.elem, func() kernel.Expr {
		return w.store.cells(n.size)
	})
	b.writes = true
	return &kernel.Store{Buffer: b.buffer, Index: c.cellNumber(w.stmt), Value: value}
}

// segmentThreads are the threads of a block that combines cells to segments.
const segmentThreads = 128

// combineCells adds the kernel that combines the values of cells to one for each
// segment, a segment a thread.
func (n *nest) combineCells(w *cellwise, p *partials) {
	r := w.stmt.src.Reduce
	e := newEnv(n.Program, n.opts.Bound)
	from := e.buffer(w.store.arg, w.store.order, w.store.name, w.store.elem, func() kernel.Expr {
		return w.store.cells(e.size)
	})
	from.reads = true
	to := e.buffer(p.store.arg, p.store.order, p.store.name, p.store.elem, func() kernel.Expr {
		return p.store.cells(e.size)
	})
	to.writes = true
	k := &kernel.Kernel{
		Name: fmt.Sprintf("%s_%s_segments", kernelBase(n.call), r.Kind),
		Doc:  []string{fmt.Sprintf("the %s of every segment of %d cells, for %s", r.Kind, ir.Segment, r.Scalar.Name)},
	}
	top := newScope(nil)
	for _, b := range []*binding{from, to} {
		top.names[b.buffer.Name] = true
	}
	g := n.segmentsOf(e, w.stmt).named(top, e, w.stmt)
	count := top.let(e, "count", "count", n.rebind(p.count, e.size))
	s := newScope(top)
	segment := top.declare(e, "segment", types.I64)
	row := s.let(e, "row", "row", kernel.Bin(op.Div, kernel.V(segment), g.each))
	first := kernel.Add(g.start, kernel.Mul(kernel.Bin(op.Rem, kernel.V(segment), g.each), kernel.I(ir.Segment)))
	first = s.let(e, "first", "first", first)
	base := s.let(e, "base", "base",
		kernel.Sub(kernel.Add(kernel.Mul(row, kernel.Add(kernel.Sub(g.hi, g.lo), kernel.I(1))), first), g.lo))
	none := neutral(r.Kind, r.Scalar.Type)
	value := func(l int64) kernel.Expr {
		x := kernel.Add(first, kernel.I(l))
		inside := kernel.And(kernel.Ge(x, g.lo), kernel.Le(x, g.hi))
		return kernel.Sel(inside, &kernel.Load{Buffer: from.buffer, Index: kernel.Add(base, kernel.I(l))}, none)
	}
	var values []kernel.Expr
	for l := range int64(ir.Segment / 2) {
		v := s.declare(e, "pair", r.Scalar.Type)
		s.emit(&kernel.Let{Var: v, Value: kernel.Bin(reduceOp(r.Kind), value(l), value(l+ir.Segment/2))})
		values = append(values, kernel.V(v))
	}
	result := halves(s, e, "part", reduceOp(r.Kind), values)
	s.emit(&kernel.Store{Buffer: to.buffer, Index: kernel.V(segment), Value: result})
	threads := kernel.I(segmentThreads)
	block, thread := top.declare(e, "block", types.I64), top.declare(e, "thread", types.I64)
	body := []kernel.Stmt{
		&kernel.Let{Var: segment, Value: kernel.Add(kernel.Mul(kernel.V(block), threads), kernel.V(thread))},
		&kernel.If{Cond: kernel.Lt(kernel.V(segment), count), Then: s.stmts},
	}
	list := []kernel.Stmt{&kernel.Loop{
		Var: thread, Lo: kernel.I(0), Hi: threads, Step: kernel.I(1), Tag: kernel.ThreadX, Body: body,
	}}
	top.emit(&kernel.Loop{
		Var: block, Lo: kernel.I(0), Hi: kernel.CeilDiv(count, threads), Step: kernel.I(1),
		Tag: kernel.BlockX, Body: list,
	})
	k.Body = top.stmts
	args := e.finish(k)
	n.add(k, args)
}

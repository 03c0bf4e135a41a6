package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Where a loop nest reduces floats in order, a row is computed in strips of whole
// segments. The loops over a strip leave each cell's value in a small array that
// stays in the first cache, so that they use vectors; then the array is combined,
// segment by segment.

// stripCells are the cells of a strip at most: 8 KiB of doubles. Tiles that are smaller are
// whole segments, too: no space offers others.
const stripCells = 1 << 10

// strips is how rows are cut.
type strips struct {
	start    kernel.Expr // the first segment of the loop
	tile     kernel.Expr // where the row's tile ends; nil if there are none
	from     kernel.Expr // where the strip at hand starts
	cells    int64       // of a strip
	whole    bool        // a tile is one strip
	values   map[*statement]*kernel.Buffer
	segments map[*statement]segments
}

// startStrips names what all rows share.
func (l *loopNest) startStrips(top *scope) {
	p := l.strips
	if p == nil {
		return
	}
	name := l.Program.Axes[l.inner()]
	p.start = top.let(l.env, "start"+name, name+"_start", segmentStart(l.span[l.inner()].lo))
	p.cells = stripCells
	if b := l.block[l.inner()]; b > 0 {
		p.cells, p.whole = min(b, stripCells), b <= stripCells
	}
	for _, s := range l.ordered() {
		p.segments[s] = l.segmentsOf(l.env, s).named(top, l.env, s)
	}
}

// ends returns the range of the loops over the strip at hand.
func (p *strips) ends(sp *span) (lo, hi kernel.Expr) {
	hi = kernel.Min(kernel.Add(p.from, kernel.I(p.cells)), sp.hi)
	if p.tile != nil {
		hi = kernel.Min(hi, p.tile)
	}
	return kernel.Max(p.from, sp.lo), hi
}

// stripEnds names the range of the loops over the strip at hand.
func (l *loopNest) stripEnds(s *scope) (lo, hi kernel.Expr) {
	name := l.Program.Axes[l.inner()]
	lo, hi = l.ends(l.inner())
	return s.let(l.env, "striplo", name+"_begin", lo), s.let(l.env, "tilehi", name+"_end", hi)
}

// put stores the value of a cell of the strip.
func (p *strips) put(s *statement, at, value kernel.Expr) kernel.Stmt {
	return &kernel.Store{Buffer: p.values[s], Index: kernel.Sub(at, p.from), Value: value}
}

// rowInStrips adds the loops over the strips of a row of a tile.
func (l *loopNest) rowInStrips(s *scope) {
	p := l.strips
	from, end := p.start, l.span[l.inner()].hi
	p.tile = nil
	if t, ok := l.tiles[l.inner()]; ok {
		from = kernel.V(t)
		if p.whole {
			p.from = from
			l.strip(s)
			return
		}
		name := l.Program.Axes[l.inner()]
		p.tile = s.let(l.env, "tile", name+"_tile_end", kernel.Min(kernel.Add(from, kernel.I(l.block[l.inner()])), end))
		end = p.tile
	}
	v := s.declare(l.env, l.Program.Axes[l.inner()]+"_strip", types.I64)
	p.from = kernel.V(v)
	body := newScope(s)
	l.strip(body)
	s.emit(&kernel.Loop{Var: v, Lo: from, Hi: end, Step: kernel.I(p.cells), Body: body.stmts})
}

// strip adds what is done for the strip at hand.
func (l *loopNest) strip(s *scope) {
	p := l.strips
	for _, r := range l.ordered() {
		t := r.src.Reduce.Scalar.Type
		b := &kernel.Buffer{
			Name: s.declare(l.env, r.src.Reduce.Scalar.Name+"_values", t).Name, Elem: t,
			Space: kernel.Private, Mode: kernel.InOut, Cells: kernel.I(p.cells),
		}
		p.values[r] = b
		s.emit(&kernel.Alloc{Buffer: b})
	}
	l.rowOfCells(s)
	for _, r := range l.ordered() {
		inner := newScope(s)
		guard := l.combineStrip(inner, r)
		if guard == nil {
			s.stmts = append(s.stmts, inner.stmts...)
		} else {
			s.emit(&kernel.If{Cond: guard, Then: inner.stmts})
		}
	}
}

// combineStrip adds what combines a reduction's values of the strip, and returns
// the condition under which there are any; nil if there always are.
func (l *loopNest) combineStrip(s *scope, r *statement) kernel.Expr {
	p, g := l.strips, l.strips.segments[r]
	buf, join := p.values[r], reduceOp(r.src.Reduce.Kind)
	sp, box := l.span[l.inner()], r.src.Domain
	name := l.Program.Axes[l.inner()]
	// The cells of the strip that take part, counted from its start.
	lo, hi := l.stripEnds(s)
	var guard kernel.Expr
	for _, axis := range l.outer() {
		x := kernel.V(l.pos[axis])
		if !sameBounds(box[axis].Lo, l.span[axis].loBounds) {
			guard = conj(guard, kernel.Ge(x, l.low(box[axis].Lo, nil)))
		}
		if !sameBounds(box[axis].Hi, l.span[axis].hiBounds) {
			guard = conj(guard, kernel.Le(x, l.high(box[axis].Hi, nil)))
		}
	}
	narrow := false
	if !sameBounds(box[l.inner()].Lo, sp.loBounds) {
		lo, narrow = kernel.Max(lo, g.lo), true
	}
	if !sameBounds(box[l.inner()].Hi, sp.hiBounds) {
		hi, narrow = kernel.Min(hi, kernel.Add(g.hi, kernel.I(1))), true
	}
	if narrow {
		guard = conj(guard, kernel.Lt(lo, hi))
	}
	segment := kernel.I(ir.Segment)
	lo = s.let(l.env, "first", name+"_first", kernel.Sub(lo, p.from))
	hi = s.let(l.env, "count", name+"_count", kernel.Sub(hi, p.from))
	begin := s.let(l.env, "begin", name+"_from_segment", kernel.Sub(lo, kernel.Bin(op.Rem, lo, segment)))
	end := s.let(l.env, "finish", name+"_to_segment", kernel.Mul(kernel.CeilDiv(hi, segment), segment))
	// What lacks in these segments is a value that changes nothing.
	fill := func(from, to kernel.Expr) {
		v := s.declare(l.env, "absent", types.I64)
		s.emit(&kernel.Loop{Var: v, Lo: from, Hi: to, Step: kernel.I(1), Body: []kernel.Stmt{
			&kernel.Store{Buffer: buf, Index: kernel.V(v), Value: neutral(r.src.Reduce.Kind, buf.Elem)},
		}})
	}
	fill(begin, lo)
	fill(hi, end)

	row := s.let(l.env, "row", "row", l.rowOf(r, func(axis int) kernel.Expr { return kernel.V(l.pos[axis]) }))
	base := s.let(l.env, "base", "base", g.number(row, p.from))
	at := s.declare(l.env, "segment", types.I64)
	load := func(x kernel.Expr) kernel.Expr { return &kernel.Load{Buffer: buf, Index: x} }
	body := newScope(s)
	for by := int64(ir.Segment / 2); by >= pairLanes; by /= 2 {
		v := body.declare(l.env, "cell", types.I64)
		x := kernel.Add(kernel.V(at), kernel.V(v))
		body.emit(&kernel.Loop{
			Var: v, Lo: kernel.I(0), Hi: kernel.I(by), Step: kernel.I(1), Tag: kernel.Vector,
			Body: []kernel.Stmt{&kernel.Store{
				Buffer: buf, Index: x, Value: kernel.Bin(join, load(x), load(kernel.Add(x, kernel.I(by)))),
			}},
		})
	}
	var last []kernel.Expr
	for x := range int64(pairLanes) {
		last = append(last, load(kernel.Add(kernel.V(at), kernel.I(x))))
	}
	value := halves(body, l.env, "part", join, last)
	b := l.partialBuffer(l.sums[r])
	number := kernel.Add(base, kernel.Bin(op.Div, kernel.V(at), segment))
	body.emit(&kernel.Store{Buffer: b.buffer, Index: number, Value: value})
	s.emit(&kernel.Loop{Var: at, Lo: begin, Hi: end, Step: segment, Body: body.stmts})
	return guard
}

// pairLanes are so few values that they are combined without a loop.
const pairLanes = 8

package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Where a loop nest reduces floats in order, a row is computed segment by segment. The loop
// over a segment leaves each cell's value in a small array, so that it uses vectors; then the
// array is combined. The loop has 32 iterations where the segment lies in the interior.
//
// A row near an edge of an outer axis is computed in strips of many segments.

// stripCells are the cells of a strip at most: 8 KiB of doubles. Tiles that are smaller are
// whole segments, too: no space offers others.
const stripCells = 1 << 10

// strips is how rows are cut.
type strips struct {
	start    kernel.Expr // the first segment of the loop
	tile     kernel.Expr // where the row's tile ends; nil if there are none
	from     kernel.Expr // where the strip at hand starts
	cells    int64       // of the strip at hand, at most
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
	for _, s := range l.ordered() {
		p.segments[s] = l.segmentsOf(l.env, s).named(top, l.env, s)
	}
}

// stripCells is the number of cells of a strip.
func (l *loopNest) stripCells() int64 {
	if b := l.block[l.inner()]; b > 0 {
		return min(b, stripCells)
	}
	return stripCells
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

// rowInStrips adds the loops over the segments of a row of a tile, or over its strips.
func (l *loopNest) rowInStrips(s *scope) {
	inside, _ := l.insideRow()
	if inside == nil {
		l.rowOfSegments(s)
		return
	}
	then, other := newScope(s), newScope(s)
	l.rowOfSegments(then)
	l.rowOfStrips(other)
	s.emit(&kernel.If{Cond: inside, Then: then.stmts, Else: other.stmts})
}

// rowOfStrips adds the loops over the strips of a row of a tile.
func (l *loopNest) rowOfStrips(s *scope) {
	p := l.strips
	p.cells = l.stripCells()
	if t, ok := l.tiles[l.inner()]; ok && l.block[l.inner()] <= p.cells {
		p.from, p.tile = kernel.V(t), nil
		l.strip(s)
		return
	}
	l.overRow(s, "_strip", l.strip)
}

// overRow adds a loop over the parts of a row of a tile, of which each has p.cells cells.
func (l *loopNest) overRow(s *scope, suffix string, part func(*scope)) {
	p, name := l.strips, l.Program.Axes[l.inner()]
	from, end := p.start, l.span[l.inner()].hi
	p.tile = nil
	if t, ok := l.tiles[l.inner()]; ok {
		from = kernel.V(t)
		p.tile = s.let(l.env, "tile", name+"_tile_end", kernel.Min(kernel.Add(from, kernel.I(l.block[l.inner()])), end))
		end = p.tile
	}
	v := s.declare(l.env, name+suffix, types.I64)
	p.from = kernel.V(v)
	body := newScope(s)
	part(body)
	s.emit(&kernel.Loop{Var: v, Lo: from, Hi: end, Step: kernel.I(p.cells), Body: body.stmts})
}

// allocValues adds the arrays for the values of the strip at hand.
func (l *loopNest) allocValues(s *scope) {
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
}

// guarded adds what a function adds, under the condition that it returns; nil always holds.
func guarded(s *scope, add func(*scope) kernel.Expr) {
	inner := newScope(s)
	if guard := add(inner); guard != nil {
		s.emit(&kernel.If{Cond: guard, Then: inner.stmts})
		return
	}
	s.stmts = append(s.stmts, inner.stmts...)
}

// strip adds what is done for the strip at hand, of a row near an edge of an outer axis.
func (l *loopNest) strip(s *scope) {
	l.allocValues(s)
	_, edges := l.insideRow()
	parts := l.parts(s, edges, l.cutRow(s))
	s.stmts = append(s.stmts, parts...)
	for _, r := range l.ordered() {
		guarded(s, func(inner *scope) kernel.Expr { return l.combineStrip(inner, r) })
	}
}

// rowOfSegments adds the loop over the segments of a row of a tile that touches no edge of
// an outer axis.
func (l *loopNest) rowOfSegments(s *scope) {
	l.strips.cells = ir.Segment
	l.overRow(s, "_segment", l.segment)
}

// segment adds what is done for the segment at hand.
func (l *loopNest) segment(s *scope) {
	p, sp := l.strips, l.span[l.inner()]
	l.allocValues(s)
	full, rest := newScope(s), newScope(s)
	full.emit(l.wholeSegment(s, full))
	cut := l.cutRow(rest)
	parts := l.parts(rest, nil, cut)
	rest.stmts = append(rest.stmts, parts...)
	for _, r := range l.ordered() {
		guarded(rest, func(inner *scope) kernel.Expr {
			lo, hi, any := l.taking(inner, r)
			l.fill(inner, r, kernel.I(0), kernel.Sub(lo, p.from))
			l.fill(inner, r, kernel.Sub(hi, p.from), kernel.I(ir.Segment))
			return any
		})
	}
	whole := kernel.And(kernel.Ge(p.from, sp.inLo), kernel.Le(kernel.Add(p.from, kernel.I(ir.Segment)), sp.inHi))
	s.emit(&kernel.If{Cond: whole, Then: full.stmts, Else: rest.stmts})
	for _, r := range l.ordered() {
		guarded(s, func(inner *scope) kernel.Expr {
			number := p.segments[r].number(l.reducedRow(inner, r), p.from)
			l.combineSegment(inner, r, kernel.I(0), number)
			if !l.narrow(r) {
				return nil
			}
			_, _, any := l.taking(s, r)
			return any
		})
	}
}

// wholeSegment builds the loop over a segment in the interior. It counts from 0, so that
// compilers see that there are always 32 iterations.
func (l *loopNest) wholeSegment(row, s *scope) *kernel.Loop {
	from := l.strips.from
	loop := l.part(row, nil, from, from, true)
	position := loop.Var
	loop.Var = s.declare(l.env, "cell", types.I64)
	loop.Lo, loop.Hi = kernel.I(0), kernel.I(ir.Segment)
	at := &kernel.Let{Var: position, Value: kernel.Add(from, kernel.V(loop.Var))}
	loop.Body = append([]kernel.Stmt{at}, loop.Body...)
	return loop
}

// taking returns the range of the cells of the strip at hand that take part in a reduction,
// and the condition under which there are any; nil if there always are.
func (l *loopNest) taking(s *scope, r *statement) (lo, hi, any kernel.Expr) {
	g, sp, box := l.strips.segments[r], l.span[l.inner()], r.src.Domain[l.inner()]
	lo, hi = l.stripEnds(s)
	if !sameBounds(box.Lo, sp.loBounds) {
		lo = kernel.Max(lo, g.lo)
	}
	if !sameBounds(box.Hi, sp.hiBounds) {
		hi = kernel.Min(hi, kernel.Add(g.hi, kernel.I(1)))
	}
	if l.narrow(r) {
		any = kernel.Lt(lo, hi)
	}
	return lo, hi, any
}

// narrow reports whether a reduction may run over a part of the loop's rows only.
func (l *loopNest) narrow(r *statement) bool {
	sp, box := l.span[l.inner()], r.src.Domain[l.inner()]
	return !sameBounds(box.Lo, sp.loBounds) || !sameBounds(box.Hi, sp.hiBounds)
}

// fill gives places of the strip at hand a value that changes nothing.
func (l *loopNest) fill(s *scope, r *statement, from, to kernel.Expr) {
	buf := l.strips.values[r]
	v := s.declare(l.env, "absent", types.I64)
	s.emit(&kernel.Loop{Var: v, Lo: from, Hi: to, Step: kernel.I(1), Body: []kernel.Stmt{
		&kernel.Store{Buffer: buf, Index: kernel.V(v), Value: neutral(r.src.Reduce.Kind, buf.Elem)},
	}})
}

// reducedRow names the number of the row among those of a reduction.
func (l *loopNest) reducedRow(s *scope, r *statement) kernel.Expr {
	return s.let(l.env, "row", "row", l.rowOf(r, func(axis int) kernel.Expr { return kernel.V(l.pos[axis]) }))
}

// combineStrip adds what combines a reduction's values of the strip, and returns
// the condition under which there are any; nil if there always are.
func (l *loopNest) combineStrip(s *scope, r *statement) kernel.Expr {
	p, g, box := l.strips, l.strips.segments[r], r.src.Domain
	name := l.Program.Axes[l.inner()]
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
	lo, hi, any := l.taking(s, r)
	if any != nil {
		guard = conj(guard, any)
	}
	segment := kernel.I(ir.Segment)
	lo = s.let(l.env, "first", name+"_first", kernel.Sub(lo, p.from))
	hi = s.let(l.env, "count", name+"_count", kernel.Sub(hi, p.from))
	begin := s.let(l.env, "begin", name+"_from_segment", kernel.Sub(lo, kernel.Bin(op.Rem, lo, segment)))
	end := s.let(l.env, "finish", name+"_to_segment", kernel.Mul(kernel.CeilDiv(hi, segment), segment))
	// What lacks in these segments is a value that changes nothing.
	l.fill(s, r, begin, lo)
	l.fill(s, r, hi, end)
	base := s.let(l.env, "base", "base", g.number(l.reducedRow(s, r), p.from))
	at := s.declare(l.env, "segment", types.I64)
	body := newScope(s)
	number := kernel.Add(base, kernel.Bin(op.Div, kernel.V(at), segment))
	l.combineSegment(body, r, kernel.V(at), number)
	s.emit(&kernel.Loop{Var: at, Lo: begin, Hi: end, Step: segment, Body: body.stmts})
	return guard
}

// combineSegment adds what combines a reduction's values of a segment that starts at a place
// of the strip at hand, and stores the result under a number.
func (l *loopNest) combineSegment(s *scope, r *statement, at, number kernel.Expr) {
	buf, join := l.strips.values[r], reduceOp(r.src.Reduce.Kind)
	load := func(x kernel.Expr) kernel.Expr { return &kernel.Load{Buffer: buf, Index: x} }
	for by := int64(ir.Segment / 2); by >= pairLanes; by /= 2 {
		v := s.declare(l.env, "cell", types.I64)
		x := kernel.Add(at, kernel.V(v))
		pair := kernel.Bin(join, load(x), load(kernel.Add(x, kernel.I(by))))
		s.emit(&kernel.Loop{
			Var: v, Lo: kernel.I(0), Hi: kernel.I(by), Step: kernel.I(1), Tag: kernel.Vector,
			Body: []kernel.Stmt{&kernel.Store{Buffer: buf, Index: x, Value: pair}},
		})
	}
	var last []kernel.Expr
	for x := range int64(pairLanes) {
		last = append(last, load(kernel.Add(at, kernel.I(x))))
	}
	value := halves(s, l.env, "part", join, last)
	b := l.partialBuffer(l.sums[r])
	s.emit(&kernel.Store{Buffer: b.buffer, Index: number, Value: value})
}

// pairLanes are so few values that they are combined without a loop.
const pairLanes = 4

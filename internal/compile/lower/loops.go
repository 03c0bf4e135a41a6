package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The family "loops": nested loops on a CPU. Axes with a block size are cut
// into tiles, and the tiles are shared out among the threads; without tiles
// the outermost axis is. The innermost loop is split at the interior's ends,
// so that its long middle part has no boundary tests and can use vectors; rows
// near an edge of an outer axis have their own version of the three parts.

func init() {
	register(&family{
		name: "loops", doc: "nested loops for CPU threads and vectors, cut into cache blocks", place: 5,
		target: CPU, rank: func(rank int) bool { return rank > 0 }, plain: true,
		declare: declareLoops,
		expert:  []string{"family=loops,block=16x16x0", "family=loops,block=64x0"},
		build:   (*nest).loops,
	})
}

func declareLoops(axes []string) ([]schedule.Param, []schedule.Constraint) {
	rank := len(axes)
	return []schedule.Param{
		{
			Name: "block", Role: schedule.CacheBlock, Axis: schedule.InnerAxis,
			Doc:    "cells of a cache block on each axis, outermost first; 0 does not cut that axis",
			Source: "Datta et al. 2008, section 4.2; Garvey 2018, section 4",
			Values: blocks(rank), Default: zeros(rank),
			Finer: func() []schedule.Value { return allLoopBlocks(rank) },
		},
		{
			Name: "threads", Role: schedule.Workers,
			Doc:     "threads that share the loop; 0 takes what the OpenMP runtime offers",
			Values:  schedule.Numbers(0, 1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
			Default: schedule.Int(0),
			Finer:   func() []schedule.Value { return schedule.Numbers(integers(1, 128, 1)...) },
		},
	}, nil
}

// blocks lists the block sizes of a loop nest: powers of two on the three
// innermost axes, or no block.
func blocks(rank int) []schedule.Value {
	inner := []int64{0, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
	outer := []int64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256}
	lists := [][]int64{{}}
	for axis := range rank {
		sizes := outer
		switch {
		case axis == rank-1:
			sizes = inner
		case axis < rank-3:
			sizes = []int64{0}
		}
		var longer [][]int64
		for _, l := range lists {
			for _, s := range sizes {
				longer = append(longer, append(append([]int64{}, l...), s))
			}
		}
		lists = longer
	}
	var values []schedule.Value
	for _, l := range lists {
		values = append(values, schedule.Int(l[0], l[1:]...))
	}
	return values
}

func zeros(rank int) schedule.Value {
	return schedule.Int(0, make([]int64, rank-1)...)
}

// FlatTile is the tile of a loop over a single axis, which must be cut so that
// threads can share it.
const FlatTile = 1 << 14

// loopNest is a group's loop structure being built.
type loopNest struct {
	*nest
	block   map[int]int64 // by axis; 0 for no tiles
	threads int
	tiles   map[int]*kernel.Var
	pos     map[int]*kernel.Var
	accs    map[*statement]*kernel.Var
	sums    map[*statement]*partials
	strips  *strips // nil if rows are not cut into strips
}

func (n *nest) loops() ([]kernel.Stmt, []func()) {
	l := &loopNest{
		nest:    n,
		block:   map[int]int64{},
		threads: int(n.config.Int("threads")),
		tiles:   map[int]*kernel.Var{},
		pos:     map[int]*kernel.Var{},
		accs:    map[*statement]*kernel.Var{},
		sums:    map[*statement]*partials{},
	}
	for i, b := range n.config.Ints("block") {
		l.block[n.axes[i]] = b
	}
	if len(n.axes) == 1 && l.block[n.axes[0]] == 0 {
		l.block[n.axes[0]] = FlatTile
	}
	if len(n.ordered()) > 0 {
		l.strips = &strips{values: map[*statement]*kernel.Buffer{}, segments: map[*statement]segments{}}
	}
	var after []func()
	for _, s := range n.reductions() {
		p := l.partials(s)
		l.sums[s] = p
		after = append(after, func() { n.tree(p) })
	}
	top := newScope(nil)
	for _, axis := range n.axes {
		if axis == n.inner() {
			l.firstCells()
		}
		l.nameBounds(top, axis)
		name := n.Program.Axes[axis]
		l.pos[axis] = kernel.NewVar(name, types.I64)
		top.names[name] = true
		if l.block[axis] > 0 {
			l.tiles[axis] = top.declare(n.env, name+"_tile", types.I64)
		}
	}
	l.startStrips(top)
	body := l.point(0, top)
	body = l.tileLoops(body)
	return append(top.stmts, body...), after
}

// nameBounds names the ends of an axis where they are more than a name.
func (n *nest) nameBounds(top *scope, axis int) {
	sp := n.span[axis]
	name := n.Program.Axes[axis]
	sp.lo = top.let(n.env, "lo"+name, name+"_lo", sp.lo)
	sp.hi = top.let(n.env, "hi"+name, name+"_hi", sp.hi)
	// The interior is clipped to the loop, so that its ends are in order.
	if sp.low {
		in := kernel.Min(kernel.Max(sp.inLo, sp.lo), sp.hi)
		sp.inLo = top.let(n.env, "inlo"+name, name+"_in_lo", in)
	} else {
		sp.inLo = sp.lo
	}
	if sp.high {
		in := kernel.Max(kernel.Min(sp.inHi, sp.hi), sp.inLo)
		sp.inHi = top.let(n.env, "inhi"+name, name+"_in_hi", in)
	} else {
		sp.inHi = sp.hi
	}
}

// tileLoops wraps the point loops into the loops over tiles. They share out
// their iterations among the threads together.
func (l *loopNest) tileLoops(body []kernel.Stmt) []kernel.Stmt {
	collapse := 0
	for i := len(l.axes) - 1; i >= 0; i-- {
		axis := l.axes[i]
		t, ok := l.tiles[axis]
		if !ok {
			continue
		}
		collapse++
		sp := l.span[axis]
		lo := sp.lo
		if axis == l.inner() && l.strips != nil {
			lo = l.strips.start
		}
		body = []kernel.Stmt{&kernel.Loop{
			Var: t, Lo: lo, Hi: sp.hi, Step: kernel.I(l.block[axis]),
			Tag: kernel.Parallel, Threads: l.threads, Collapse: collapse, Body: body,
		}}
	}
	if collapse > 0 { // the outermost speaks for all
		body[0].(*kernel.Loop).Team = l.team()
	}
	return body
}

// ends returns the loop range of an axis within its tile.
func (l *loopNest) ends(axis int) (lo, hi kernel.Expr) {
	sp := l.span[axis]
	if axis == l.inner() && l.strips != nil {
		return l.strips.ends(sp)
	}
	if t, ok := l.tiles[axis]; ok {
		return kernel.V(t), kernel.Min(kernel.Add(kernel.V(t), kernel.I(l.block[axis])), sp.hi)
	}
	return sp.lo, sp.hi
}

// point builds the loops over the cells of a tile, from axis number depth on.
func (l *loopNest) point(depth int, s *scope) []kernel.Stmt {
	if depth == len(l.axes)-1 {
		return l.row(s)
	}
	axis := l.axes[depth]
	lo, hi := l.ends(axis)
	loop := &kernel.Loop{Var: l.pos[axis], Lo: lo, Hi: hi, Step: kernel.I(1), Body: l.point(depth+1, s)}
	if depth == 0 && len(l.tiles) == 0 {
		loop.Tag, loop.Threads, loop.Team = kernel.Parallel, l.threads, l.team()
	}
	return []kernel.Stmt{loop}
}

// row builds the loops over one row of a tile.
func (l *loopNest) row(outer *scope) []kernel.Stmt {
	s := newScope(outer)
	for _, r := range l.reductions() {
		if l.inOrder(r) {
			continue
		}
		acc := s.declare(l.env, r.src.Reduce.Scalar.Name+"_row", r.src.Reduce.Scalar.Type)
		l.accs[r] = acc
		s.emit(&kernel.Declare{Var: acc, Init: identity(r.src.Reduce.Kind, acc.Type)})
	}
	if l.strips != nil {
		l.rowInStrips(s)
	} else {
		l.rowOfCells(s)
	}
	for _, r := range l.reductions() {
		if acc, ok := l.accs[r]; ok {
			p := l.sums[r]
			b := l.partialBuffer(p)
			s.emit(&kernel.Store{Buffer: b.buffer, Index: l.rowNumber(), Value: kernel.V(acc)})
		}
	}
	return s.stmts
}

// rowOfCells adds the loops over the cells of a row of a tile.
func (l *loopNest) rowOfCells(s *scope) {
	cut := l.cutRow(s)
	inside, edges := l.insideRow()
	if inside == nil {
		for _, st := range l.parts(s, nil, cut) {
			s.emit(st)
		}
		return
	}
	then := newScope(s)
	thenBody := l.parts(then, nil, cut)
	other := newScope(s)
	otherBody := l.parts(other, edges, cut)
	s.emit(&kernel.If{Cond: inside, Then: append(then.stmts, thenBody...), Else: append(other.stmts, otherBody...)})
}

func conj(x, y kernel.Expr) kernel.Expr {
	if x == nil {
		return y
	}
	return kernel.And(x, y)
}

// rowCut says where a row of a tile starts, where its interior does, and where
// each ends.
type rowCut struct{ lo, inLo, inHi, hi kernel.Expr }

// cutRow clips the ends of the inner axis to the tile, if there are tiles on
// it. Without them nameBounds has done so already.
func (l *loopNest) cutRow(s *scope) rowCut {
	sp := l.span[l.inner()]
	cut := rowCut{lo: sp.lo, inLo: sp.lo, inHi: sp.hi, hi: sp.hi}
	if _, tiled := l.tiles[l.inner()]; !tiled && l.strips == nil {
		if sp.low {
			cut.inLo = sp.inLo
		}
		if sp.high {
			cut.inHi = sp.inHi
		}
		return cut
	}
	name := l.Program.Axes[l.inner()]
	lo, hi := l.ends(l.inner())
	if l.strips != nil {
		lo, hi = l.stripEnds(s)
	} else {
		hi = s.let(l.env, "tilehi", name+"_end", hi)
	}
	cut = rowCut{lo: lo, inLo: lo, inHi: hi, hi: hi}
	if sp.low {
		cut.inLo = s.let(l.env, "rowin0", name+"_from", kernel.Min(kernel.Max(sp.inLo, lo), hi))
	}
	if sp.high {
		cut.inHi = s.let(l.env, "rowin1", name+"_to", kernel.Max(kernel.Min(sp.inHi, hi), cut.inLo))
	}
	return cut
}

// insideRow returns the condition under which a row touches no edge of an outer
// axis, nil if none can, and the outer axes that have edges.
func (l *loopNest) insideRow() (inside kernel.Expr, edges map[int]bool) {
	edges = map[int]bool{}
	for _, axis := range l.outer() {
		sp := l.span[axis]
		x := kernel.V(l.pos[axis])
		if sp.low || sp.high {
			edges[axis] = true
		}
		if sp.low {
			inside = conj(inside, kernel.Ge(x, sp.inLo))
		}
		if sp.high {
			inside = conj(inside, kernel.Lt(x, sp.inHi))
		}
	}
	return inside, edges
}

// parts builds the three parts of a row: the edge cells at its start, the
// interior, the edge cells at its end. Values that the row needs are named in
// row, whose statements the caller puts before these.
func (l *loopNest) parts(row *scope, outerEdges map[int]bool, cut rowCut) []kernel.Stmt {
	sp := l.span[l.inner()]
	ends := map[int]bool{l.inner(): true}
	for a := range outerEdges {
		ends[a] = true
	}
	var out []kernel.Stmt
	if sp.low {
		out = append(out, l.end(row, ends, cut.lo, cut.inLo, sp.single.low))
	}
	out = append(out, l.part(row, outerEdges, cut.inLo, cut.inHi, true))
	if sp.high {
		out = append(out, l.end(row, ends, cut.inHi, cut.hi, sp.single.high))
	}
	return out
}

// end builds the part at one end of a row. Where that is one cell at most there is
// no loop, which compilers would prepare for many.
func (l *loopNest) end(row *scope, edge map[int]bool, lo, hi kernel.Expr, single bool) kernel.Stmt {
	loop := l.part(row, edge, lo, hi, false)
	if !single {
		return loop
	}
	cell := &kernel.Let{Var: loop.Var, Value: loop.Lo}
	return &kernel.If{Cond: kernel.Lt(loop.Lo, loop.Hi), Then: append([]kernel.Stmt{cell}, loop.Body...)}
}

// part builds one loop over cells of a row.
func (l *loopNest) part(row *scope, edge map[int]bool, lo, hi kernel.Expr, long bool) *kernel.Loop {
	i := kernel.NewVar(l.Program.Axes[l.inner()], types.I64)
	pos := map[int]kernel.Expr{}
	for axis, v := range l.pos {
		pos[axis] = kernel.V(v)
	}
	pos[l.inner()] = kernel.V(i)
	loop := &kernel.Loop{Var: i, Lo: lo, Hi: hi, Step: kernel.I(1), Path: kernel.Edge}
	if len(edge) == 0 {
		loop.Path = kernel.Interior
	}
	c := l.newCell(edge, pos, row)
	vectors := long
	if l.strided != nil {
		vectors = false
	}
	body := c.statements(func(s *statement, value kernel.Expr) kernel.Stmt {
		if acc, ok := l.accs[s]; ok {
			o := reduceOp(s.src.Reduce.Kind)
			if o != op.Add && acc.Type.IsFloat() {
				// NaN must not be lost, which vector reductions do not promise.
				vectors = false
			}
			loop.Reduce = append(loop.Reduce, kernel.Reduction{Op: o, Var: acc})
			return &kernel.Assign{Var: acc, Value: kernel.Bin(o, kernel.V(acc), value)}
		}
		return l.strips.put(s, kernel.V(i), value)
	})
	if l.strided != nil {
		body = l.colored(loop, row, c, body)
	}
	if vectors {
		loop.Tag = kernel.Vector
	} else {
		loop.Reduce = nil
	}
	loop.Body = body
	return loop
}

// colored restricts a row's loop to the cells of the group's colour: it starts
// at the first one and strides by the modulus where the innermost position
// counts once, and tests every cell elsewhere.
func (l *loopNest) colored(loop *kernel.Loop, row *scope, c *cell, body []kernel.Stmt) []kernel.Stmt {
	col := l.strided
	var base kernel.Expr = kernel.I(0)
	for _, axis := range l.outer() {
		if col.Coef[axis] != 0 {
			base = kernel.Add(base, kernel.Mul(c.pos[axis], kernel.I(col.Coef[axis])))
		}
	}
	mod := kernel.I(col.Mod)
	k := col.Coef[l.inner()]
	if k == 1 || k == -1 {
		// k*x = rem - base, so x = k*(rem - base) modulo Mod, counted from Lo.
		want := kernel.Mul(kernel.Sub(kernel.I(col.Rem), base), kernel.I(k))
		first := floorMod(kernel.Sub(want, loop.Lo), mod)
		v := row.declare(l.env, "first", types.I64)
		row.emit(&kernel.Let{Var: v, Value: kernel.Add(loop.Lo, first)})
		loop.Lo, loop.Step = kernel.V(v), mod
		return body
	}
	return []kernel.Stmt{&kernel.If{Cond: c.hasColor(col), Then: body}}
}

// partials returns the memory for a reduction's partial results: one for each
// segment where they are in order, else one a row (or strip of a row) of the
// loop. It is made before nameBounds, while bounds are still functions of the
// sizes.
func (l *loopNest) partials(s *statement) *partials {
	if l.inOrder(s) {
		return l.newPartials(s, l.segmentCount(s))
	}
	count := kernel.I(1)
	for _, axis := range l.outer() {
		count = kernel.Mul(count, kernel.Sub(l.span[axis].hi, l.span[axis].lo))
	}
	if l.block[l.inner()] > 0 {
		count = kernel.Mul(count, l.tilesOfRow(l.firstTile()))
	}
	return l.newPartials(s, count)
}

// firstTile is where the first tile of the inner axis starts.
func (l *loopNest) firstTile() kernel.Expr {
	lo := l.span[l.inner()].lo
	switch {
	case l.strips == nil:
		return lo
	case l.strips.start == nil: // not named yet
		return segmentStart(lo)
	}
	return l.strips.start
}

// tilesOfRow is the number of tiles on the inner axis.
func (l *loopNest) tilesOfRow(first kernel.Expr) kernel.Expr {
	return kernel.CeilDiv(kernel.Sub(l.span[l.inner()].hi, first), kernel.I(l.block[l.inner()]))
}

// rowNumber numbers the rows (or, where the inner axis has tiles, the strips
// of rows) of the loop.
func (l *loopNest) rowNumber() kernel.Expr {
	var num kernel.Expr = kernel.I(0)
	for _, axis := range l.outer() {
		sp := l.span[axis]
		num = kernel.Add(kernel.Mul(num, kernel.Sub(sp.hi, sp.lo)), kernel.Sub(kernel.V(l.pos[axis]), sp.lo))
	}
	if t, ok := l.tiles[l.inner()]; ok {
		first := l.firstTile()
		at := kernel.Bin(op.Div, kernel.Sub(kernel.V(t), first), kernel.I(l.block[l.inner()]))
		num = kernel.Add(kernel.Mul(num, l.tilesOfRow(first)), at)
	}
	return num
}

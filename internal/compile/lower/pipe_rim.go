package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What stages leave as it was along the rows and the row, in three dimensions. Each grid has a
// rim, which is the same at every time level, and a warp copies the few cells of it that its
// threads have to shared memory, plane by plane. All stages of a row are computed as if there was no
// rim: a cell of it reaches no other cell before the rows are through. Then its threads put what
// they have copied in its place, in all stages at once, before anything else is done with it.
// So the many threads without rims have two tests a step.

// rims says where a block has the rims of a tile.
type rims struct {
	late   bool            // they are put in place once rows are through
	width  []pipeline.Halo // by axis
	planes map[*ir.Grid]*kernel.Buffer
	// ends has a bit for each of the thread's cells along the row that is of the rim at an end of it;
	// lines has one for each of its rows.
	ends, lines map[*pipeline.Stage]kernel.Expr
	lineBits    map[*ir.Grid]kernel.Expr // the lines of all stages that leave cells of a grid as they were
	sides       [2]rimSide               // of the domain: the ends of its rows, and its first and last rows
	copied      mask                     // a bit for each cell at the ends of rows that a lane copies
	endCopies   map[*ir.Grid][]endCopy
	column      kernel.Expr // where the column of the thread's first cell has its place
	line        kernel.Expr // where its first cell of a row that is not assigned has
	unassigned  map[*pipeline.Stage]mask
}

// rimSide is the two sides of the domain along an axis: which of the thread's cells along the row, or
// of its rows, may be of their rims, and whether a warp has any at the lower side, at the upper, at one of them.
type rimSide struct {
	may             []bool
	low, high, here kernel.Expr
}

// decideRims decides whether rims are put in place late: what a stage assigns may depend on no
// cell that another leaves as it was before that.
func (p *pipe) decideRims() {
	p.rims = rims{width: make([]pipeline.Halo, len(p.axes)), planes: map[*ir.Grid]*kernel.Buffer{}}
	last := len(p.axes) - 1
	if !p.middle() || p.prefetch == 0 || p.opts.Bare || slices.Contains(p.pipeline.Wraps, true) {
		return
	}
	fills := false
	for _, st := range p.stream.Stages {
		if !st.Fills() {
			continue
		}
		fills = true
		if st.Value.Type().Size() < leastCopy {
			return
		}
		for k := 1; k <= last; k++ {
			r, w := st.Stmt.Domain[p.axes[k]], &p.width[k]
			for _, lo := range r.Lo {
				d, ok := lo.Diff(p.extents[k].Lo)
				if !ok || d > mostRim {
					return
				}
				w.Low = max(w.Low, d)
			}
			for _, hi := range r.Hi {
				d, ok := p.extents[k].Hi.Diff(hi)
				if !ok || d > mostRim {
					return
				}
				w.High = max(w.High, d)
			}
		}
	}
	p.late = fills && p.meets() && !slices.ContainsFunc(p.stream.Stages, p.readsRims)
}

// LateRims reports whether family pipe can put the rims of a pipeline's grids in place late, if it copies planes.
func LateRims(of *pipeline.Pipeline) bool {
	stream, err := streamOf(of)
	if err != nil {
		return false
	}
	s := &spanKernel{nest: &nest{module: &module{}, axes: of.Axes}, pipeline: of}
	p := &pipe{spanKernel: s, stream: stream, prefetch: 1, extents: stream.Sources[0].Value.Dims()}
	p.decideRims()
	return p.late
}

// mostRim is how wide a rim in shared memory may be.
const mostRim = 8

// readsRims reports whether a stage reads what an earlier one computes in the same step at
// other cells of the plane, or its own cell of one with another domain.
func (p *pipe) readsRims(st *pipeline.Stage) (reads bool) {
	_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
		from := p.stream.From(a, v)
		if from == nil || from.Stage == nil {
			return nil
		}
		p.stream.Offsets(a, func(o []int64, _ []pipeline.Face) {
			own := !slices.ContainsFunc(o[1:], func(o int64) bool { return o != 0 })
			switch {
			case own:
				for _, axis := range p.axes[1:] {
					reads = reads || !from.Stage.Stmt.Domain[axis].Equal(st.Stmt.Domain[axis])
				}
			case p.stream.Age(st, from, o[0]) == 0:
				reads = true
			}
		})
		return nil
	})
	return reads
}

// onlyCopies reports whether stages read memory through planes in shared memory alone, and
// without boundaries: then nothing is read beyond the arrays by a tile within them.
func (p *pipe) onlyCopies() bool {
	only := true
	for _, st := range p.stream.Stages {
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			only = only && p.stream.From(a, v) != nil
			for d := range a.Index {
				only = only && len(pipeline.Mapped(a, d)) == 1
			}
			return nil
		})
	}
	return only
}

// rimGrids returns the grids whose rims are copied. There are none if whole planes alone are not assigned.
func (p *pipe) rimGrids() (list []*ir.Grid) {
	if !p.late || !p.hasRims(1) && !p.hasRims(len(p.axes)-1) {
		return nil
	}
	for _, st := range p.stream.Stages {
		if grid := p.stream.Home; st.Fills() && !slices.Contains(list, grid(st.Value)) {
			list = append(list, grid(st.Value))
		}
	}
	return list
}

// hasRims reports whether there are cells at the ends of an axis that a stage does not assign.
func (p *pipe) hasRims(k int) bool { return p.width[k] != pipeline.Halo{} }

// rimSlots is how many planes of a rim a block has: those under way, and those of all stages.
func (p *pipe) rimSlots() int64 {
	lag := int64(0)
	for _, st := range p.stream.Stages {
		lag = max(lag, p.stream.Lag(st))
	}
	n := int64(1)
	for n < p.prefetch+lag+1 {
		n *= 2
	}
	return n
}

// columnRows is how many rows a warp has a place for in a column of cells at an end of rows:
// as many as begin another vector.
func (p *pipe) columnRows() int64 {
	vec := p.columnVector()
	return (p.rows + vec - 1) / vec * vec
}

// columnVector is how many rows of a column a thread loads together, at the most.
func (p *pipe) columnVector() int64 {
	vec := p.set.Int(schedule.RimVector, 4)
	for _, st := range p.stream.Stages {
		if st.Fills() {
			vec = min(vec, int64(16/st.Value.Type().Size()))
		}
	}
	return vec
}

// rimColumns is how many cells of a plane at the ends of rows a block has a place for. They are kept
// as columns, since a thread has one or two cells of each of its rows there.
func (p *pipe) rimColumns() int64 {
	const line = 4 // whole rows behind them begin at vectors, too
	return (p.columnCount()*p.warps*p.columnRows() + line - 1) / line * line
}

// columnCount is how many columns there are at both ends of rows. Where a thread may have cells of both,
// there are as many as it then has: all of the row.
func (p *pipe) columnCount() int64 {
	last := len(p.axes) - 1
	w := p.width[last]
	if p.hasRims(last) && p.short() {
		return w.Low + w.High + p.run - 1
	}
	return w.Low + w.High
}

// short reports whether rows may be so short that a thread has cells of both ends.
func (p *pipe) short() bool {
	last := len(p.axes) - 1
	w := p.width[last]
	return !p.baked || p.opts.Bound.Extent(p.extents[last]).Len() < w.Low+w.High+p.run
}

// betweenColumns is how many cells of a row are between the columns of its ends.
func (p *pipe) betweenColumns() kernel.Expr {
	last := len(p.axes) - 1
	ends := p.width[last].Low + p.width[last].High
	between := kernel.Sub(kernel.Sub(p.hi[last], p.lo[last]), kernel.I(ends-1))
	if p.short() {
		return kernel.Sel(kernel.Ge(between, kernel.I(p.run)), between, kernel.I(0))
	}
	return between
}

// rimLines is how many whole rows of a plane a block has a place for: those of both ends, and
// where a thread may have some of both, all of its rows.
func (p *pipe) rimLines() int64 {
	both := p.width[1].Low + p.width[1].High
	if !p.hasRims(1) || p.baked && p.opts.Bound.Extent(p.extents[1]).Len() >= p.rows+both {
		return both
	}
	return both + p.rows
}

// rimCells is how many cells of a plane a block has a place for.
func (p *pipe) rimCells() int64 { return p.rimColumns() + p.rimLines()*32*p.run }

// findRims declares which cells of rims a thread has, and where. In a row of a rim cells beyond
// the arrays may be among them: nothing depends on those.
func (p *pipe) findRims(body *scope) {
	last := len(p.axes) - 1
	p.ends, p.lines = map[*pipeline.Stage]kernel.Expr{}, map[*pipeline.Stage]kernel.Expr{}
	p.unassigned = map[*pipeline.Stage]mask{}
	assigned := func(st *pipeline.Stage, k int, first kernel.Expr, n int64) kernel.Expr {
		return p.assignedOn(st, k, kernel.Add(first, kernel.I(n)))
	}
	bits := func(name string, st *pipeline.Stage, k int, first kernel.Expr, cells int64) kernel.Expr {
		none := kernel.L(op.Int(types.I32, 0))
		word := kernel.Expr(none)
		for n := range cells {
			at := kernel.Add(first, kernel.I(n))
			rim := kernel.And(between(at, p.lo[k], p.hi[k]), kernel.Un(op.Not, assigned(st, k, first, n)))
			word = kernel.Bin(op.Or, word, kernel.Sel(rim, bitOf(n), none))
		}
		return body.let(p.env, name, name, word)
	}
	p.lineBits = map[*ir.Grid]kernel.Expr{}
	for n, st := range p.stream.Stages {
		if !st.Fills() {
			continue
		}
		same := slices.IndexFunc(p.stream.Stages[:n], func(other *pipeline.Stage) bool { // most have one domain
			return other.Fills() && st.Stmt.Domain.Equal(other.Stmt.Domain)
		})
		if same >= 0 {
			other := p.stream.Stages[same]
			p.ends[st], p.lines[st] = p.ends[other], p.lines[other]
			p.unassigned[st] = p.unassigned[other]
		} else {
			p.ends[st] = bits("rim_ends", st, last, p.x0, p.run)
			p.lines[st] = bits("rim_lines", st, 1, p.row0, p.rows)
		}
		grid, word := p.stream.Home(st.Value), p.lines[st]
		switch have := p.lineBits[grid]; {
		case have == nil:
			p.lineBits[grid] = word
		case have != word:
			word = kernel.Bin(op.Or, have, word)
			p.lineBits[grid] = body.let(p.env, "rim_lines_of_"+grid.Name, "rim_lines_all", word)
		}
		if st.Output != nil && !st.Output.Spare && p.unassigned[st] == nil {
			p.unassigned[st] = p.cellMask(body, "unassigned", func(r, x int64) kernel.Expr {
				return kernel.Un(op.Not, kernel.And(assigned(st, 1, p.row0, r), assigned(st, last, p.x0, x)))
			})
		}
	}
	side := func(part int, name string, k int, first kernel.Expr, cells int64) {
		low := kernel.Lt(first, kernel.Add(p.lo[k], kernel.I(p.width[k].Low)))
		high := kernel.Bin(op.Gt, kernel.Add(first, kernel.I(cells+p.width[k].High-1)), p.hi[k])
		here := kernel.Bin(op.Or, low, high)
		here = body.let(p.env, name+"_here", name+"_here", here)
		p.sides[part] = rimSide{p.rimCellsOf(k), low, high, here}
	}
	side(0, "rim_ends", last, p.corner[last], p.span(last))
	side(1, "rim_lines", 1, p.row0, p.rows)
	p.findEndCopies(body)
	upper := kernel.Bin(op.Gt, kernel.Add(p.x0, kernel.I(p.run-1+p.width[last].High)), p.hi[last])
	column := kernel.Sub(kernel.Sub(p.x0, p.lo[last]), kernel.Sel(upper, p.betweenColumns(), kernel.I(0)))
	cells := kernel.I(p.columnRows())
	column = kernel.Add(kernel.Mul(kernel.Mul(column, kernel.I(p.warps)), cells), kernel.Mul(p.warp, cells))
	p.column = body.let(p.env, "rim_column", "rim_column", column)
	w, run := p.width[1], kernel.I(p.run)
	low := kernel.Sub(p.row0, p.lo[1])
	high := kernel.Add(kernel.Sub(p.row0, p.hi[1]), kernel.I(w.High-1+w.Low))
	line := kernel.Sel(p.sides[1].low, low, high)
	if both := w.Low + w.High; p.rimLines() > both {
		line = kernel.Sel(kernel.Bin(op.And, p.sides[1].low, p.sides[1].high), kernel.I(both), line)
	}
	p.line = body.let(p.env, "rim_line", "rim_line", kernel.Add(kernel.I(p.rimColumns()),
		kernel.Add(kernel.Mul(line, kernel.I(32*p.run)), kernel.Mul(p.lane, run))))
}

// rimCellsOf returns which of a thread's cells along an axis may be of the rims at the axis's ends. Where
// sizes are known, tiles begin in known places.
func (p *pipe) rimCellsOf(k int) []bool {
	cells, threads := p.run, int64(32)
	if k < len(p.axes)-1 {
		cells, threads = p.rows, p.warps
	}
	may, w := make([]bool, cells), p.width[k]
	if !p.baked {
		for n := range cells {
			may[n] = p.hasRims(k)
		}
		return may
	}
	e := p.opts.Bound.Extent(p.extents[k])
	origin, align := e.Lo, int64(1)
	if k == len(p.axes)-1 {
		align = p.vec
		origin -= mod(p.extents[k].Lo.Const, align)
	}
	last := e.Hi + 1 - p.span(k) + align - 1
	last = max(last-mod(last, align), origin)
	for at := origin; ; at += p.tile[k] {
		at = min(at, last)
		for n := range cells * threads {
			x := at + n
			may[n%cells] = may[n%cells] || x >= e.Lo && x < e.Lo+w.Low || x <= e.Hi && x > e.Hi-w.High
		}
		if at == last {
			return may
		}
	}
}

// rimSlot is where the rims begin that came some steps ago, or come later.
func (s *pipeStep) rimSlot(list *scope, age int64) kernel.Expr {
	slots := s.rimSlots()
	slot := s.slotOf(age, slots)
	return list.let(s.env, fmt.Sprintf("rim-%d", mod(-age, slots)), "rim_at", kernel.Mul(slot, kernel.I(s.rimCells())))
}

// linePlace is where a cell of the thread stands among these, in a row that is not assigned.
func (s *pipeStep) linePlace(list *scope, age, r, x int64) kernel.Expr {
	first := kernel.Add(s.rimSlot(list, age), s.line)
	first = list.let(s.env, fmt.Sprintf("rim-line-%d", mod(-age, s.rimSlots())), "rim_from", first)
	return kernel.Add(first, kernel.I(r*32*s.run+x))
}

// columnPlace is where a cell of the thread stands among these, in a column at an end of rows.
func (s *pipeStep) columnPlace(list *scope, age, r, x int64) kernel.Expr {
	first := kernel.Add(s.rimSlot(list, age), s.column)
	first = list.let(s.env, fmt.Sprintf("rim-column-%d", mod(-age, s.rimSlots())), "rim_from", first)
	return kernel.Add(first, kernel.I(x*s.warps*s.columnRows()+r))
}

// hasBit is the condition that a word has a bit.
func hasBit(word kernel.Expr, n int64) kernel.Expr {
	return kernel.Bin(op.Ne, kernel.Bin(op.And, word, bitOf(n)), kernel.L(op.Int(types.I32, 0)))
}

// fetchRims begins to bring the rims of a plane that the next steps read.
func (s *pipeStep) fetchRims(plane kernel.Expr, later int64) {
	for _, grid := range s.rimGrids() {
		s.fetchEnds(grid, plane, later)
		s.fetchLines(grid, plane, later)
	}
}

// fetchEnds brings the ends of rows: each lane copies some cells of the warp's columns.
func (s *pipeStep) fetchEnds(grid *ir.Grid, plane kernel.Expr, later int64) {
	home := s.gridStore(grid)
	b := s.bufferOf(home)
	b.reads = true
	list := newScope(s.body)
	for _, c := range s.endCopies[grid] {
		at := s.clamped(fmt.Sprintf("plane_in_%d", later), 0, plane)
		list.emit(&kernel.If{Cond: hasBit(s.copied[c.bit/maskBits], c.bit), Then: []kernel.Stmt{&kernel.AsyncCopy{
			To: s.planes[grid], At: kernel.Add(s.rimSlot(list, -later), c.place), From: b.buffer,
			Index: kernel.Add(s.planeStart(home, at), c.inPlane), Cells: 1,
		}}})
	}
	if len(list.stmts) > 0 {
		s.body.emit(&kernel.If{Cond: s.sides[0].here, Then: list.stmts})
	}
}

// endCopy is a cell at an end of rows that a lane copies, the same one of every plane.
type endCopy struct {
	bit     int64       // of rims.copied, which says that the lane copies it
	place   kernel.Expr // of the cell in shared memory, after the plane's first
	inPlane kernel.Expr // where it is in memory, after the plane's first cell
}

// findEndCopies declares which cells at the ends of rows each lane copies. That is done once a tile,
// since a step has no registers to spare for it.
func (p *pipe) findEndCopies(body *scope) {
	last := len(p.axes) - 1
	w, rows := p.width[last], kernel.I(p.rows)
	p.endCopies = map[*ir.Grid][]endCopy{}
	none := kernel.L(op.Int(types.I32, 0))
	var words mask
	bit := int64(0)
	for _, grid := range p.rimGrids() {
		home := p.gridStore(grid)
		for first := int64(0); first < p.columnCount()*p.rows; first += 32 {
			item := kernel.Add(p.lane, kernel.I(first))
			column, r := kernel.Bin(op.Div, item, rows), kernel.Bin(op.Rem, item, rows)
			low := kernel.Lt(column, kernel.I(w.Low))
			x := kernel.Add(kernel.Add(p.lo[last], column), kernel.Sel(low, kernel.I(0), p.betweenColumns()))
			row := kernel.Add(p.row0, r)
			cond := kernel.And(kernel.Lt(item, kernel.I(p.columnCount()*p.rows)),
				kernel.Sel(low, p.sides[0].low, p.sides[0].high))
			cond = kernel.And(cond, between(row, p.lo[1], p.hi[1]))
			if p.assignsInPlace(grid) { // other blocks may store next to the rim: it is copied exactly
				cond = kernel.And(cond, kernel.Un(op.Not, p.assignedTo(grid, last, x)))
			}
			if p.short() {
				cond = kernel.And(cond, between(x, p.lo[last], p.hi[last]))
			}
			if bit%maskBits == 0 {
				words = append(words, none)
			}
			word := &words[bit/maskBits]
			*word = kernel.Bin(op.Or, *word, kernel.Sel(cond, bitOf(bit), none))
			place := kernel.Add(kernel.Mul(column, kernel.I(p.warps*p.columnRows())),
				kernel.Add(kernel.Mul(p.warp, kernel.I(p.columnRows())), r))
			at := []index{{at: home.dims[0].lo(p.size)}, {at: row}, {at: x}}
			from := fmt.Sprintf("rim_from_%s_%d", home.shapeKey(), first)
			p.endCopies[grid] = append(p.endCopies[grid], endCopy{
				bit:     bit,
				place:   body.let(p.env, fmt.Sprintf("rim_place_%d", first), "rim_place", place),
				inPlane: body.let(p.env, from, "rim_in_plane", p.flat(home, at)),
			})
			bit++
		}
	}
	p.copied = words.each(func(n int) kernel.Expr {
		return body.let(p.env, fmt.Sprintf("rim_copied_%d", n), "rim_copied", words[n])
	})
}

// planeStart is how far a plane's first cell is from a grid's first.
func (p *pipe) planeStart(st *store, plane kernel.Expr) kernel.Expr {
	start := kernel.Sub(plane, st.dims[0].lo(p.size))
	for d := 1; d < len(st.dims); d++ {
		start = kernel.Mul(start, st.pitch(d, p.size))
	}
	return start
}

// fetchLines brings whole rows that are not assigned.
func (s *pipeStep) fetchLines(grid *ir.Grid, plane kernel.Expr, later int64) {
	list := newScope(s.body)
	in := *s
	in.body = list
	rows := make([]*scope, s.rows)
	in.elements(grid, plane, fmt.Sprintf("in_%d", later), func(b *kernel.Buffer, from kernel.Expr, r, c int64) {
		if !s.sides[1].may[r] {
			return
		}
		if rows[r] == nil {
			rows[r] = newScope(list)
		}
		copied := func(x, cells int64) kernel.Stmt {
			return &kernel.AsyncCopy{
				To: s.planes[grid], At: s.linePlace(list, -later, r, c+x),
				From: b, Index: kernel.Add(from, kernel.I(x)), Cells: int(cells),
			}
		}
		if !s.assignsInPlace(grid) || s.wholeVectors() {
			rows[r].emit(copied(0, s.vec))
			return
		}
		// Beyond the ends are cells of other rows, which other blocks may store.
		last, at := len(s.axes)-1, kernel.Add(s.x0, kernel.I(c))
		var each []kernel.Stmt
		for x := range s.vec {
			within := between(kernel.Add(at, kernel.I(x)), s.lo[last], s.hi[last])
			each = append(each, &kernel.If{Cond: within, Then: []kernel.Stmt{copied(x, 1)}})
		}
		whole := kernel.And(kernel.Ge(at, s.lo[last]), kernel.Le(kernel.Add(at, kernel.I(s.vec-1)), s.hi[last]))
		rows[r].emit(&kernel.If{Cond: whole, Then: []kernel.Stmt{copied(0, s.vec)}, Else: each})
	})
	any := false
	for r, of := range rows {
		if of != nil {
			list.emit(&kernel.If{Cond: hasBit(s.lineBits[grid], int64(r)), Then: of.stmts})
			any = true
		}
	}
	if any {
		s.body.emit(&kernel.If{Cond: s.sides[1].here, Then: list.stmts})
	}
}

// assignsInPlace reports whether the kernel stores to a grid itself, and not to a spare.
func (p *pipe) assignsInPlace(grid *ir.Grid) bool {
	return slices.ContainsFunc(p.stream.Stages, func(st *pipeline.Stage) bool {
		return st.Output != nil && !st.Output.Spare && st.Value.Memory == grid
	})
}

// assignedOn is the condition that a position on an axis is where a stage assigns.
func (p *pipe) assignedOn(st *pipeline.Stage, k int, at kernel.Expr) kernel.Expr {
	r := st.Stmt.Domain[p.axes[k]]
	return between(at, p.low(r.Lo, p.lo[k]), p.high(r.Hi, p.hi[k]))
}

// assignedTo is the condition that a position on an axis is where the stages assign that leave
// the other cells of a grid as they were. All have one domain.
func (p *pipe) assignedTo(grid *ir.Grid, k int, at kernel.Expr) kernel.Expr {
	for _, st := range p.stream.Stages {
		if st.Fills() && p.stream.Home(st.Value) == grid {
			return p.assignedOn(st, k, at)
		}
	}
	panic("pipe: a grid without a rim")
}

// settle puts in place what stages leave as it was in some rows. There may be planes beyond the
// arrays, too: nothing depends on them.
func (s *pipeStep) settle(rows []int64) {
	for part, side := range s.sides {
		list := newScope(s.body)
		if part == 0 { // other lanes have copied them
			list.emit(&kernel.Barrier{Scope: kernel.WarpScope})
		}
		before := len(list.stmts)
		for _, st := range s.stream.Stages {
			switch {
			case !st.Fills():
			case part == 0:
				s.settleColumns(list, st, rows)
			default:
				s.settleLines(list, st, rows)
			}
		}
		if len(list.stmts) > before {
			s.body.emit(&kernel.If{Cond: side.here, Then: list.stmts})
		}
	}
}

// settleColumns puts the columns at the ends of rows in place, of a stage.
func (s *pipeStep) settleColumns(list *scope, st *pipeline.Stage, rows []int64) {
	for x := range s.run {
		if !s.sides[0].may[x] {
			continue
		}
		for _, part := range vectorParts(rows, s.columnVector()) {
			var into []*kernel.Var
			for _, r := range part {
				into = append(into, s.made[st][r][x])
			}
			s.settled(list, hasBit(s.ends[st], x), st, s.columnPlace(list, s.stream.Lag(st), part[0], x), into)
		}
	}
}

// settleLines puts rows that a stage does not assign in place.
func (s *pipeStep) settleLines(list *scope, st *pipeline.Stage, rows []int64) {
	for _, r := range rows {
		for x := int64(0); x < s.run && s.sides[1].may[r]; x += s.vec {
			at := s.linePlace(list, s.stream.Lag(st), r, x)
			s.settled(list, hasBit(s.lines[st], r), st, at, s.made[st][r][x:x+s.vec])
		}
	}
}

// settled puts a few cells in place, if a bit says so. Each is a condition by itself, so that compilers
// make no branch of it.
func (s *pipeStep) settled(list *scope, bit kernel.Expr, st *pipeline.Stage, at kernel.Expr, cells []*kernel.Var) {
	into := newScope(list)
	s.load(into, s.planes[s.stream.Home(st.Value)], at, cells)
	list.emit(&kernel.If{Cond: bit, Then: into.stmts})
}

// vectorParts cuts numbers into runs of 1, 2, 4 and so on neighbours that begin at a multiple of
// their length, none longer than most.
func vectorParts(numbers []int64, most int64) (parts [][]int64) {
	sorted := slices.Sorted(slices.Values(numbers))
	for len(sorted) > 0 {
		n := most
		for n > int64(len(sorted)) || sorted[0]%n != 0 || sorted[n-1]-sorted[0] != n-1 {
			n /= 2
		}
		parts, sorted = append(parts, sorted[:n]), sorted[n:]
	}
	return parts
}

// keepPlane gives a row of a plane that a stage leaves as it was what memory has.
func (s *pipeStep) keepPlane(st *pipeline.Stage, r int64, row []*kernel.Var) {
	plane := s.planeOf(st, 0)
	there := s.planeIn("plane_there", plane, s.lo[0], s.hi[0])
	left := kernel.Bin(op.And, there, kernel.Un(op.Not, s.assigns(st, plane)))
	kept := s.chosen("plane_kept", st, left, s.inside, nil)
	grid := s.stream.Home(st.Value)
	home := s.gridStore(grid)
	b := s.bufferOf(home)
	b.reads = true
	loaded := func(x, cells int64) []kernel.Stmt {
		into := newScope(s.body)
		s.load(into, b.buffer, s.flat(home, s.indices(s.place(plane, r, x))), row[x:x+cells])
		return into.stmts
	}
	// Beyond the ends of a row are cells of other rows, which other blocks may store.
	exact := s.assignsInPlace(grid) && !s.wholeVectors()
	for x := int64(0); x < s.run; x += s.vec {
		var each []kernel.Stmt
		for c := x; c < x+s.vec && exact; c++ {
			each = append(each, &kernel.If{Cond: s.has(kept, r, c, 1, false), Then: loaded(c, 1)})
		}
		s.body.emit(&kernel.If{ // no branch, as in settle
			Cond: s.has(kept, r, x, s.vec, exact), Then: loaded(x, s.vec), Else: each,
		})
	}
}

// prefetchPlanes has planes brought near that later steps leave as they were.
func (s *pipeStep) prefetchPlanes() {
	const later = 2 // steps, for which the others' loads have to wait for memory
	last := len(s.axes) - 1
	for _, st := range s.stream.Stages {
		if !st.Fills() {
			continue
		}
		plane := s.planeOf(st, later)
		there := s.planeIn("plane_there", plane, s.lo[0], s.hi[0])
		soon := kernel.Bin(op.And, there, kernel.Un(op.Not, s.assigns(st, plane)))
		home := s.gridStore(s.stream.Home(st.Value))
		b := s.bufferOf(home)
		b.reads = true
		var list []kernel.Stmt
		for r := range s.rows {
			at := s.place(plane, r, 0)
			at[s.axes[1]] = kernel.Min(kernel.Max(at[s.axes[1]], s.lo[1]), s.hi[1])
			at[s.axes[last]] = kernel.Min(kernel.Max(at[s.axes[last]], s.lo[last]), s.hi[last])
			list = append(list, &kernel.Prefetch{Buffer: b.buffer, Index: s.flat(home, s.indices(at))})
		}
		s.body.emit(&kernel.If{Cond: soon, Then: list})
	}
}

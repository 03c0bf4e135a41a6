package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What stages leave as it was along the rows and the row, in three dimensions. Each grid has a
// rim, which is the same at every time level, and a thread copies the few cells of it that are
// its own to shared memory, plane by plane. All stages of a row are computed as if there was no
// rim: a cell of it reaches no other cell before the rows are through. Then its threads put what
// they have copied in its place, in all stages at once, before anything else is done with it.
// So the many threads without rims have two tests a step.

// rims says where a block has the rims of a tile.
type rims struct {
	late   bool            // they are put in place once rows are through
	width  []pipeline.Halo // by axis
	lanes  int64           // that have cells of rims at the ends of rows, at most
	planes map[*ir.Grid]*kernel.Buffer
	// ends has a bit for each of the thread's cells along the row that is beyond what a stage
	// assigns, and lines one for each of its rows.
	ends, lines map[*pipeline.Stage]kernel.Expr
	copied      [2]kernel.Expr // the bits of these for all stages
	here        [2]kernel.Expr // whether threads of the warp may have any: the same for all of them
	sides       [2][2]rimSide  // of the domain: its first and last cells of a row, its first and last rows
	place       [2]kernel.Expr // where the thread's first cell of each has its place
	unassigned  map[*pipeline.Stage]mask
}

// rimSide is one side of the domain: which of the thread's cells along the row, or of its rows,
// may be of its rim, and whether a warp has any.
type rimSide struct {
	may  []bool
	here kernel.Expr
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
	p.late = fills && !slices.ContainsFunc(p.stream.Stages, p.readsRims)
	w := p.width[last]
	p.lanes = (w.Low+p.vec-1+p.run-1)/p.run + (w.High+p.run-1+p.run-1)/p.run
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

// rimGrids returns the grids whose rims are copied.
func (p *pipe) rimGrids() (list []*ir.Grid) {
	if !p.late {
		return nil
	}
	for _, st := range p.stream.Stages {
		if grid := p.stream.Home; st.Fills() && !slices.Contains(list, grid(st.Value)) {
			list = append(list, grid(st.Value))
		}
	}
	return list
}

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

// rimColumns is how many cells of a plane at the ends of rows a block has a place for.
func (p *pipe) rimColumns() int64 { return p.lanes * p.warps * p.rows * p.run }

// rimLines is how many whole rows of a plane a block has a place for: those of both ends, or if
// a thread may have both, all that it has.
func (p *pipe) rimLines() int64 {
	n, w := p.extents[1], p.width[1]
	if p.baked && p.opts.Bound.Extent(n).Len() > p.rows+max(w.Low, w.High) {
		return w.Low + w.High
	}
	return max(w.Low+w.High, p.rows)
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
		r, at := st.Stmt.Domain[p.axes[k]], kernel.Add(first, kernel.I(n))
		return between(at, p.low(r.Lo, p.lo[k]), p.high(r.Hi, p.hi[k]))
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
	var all [2]kernel.Expr
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
			for part, word := range []kernel.Expr{p.ends[st], p.lines[st]} {
				if all[part] == nil {
					all[part] = word
				} else {
					all[part] = kernel.Bin(op.Or, all[part], word)
				}
			}
		}
		if st.Output != nil && !st.Output.Spare && p.unassigned[st] == nil {
			p.unassigned[st] = p.cellMask(body, "unassigned", func(r, x int64) kernel.Expr {
				return kernel.Un(op.Not, kernel.And(assigned(st, 1, p.row0, r), assigned(st, last, p.x0, x)))
			})
		}
	}
	for part, name := range []string{"rim_ends_all", "rim_lines_all"} {
		p.copied[part] = body.let(p.env, name, name, all[part])
	}
	side := func(part int, name string, k int, first kernel.Expr, cells int64) {
		low := kernel.Lt(first, kernel.Add(p.lo[k], kernel.I(p.width[k].Low)))
		high := kernel.Bin(op.Gt, kernel.Add(first, kernel.I(cells+p.width[k].High-1)), p.hi[k])
		mayLow, mayHigh := p.rimCellsOf(k)
		p.sides[part] = [2]rimSide{
			{mayLow, body.let(p.env, name+"_low", name+"_low", low)},
			{mayHigh, body.let(p.env, name+"_high", name+"_high", high)},
		}
		p.here[part] = kernel.Bin(op.Or, p.sides[part][0].here, p.sides[part][1].here)
	}
	side(0, "rim_ends", last, p.corner[last], p.span(last))
	side(1, "rim_lines", 1, p.row0, p.rows)
	w, run := p.width[last], kernel.I(p.run)
	left := kernel.Bin(op.Div, kernel.Sub(p.x0, p.origin(last)), run)
	right := kernel.Add(kernel.Sub(p.x0, p.hi[last]), kernel.I(p.run-1+w.High-1))
	right = kernel.Add(kernel.Bin(op.Div, right, run), kernel.I((w.Low+p.vec-1+p.run-1)/p.run))
	lane := kernel.Sel(kernel.Lt(p.x0, kernel.Add(p.lo[last], kernel.I(w.Low))), left, right)
	row := kernel.Mul(p.warp, kernel.I(p.rows))
	p.rims.place[0] = body.let(p.env, "rim_end", "rim_end",
		kernel.Mul(kernel.Add(kernel.Mul(lane, kernel.I(p.warps*p.rows)), row), run))
	w = p.width[1]
	low := kernel.Sub(p.row0, p.lo[1])
	high := kernel.Add(kernel.Sub(p.row0, p.hi[1]), kernel.I(w.High-1+w.Low))
	line := kernel.Sel(kernel.Lt(p.row0, kernel.Add(p.lo[1], kernel.I(w.Low))), low, high)
	p.rims.place[1] = body.let(p.env, "rim_line", "rim_line", kernel.Add(kernel.I(p.rimColumns()),
		kernel.Add(kernel.Mul(line, kernel.I(32*p.run)), kernel.Mul(p.lane, run))))
}

// rimCellsOf returns which of a thread's cells along an axis may be of the rim at the axis's
// lower end, and which at the upper end. Where sizes are known, tiles begin in known places.
func (p *pipe) rimCellsOf(k int) (low, high []bool) {
	cells, threads := p.run, int64(32)
	if k < len(p.axes)-1 {
		cells, threads = p.rows, p.warps
	}
	low, high = make([]bool, cells), make([]bool, cells)
	if !p.baked {
		for n := range cells {
			low[n], high[n] = p.width[k].Low > 0, p.width[k].High > 0
		}
		return low, high
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
			low[n%cells] = low[n%cells] || x >= e.Lo && x < e.Lo+p.width[k].Low
			high[n%cells] = high[n%cells] || x <= e.Hi && x > e.Hi-p.width[k].High
		}
		if at == last {
			return low, high
		}
	}
}

// rimPlace is where a cell of the thread stands among the rims that came some steps ago, or
// come later.
func (s *pipeStep) rimPlace(list *scope, part int, age, r, x int64) kernel.Expr {
	slots := s.rimSlots()
	slot := kernel.Bin(op.Rem, kernel.Add(s.number, kernel.I(mod(-age, slots))), kernel.I(slots))
	first := kernel.Add(kernel.Mul(slot, kernel.I(s.rimCells())), s.rims.place[part])
	first = list.let(s.env, fmt.Sprintf("rim-%d-%d", part, mod(-age, slots)), "rim_at", first)
	if part == 0 {
		return kernel.Add(first, kernel.I(r*s.run+x))
	}
	return kernel.Add(first, kernel.I(r*32*s.run+x))
}

// hasBit is the condition that a word has a bit.
func hasBit(word kernel.Expr, n int64) kernel.Expr {
	return kernel.Bin(op.Ne, kernel.Bin(op.And, word, bitOf(n)), kernel.L(op.Int(types.I32, 0)))
}

// hasAny is the condition that a word has any bit.
func hasAny(word kernel.Expr) kernel.Expr {
	return kernel.Bin(op.Ne, word, kernel.L(op.Int(types.I32, 0)))
}

// fetchRims begins to bring the rims of a plane that the next steps read.
func (s *pipeStep) fetchRims(plane kernel.Expr, later int64) {
	for part, word := range s.copied {
		list := newScope(s.body)
		in := *s
		in.body = list
		any, bits := newScope(list), []*scope{} // what is copied if the word has any bit, or one
		for range max(s.run, s.rows) {
			bits = append(bits, newScope(list))
		}
		for _, grid := range s.rimGrids() {
			in.elements(grid, plane, fmt.Sprintf("in_%d", later), func(b *kernel.Buffer, from kernel.Expr, r, c int64) {
				copied := func(to *scope, x, cells int64) {
					to.emit(&kernel.AsyncCopy{
						To: s.planes[grid], At: s.rimPlace(list, part, -later, r, c+x), From: b,
						Index: kernel.Add(from, kernel.I(x)), Cells: int(cells),
					})
				}
				switch {
				case part == 1: // a row that is not assigned
					copied(bits[r], 0, s.vec)
				case s.assignsInPlace(grid): // other blocks may store next to the rim
					for x := range s.vec {
						copied(bits[c+x], x, 1)
					}
				default: // with neighbours that nothing reads
					copied(any, 0, s.vec)
				}
			})
		}
		for n, of := range bits {
			if len(of.stmts) > 0 {
				list.emit(&kernel.If{Cond: hasBit(word, int64(n)), Then: of.stmts})
			}
		}
		if len(any.stmts) > 0 {
			list.emit(&kernel.If{Cond: hasAny(word), Then: any.stmts})
		}
		s.body.emit(&kernel.If{Cond: s.here[part], Then: list.stmts})
	}
}

// assignsInPlace reports whether the kernel stores to a grid itself, and not to a spare.
func (p *pipe) assignsInPlace(grid *ir.Grid) bool {
	return slices.ContainsFunc(p.stream.Stages, func(st *pipeline.Stage) bool {
		return st.Output != nil && !st.Output.Spare && st.Value.Memory == grid
	})
}

// settle puts in place what stages leave as it was in some rows. There may be planes beyond the
// arrays, too: nothing depends on them.
func (s *pipeStep) settle(rows []int64) {
	settled := func(list *scope, part int, st *pipeline.Stage, bit kernel.Expr, r, x, cells int64) {
		at, into := s.rimPlace(list, part, s.stream.Lag(st), r, x), newScope(list)
		s.load(into, s.planes[s.stream.Home(st.Value)], at, s.made[st][r][x:x+cells])
		list.emit(&kernel.If{Cond: bit, Then: into.stmts}) // each alone, so that compilers make no branch of it
	}
	for part, sides := range s.sides {
		for _, side := range sides {
			list := newScope(s.body)
			for _, st := range s.stream.Stages {
				if !st.Fills() {
					continue
				}
				for _, r := range rows {
					for x := int64(0); x < s.run && part == 0; x++ {
						if side.may[x] {
							settled(list, part, st, hasBit(s.ends[st], x), r, x, 1)
						}
					}
					for x := int64(0); x < s.run && part == 1; x += s.vec {
						if side.may[r] {
							settled(list, part, st, hasBit(s.lines[st], r), r, x, s.vec)
						}
					}
				}
			}
			if len(list.stmts) > 0 {
				s.body.emit(&kernel.If{Cond: side.here, Then: list.stmts})
			}
		}
	}
}

// keepPlane gives a row of a plane that a stage leaves as it was what memory has.
func (s *pipeStep) keepPlane(st *pipeline.Stage, r int64, row []*kernel.Var) {
	plane := s.planeOf(st, 0)
	there := s.planeIn("plane_there", plane, s.lo[0], s.hi[0])
	home := s.gridStore(s.stream.Home(st.Value))
	b := s.bufferOf(home)
	b.reads = true
	var list []kernel.Stmt
	for x, v := range row {
		at := s.flat(home, s.indices(s.position(plane, r, int64(x))))
		list = append(list, &kernel.If{Cond: s.has(s.inside, r, int64(x), 1, true), Then: []kernel.Stmt{
			&kernel.Assign{Var: v, Value: &kernel.Load{Buffer: b.buffer, Index: at}},
		}})
	}
	kept := s.body.let(s.env, "plane_kept", "plane_kept", kernel.Bin(op.And, there,
		kernel.Un(op.Not, s.assigns(st, plane))))
	s.body.emit(&kernel.If{Cond: kept, Then: list})
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

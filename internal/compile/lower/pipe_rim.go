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
	late        bool            // they are put in place once rows are through
	width       []pipeline.Halo // by axis
	lanes       int64           // that have cells of rims along the row, at most
	planes      map[*ir.Grid]*kernel.Buffer
	ends, lines map[*pipeline.Stage]mask // rims at the ends of rows, and whole rows of the others
	copied      [2]mask                  // the cells of these for all stages
	place       [2]kernel.Expr           // where the thread's first cell of each has its place
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

// findRims declares which cells of rims a thread has, and where.
func (p *pipe) findRims(body *scope) {
	last := len(p.axes) - 1
	p.ends, p.lines = map[*pipeline.Stage]mask{}, map[*pipeline.Stage]mask{}
	in := func(at, lo, hi kernel.Expr) kernel.Expr { return kernel.And(kernel.Ge(at, lo), kernel.Le(at, hi)) }
	assigned := func(st *pipeline.Stage, k int, at kernel.Expr) kernel.Expr {
		r := st.Stmt.Domain[p.axes[k]]
		return in(at, p.low(r.Lo, p.lo[k]), p.high(r.Hi, p.hi[k]))
	}
	for n, st := range p.stream.Stages {
		if !st.Fills() {
			continue
		}
		for _, other := range p.stream.Stages[:n] { // most have one domain
			if other.Fills() && st.Stmt.Domain.Equal(other.Stmt.Domain) {
				p.ends[st], p.lines[st] = p.ends[other], p.lines[other]
				break
			}
		}
		if p.ends[st] != nil {
			continue
		}
		there := func(r, x int64) (row, cell, both kernel.Expr) {
			row, cell = kernel.Add(p.row0, kernel.I(r)), kernel.Add(p.x0, kernel.I(x))
			return row, cell, kernel.And(in(row, p.lo[1], p.hi[1]), in(cell, p.lo[last], p.hi[last]))
		}
		p.ends[st] = p.cellMask(body, "rim_ends", func(r, x int64) kernel.Expr {
			_, cell, there := there(r, x)
			return kernel.And(there, kernel.Un(op.Not, assigned(st, last, cell)))
		})
		p.lines[st] = p.cellMask(body, "rim_rows", func(r, x int64) kernel.Expr {
			row, cell, there := there(r, x)
			return kernel.And(kernel.And(there, assigned(st, last, cell)), kernel.Un(op.Not, assigned(st, 1, row)))
		})
	}
	union := func(name string, of map[*pipeline.Stage]mask) (m mask) {
		var seen []mask
		for _, st := range p.stream.Stages {
			if x := of[st]; x != nil && !slices.ContainsFunc(seen, func(y mask) bool { return &y[0] == &x[0] }) {
				seen = append(seen, x)
			}
		}
		if m = seen[0]; len(seen) == 1 {
			return m
		}
		return m.each(func(n int) kernel.Expr {
			e := m[n]
			for _, x := range seen[1:] {
				e = kernel.Bin(op.Or, e, x[n])
			}
			return body.let(p.env, name, name, e)
		})
	}
	p.copied = [2]mask{union("rim_ends_all", p.ends), union("rim_rows_all", p.lines)}
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

// any is the condition that a thread has cells of a mask.
func (m mask) any() kernel.Expr {
	all := m[0]
	for _, x := range m[1:] {
		all = kernel.Bin(op.Or, all, x)
	}
	return kernel.Bin(op.Ne, all, kernel.L(op.Int(types.I32, 0)))
}

// fetchRims begins to bring the rims of a plane that the next steps read.
func (s *pipeStep) fetchRims(plane kernel.Expr, later int64) {
	for part, m := range s.copied {
		list := newScope(s.body)
		for _, grid := range s.rimGrids() {
			home := s.gridStore(grid)
			b := s.bufferOf(home)
			b.reads = true
			for r := range s.rows {
				row := list.let(s.env, fmt.Sprintf("rim-%s-%d", grid.Name, r), "rim_row",
					s.flat(home, s.indices(s.place(plane, r, 0))))
				for x := range s.run {
					copied := &kernel.AsyncCopy{
						To: s.planes[grid], At: s.rimPlace(list, part, -later, r, x),
						From: b.buffer, Index: kernel.Add(row, kernel.I(x)), Cells: 1,
					}
					list.emit(&kernel.If{Cond: s.has(m, r, x, 1, true), Then: []kernel.Stmt{copied}})
				}
			}
		}
		s.body.emit(&kernel.If{Cond: m.any(), Then: list.stmts})
	}
}

// settle puts in place what stages leave as it was in some rows.
func (s *pipeStep) settle(rows []int64) {
	for part, of := range []map[*pipeline.Stage]mask{s.ends, s.lines} {
		list := newScope(s.body)
		for _, r := range rows {
			for x := range s.run {
				for _, st := range s.stream.Stages {
					m := of[st]
					if m == nil {
						continue
					}
					if s.guarded {
						there := s.planeIn("plane_there", s.planeOf(st, 0), s.lo[0], s.hi[0])
						m = s.chosen([]string{"rim_ends_there", "rim_rows_there"}[part], st, there, m, nil)
					}
					kept := &kernel.Assign{Var: s.made[st][r][x], Value: &kernel.Load{
						Buffer: s.planes[s.stream.Home(st.Value)], Index: s.rimPlace(list, part, s.stream.Lag(st), r, x),
					}}
					list.emit(&kernel.If{Cond: s.has(m, r, x, 1, true), Then: []kernel.Stmt{kept}})
				}
			}
		}
		s.body.emit(&kernel.If{Cond: s.copied[part].any(), Then: list.stmts})
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

package lower

import (
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
		if st.Value.Type().Size() < LeastCopy {
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

// rimRoles are the roles of parameters that say how rims are put in place late.
var rimRoles = []schedule.Role{
	schedule.RimPlacement, schedule.RimVector, schedule.RimTiles, schedule.RimlessLoop,
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

// rimless is the condition that the block has no rims. It is not about a warp: warps of a block that are in two loops
// push each other's instructions out of the cache.
func (p *pipe) rimless(body *scope) kernel.Expr {
	low := kernel.Lt(p.corner[1], kernel.Add(p.lo[1], kernel.I(p.width[1].Low)))
	high := kernel.Bin(op.Gt, kernel.Add(p.corner[1], kernel.I(p.span(1)-1+p.width[1].High)), p.hi[1])
	here := kernel.Bin(op.Or, p.sides[0].here, kernel.Bin(op.Or, low, high))
	return body.let(p.env, "rimless", "rimless", kernel.Un(op.Not, here))
}

// rimCellsOf returns which of a thread's cells along an axis may be of the rims at the axis's ends. Where
// sizes are known, tiles begin in known places.
func (p *pipe) rimCellsOf(k int) []bool {
	cells, threads := p.run, int64(32)
	if k < len(p.axes)-1 {
		cells, threads = p.rows, p.cluster.blocks*p.warps
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

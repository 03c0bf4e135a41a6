package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Which tiles there are, and where a tile stands.
// The first tile of an axis begins with the domain, and the last ends with it: neither
// computes a halo beyond the ends. Only where a boundary wraps there are halos at all tiles.

// blocks makes the loops over blocks and threads.
func (p *pipe) blocks() []kernel.Stmt {
	top := newScope(nil)
	for k := range p.axes {
		p.lo, p.hi = append(p.lo, p.affine(p.extents[k].Lo)), append(p.hi, p.affine(p.extents[k].Hi))
	}
	block := top.declare(p.env, "block", types.I64)
	lane, warp := top.declare(p.env, "lane", types.I64), top.declare(p.env, "warp", types.I64)
	allocs := p.allocate(top)
	body := newScope(top)
	p.lane, p.warp = kernel.V(lane), kernel.I(0)
	if p.warps > 1 { // as the first lane sees it: so compilers know that it is the same for all of a warp
		of := &kernel.Shuffle{
			Var: body.declare(p.env, "warp_of", types.I32), Kind: kernel.ShuffleFrom,
			Value: kernel.Conv(types.I32, kernel.V(warp)), By: kernel.L(op.Int(types.I32, 0)),
		}
		body.emit(of)
		p.warp = kernel.Conv(types.I64, kernel.V(of.Var))
	}
	p.findNeighbours(top, body)
	p.clear(body)
	count := p.chunked(body, kernel.V(block))
	// Blocks stay as long as others may store to their memory. The wait of the last step sees to that already; here it
	// costs nothing, and holds whatever a step does.
	if p.clustered() {
		body.emit(p.meetAll())
	}
	threads := []launchLoop{{lane, kernel.I(32), kernel.ThreadX}, {warp, kernel.I(p.warps), kernel.ThreadY}}
	return wrapped([]launchLoop{{block, count, kernel.BlockX}},
		p.inCluster(append(allocs, wrapped(threads, body.stmts)...)))
}

// compute makes the planes of a tile from a first one to an end.
func (p *pipe) compute(body *scope, tile, first, end kernel.Expr) {
	last := len(p.axes) - 1
	p.first, p.end = body.let(p.env, "first", "first", first), body.let(p.env, "end", "end", end)
	p.corner, p.own = make([]kernel.Expr, len(p.axes)), make([][2]kernel.Expr, len(p.axes))
	strip, stack := p.at(body, tile)
	if p.middle() {
		p.stand(body, 1, stack, "row")
		first := kernel.Add(p.corner[1], kernel.Mul(p.warpOfTile(), kernel.I(p.rows)))
		p.row0 = body.let(p.env, "row0", "row_first", first)
	} else {
		strip = kernel.Add(kernel.Mul(strip, kernel.I(p.warps)), p.warp)
	}
	p.stand(body, last, strip, "x")
	p.x0 = body.let(p.env, "x0", "x_first", kernel.Add(p.corner[last], kernel.Mul(p.lane, kernel.I(p.run))))
	if p.late {
		p.findRims(body)
	}
	p.declareValues(body)
	p.steps(body)
}

// at returns where a tile is along the row, and along the axis that warps are stacked along.
// Tiles at the edges of the domain take longer. They come first, so that others fill the time at the end: first those
// with the ends of rows, then those with the first and the last rows.
func (p *pipe) at(body *scope, tile kernel.Expr) (strip, stack kernel.Expr) {
	strips, one := p.strips(), kernel.I(1)
	let := func(name string, e kernel.Expr) kernel.Expr { return body.let(p.env, name, name, e) }
	early := kernel.Lt(tile, p.endTiles())
	ends := kernel.Min(strips, kernel.I(2))
	inner := kernel.Max(kernel.Sub(strips, kernel.I(2)), one)
	later := let("inner_tile", kernel.Max(kernel.Sub(tile, p.endTiles()), kernel.I(0)))
	upper := kernel.Bin(op.Eq, kernel.Bin(op.Rem, tile, ends), kernel.I(0))
	last := kernel.Sel(upper, kernel.Sub(strips, one), kernel.I(0))
	strip = let("strip", kernel.Sel(early, last, kernel.Add(one, kernel.Bin(op.Rem, later, inner))))
	row := kernel.Bin(op.Div, later, inner) // the first, the last, the second and so on
	row = kernel.Sel(kernel.Bin(op.Eq, row, one), kernel.Sub(p.stacks(), one),
		kernel.Max(kernel.Sub(row, one), kernel.I(0)))
	stack = let("stack", kernel.Sel(early, kernel.Bin(op.Div, tile, ends), row))
	return strip, stack
}

// endTiles is how many tiles have an end of a row.
func (p *pipe) endTiles() kernel.Expr {
	return kernel.Mul(kernel.Min(p.strips(), kernel.I(2)), p.stacks())
}

// lineTiles is how many others have a first or a last row.
func (p *pipe) lineTiles() kernel.Expr {
	inner := kernel.Max(kernel.Sub(p.strips(), kernel.I(2)), kernel.I(0))
	return kernel.Mul(kernel.Min(p.stacks(), kernel.I(2)), inner)
}

// strips is how many blocks stand along the rows.
func (p *pipe) strips() kernel.Expr {
	n := p.tiles(len(p.axes) - 1)
	if !p.middle() {
		n = kernel.CeilDiv(n, kernel.I(p.warps))
	}
	return n
}

// stacks is how many blocks stand along the axis that warps are stacked along.
func (p *pipe) stacks() kernel.Expr {
	if !p.middle() {
		return kernel.I(1)
	}
	return p.tiles(1)
}

// span is how many cells of an axis a tile computes.
func (p *pipe) span(k int) int64 {
	if k == len(p.axes)-1 {
		return 32 * p.run
	}
	return p.cluster.blocks * p.warps * p.rows
}

// origin is where the first tile of an axis begins: with the domain, or at a vector that
// reaches into it.
func (p *pipe) origin(k int) kernel.Expr {
	if last := len(p.axes) - 1; k == last && p.vec > 1 {
		return kernel.Sub(p.lo[k], kernel.I(mod(p.extents[k].Lo.Const, p.vec)))
	}
	return p.lo[k]
}

// tiles is how many tiles an axis has.
func (p *pipe) tiles(k int) kernel.Expr {
	cells := kernel.Sub(kernel.Add(p.hi[k], kernel.I(1)), p.origin(k))
	if !p.wraps(k) {
		cells = kernel.Sub(cells, kernel.I(p.span(k)-p.tile[k]))
	}
	return kernel.CeilDiv(kernel.Max(cells, kernel.I(1)), kernel.I(p.tile[k]))
}

// stand says where a tile of an axis stands. Tiles beyond the last have nothing of their own.
func (p *pipe) stand(body *scope, k int, tile kernel.Expr, name string) {
	let := func(what string, e kernel.Expr) kernel.Expr { return body.let(p.env, name+what, name+what, e) }
	at, low := let("_tile", kernel.Add(p.origin(k), kernel.Mul(tile, kernel.I(p.tile[k])))), kernel.I(p.halo[k].Low)
	if p.wraps(k) {
		p.own[k] = [2]kernel.Expr{at, kernel.Add(at, kernel.I(p.tile[k]))}
		p.corner[k] = let("_start", kernel.Sub(at, low))
		return
	}
	end, count := kernel.Add(p.hi[k], kernel.I(1)), p.tiles(k)
	from := kernel.Sub(end, kernel.I(p.span(k))) // from there the last tile ends with the domain
	if k == len(p.axes)-1 && p.vec > 1 {
		from = kernel.Add(from, kernel.I(p.vec-1))
		from = kernel.Sub(from, floorMod(from, kernel.I(p.vec)))
	}
	p.corner[k] = let("_start", kernel.Max(kernel.Min(at, from), p.origin(k)))
	next := kernel.Add(kernel.Add(at, kernel.I(p.tile[k])), low)
	p.own[k] = [2]kernel.Expr{
		let("_own", kernel.Sel(kernel.Bin(op.Eq, tile, kernel.I(0)), p.origin(k), kernel.Add(at, low))),
		let("_end", kernel.Sel(kernel.Lt(kernel.Add(tile, kernel.I(1)), count), next,
			kernel.Sel(kernel.Lt(tile, count), end, p.origin(k)))),
	}
}

// inner is the condition under which all rows and cells that a warp computes, halos included,
// are in the domains of all stages; where rims are put in place late, or boundaries are read through at the ends of
// tiles, in the arrays. Where all warps meet at one barrier it is about all rows of the block.
func (p *pipe) inner(body *scope) kernel.Expr {
	var cond kernel.Expr
	last := len(p.axes) - 1
	within := p.late && p.onlyCopies()
	for k := 1; k <= last; k++ {
		from, cells := p.corner[k], p.span(k)
		if k < last && p.arrived != nil && !p.tileFaces[k] {
			from, cells = p.row0, p.rows
		}
		to := kernel.Add(from, kernel.I(cells-1))
		if within || p.tileFaces[k] {
			if k == last && within { // the last vector may begin in a row, and end in its padding
				to = kernel.Sub(to, kernel.I(p.overhang()))
			}
			cond = conj(cond, kernel.Ge(from, p.lo[k]))
			cond = conj(cond, kernel.Le(to, p.hi[k]))
			continue
		}
		for n, st := range p.stream.Stages {
			r, far := st.Stmt.Domain[p.axes[k]], p.reach(st, k)
			if slices.ContainsFunc(p.stream.Stages[:n], func(other *pipeline.Stage) bool {
				return other.Stmt.Domain.Equal(st.Stmt.Domain) && p.reach(other, k) == far
			}) {
				continue
			}
			cond = conj(cond, between(p.low(r.Lo, p.lo[k]), p.lo[k], from))
			cond = conj(cond, between(to, from, p.high(r.Hi, p.hi[k])))
			cond = conj(cond, kernel.Ge(kernel.Add(from, kernel.I(far.Low)), p.lo[k]))
			cond = conj(cond, kernel.Le(kernel.Add(to, kernel.I(far.High)), p.hi[k]))
		}
	}
	return body.let(p.env, "inner", "inner", cond)
}

// overhang is how many cells the last tile of a row may have beyond the row's end, less than a vector. Where it is not
// known how long rows are, such a tile has guards: stores of parts of vectors would cost all others something.
func (p *pipe) overhang() int64 {
	if !p.baked || p.tilesEndRows() {
		return 0
	}
	return p.vec - 1
}

// innerSteps returns the first plane that memory brings in a step in which all stages are
// within their domains, and the one after the last.
func (p *pipe) innerSteps(body *scope) (from, to kernel.Expr) {
	from, to = p.lo[0], kernel.Sub(kernel.Add(p.hi[0], kernel.I(1)), kernel.I(p.farthest()))
	for _, st := range p.stream.Stages {
		r, far, lag := st.Stmt.Domain[p.axes[0]], p.reach(st, 0), p.stream.Lag(st)
		first := kernel.Max(p.low(r.Lo, p.lo[0]), kernel.Sub(p.lo[0], kernel.I(far.Low)))
		end := kernel.Min(p.high(r.Hi, p.hi[0]), kernel.Sub(p.hi[0], kernel.I(far.High)))
		from = kernel.Max(from, kernel.Add(first, kernel.I(lag)))
		to = kernel.Min(to, kernel.Add(end, kernel.I(lag-p.lead(st)+1)))
	}
	return body.let(p.env, "inner_from", "inner_from", from), body.let(p.env, "inner_to", "inner_to", to)
}

// reach returns how far the accesses of a stage lead on an axis.
func (p *pipe) reach(st *pipeline.Stage, k int) pipeline.Halo { return stageReach(st, p.axes[k]) }

// stageReach returns how far the accesses of a stage lead on an axis of the program.
func stageReach(st *pipeline.Stage, axis int) (far pipeline.Halo) {
	_ = st.Accesses(func(a *ir.Access, _ *graph.Value) error {
		for _, ix := range a.Index {
			if ix.Axis == axis {
				far.Low, far.High = min(far.Low, ix.Offset), max(far.High, ix.Offset)
			}
		}
		return nil
	})
	return far
}

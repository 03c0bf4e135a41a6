package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Which blocks there are, and which planes of which tiles each computes.

// chunked makes what a block does, and returns how many blocks there are: one for each chunk
// of each tile, or as many as the device runs at a time.
func (p *pipe) chunked(body *scope, block kernel.Expr) kernel.Expr {
	planes := kernel.Add(kernel.Sub(p.hi[0], p.lo[0]), kernel.I(1))
	tiles := kernel.Mul(p.strips(), p.stacks())
	if p.persists > 0 {
		p.share(body, block, tiles, planes)
		return kernel.I(p.persists)
	}
	chunks, first, end := kernel.Expr(kernel.I(1)), p.lo[0], kernel.Add(p.hi[0], kernel.I(1))
	if p.tile[0] > 0 {
		chunks = kernel.CeilDiv(planes, kernel.I(p.tile[0]))
		first = kernel.Add(first, kernel.Mul(kernel.Bin(op.Rem, block, chunks), kernel.I(p.tile[0])))
		end = kernel.Min(kernel.Add(first, kernel.I(p.tile[0])), end)
	}
	p.compute(body, kernel.Bin(op.Div, block, chunks), first, end)
	return kernel.Mul(tiles, chunks)
}

// edgeShare is the part of the stream, in percent, that a block gets of a tile with the ends of
// rows: there a plane takes longer, and all blocks have to end at the same time.
const edgeShare = 88

// pieces is into how many equal pieces each tile is cut along the stream, so that all blocks have
// one: more than one where there are fewer tiles than blocks, and it is known how many.
func (p *pipe) pieces(tiles, planes kernel.Expr) int64 {
	if !p.baked {
		return 1
	}
	shortest := 4*(p.halo[0].Low+p.halo[0].High) + 1 // piece that is worth the planes before it
	return max(min(p.persists/kernel.Eval(tiles, nil).I, kernel.Eval(planes, nil).I/shortest), 1)
}

// remainder is the planes that are left once all blocks have had the same number of tiles, as one
// long row: first what is left of the tiles at the ends of rows, then whole tiles.
type remainder struct {
	common kernel.Expr // tiles that blocks have had
	ends   kernel.Expr // of those, the ones at the ends of rows, which come first
	cut    kernel.Expr // planes of these that blocks have had
	planes kernel.Expr // of a tile
	rest   kernel.Expr // planes that are left of one at an end; nil where nothing is
}

// first is where the whole tiles begin in the row.
func (x *remainder) first() kernel.Expr {
	if x.rest == nil {
		return kernel.I(0)
	}
	return kernel.Mul(x.ends, kernel.Sub(x.planes, x.cut))
}

// shortest is how many planes of a tile there are together at the least.
func (x *remainder) shortest() kernel.Expr {
	if x.rest == nil {
		return x.planes
	}
	return x.rest
}

// at returns the tile of a place in the row, where the planes of that tile begin in the row, and
// the first of them.
func (x *remainder) at(place kernel.Expr) (tile, begin, plane kernel.Expr) {
	later := kernel.Bin(op.Div, kernel.Sub(place, x.first()), x.planes)
	tile, begin = kernel.Add(x.common, later), kernel.Add(x.first(), kernel.Mul(later, x.planes))
	if x.rest == nil {
		return tile, begin, kernel.I(0)
	}
	early, is := kernel.Bin(op.Div, place, x.rest), kernel.Lt(place, x.first())
	return kernel.Sel(is, early, tile), kernel.Sel(is, kernel.Mul(early, x.rest), begin),
		kernel.Sel(is, x.cut, kernel.I(0))
}

// share makes the loop of a block over its shares of the tiles. All blocks compute the same
// number of tiles, or pieces of tiles, at the same time, so that neighbours read their halos at
// about the same time. The row of the planes that are left is cut into as many parts as there
// are blocks, or blocks that have had no piece (Stream-K: Osama et al. 2023).
func (p *pipe) share(body *scope, block, tiles, planes kernel.Expr) {
	blocks, one := kernel.I(p.persists), kernel.I(1)
	let := func(in *scope, name string, e kernel.Expr) kernel.Expr { return in.let(p.env, name, name, e) }
	cuts, all := p.pieces(tiles, planes), planes
	pieces := kernel.I(cuts) // from here on a tile is one of these
	planes, tiles = kernel.CeilDiv(planes, pieces), kernel.Mul(tiles, pieces)
	whole := kernel.Bin(op.Div, tiles, blocks) // tiles of each block
	sharers, rank := kernel.Expr(blocks), block
	left := &remainder{planes: planes}
	if cuts > 1 { // there is about one for each block
		whole = one
		left.common = tiles
		idle := kernel.Sub(blocks, tiles)
		some := kernel.Bin(op.Gt, idle, kernel.I(0))
		sharers, rank = kernel.Sel(some, idle, blocks), kernel.Sel(some, kernel.Sub(block, tiles), block)
	} else {
		left.common = kernel.Mul(whole, blocks)
	}
	whole = let(body, "whole", whole)
	if p.late && p.width[len(p.axes)-1] != (pipeline.Halo{}) {
		left.ends = let(body, "ends", kernel.Min(kernel.Mul(p.endTiles(), pieces), left.common))
		left.cut = let(body, "cut", kernel.CeilDiv(kernel.Mul(planes, kernel.I(edgeShare)), kernel.I(100)))
		left.rest = kernel.Max(kernel.Sub(planes, left.cut), one)
	}
	row := let(body, "left", kernel.Add(left.first(), kernel.Mul(kernel.Sub(tiles, left.common), planes)))
	part := func(rank kernel.Expr) kernel.Expr {
		return kernel.Max(kernel.Bin(op.Div, kernel.Mul(rank, row), sharers), kernel.I(0))
	}
	from, to := let(body, "part", part(rank)), let(body, "part_end", part(kernel.Add(rank, one)))
	place := body.declare(p.env, "place", types.I64) // in the row
	body.emit(&kernel.Declare{Var: place, Init: from})

	n := body.declare(p.env, "share", types.I64)
	list := newScope(body)
	is := kernel.Lt(kernel.V(n), whole)
	of, begin, first := left.at(kernel.V(place))
	of, begin, first = let(list, "part_of", of), let(list, "part_begin", begin), let(list, "part_first", first)
	end := let(list, "part_stop", kernel.Min(to, kernel.Add(begin, kernel.Sub(planes, first))))
	tile := let(list, "tile", kernel.Sel(is, kernel.Add(kernel.Mul(kernel.V(n), blocks), block), of))
	stop := planes
	if left.rest != nil {
		stop = kernel.Sel(kernel.Lt(tile, left.ends), left.cut, planes)
	}
	low := kernel.Sel(is, kernel.I(0), kernel.Add(first, kernel.Sub(kernel.V(place), begin)))
	high := kernel.Sel(is, stop, kernel.Add(first, kernel.Sub(end, begin)))
	low, high = let(list, "share_first", low), let(list, "share_end", high)
	there := kernel.Lt(low, high)
	if cuts > 1 {
		piece := kernel.Mul(kernel.Bin(op.Rem, tile, pieces), planes)
		there = kernel.And(there, kernel.Lt(tile, tiles))
		tile = let(list, "tile_of_piece", kernel.Bin(op.Div, tile, pieces))
		low, high = kernel.Add(piece, low), kernel.Min(kernel.Add(piece, high), all)
	}
	work := newScope(list)
	if p.prefetch > 0 {
		work.emit(&kernel.AsyncWait{Pending: 0})
	}
	work.emit(&kernel.Barrier{Scope: kernel.BlockScope}) // others may still read what this share overwrites
	p.compute(work, tile, kernel.Add(p.lo[0], low), kernel.Add(p.lo[0], high))
	list.emit(&kernel.If{Cond: there, Then: work.stmts})
	list.emit(&kernel.If{Cond: kernel.Un(op.Not, is), Then: []kernel.Stmt{
		&kernel.Assign{Var: place, Value: kernel.Max(kernel.V(place), end)},
	}})
	most := kernel.Add(kernel.Bin(op.Div, kernel.Sub(to, from), left.shortest()), kernel.I(2)) // tiles of a part
	body.emit(&kernel.Loop{Var: n, Lo: kernel.I(0), Hi: kernel.Add(whole, most), Step: one, Body: list.stmts})
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// persistentBlocks are as many blocks as a device runs at a time, which share the planes of all tiles evenly, so that
// none is left alone with a last tile. All blocks compute the same number of tiles, or pieces of tiles, at the same
// time, so that neighbours read their halos at about the same time. The planes that are left are one long row, which is
// cut into as many parts as there are blocks, or blocks that have had no piece (Stream-K: Osama et al. 2023).
type persistentBlocks struct {
	env           *env
	blocks        int64
	tiles, planes kernel.Expr // tiles, and planes of each
	shortest      int64       // piece of a tile that is worth the planes before it
	lead          int64       // planes that are computed before those of a piece, and after them
	// edges are tiles that take longer for a plane than others. They are the first ones.
	edges []edgeTiles
}

// persistentBlocks returns how many blocks the device runs at a time, so many on each multiprocessor.
func (o *Options) persistentBlocks(each int64) int64 { return each * int64(o.machine().Units) }

// pieces is into how many equal pieces each tile is cut, so that all blocks have one, and whether about all have one:
// more than one piece where there are fewer tiles than blocks, and it is known how many.
func (b *persistentBlocks) pieces() (cuts int64, each bool) {
	if !b.env.baked {
		return 1, false
	}
	tiles, planes := kernel.Eval(b.tiles, nil).I, kernel.Eval(b.planes, nil).I
	if tiles < 1 {
		return 1, false
	}
	most := max(planes/b.shortest, 1)
	cuts = max(min(b.blocks/tiles, most), 1)
	have := cuts * tiles
	if cuts > 1 || have >= b.blocks {
		return cuts, cuts > 1
	}
	return b.morePieces(tiles, planes, most)
}

// morePieces is into how many pieces tiles are cut that are fewer than blocks, and more than half as many, and whether
// each block has one and some have none. In one piece that all blocks share they begin at any plane, and are never at
// the same planes as their neighbours.
func (b *persistentBlocks) morePieces(tiles, planes, most int64) (best int64, each bool) {
	best, each, least := 1, true, planes+b.lead
	for cuts := int64(1); cuts <= most; cuts++ {
		if last := b.lastEnds(tiles*cuts, (planes+cuts-1)/cuts); last < least {
			best, each, least = cuts, false, last
		}
	}
	return best, each
}

// outOfStep is what a plane costs, in percent, of which the neighbours are computed at another time, by 90 tiles for
// 132 blocks over 512^3 on an H200 (poisson19 in double). 70 tiles lost more (star7 in float).
const outOfStep = 125

// lastEnds is when the last block ends, in planes, if blocks have whole pieces first and share those that are left.
func (b *persistentBlocks) lastEnds(pieces, planes int64) int64 {
	rounds := pieces / b.blocks
	last := rounds * (planes + b.lead)
	if left := pieces - rounds*b.blocks; left > 0 {
		share := (left*planes + b.blocks - 1) / b.blocks
		last += share*outOfStep/100 + 2*(b.lead+pieceCost) // mostly of two pieces
	}
	return last
}

// remainder is the planes that are left once all blocks have had the same number of tiles, as one
// long row: first what is left of the tiles that take longer, then whole tiles.
type remainder struct {
	common kernel.Expr // tiles that blocks have had
	planes kernel.Expr // of a tile
	cuts   []cutTiles  // of those that blocks have had, the ones of which planes are left
}

// cutTiles are tiles of which blocks compute the first planes.
type cutTiles struct {
	end   kernel.Expr // the tile after the last
	cut   kernel.Expr // planes that blocks have had
	rest  kernel.Expr // planes that are left, 1 at the least
	begin kernel.Expr // where they begin in the row
	after kernel.Expr // where others begin
	first kernel.Expr // tile
}

// first is where the whole tiles begin in the row.
func (x *remainder) first() kernel.Expr {
	if len(x.cuts) == 0 {
		return kernel.I(0)
	}
	return x.cuts[len(x.cuts)-1].after
}

// shortest is how many planes of a tile there are together at the least.
func (x *remainder) shortest() kernel.Expr {
	least := x.planes
	for _, c := range x.cuts {
		if left, known := kernel.IntLit(kernel.Sub(x.planes, c.cut)); !known || left > 0 {
			least = kernel.Min(least, c.rest)
		}
	}
	return least
}

// stop is how many planes of a tile its block computes.
func (x *remainder) stop(tile kernel.Expr) kernel.Expr {
	stop := x.planes
	for _, c := range slices.Backward(x.cuts) {
		stop = kernel.Sel(kernel.Lt(tile, c.end), c.cut, stop)
	}
	return stop
}

// at returns the tile of a place in the row, where the planes of that tile begin in the row, and
// the first of them.
func (x *remainder) at(place kernel.Expr) (tile, begin, plane kernel.Expr) {
	later := kernel.Bin(op.Div, kernel.Sub(place, x.first()), x.planes)
	tile, begin = kernel.Add(x.common, later), kernel.Add(x.first(), kernel.Mul(later, x.planes))
	plane = kernel.I(0)
	for _, c := range slices.Backward(x.cuts) {
		early, is := kernel.Bin(op.Div, kernel.Sub(place, c.begin), c.rest), kernel.Lt(place, c.after)
		tile = kernel.Sel(is, kernel.Add(c.first, early), tile)
		begin = kernel.Sel(is, kernel.Add(c.begin, kernel.Mul(early, c.rest)), begin)
		plane = kernel.Sel(is, c.cut, plane)
	}
	return tile, begin, plane
}

// share makes the loop of a block over its shares of the tiles. work writes what is done for the planes of a tile from
// one on and before another, both counted from the tile's first.
func (b *persistentBlocks) share(body *scope, block kernel.Expr, work func(in *scope, tile, low, high kernel.Expr)) {
	blocks, one := kernel.I(b.blocks), kernel.I(1)
	let := func(in *scope, name string, e kernel.Expr) kernel.Expr { return in.let(b.env, name, name, e) }
	cuts, each := b.pieces()
	tiles, planes := b.tiles, b.planes
	pieces := kernel.I(cuts) // from here on a tile is one of these
	planes, tiles = kernel.CeilDiv(planes, pieces), kernel.Mul(tiles, pieces)
	whole := kernel.Bin(op.Div, tiles, blocks) // tiles of each block
	sharers, rank := kernel.Expr(blocks), block
	left := &remainder{planes: planes}
	if each { // there is about one for each block
		whole = one
		left.common = tiles
		idle := kernel.Sub(blocks, tiles)
		some := kernel.Bin(op.Gt, idle, kernel.I(0))
		sharers, rank = kernel.Sel(some, idle, blocks), kernel.Sel(some, kernel.Sub(block, tiles), block)
	} else {
		left.common = kernel.Mul(whole, blocks)
	}
	whole = let(body, "whole", whole)
	var edges kernel.Expr
	if left.cuts, edges = b.cutEdges(body, tiles, planes, pieces, left.common, each); edges != nil && !each {
		// Blocks with a tile at the edge have no part of what is left.
		others := kernel.Sub(blocks, edges)
		some := kernel.Bin(op.Gt, kernel.Min(others, whole), kernel.I(0)) // there are others
		sharers, rank = kernel.Sel(some, others, blocks), kernel.Sel(some, kernel.Sub(block, edges), block)
	}
	row := let(body, "left", kernel.Add(left.first(), kernel.Mul(kernel.Sub(tiles, left.common), planes)))
	if n, known := kernel.IntLit(row); known && n == 0 {
		n := body.declare(b.env, "share", types.I64)
		list := newScope(body)
		tile := let(list, "tile", kernel.Add(kernel.Mul(kernel.V(n), blocks), block))
		list.emit(b.piece(list, cuts, each, tile, kernel.I(0), planes, work))
		body.emit(&kernel.Loop{Var: n, Lo: kernel.I(0), Hi: whole, Step: one, Body: list.stmts})
		return
	}
	part := func(rank kernel.Expr) kernel.Expr {
		return kernel.Max(kernel.Bin(op.Div, kernel.Mul(rank, row), sharers), kernel.I(0))
	}
	from, to := let(body, "part", part(rank)), let(body, "part_end", part(kernel.Add(rank, one)))
	place := body.declare(b.env, "place", types.I64) // in the row
	body.emit(&kernel.Declare{Var: place, Init: from})

	n := body.declare(b.env, "share", types.I64)
	list := newScope(body)
	is := kernel.Lt(kernel.V(n), whole)
	of, begin, first := left.at(kernel.V(place))
	of, begin, first = let(list, "part_of", of), let(list, "part_begin", begin), let(list, "part_first", first)
	end := let(list, "part_stop", kernel.Min(to, kernel.Add(begin, kernel.Sub(planes, first))))
	tile := let(list, "tile", kernel.Sel(is, kernel.Add(kernel.Mul(kernel.V(n), blocks), block), of))
	low := kernel.Sel(is, kernel.I(0), kernel.Add(first, kernel.Sub(kernel.V(place), begin)))
	high := kernel.Sel(is, left.stop(tile), kernel.Add(first, kernel.Sub(end, begin)))
	low, high = let(list, "share_first", low), let(list, "share_end", high)
	list.emit(b.piece(list, cuts, each, tile, low, high, work))
	list.emit(&kernel.If{Cond: kernel.Un(op.Not, is), Then: []kernel.Stmt{
		&kernel.Assign{Var: place, Value: kernel.Max(kernel.V(place), end)},
	}})
	most := kernel.Add(kernel.Bin(op.Div, kernel.Sub(to, from), left.shortest()), kernel.I(2)) // tiles of a part
	body.emit(&kernel.Loop{Var: n, Lo: kernel.I(0), Hi: kernel.Add(whole, most), Step: one, Body: list.stmts})
}

// piece does the work of a piece, given its number and which of its planes: if there is such a piece, which there need
// not be where each block has one, and if its tile has such planes. Of equal pieces the last ones may have none.
func (b *persistentBlocks) piece(list *scope, cuts int64, each bool, tile, low, high kernel.Expr,
	work func(in *scope, tile, low, high kernel.Expr)) kernel.Stmt {
	number := tile
	if cuts > 1 {
		pieces := kernel.I(cuts)
		piece := kernel.Mul(kernel.Bin(op.Rem, tile, pieces), kernel.CeilDiv(b.planes, pieces))
		tile = list.let(b.env, "tile_of_piece", "tile_of_piece", kernel.Bin(op.Div, tile, pieces))
		low, high = kernel.Add(piece, low), kernel.Min(kernel.Add(piece, high), b.planes)
	}
	there := kernel.Lt(low, high)
	if each {
		there = kernel.And(kernel.Lt(number, kernel.Mul(b.tiles, kernel.I(cuts))), there)
	}
	doing := newScope(list)
	work(doing, tile, low, high)
	return &kernel.If{Cond: there, Then: doing.stmts}
}

package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
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

// share has the device's blocks share all tiles. Tiles at the edges of the domain take longer where rims are put in
// place.
func (p *pipe) share(body *scope, block, tiles, planes kernel.Expr) {
	shares := &persistentBlocks{
		env: p.env, blocks: p.persists, tiles: tiles, planes: planes, shortest: 4*(p.halo[0].Low+p.halo[0].High) + 1,
		lead: p.halo[0].Low + p.halo[0].High,
	}
	if p.late {
		shares.edges = p.slowTiles()
	}
	shares.share(body, block, func(in *scope, tile, low, high kernel.Expr) {
		if p.prefetch > 0 {
			in.emit(&kernel.AsyncWait{Pending: 0})
		}
		in.emit(p.meetAll()) // others may still read what this share overwrites
		p.compute(in, tile, kernel.Add(p.lo[0], low), kernel.Add(p.lo[0], high))
	})
}

// What a plane of a tile costs that puts rims in place, in percent of one of another tile, by the times of blocks over
// 512^3 on an H200. With an end of the rows: 104 and 105 at a halo of 2 cells (poisson19, box27), 130 at 3 (poisson19),
// 111 and 116 at 4 (star13, star7). With the first or the last rows: 103 to 115.
const (
	costOfEnds  = 4 // for each cell of the halo
	costOfLines = 108
)

// slowTiles are the tiles that put rims in place, which are the first ones.
func (p *pipe) slowTiles() []edgeTiles {
	if p.rimsAtTiles() { // all take as long
		return nil
	}
	ends, lines := p.width[len(p.axes)-1] != (pipeline.Halo{}), p.middle() && p.width[1] != (pipeline.Halo{})
	if !ends && !lines {
		return nil
	}
	out := []edgeTiles{{tiles: p.endTiles(), cost: 100}}
	if ends {
		out[0].cost = 100 + costOfEnds*p.halo[len(p.axes)-1].Low
	}
	if lines {
		out = append(out, edgeTiles{tiles: p.lineTiles(), cost: costOfLines})
	}
	return out
}

package lower

import "github.com/gridloom/gridloom/internal/compile/kernel"

// Tiles at the edge of the domain take longer for a plane. Their blocks compute fewer of them, and blocks that have
// time compute the rest.

// edgeTiles are tiles that follow each other and take longer for a plane than others.
type edgeTiles struct {
	tiles kernel.Expr // how many
	cost  int64       // of a plane, in percent of one of another tile
}

// edgeShare is the part of the planes, in percent, that a block gets of a tile at the edge where sizes are not known.
const edgeShare = 92

// pieceCost is how long a piece of a tile takes beside its planes and those before and after them, in planes: the loop
// for planes at the ends of the stream is slow.
const pieceCost = 8

// cutEdges returns which tiles at the edge are cut, and where; and how many tiles at the edge there are, nil if blocks
// with such a tile are as good as others for what is left.
func (b *persistentBlocks) cutEdges(body *scope, tiles, planes, pieces, common kernel.Expr, each bool) (out []cutTiles,
	edges kernel.Expr) {
	let := func(name string, e kernel.Expr) kernel.Expr { return body.let(b.env, name, name, e) }
	var cuts []kernel.Expr
	if b.env.baked {
		value := func(e kernel.Expr) int64 { return kernel.Eval(e, nil).I }
		even := evenShares{
			tiles: value(tiles), planes: value(planes), blocks: b.blocks, lead: b.lead, each: each,
		}
		had := value(common)
		for _, e := range b.edges {
			n := min(value(e.tiles)*value(pieces), had)
			even.edges, had = append(even.edges, edgeCount{n, e.cost}), had-n
		}
		shares, cut := even.shares()
		if shares == nil {
			return nil, nil
		}
		if !cut {
			return nil, kernel.I(value(common) - had)
		}
		for _, n := range shares {
			cuts = append(cuts, kernel.I(n))
		}
	} else {
		for range b.edges {
			share := kernel.CeilDiv(kernel.Mul(planes, kernel.I(edgeShare)), kernel.I(100))
			cuts = append(cuts, let("cut", share))
		}
	}
	first, begin := kernel.Expr(kernel.I(0)), kernel.Expr(kernel.I(0))
	for n, e := range b.edges {
		c := cutTiles{first: first, begin: begin, cut: cuts[n]}
		c.end = let("edges", kernel.Min(kernel.Add(first, kernel.Mul(e.tiles, pieces)), common))
		left := kernel.Sub(planes, c.cut)
		c.after = let("edge_planes", kernel.Add(begin, kernel.Mul(kernel.Sub(c.end, first), left)))
		c.rest = kernel.Max(left, kernel.I(1))
		out = append(out, c)
		first, begin = c.end, c.after
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, first
}

// edgeCount is how many tiles at the edge there are, and what a plane of them costs, in percent.
type edgeCount struct{ tiles, cost int64 }

// evenShares is what decides how many planes of a tile at the edge its block computes. Each block has its tiles first,
// and some have a part of what is left then: if each block has one tile, those without; otherwise those that have had
// no tile at the edge.
type evenShares struct {
	tiles, planes, blocks, lead int64
	each                        bool
	edges                       []edgeCount
}

// shares returns for how many planes of the tiles of each kind the last block ends soonest, and whether any is cut; nil
// if there are no tiles at the edge, or no blocks that have time for their planes.
func (x *evenShares) shares() (planes []int64, cut bool) {
	rounds, sharers, edges := x.turns()
	if edges == 0 || rounds == 0 || sharers <= 0 {
		return nil, false
	}
	for last := x.planes + x.lead; ; last++ { // when the last block ends, in planes of tiles that are not at the edge
		planes, cut = planes[:0], false
		for _, e := range x.edges {
			n := last*100/e.cost - x.lead
			if n+x.lead > x.planes { // so few planes are not worth those before them
				n = x.planes
			}
			n = max(n, 1)
			planes, cut = append(planes, n), cut || n < x.planes
		}
		if !cut || x.part(planes) <= last {
			return planes, cut
		}
	}
}

// turns is how many tiles each block has first, how many blocks share what is left, and how many tiles are at the edge.
func (x *evenShares) turns() (rounds, sharers, edges int64) {
	for _, e := range x.edges {
		edges += e.tiles
	}
	if x.each {
		return 1, x.blocks - x.tiles, edges
	}
	return x.tiles / x.blocks, x.blocks - edges, edges
}

// part is when a block ends that has a part of what is left, from the beginning of the last round on.
func (x *evenShares) part(shares []int64) int64 {
	rounds, sharers, _ := x.turns()
	cost, before := int64(0), int64(0) // of the planes that are left, and of those before them
	for n, e := range x.edges {
		left := e.tiles * (x.planes - shares[n])
		cost += left * e.cost
		if left > 0 { // parts begin anywhere
			before += (e.tiles + sharers) * e.cost
		}
	}
	before *= x.lead + pieceCost
	had := int64(0)
	if !x.each {
		whole := (x.tiles - rounds*x.blocks) * x.planes
		cost += whole * 100
		had = x.planes + x.lead
	}
	return had + (cost+before)/sharers/100
}

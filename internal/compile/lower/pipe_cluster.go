package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// With cluster=2 or more, the blocks of a cluster are stacked along the same axis as the warps of a block, and compute
// one tile. Halos are computed at the ends of the cluster alone. A warp next to another block sends the rows that are
// read there to that block's shared memory (distributed shared memory), where there are rows beside its own for them.
// They are stored and read in the same steps as rows that warps of a block exchange.
//
// All threads of the cluster meet at a barrier of the cluster. With barrier=split, a warp next to another block arrives
// at the mbarrier of that block, too. Even and odd steps have an mbarrier each: a block can be a step ahead of its
// neighbour, and would arrive a second time at an mbarrier that waits for the neighbour's own warps.

// cluster is the blocks that compute a tile together.
type cluster struct {
	blocks int64       // 1 where each block has a tile of its own
	rank   *kernel.Var // of the block in the cluster
	faces  [2]face     // towards the block before, and towards the one after
}

// face is where rows of a block are next to those of another one of the cluster.
type face struct {
	here  kernel.Expr // the warp is at the face
	block kernel.Expr // rank of the other block
}

// clustered reports whether several blocks compute a tile.
func (p *pipe) clustered() bool { return p.cluster.blocks > 1 }

// findNeighbours declares which blocks of the cluster a warp is next to.
func (p *pipe) findNeighbours(top, body *scope) {
	if !p.clustered() {
		return
	}
	p.rank = top.declare(p.env, "rank", types.I64)
	rank, last := kernel.V(p.rank), kernel.I(p.cluster.blocks-1)
	find := func(name string, cond kernel.Expr, by int64) face {
		other := kernel.Conv(types.I32, kernel.Add(rank, kernel.I(by)))
		return face{body.let(p.env, name, name, cond), body.let(p.env, name+"_rank", name+"_rank", other)}
	}
	first, end := kernel.Bin(op.Eq, p.warp, kernel.I(0)), kernel.Bin(op.Eq, p.warp, kernel.I(p.warps-1))
	p.faces = [2]face{
		find("before", kernel.And(first, kernel.Bin(op.Gt, rank, kernel.I(0))), -1),
		find("after", kernel.And(end, kernel.Lt(rank, last)), 1),
	}
}

// inCluster puts the code of a block in the loop over the blocks of a cluster, if there are several.
func (p *pipe) inCluster(list []kernel.Stmt) []kernel.Stmt {
	if !p.clustered() {
		return list
	}
	return wrapped([]launchLoop{{p.rank, kernel.I(p.cluster.blocks), kernel.ClusterX}}, list)
}

// warpOfTile is the number of a warp among all that compute the tile.
func (p *pipe) warpOfTile() kernel.Expr {
	if !p.clustered() {
		return p.warp
	}
	return kernel.Add(kernel.Mul(kernel.V(p.rank), kernel.I(p.warps)), p.warp)
}

// meetAll is a barrier for all threads that compute the tile.
func (p *pipe) meetAll() kernel.Stmt {
	if p.clustered() {
		return &kernel.Barrier{Scope: kernel.ClusterScope}
	}
	return &kernel.Barrier{Scope: kernel.BlockScope}
}

// beside is how many rows of other blocks a plane in a circular buffer has, before the block's own and after them.
func (p *pipe) beside() (rows pipeline.Halo) {
	for _, x := range p.stream.Sources {
		if p.clustered() && x.Stage == nil {
			rows.Low, rows.High = max(rows.Low, x.Rows.Low), max(rows.High, x.Rows.High)
		}
	}
	return rows
}

// bufferRows is how many rows a plane in a circular buffer has.
func (p *pipe) bufferRows() int64 { return p.beside().Low + p.warps*p.rows + p.beside().High }

// edgeWarps is for how many warps a block has places for the rows at their edges. Those of other blocks are like those
// of a warp that is before the first and after the last.
func (p *pipe) edgeWarps() int64 {
	if p.clustered() {
		return p.warps + 1
	}
	return p.warps
}

// send stores a row of this step's plane in the blocks next to this one, if warps read it there.
func (s *pipeStep) send(x *pipeline.Source, r int64) {
	if !s.clustered() {
		return
	}
	for n, f := range s.faces {
		there := r < x.Rows.High
		if n == 1 {
			there = r >= s.rows-x.Rows.Low
		}
		if !there {
			continue
		}
		b, row := s.edges[x], kernel.Expr(nil)
		switch buffer := s.circular[x]; {
		case buffer != nil && n == 0: // after the rows of the block before
			b, row = buffer, s.bufferRow(0, kernel.I(s.warps), kernel.I(r))
		case buffer != nil:
			b, row = buffer, s.bufferRow(0, kernel.I(0), kernel.I(r-s.rows))
		default:
			place := r
			if n == 1 {
				place += x.Rows.High - (s.rows - x.Rows.Low)
			}
			row = s.edgeElement(x, 0, kernel.I(s.warps), place)
		}
		s.body.emit(&kernel.If{Cond: f.here, Then: s.leaveRow(b, row, f.block, s.held[x][s.turn][r])})
	}
}

// fromNeighbour is where a row begins of the warp before or after, of a plane that came some steps ago: that warp may
// be one of another block.
func (c *pipeCell) fromNeighbour(from *pipeline.Source, age, r int64) (*kernel.Buffer, kernel.Expr) {
	if buffer := c.circular[from]; buffer != nil {
		return buffer, c.bufferRow(age, c.warp, kernel.I(r))
	}
	warp, place := kernel.Add(c.warp, kernel.I(1)), r-c.rows
	if r < 0 {
		first := kernel.Bin(op.Eq, c.warp, kernel.I(0))
		warp = kernel.Sel(first, kernel.I(c.warps), kernel.Sub(c.warp, kernel.I(1)))
		place = from.Rows.High + from.Rows.Low + r
	}
	return c.edges[from], c.edgeElement(from, age, warp, place)
}

// mbarriers is how many mbarriers a block has, used in turn.
func (p *pipe) mbarriers() int64 {
	if p.clustered() {
		return 2
	}
	return 1
}

// arrivals is how many warps arrive at the block's mbarriers.
func (p *pipe) arrivals() kernel.Expr {
	n := kernel.Expr(kernel.L(op.Int(types.I32, p.warps)))
	if !p.clustered() {
		return n
	}
	one, none := kernel.L(op.Int(types.I32, 1)), kernel.L(op.Int(types.I32, 0))
	rank := kernel.V(p.rank)
	n = kernel.Add(n, kernel.Sel(kernel.Bin(op.Gt, rank, kernel.I(0)), one, none))
	return kernel.Add(n, kernel.Sel(kernel.Lt(rank, kernel.I(p.cluster.blocks-1)), one, none))
}

// mbarrier is the number of the step's mbarrier.
func (s *pipeStep) mbarrier() kernel.Expr {
	switch {
	case !s.clustered():
		return kernel.I(0)
	case s.turns%2 == 0:
		return kernel.I(s.turn % 2)
	}
	return s.slotOf(0, 2)
}

// phase is 1 if the step's phase of its mbarrier is an odd one, else 0.
func (s *pipeStep) phase() kernel.Expr {
	if !s.clustered() {
		return s.slotOf(0, 2)
	}
	second := kernel.Bin(op.Ne, kernel.Bin(op.And, s.number, kernel.I(2)), kernel.I(0))
	return kernel.Sel(second, kernel.I(1), kernel.I(0))
}

// arriveBeside says in the blocks next to this one that the rows are there which are read there.
func (s *pipeStep) arriveBeside() (list []kernel.Stmt) {
	if !s.clustered() {
		return nil
	}
	for _, f := range s.faces {
		list = append(list, &kernel.If{Cond: f.here, Then: []kernel.Stmt{
			&kernel.MbarrierArrive{Mbarrier: s.arrived, Slot: s.mbarrier(), Rank: f.block},
		}})
	}
	return list
}

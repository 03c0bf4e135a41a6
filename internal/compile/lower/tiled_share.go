package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// With persistent=1 or more, a launch has as many blocks as the device runs at a time, and these share the planes of
// all tiles (persistentBlocks). What a block does for a share of a tile is what a block of its own would do, in a loop:
// no copy is under way between two shares, and all threads of the block meet there. mbarriers are made once, so that
// their steps are counted from the block's first share on.

// tileShares is what is outside of the loop over shares.
type tileShares struct {
	scope  *scope
	block  kernel.Expr
	before *kernel.Var // steps of the shares before; nil if nobody counts them
}

// shareLaunch returns the loops over blocks that share all tiles, and over the blocks of a cluster, which do so
// together.
func (w *tiledKernel) shareLaunch(head *scope) (blocks, cluster []launchLoop) {
	if axis := w.clusterAxis(); axis != noAxis {
		if n, known := kernel.IntLit(w.counts[axis]); !known || n > 1 {
			w.rank = head.declare(w.env, w.Program.Axes[axis]+"_rank", types.I64)
			cluster = append(cluster, launchLoop{w.rank, kernel.I(w.cluster), kernel.ClusterX})
			w.counts[axis] = kernel.CeilDiv(w.counts[axis], kernel.I(w.cluster))
			w.persists = max(w.persists/w.cluster, 1)
		}
	}
	v := head.declare(w.env, "block", types.I64)
	w.shares = &tileShares{block: kernel.V(v)}
	return append(blocks, launchLoop{v, kernel.I(w.persists), kernel.BlockX}), cluster
}

// shareTiles makes the loop of a block over its shares.
func (w *tiledKernel) shareTiles() {
	outside, start, hi := w.pre, w.starts[w.stream], w.span[w.stream].hi
	w.shares.scope = outside
	w.threadNumber() // named for all shares
	tiles := kernel.Expr(kernel.I(1))
	for _, axis := range w.axes {
		if axis != w.stream {
			tiles = kernel.Mul(tiles, w.counts[axis])
		}
	}
	step := kernel.I(w.step())
	shares := &persistentBlocks{
		env: w.env, blocks: w.persists, tiles: tiles, lockstep: true, shortest: 8*w.reach(w.stream) + 1,
		planes: kernel.CeilDiv(kernel.Max(kernel.Sub(hi, start), kernel.I(0)), step), // steps, in truth
	}
	shares.share(outside, w.shares.block, func(in *scope, tile, low, high kernel.Expr) {
		w.pre = in
		w.tileAt(tile)
		w.stand(kernel.Add(start, kernel.Mul(low, step)))
		end := kernel.Min(kernel.Add(start, kernel.Mul(high, step)), hi)
		last := in.let(w.env, "last", w.Program.Axes[w.stream]+"_end", end)
		common := w.planes(w.pos[w.stream], last)
		if w.resourceLimit == nil && w.shares.before != nil {
			common.emit(&kernel.Assign{Var: w.shares.before, Value: w.firstStep(w.stepsOf(last))})
		}
	})
	w.pre = outside
	w.endCluster(outside)
}

// tileAt finds a tile's number on each axis.
func (w *tiledKernel) tileAt(tile kernel.Expr) {
	outer := without(w.axes, w.stream)
	w.block[w.stream] = kernel.I(0)
	for i := len(outer) - 1; i >= 0; i-- { // the last varies fastest
		axis := outer[i]
		at := tile
		if i > 0 {
			at = kernel.Bin(op.Rem, tile, w.counts[axis])
			tile = kernel.Bin(op.Div, tile, w.counts[axis])
		}
		if w.rank != nil && axis == w.clusterAxis() {
			at = kernel.Add(kernel.Mul(at, kernel.I(w.cluster)), kernel.V(w.rank))
		}
		w.block[axis] = at
	}
}

// stepsOf is how many phases of the mbarriers there are in a share.
func (w *tiledKernel) stepsOf(last kernel.Expr) kernel.Expr {
	unrollFactor := w.unrollFactor()
	rounds := kernel.CeilDiv(kernel.Sub(last, w.first), kernel.I(unrollFactor*w.step()))
	steps := kernel.Mul(rounds, kernel.I(unrollFactor))
	if w.meeting != nil { // and one of the step that would come next
		steps = kernel.Add(steps, kernel.I(1))
	}
	return steps
}

// firstStep is a step's number, counted from the block's first share, given what it is counted from the share's first
// step.
func (w *tiledKernel) firstStep(number kernel.Expr) kernel.Expr {
	if w.shares == nil || w.shares.before == nil {
		return number
	}
	return kernel.Add(kernel.V(w.shares.before), number)
}

// once is where something is done that is done once for all shares, and counts steps from then on.
func (w *tiledKernel) once() *scope {
	if w.shares == nil {
		return w.pre
	}
	s := w.shares.scope
	if w.shares.before == nil {
		w.shares.before = s.declare(w.env, "steps_before", types.I64)
		s.emit(&kernel.Declare{Var: w.shares.before, Init: kernel.I(0)})
	}
	return s
}

// meetShare has all threads of the block meet before a share: others may still read what it overwrites.
func (w *tiledKernel) meetShare() {
	if w.shares == nil || len(w.circularBuffers) == 0 {
		return
	}
	if len(w.asyncBuffers()) > 0 {
		w.pre.emit(&kernel.AsyncWait{Pending: 0})
	}
	if w.fetch != nil {
		w.pre.emit(&kernel.AsyncFence{})
	}
	w.pre.emit(w.meetBlock())
}

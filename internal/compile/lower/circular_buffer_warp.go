package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// With copy=warp, a block has a warp more than those that compute: it waits
// until what a step has read is free, and has the planes of a later step brought
// to its place. So nobody waits for all others: the warps that compute wait for
// planes alone, and may be some steps apart.

const warpSize = 32

// separable reports whether one warp can fill all circular buffers by the copy engine, and
// the others have no need of a barrier that it would have to come to.
func (w *tiledKernel) separable(circularBuffers []*circularBuffer) bool {
	if len(w.launch) == 0 || len(w.reductions()) > 0 {
		return false
	}
	return !slices.ContainsFunc(circularBuffers, func(r *circularBuffer) bool {
		return r.bulk == nil || r.bulk.singles
	})
}

// widen gives blocks the threads of one more warp: further ones on their
// outermost axis, as many as it takes to fill what the others leave of their last
// warp, and a whole one after that. In a warp of both kinds, those that
// compute would wait for planes that the others have not come to yet.
func (w *tiledKernel) widen() {
	outer := &w.launch[len(w.launch)-1]
	n, _ := kernel.IntLit(outer.count)
	each := w.threads() / n
	more := (w.firstIssuer() + warpSize - w.threads() + each - 1) / each
	outer.count = kernel.I(n + more)
	w.fetch.extra = more * each
}

// firstIssuer is the number in the block of the first thread that starts copies, where they
// have a warp of their own: that warp's first one.
func (w *tiledKernel) firstIssuer() int64 { return (w.threads() + warpSize - 1) / warpSize * warpSize }

// computes returns the condition under which a thread is none of those.
func (w *tiledKernel) computes() kernel.Expr {
	outer := w.launch[len(w.launch)-1]
	n, _ := kernel.IntLit(outer.count)
	each := (w.threads() + w.fetch.extra) / n
	return kernel.Lt(kernel.V(outer.v), kernel.I(w.threads()/each))
}

// wholeWarps reports whether warps lie along the inner axis, so that they are
// seen to do the same.
func (w *tiledKernel) wholeWarps() bool { return w.along[w.inner()].threads%warpSize == 0 }

// leavers is the number of threads that say when they are through with a step:
// one of each warp, after the others of it.
func (w *tiledKernel) leavers() int64 {
	if w.wholeWarps() {
		return w.threads() / warpSize
	}
	return w.threads()
}

// leaveStep says that a thread is through with what it reads in a step. Its
// fence holds back the copies that overwrite that; who arrives for a warp cannot
// make it for the others.
func (w *tiledKernel) leaveStep() {
	if w.fetch == nil || w.fetch.empty == nil {
		return
	}
	slot, _ := w.slotOf(w.stepNumber())
	w.now.emit(&kernel.AsyncFence{})
	arrive := []kernel.Stmt{&kernel.MbarrierArrive{Mbarrier: w.fetch.empty, Slot: slot}}
	if w.multicasts() { // the block before sends copies here
		before := kernel.Conv(types.I32, kernel.Sub(kernel.V(w.rank), kernel.I(1)))
		arrive = append(arrive, &kernel.If{Cond: kernel.Lt(kernel.I(0), kernel.V(w.rank)), Then: []kernel.Stmt{
			&kernel.MbarrierArrive{Mbarrier: w.fetch.empty, Slot: slot, Rank: before},
		}})
	}
	w.now.emit(w.onePerWarp(arrive...)...)
}

// onePerWarp has one thread of each warp do something after the others of it, or each thread, where warps are not seen
// to do the same.
func (w *tiledKernel) onePerWarp(list ...kernel.Stmt) []kernel.Stmt {
	if !w.wholeWarps() {
		return list
	}
	first := kernel.Bin(op.Eq, kernel.Bin(op.Rem, kernel.V(w.thread[w.inner()]), kernel.I(warpSize)), kernel.I(0))
	return []kernel.Stmt{&kernel.Barrier{Scope: kernel.WarpScope}, &kernel.If{Cond: first, Then: list}}
}

// allLeavers is the number of threads that say so at the block's mbarrier: its own and, where it sends copies to the
// next block of its cluster, those of that one.
func (w *tiledKernel) allLeavers() kernel.Expr {
	own := kernel.I(w.leavers())
	if !w.multicasts() {
		return own
	}
	return kernel.Sel(kernel.Lt(kernel.V(w.rank), kernel.I(w.cluster-1)), kernel.I(2*w.leavers()), own)
}

// freed waits until all are through with a step, if there is one of that number.
func (w *tiledKernel) freed(step kernel.Expr) []kernel.Stmt {
	slot, parity := w.slotOf(step)
	return []kernel.Stmt{&kernel.If{Cond: kernel.Ge(step, kernel.I(0)), Then: []kernel.Stmt{
		&kernel.MbarrierWait{Mbarrier: w.fetch.empty, Slot: slot, Parity: parity},
	}}}
}

// produce writes what the further warp does, beside what the others do.
func (w *tiledKernel) produce(common *scope, last kernel.Expr) {
	if w.fetch == nil || w.fetch.extra == 0 {
		return
	}
	others := w.pre.stmts
	w.pre = w.inside(common)
	w.now = w.pre
	w.prologue, w.phase, w.unrolledStep = true, "first", 0
	w.pos[w.stream] = w.first
	w.bulkCopies(w.firstStep(kernel.I(0)), w.entering(0))

	w.prologue, w.phase = false, ""
	step := w.step()
	end := last
	if unrollFactor := w.unrollFactor(); unrollFactor > 1 { // there are so many steps at a time
		round := kernel.I(unrollFactor * step)
		end = kernel.Add(w.first, kernel.Mul(kernel.CeilDiv(kernel.Sub(last, w.first), round), round))
	}
	v := kernel.NewVar(w.pre.free(w.env, w.Program.Axes[w.stream]), types.I64)
	w.pos[w.stream] = kernel.V(v)
	w.now = w.inside(w.pre)
	number := w.stepNumber()
	w.now.emit(w.freed(kernel.Sub(number, kernel.I(w.shared+1)))...) // whose places are taken
	w.bulkCopies(number, w.entering(0))
	w.pre.emit(&kernel.Loop{
		Var: v, Lo: kernel.Add(w.first, kernel.I(step)), Hi: end, Step: kernel.I(step), Body: w.now.stmts,
	})
	issue := &kernel.If{Cond: w.issues(), Then: w.pre.stmts}
	common.emit(&kernel.If{Cond: w.computes(), Then: others, Else: []kernel.Stmt{issue}})
}

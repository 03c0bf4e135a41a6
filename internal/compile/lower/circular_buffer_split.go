package lower

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// With barrier=split, no thread waits for others that are in the same step, or in the step before. Where threads copy
// planes, each says at the beginning of a step that what the next one reads has come, and that it is through with the
// step before; then it goes through the step, and waits for what the others have said. So copies have one step less to
// come. Where the copy engine brings planes, it puts them where nothing was read in the step before: a circular buffer
// has room for one step more, and who has planes brought waits for threads that are two steps behind alone.

// chooseSplit finds out whether threads meet at mbarriers.
func (w *tiledKernel) chooseSplit() {
	async, all := w.asyncBuffers(), len(w.circularBuffers)
	if !w.split || w.halos || len(async) < all || all == 0 {
		return
	}
	w.meeting = w.mbarriers("arrived", 1)
}

// readyMeeting makes the mbarrier of threads that copy planes.
func (w *tiledKernel) readyMeeting() {
	if w.meeting == nil {
		return
	}
	w.allocs = append(w.allocs, &kernel.Alloc{Buffer: w.meeting})
	lane := w.threadNumber()
	s := w.once()
	count := kernel.Conv(types.I32, kernel.I(w.leavers()))
	s.emit(&kernel.If{Cond: kernel.Bin(op.Eq, lane, kernel.I(0)), Then: []kernel.Stmt{
		&kernel.MbarrierInit{Mbarrier: w.meeting, Slot: kernel.I(0), Count: count},
	}})
	if w.shares == nil {
		s.emit(w.meetBlock())
	}
}

// sayCopied says that the planes have come which a step reads that is the next, and that the thread is through with the
// step before this one.
func (w *tiledKernel) sayCopied() {
	w.now.emit(&kernel.AsyncWait{Pending: int(w.shared - 1)})
	w.now.emit(w.onePerWarp(&kernel.MbarrierArrive{Mbarrier: w.meeting, Slot: kernel.I(0)})...)
}

// waitCopied waits until all have said so.
func (w *tiledKernel) waitCopied() {
	parity := kernel.Conv(types.I32, kernel.Bin(op.Rem, w.stepNumber(), kernel.I(2)))
	w.now.emit(&kernel.MbarrierWait{Mbarrier: w.meeting, Slot: kernel.I(0), Parity: parity})
}

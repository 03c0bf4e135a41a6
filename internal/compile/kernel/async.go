package kernel

// Prefetch has the element's cache line brought near, for loads that come later. It changes
// no value, whatever the index is.
//
// Example printed form:
//
//	(prefetch u (add row i))
type Prefetch struct {
	Buffer *Buffer
	Index  Expr
}

// AsyncCopy starts to copy 4, 8 or 16 bytes from global to shared memory
// without registers; both sides are aligned to their size. The elements at To
// are undefined until the thread has waited for the group, and other threads
// may read them after a barrier that follows.
//
// Example printed form:
//
//	(async tile at u (add row i) 2)
type AsyncCopy struct {
	To    *Buffer
	At    Expr
	From  *Buffer
	Index Expr
	Cells int
}

// AsyncCommit closes the thread's group of AsyncCopies.
//
// Example printed form:
//
//	(async.commit)
type AsyncCommit struct{}

// AsyncWait waits until all but the latest groups of the thread are complete.
//
// Example printed form:
//
//	(async.wait 1)
type AsyncWait struct{ Pending int }

// BulkCopy starts to copy a run from global to shared memory, by the block's
// copy engine. Both sides are aligned to 16 bytes and so is the length. When
// the bytes have arrived, they are counted at an mbarrier of the block.
//
// Example printed form:
//
//	(bulk tile at u row (i64 128) full (i64 0))
type BulkCopy struct {
	To       *Buffer
	At       Expr
	From     *Buffer
	Index    Expr
	Cells    Expr
	Mbarrier *Buffer
	Slot     Expr
}

// AsyncFence holds bulk copies back until the thread has done what it did so far
// in shared memory, loads as well as stores: those that are started by whoever
// knows of the fence, by a barrier or an mbarrier that follows it. The copy
// engine goes a way of its own to that memory (PTX: the async proxy), so a
// barrier alone orders nothing.
//
// Example printed form:
//
//	(async.fence)
type AsyncFence struct{}

// MbarrierInit makes an mbarrier whose phases complete after Count arrivals
// and all bytes that were announced. One thread does it, before a barrier.
//
// Example printed form:
//
//	(mbarrier.init full (i64 0) (i32 1))
type MbarrierInit struct {
	Mbarrier *Buffer
	Slot     Expr
	Count    Expr // I32
}

// MbarrierArrive arrives at an mbarrier, after announcing bytes of bulk copies
// that its phase waits for as well; with a rank, at that of another block of
// the cluster. What the thread wrote before is visible to those that wait.
//
// Example printed forms:
//
//	(mbarrier.arrive full (i64 0))
//	(mbarrier.arrive full (i64 0) (bytes (i32 1024)))
//	(mbarrier.arrive empty (i64 1) (rank r))
type MbarrierArrive struct {
	Mbarrier *Buffer
	Slot     Expr
	Bytes    Expr // I32, or nil
	Rank     Expr // I32, or nil
}

// MbarrierWait waits until the phase of that parity is complete. Phases are
// counted from 0.
//
// Example printed form:
//
//	(mbarrier.wait full (i64 0) parity)
type MbarrierWait struct {
	Mbarrier *Buffer
	Slot     Expr
	Parity   Expr // I32, 0 or 1
}

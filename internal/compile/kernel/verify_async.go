package kernel

import "github.com/gridloom/gridloom/internal/compile/types"

// maxNumber is the largest number of a numbered barrier.
const maxNumber = 15

// async checks a statement about asynchronous copies and mbarriers.
func (v *verifier) async(s Stmt) {
	if !v.inside(Tag.IsThread) {
		v.fail("there is no thread loop around it")
	}
	switch s := s.(type) {
	case *AsyncCopy:
		v.copies(s.To, s.At, s.From, s.Index)
		switch size := s.Cells * s.From.Elem.Size(); size {
		case 4, 8, 16:
		default:
			v.fail("a copy of %d bytes, not of 4, 8 or 16", size)
		}
	case *AsyncCommit, *AsyncFence:
	case *AsyncWait:
		if s.Pending < 0 {
			v.fail("a wait for all but %d groups", s.Pending)
		}
	case *BulkCopy:
		v.copies(s.To, s.At, s.From, s.Index)
		if t := v.expr(s.Cells); t != types.I64 && t != types.I32 && t != types.Invalid {
			v.fail("the number of elements is %s", t)
		}
		v.slot(s.Mbarrier, s.Slot)
	case *TensorCopy:
		v.tensorCopy(s)
	case *MbarrierInit:
		v.slot(s.Mbarrier, s.Slot)
		v.want(s.Count, types.I32, "the count")
		if n, ok := IntLit(s.Count); ok && n < 1 {
			v.fail("an mbarrier for %d arrivals", n)
		}
	case *MbarrierArrive:
		v.slot(s.Mbarrier, s.Slot)
		if s.Bytes != nil {
			v.want(s.Bytes, types.I32, "the number of bytes")
		}
		v.rank(s.Mbarrier, s.Rank)
		if s.Bytes != nil && s.Rank != nil {
			v.fail("bytes are announced to another block")
		}
	case *MbarrierWait:
		v.slot(s.Mbarrier, s.Slot)
		v.want(s.Parity, types.I32, "the parity")
		if n, ok := IntLit(s.Parity); ok && n != 0 && n != 1 {
			v.fail("the parity is %d", n)
		}
	}
}

// copies checks what an asynchronous copy is from and to.
func (v *verifier) copies(to *Buffer, at Expr, from *Buffer, index Expr) {
	v.index(to, at)
	v.index(from, index)
	v.stores(to, Plain)
	v.loads(from, Plain)
	if to.Elem != from.Elem {
		v.fail("a copy from %s to %s", from.Elem, to.Elem)
	}
	if to.Space != Shared || from.Space != Global {
		v.fail("a copy from %s to %s memory, not from global to shared", from.Space, to.Space)
	}
}

// slot checks an mbarrier and its number.
func (v *verifier) slot(b *Buffer, slot Expr) {
	v.index(b, slot)
	v.access(b)
	if b.Space != Mbarrier {
		v.fail("%s holds no mbarriers", b.Name)
	}
}

// flag checks a statement about a flag.
func (v *verifier) flag(b *Buffer, index, value Expr) {
	if !v.inside(Tag.IsThread) || !v.inside(Tag.IsBlock) {
		v.fail("there are no loops over threads and blocks around it")
	}
	if v.has(Tag.IsCluster) {
		v.fail("a kernel with clusters has no flags")
	}
	v.index(b, index)
	v.access(b)
	v.want(value, types.I32, "the value")
	if b.Space != Global || b.Elem != types.I32 || b.Mode != InOut {
		v.fail("%s is %s of %s, and flags are inout global of %s", b.Name, b.Space, b.Elem, types.I32)
	}
}

func (v *verifier) barrier(b *Barrier) {
	for _, l := range v.loops {
		if l.Tag == Vector || l.Tag == Parallel {
			v.fail("a barrier in the %s loop over %s", l.Tag, l.Var.Name)
			return
		}
	}
	if !v.gpu {
		v.fail("there are no threads to wait for")
		return
	}
	if b.Scope == ClusterScope && !v.has(Tag.IsCluster) {
		v.fail("there are no clusters to wait for")
	}
	v.numbered(b)
	most, who := perBlock, "threads may come to this barrier: a condition or trip count around it varies by thread"
	switch {
	case b.Scope == GridScope:
		most, who = perGrid, "blocks may come to this barrier: a condition or trip count around it varies"
	case b.Scope == ClusterScope:
		most, who = perCluster,
			"blocks of a cluster may come to this barrier: a condition or trip count around it varies"
	case b.Scope == WarpScope, b.Number != 0:
		most = perWarp
	}
	if v.under > most {
		v.fail("not all %s", who)
	}
}

// numbered checks a barrier for some warps.
func (v *verifier) numbered(b *Barrier) {
	switch {
	case b.Number == 0 && b.Threads == 0:
	case b.Scope != BlockScope:
		v.fail("a %s barrier has no number", b.Scope)
	case b.Number < 1 || b.Number > maxNumber:
		v.fail("the barrier's number is %d, not 1 to %d", b.Number, maxNumber)
	case b.Threads < warpSize || b.Threads%warpSize != 0:
		v.fail("a barrier for %d threads, which are no warps of %d", b.Threads, warpSize)
	}
}

package kernel

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// maxVector is the largest number of bytes of one access.
const maxVector = 16

// index checks an index. Private memory is registers where there are threads,
// and registers have no addresses.
func (v *verifier) index(b *Buffer, e Expr) {
	if t := v.expr(e); t != types.I64 && t != types.I32 && t != types.Invalid {
		v.fail("the index is %s", t)
	}
	if b.Space == Private && v.gpu && !v.isConstant(e) {
		v.fail("%s is in registers and its index is not a constant once loops are unrolled", b.Name)
	}
}

// isConstant reports whether an expression is made of literals and variables
// of unroll loops.
func (v *verifier) isConstant(e Expr) bool {
	if e == nil {
		return false
	}
	ok := true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Load:
			ok = false
		case *Ref:
			ok = ok && v.constant[e.Var]
		}
	})
	return ok
}

// access checks that a buffer is in scope and is this thread's to use.
func (v *verifier) access(b *Buffer) {
	d := v.buffers[b]
	if d == nil {
		v.fail("the buffer %s is not in scope", b.Name)
		return
	}
	if b.Space == Private {
		for _, l := range v.loops[d.loops:] {
			if l.Tag == Parallel {
				v.fail("%s is private and shared by the iterations of the parallel loop over %s", b.Name, l.Var.Name)
			}
		}
	}
}

// loads checks a load from a buffer.
func (v *verifier) loads(b *Buffer, via Via) {
	v.access(b)
	if b.Mode == Out {
		v.fail("%s is only written and is loaded from", b.Name)
	}
	if v.flags[b] {
		v.fail("%s holds flags and is loaded from", b.Name)
	}
	if b.Space == Mbarrier {
		v.fail("%s holds mbarriers and is loaded from", b.Name)
	}
	if b.Space == TensorMap {
		v.fail("%s is a tensor map and is loaded from", b.Name)
	}
	v.via(b, via)
	if via == ReadOnly && b.Mode != In {
		v.fail("%s may be written and is loaded via %s", b.Name, via)
	}
}

// stores checks a store to a buffer.
func (v *verifier) stores(b *Buffer, via Via) {
	v.access(b)
	if b.Mode == In || b.Space == Constant || b.Space == Image || b.Space == TensorMap {
		v.fail("%s is only read and is stored to", b.Name)
	}
	if b.Space == Mbarrier {
		v.fail("%s holds mbarriers and is stored to", b.Name)
	}
	if v.flags[b] {
		v.fail("%s holds flags and is stored to", b.Name)
	}
	v.via(b, via)
	if via == ReadOnly {
		v.fail("a store via %s", via)
	}
	if b.Space == Private {
		return
	}
	if v.has(Tag.IsThread) && !v.inside(Tag.IsThread) {
		v.fail("all threads store to %s: there is no thread loop around it", b.Name)
	}
	if v.has(Tag.IsBlock) && !v.inside(Tag.IsBlock) {
		v.fail("all blocks store to %s: there is no block loop around it", b.Name)
	}
	if v.has(Tag.IsCluster) && !v.inside(Tag.IsCluster) {
		v.fail("all blocks of a cluster store to %s: there is no cluster loop around it", b.Name)
	}
}

func (v *verifier) via(b *Buffer, via Via) {
	if via != Plain && b.Space != Global {
		v.fail("%s is in %s memory, to which no way is %s", b.Name, b.Space, via)
	}
}

// texel checks that an access to an image takes what it is made of.
func (v *verifier) texel(b *Buffer, n int) {
	if b.Space == Image && n != b.Texel {
		v.fail("the elements of %s are loaded by %d, not by %d", b.Name, b.Texel, n)
	}
}

// rank checks the block whose copy of a buffer is meant.
func (v *verifier) rank(b *Buffer, rank Expr) {
	if rank == nil {
		return
	}
	v.want(rank, types.I32, "the rank")
	if b.Space != Shared && b.Space != Mbarrier {
		v.fail("%s is in %s memory, which no block has a copy of", b.Name, b.Space)
	}
	if !v.inside(Tag.IsCluster) {
		v.fail("there is no cluster loop around an access to another block's %s", b.Name)
	}
}

func (v *verifier) loadVector(s *LoadVector) {
	v.vector(s.Buffer, s.Index, len(s.Vars))
	v.loads(s.Buffer, s.Via)
	v.texel(s.Buffer, len(s.Vars))
	for _, x := range s.Vars {
		if x.Type != s.Buffer.Elem {
			v.fail("%s is %s and the elements of %s are %s", x.Name, x.Type, s.Buffer.Name, s.Buffer.Elem)
		}
		v.declare(x, kindLet)
	}
}

func (v *verifier) storeVector(s *StoreVector) {
	v.vector(s.Buffer, s.Index, len(s.Values))
	for _, e := range s.Values {
		v.want(e, s.Buffer.Elem, "a value")
	}
	v.stores(s.Buffer, s.Via)
	v.rank(s.Buffer, s.Rank)
}

// vector checks the width and the index of an access to n elements.
func (v *verifier) vector(b *Buffer, index Expr, n int) {
	v.index(b, index)
	if n < 2 || n > 8 || bits.OnesCount(uint(n)) != 1 {
		v.fail("an access to %d elements at once, not to 2, 4 or 8", n)
		return
	}
	if size := n * b.Elem.Size(); size > maxVector {
		v.fail("an access to %d elements of %s at once is one of %d bytes, more than %d", n, b.Name, size, maxVector)
	}
	if b.Space == Private {
		v.fail("%s is private and has no elements that one access could take", b.Name)
	}
	if i, ok := IntLit(index); ok && i%int64(n) != 0 {
		v.fail("an access to %d elements at %d, which is no multiple of %d", n, i, n)
	}
}

func (v *verifier) shuffle(s *Shuffle) {
	v.want(s.Value, s.Var.Type, "the value")
	v.want(s.By, types.I32, "the lane")
	if !v.inside(Tag.IsThread) {
		v.fail("a shuffle outside the thread loops")
	}
	if v.under > perWarp {
		v.fail("not all threads of a warp may come to this shuffle: " +
			"a condition or trip count around it varies by thread")
	}
	v.declare(s.Var, kindLet)
}

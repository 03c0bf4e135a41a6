package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// radix is the number of neighbouring values of shared memory that one thread
// combines between two barriers. A power of two, so that they are a whole
// subtree of ir.Reduce's tree; 16 values and one that is left out keep the
// threads of a warp in different banks.
const radix = 16

// sharedTree is a row of values in shared memory that the threads of a block combine,
// and the rows of their partial results after it.
type sharedTree struct {
	buf  *kernel.Buffer
	join op.Op
	none kernel.Expr // what changes nothing
}

// newSharedTree makes shared memory for n values and all that comes of them.
func newSharedTree(top *scope, e *env, name string, r *ir.Reduce, n int64) *sharedTree {
	t := r.Scalar.Type
	buf := &kernel.Buffer{
		Name: top.declare(e, name, t).Name, Elem: t, Space: kernel.Shared, Mode: kernel.InOut,
		Cells: kernel.I(sharedTreeCells(n)),
	}
	return sharedTreeIn(buf, r)
}

// sharedTreeIn makes a run of a reduction's values in memory that there is.
func sharedTreeIn(buf *kernel.Buffer, r *ir.Reduce) *sharedTree {
	return &sharedTree{buf, reduceOp(r.Kind), neutral(r.Kind, buf.Elem)}
}

// sharedTreeCells is the number of cells of a run of n values.
func sharedTreeCells(n int64) int64 {
	cells := padded(n)
	for n > radix {
		n = (n + radix - 1) / radix
		cells += padded(n)
	}
	return cells
}

// padded is the room that n values take.
func padded(n int64) int64 { return n + (n-1)/radix }

// slot is the place of value i of a row.
func slot(i kernel.Expr) kernel.Expr {
	return kernel.Add(i, kernel.Bin(op.Div, i, kernel.I(radix)))
}

// put writes value i of the first row.
func (r *sharedTree) put(i, value kernel.Expr) kernel.Stmt {
	return &kernel.Store{Buffer: r.buf, Index: slot(i), Value: value}
}

// neighbours combines up to radix of the n values that start at base, those of
// one thread.
func (r *sharedTree) neighbours(base, n int64, thread kernel.Expr) kernel.Expr {
	var values []kernel.Expr
	for k := range min(radix, n) {
		at := kernel.Add(kernel.Mul(thread, kernel.I(radix+1)), kernel.I(base+k))
		value := kernel.Expr(&kernel.Load{Buffer: r.buf, Index: at})
		if k >= (n-1)%radix+1 { // the last thread has fewer
			inside := kernel.Lt(kernel.Add(kernel.Mul(thread, kernel.I(radix)), kernel.I(k)), kernel.I(n))
			value = kernel.Sel(inside, value, r.none)
		}
		values = append(values, value)
	}
	return pairwise(r.join, values)
}

// combine combines the n values that all threads have put in each of several
// runs. The first thread may then evaluate the expressions that it returns.
// All threads of the block come to these statements; there are at least n/16.
func combine(s *scope, sharedTrees []*sharedTree, n int64, thread kernel.Expr) []kernel.Expr {
	base := int64(0)
	for n > radix {
		s.emit(&kernel.Barrier{Scope: kernel.BlockScope})
		next, fewer := base+padded(n), (n+radix-1)/radix
		var stores []kernel.Stmt
		for _, r := range sharedTrees {
			at := kernel.Add(slot(thread), kernel.I(next))
			stores = append(stores, &kernel.Store{Buffer: r.buf, Index: at, Value: r.neighbours(base, n, thread)})
		}
		s.emit(&kernel.If{Cond: kernel.Lt(thread, kernel.I(fewer)), Then: stores})
		base, n = next, fewer
	}
	s.emit(&kernel.Barrier{Scope: kernel.BlockScope})
	var out []kernel.Expr
	for _, r := range sharedTrees {
		out = append(out, r.neighbours(base, n, kernel.I(0)))
	}
	return out
}

// pairwise combines values over ir.Reduce's tree.
func pairwise(join op.Op, values []kernel.Expr) kernel.Expr {
	n := len(values)
	if n == 1 {
		return values[0]
	}
	half := 1
	for 2*half < n {
		half *= 2
	}
	return kernel.Bin(join, pairwise(join, values[:half]), pairwise(join, values[half:]))
}

// neutral is the value that changes no bit of another when they are combined
// in either order: a sum starts from -0, which leaves -0 alone.
func neutral(kind ir.ReduceKind, t types.Type) kernel.Expr {
	if kind == ir.Sum && t.IsFloat() {
		return kernel.L(op.Unary(op.Neg, op.Float(t, 0)))
	}
	return identity(kind, t)
}

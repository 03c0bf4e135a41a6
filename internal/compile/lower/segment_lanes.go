package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// segmentLanes says that the lanes of a warp hold whole segments: so many of them
// one segment, each vec neighbours, and the first lanes of segments are at the
// threads of the inner axis whose number is a multiple of lanes.
type segmentLanes struct{ lanes, vec int64 }

// segmentLanes returns how the lanes of blocks with so many threads, so many of them
// on the inner axis, hold segments if the first starts with one; nil if there is
// nothing to combine in order, or lanes do not hold whole segments, or cannot combine.
func (n *nest) segmentLanes(threads, inner, vec int64) *segmentLanes {
	if len(n.ordered()) == 0 || slices.Contains(n.opts.Lacks, machine.Shuffle) {
		return nil
	}
	if threads%warp != 0 || ir.Segment%vec != 0 || inner*vec%ir.Segment != 0 {
		return nil
	}
	return &segmentLanes{ir.Segment / vec, vec}
}

// folds reports whether a family gives a reduction's values to fold.
func (t *tally) folds(s *statement) bool { return t.folding != nil && t.nest.inOrder(s) }

// vectorPlace is where the values of a thread's vector are: the number of the thread on
// the inner axis, the position of the first value on each axis, and the condition
// under which the thread's row, and some cell of the segment that starts there, are the
// reduction's; nil if they always are.
type vectorPlace struct {
	thread kernel.Expr
	at     func(axis int) kernel.Expr
	guard  kernel.Expr
}

// fold combines the values of a segment, each lane's vector of them, and leaves the
// result. All threads of the warp come to it; cells that take no part have a value that
// changes nothing.
func (t *tally) fold(s *scope, st *statement, values []kernel.Expr, where vectorPlace) {
	n, r := t.nest, st.src.Reduce
	join, name := reduceOp(r.Kind), r.Scalar.Name
	for by := t.folding.lanes / 2; by > 0; by /= 2 {
		next := make([]kernel.Expr, len(values))
		for i, v := range values {
			other := s.declare(n.env, name+"_lane", r.Scalar.Type)
			s.emit(&kernel.Shuffle{Var: other, Kind: kernel.ShuffleDown, Value: v, By: kernel.L(op.Int(types.I32, by))})
			both := s.declare(n.env, name+"_part", r.Scalar.Type)
			s.emit(&kernel.Let{Var: both, Value: kernel.Bin(join, v, kernel.V(other))})
			next[i] = kernel.V(both)
		}
		values = next
	}
	value := halves(s, n.env, name+"_part", join, values)
	g := t.places[st]
	b := n.partialBuffer(t.parts[st])
	leave := &kernel.Store{Buffer: b.buffer, Index: g.number(n.rowOf(st, where.at), where.at(n.inner())), Value: value}
	cond := where.guard
	if t.folding.lanes > 1 {
		first := kernel.Bin(op.Eq, kernel.Bin(op.Rem, where.thread, kernel.I(t.folding.lanes)), kernel.I(0))
		cond = conj(first, cond)
	}
	if cond == nil {
		s.emit(leave)
		return
	}
	s.emit(&kernel.If{Cond: cond, Then: []kernel.Stmt{leave}})
}

// keep makes a variable for a value that a cell has under some condition, and that
// changes nothing elsewhere.
func (t *tally) keep(s *scope, st *statement) *kernel.Var {
	r := st.src.Reduce
	v := s.declare(t.nest.env, r.Scalar.Name+"_cell", r.Scalar.Type)
	s.emit(&kernel.Declare{Var: v, Init: neutral(r.Kind, r.Scalar.Type)})
	return v
}

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
type segmentLanes struct {
	lanes, vec int64
	// shared is the number of values of a block that are combined in shared memory,
	// for dialects without shuffles; 0 where lanes give their values to each other.
	shared int64
}

// segmentLanes returns how the lanes of blocks with so many threads, so many of them
// on the inner axis, hold segments if the first starts with one; nil if there is
// nothing to combine in order, or lanes do not hold whole segments, or cannot combine.
func (n *nest) segmentLanes(threads, inner, vec int64) *segmentLanes {
	ordered := n.ordered()
	if len(ordered) == 0 || ir.Segment%vec != 0 || inner*vec%ir.Segment != 0 {
		return nil
	}
	if !slices.Contains(n.opts.Lacks, machine.Shuffle) {
		if threads%warp != 0 {
			return nil
		}
		return &segmentLanes{lanes: ir.Segment / vec, vec: vec}
	}
	for _, s := range ordered {
		if slices.Contains(n.opts.Lacks, machine.Shared) ||
			threads*vec*int64(s.src.Reduce.Scalar.Type.Size()) > 2*blockReductionBytes {
			return nil
		}
	}
	return &segmentLanes{lanes: ir.Segment / vec, vec: vec, shared: threads * vec}
}

// folds reports whether a family gives a reduction's values to fold.
func (t *blockReduction) folds(s *statement) bool { return t.folding != nil && t.nest.inOrder(s) }

// vectorPlace is where the values of a thread's vector are: the number of the thread on
// the inner axis and in the block, the position of the first value on each axis, and the
// condition under which the thread's row, and some cell of the segment that starts there,
// are the reduction's; nil if they always are.
type vectorPlace struct {
	thread, number kernel.Expr
	at             func(axis int) kernel.Expr
	guard          kernel.Expr
}

// fold combines the values of a segment, each lane's vector of them, and leaves the
// result. All threads of the block come to it; cells that take no part have a value that
// changes nothing.
func (t *blockReduction) fold(s *scope, st *statement, values []kernel.Expr, where vectorPlace) {
	join, name := reduceOp(st.src.Reduce.Kind), st.src.Reduce.Scalar.Name+"_part"
	first := &scope{outer: s, named: map[string][]*kernel.Let{}, names: s.names, tried: s.tried}
	if t.folding.shared > 0 {
		values = t.exchange(s, first, st, values, where)
	} else {
		values = t.fromLanes(s, st, values)
	}
	value := halves(first, t.nest.env, name, join, values)
	b := t.nest.partialBuffer(t.parts[st])
	number := t.places[st].number(t.nest.rowOf(st, where.at), where.at(t.nest.inner()))
	first.emit(&kernel.Store{Buffer: b.buffer, Index: number, Value: value})
	cond := where.guard
	if t.folding.lanes > 1 {
		cond = conj(kernel.Bin(op.Eq, kernel.Bin(op.Rem, where.thread, kernel.I(t.folding.lanes)), kernel.I(0)), cond)
	}
	if cond == nil {
		s.stmts = append(s.stmts, first.stmts...)
	} else {
		s.emit(&kernel.If{Cond: cond, Then: first.stmts})
	}
	if t.folding.shared > 0 { // the next values take their place
		s.emit(&kernel.Barrier{Scope: kernel.BlockScope})
	}
}

// fromLanes returns the values of a segment's first lane after those of the others have
// been combined with them.
func (t *blockReduction) fromLanes(s *scope, st *statement, values []kernel.Expr) []kernel.Expr {
	e, r := t.nest.env, st.src.Reduce
	for by := t.folding.lanes / 2; by > 0; by /= 2 {
		next := make([]kernel.Expr, len(values))
		for i, v := range values {
			other := s.declare(e, r.Scalar.Name+"_lane", r.Scalar.Type)
			s.emit(&kernel.Shuffle{Var: other, Kind: kernel.ShuffleDown, Value: v, By: kernel.L(op.Int(types.I32, by))})
			both := s.declare(e, r.Scalar.Name+"_part", r.Scalar.Type)
			s.emit(&kernel.Let{Var: both, Value: kernel.Bin(reduceOp(r.Kind), v, kernel.V(other))})
			next[i] = kernel.V(both)
		}
		values = next
	}
	return values
}

// exchange has all threads put their values in shared memory, and returns what the first
// thread of a segment finds there. Segments are a cell further apart than they need
// be, so that these threads use different banks.
func (t *blockReduction) exchange(s, first *scope, st *statement, values []kernel.Expr,
	where vectorPlace) []kernel.Expr {
	buf := t.exchanges[st.src.Reduce.Scalar.Type]
	at := kernel.Mul(where.number, kernel.I(t.folding.vec))
	apart := kernel.Add(at, kernel.Bin(op.Div, at, kernel.I(ir.Segment)))
	apart = s.let(t.nest.env, "exchange", "at", apart)
	for i, v := range values {
		s.emit(&kernel.Store{Buffer: buf, Index: kernel.Add(apart, kernel.I(int64(i))), Value: v})
	}
	s.emit(&kernel.Barrier{Scope: kernel.BlockScope})
	var all []kernel.Expr
	for l := range int64(ir.Segment / 2) {
		load := func(l int64) kernel.Expr { return &kernel.Load{Buffer: buf, Index: kernel.Add(apart, kernel.I(l))} }
		v := first.declare(t.nest.env, st.src.Reduce.Scalar.Name+"_part", buf.Elem)
		first.emit(&kernel.Let{Var: v, Value: kernel.Bin(reduceOp(st.src.Reduce.Kind), load(l), load(l+ir.Segment/2))})
		all = append(all, kernel.V(v))
	}
	return all
}

// makeExchanges makes the shared memory that lanes exchange values in, one for each type.
func (t *blockReduction) makeExchanges(top *scope) []kernel.Stmt {
	var list []kernel.Stmt
	if t.folding == nil || t.folding.shared == 0 {
		return nil
	}
	for _, s := range t.stmts {
		of := s.src.Reduce.Scalar.Type
		if !t.folds(s) || t.exchanges[of] != nil {
			continue
		}
		n := t.folding.shared
		buf := &kernel.Buffer{
			Name: top.declare(t.nest.env, "exchange", of).Name, Elem: of, Space: kernel.Shared, Mode: kernel.InOut,
			Cells: kernel.I(n + (n-1)/ir.Segment),
		}
		t.exchanges[of] = buf
		list = append(list, &kernel.Alloc{Buffer: buf})
	}
	return list
}

// keep makes a variable for a value that a cell has under some condition, and that
// changes nothing elsewhere.
func (t *blockReduction) keep(s *scope, st *statement) *kernel.Var {
	r := st.src.Reduce
	v := s.declare(t.nest.env, r.Scalar.Name+"_cell", r.Scalar.Type)
	s.emit(&kernel.Declare{Var: v, Init: neutral(r.Kind, r.Scalar.Type)})
	return v
}

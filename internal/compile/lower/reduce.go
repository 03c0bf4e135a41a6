package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// partials is the memory that a loop leaves a reduction's partial results in.
type partials struct {
	stmt  *statement
	count kernel.Expr // over the nest's size variables
	store *store
	few   bool // so that one block of a GPU may combine them
}

// newPartials makes the memory for count partial results.
func (n *nest) newPartials(s *statement, count kernel.Expr) *partials {
	return &partials{stmt: s, count: count, store: n.partialStore(s.src, s, "_parts", count)}
}

// partialStore makes scratch for count values of a reduction.
func (n *nest) partialStore(key any, s *statement, suffix string, count kernel.Expr) *store {
	r := s.src.Reduce
	name := fmt.Sprintf("%s_%s%s", n.call.Name, r.Scalar.Name, suffix)
	dim := storeDim{
		axis: -1,
		lo:   func(func(int) kernel.Expr) kernel.Expr { return kernel.I(0) },
		hi: func(size func(int) kernel.Expr) kernel.Expr {
			return kernel.Sub(n.rebind(count, size), kernel.I(1))
		},
		key: name,
	}
	return n.scratchStore(key, name, r.Scalar.Name+suffix, r.Scalar.Type, []storeDim{dim})
}

// rebind rewrites an expression over this nest's sizes as one over others.
func (n *nest) rebind(e kernel.Expr, size func(int) kernel.Expr) kernel.Expr {
	params := map[*kernel.Var]int{}
	for param, v := range n.sizes {
		params[v] = param
	}
	return kernel.Rewrite(e, func(e kernel.Expr) kernel.Expr {
		if r, ok := e.(*kernel.Ref); ok {
			return size(params[r.Var])
		}
		return e
	})
}

func (n *nest) partialBuffer(p *partials) *binding {
	b := n.buffer(p.store.arg, p.store.order, p.store.name, p.store.elem, func() kernel.Expr {
		return p.store.cells(n.size)
	})
	b.writes = true
	return b
}

// treeChunk is the number of partial results that one thread of a CPU, or one
// block of a GPU, combines before the chunks' results are. A power of two, so that chunks are whole subtrees.
const treeChunk = 1 << 12

// treeWork is the number of operations that combining two partial results counts.
const treeWork = 2

// tree adds the kernel that combines partial results into the scalar, over the
// binary tree that ir.Reduce describes: in place, level by level, elements
// that are a power of two apart. Pairing neighbours from the left splits every
// run at the largest power of two below its length.
func (n *nest) tree(p *partials) {
	if n.opts.Target == GPU {
		n.chunks(p)
		return
	}
	r := p.stmt.src.Reduce
	e := newEnv(n.Program, n.opts.Bound)
	parts := e.buffer(p.store.arg, p.store.order, p.store.name, p.store.elem, func() kernel.Expr {
		return p.store.cells(e.size)
	})
	parts.reads, parts.writes = true, true
	cell := e.cell(r.Scalar)
	cell.writes = true
	k := treeKernel(n.call, r, "")
	s := newScope(nil)
	for _, w := range []string{parts.buffer.Name, cell.buffer.Name} {
		s.names[w] = true
	}
	count := s.let(e, "count", "count", n.rebind(p.count, e.size))
	chunk := kernel.I(treeChunk)
	at := s.declare(e, "chunk", types.I64)
	// Within the chunks, by all threads; then across them.
	inner := newScope(s)
	end := inner.let(e, "end", "chunk_end", kernel.Min(kernel.Add(kernel.V(at), chunk), count))
	t := treeLoop{e, parts.buffer, reduceOp(r.Kind)}
	tail := t.whole(inner, kernel.V(at), end)
	for _, st := range t.levels(inner, tail, end, kernel.I(1), kernel.I(treeWhole)) {
		inner.emit(st)
	}
	for _, st := range t.levels(inner, kernel.V(at), end, kernel.I(treeWhole), chunk) {
		inner.emit(st)
	}
	body := inner.stmts
	s.emit(&kernel.Loop{
		Var: at, Lo: kernel.I(0), Hi: count, Step: chunk, Tag: kernel.Parallel, Team: team(count, treeWork), Body: body,
	})
	for _, st := range t.levels(s, kernel.I(0), count, chunk, count) {
		s.emit(st)
	}
	s.emit(&kernel.Store{
		Buffer: cell.buffer, Index: kernel.I(0), Value: &kernel.Load{Buffer: parts.buffer, Index: kernel.I(0)},
	})
	k.Body = s.stmts
	args := e.finish(k)
	n.add(k, args)
}

// treeKernel returns an empty kernel that combines partial results.
func treeKernel(s *ir.Call, r *ir.Reduce, suffix string) *kernel.Kernel {
	what := "the partial results"
	if suffix != "" {
		what = "every chunk of the partial results"
	}
	return &kernel.Kernel{
		Name: fmt.Sprintf("%s_%s%s", kernelBase(s), r.Kind, suffix),
		Doc:  []string{fmt.Sprintf("%s = %s of %s, over a fixed binary tree", r.Scalar.Name, r.Kind, what)},
	}
}

func kernelBase(s *ir.Call) string {
	if s.Stencil != "" {
		return s.Stencil
	}
	return s.Name
}

type treeLoop struct {
	env  *env
	buf  *kernel.Buffer
	join op.Op
}

// treeWhole is the number of neighbours that are combined in one go.
const treeWhole = 8

// whole combines so many neighbours at a time, as long as there are as many left, and
// returns where it stops.
func (t treeLoop) whole(s *scope, from, end kernel.Expr) (tail kernel.Expr) {
	run := kernel.I(treeWhole)
	tail = s.let(t.env, "tail", "tail", kernel.Sub(end, kernel.Bin(op.Rem, kernel.Sub(end, from), run)))
	i := s.declare(t.env, "first", types.I64)
	var values []kernel.Expr
	for k := range int64(treeWhole) {
		values = append(values, &kernel.Load{Buffer: t.buf, Index: kernel.Add(kernel.V(i), kernel.I(k))})
	}
	s.emit(&kernel.Loop{Var: i, Lo: from, Hi: tail, Step: run, Body: []kernel.Stmt{
		&kernel.Store{Buffer: t.buf, Index: kernel.V(i), Value: pairwise(t.join, values)},
	}})
	return tail
}

// levels combines the elements from..end-1 at distances width, 2*width, ...
// below limit.
func (t treeLoop) levels(s *scope, from, end, width, limit kernel.Expr) []kernel.Stmt {
	w := s.declare(t.env, "width", types.I64)
	level := s.declare(t.env, "level", types.I64)
	i := s.declare(t.env, "left", types.I64)
	at := func(x kernel.Expr) kernel.Expr { return &kernel.Load{Buffer: t.buf, Index: x} }
	pair := &kernel.Loop{
		Var: i, Lo: from, Hi: kernel.Sub(end, kernel.V(w)), Step: kernel.Mul(kernel.V(w), kernel.I(2)),
		Body: []kernel.Stmt{&kernel.Store{
			Buffer: t.buf, Index: kernel.V(i),
			Value: kernel.Bin(t.join, at(kernel.V(i)), at(kernel.Add(kernel.V(i), kernel.V(w)))),
		}},
	}
	return []kernel.Stmt{
		&kernel.Declare{Var: w, Init: width},
		&kernel.Loop{Var: level, Lo: kernel.I(0), Hi: kernel.I(62), Step: kernel.I(1), Body: []kernel.Stmt{
			&kernel.If{Cond: kernel.Lt(kernel.V(w), limit), Then: []kernel.Stmt{
				pair,
				&kernel.Assign{Var: w, Value: kernel.Mul(kernel.V(w), kernel.I(2))},
			}},
		}},
	}
}

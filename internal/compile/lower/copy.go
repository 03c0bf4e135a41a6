package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// copyThreads are the threads of a block that copies.
const copyThreads = 256

// copyWork is the number of operations that copying a cell counts.
const copyWork = 2

// copyKernel adds a launch that copies an array to its snapshot: by the threads
// of a team, or on a GPU by blocks of threads with accesses as wide as can be.
func (n *nest) copyKernel(a *ir.Array, st *store) {
	m, s := n.module, n.call
	e := newEnv(m.Program, m.opts.Bound)
	from := m.arrayStore(s, a)
	src := e.buffer(from.arg, from.order, from.name, from.elem, func() kernel.Expr { return from.cells(e.size) })
	src.reads = true
	dst := e.buffer(st.arg, st.order, st.name, st.elem, func() kernel.Expr { return st.cells(e.size) })
	dst.writes = true
	i := kernel.NewVar(e.fresh("cell"), types.I64)
	one := &kernel.Store{
		Buffer: dst.buffer, Index: kernel.V(i), Value: &kernel.Load{Buffer: src.buffer, Index: kernel.V(i)},
	}
	k := &kernel.Kernel{
		Name: kernelBase(s) + "_" + a.Name + "_copy",
		Doc: []string{
			fmt.Sprintf("%s = %s, whose old values the next kernel reads while it writes new ones", st.name, a.Name),
		},
	}
	if m.opts.Target == CPU {
		count := from.cells(e.size)
		k.Body = []kernel.Stmt{&kernel.Loop{
			Var: i, Lo: kernel.I(0), Hi: count, Step: kernel.I(1), Tag: kernel.Parallel, Team: team(count, copyWork),
			Body: []kernel.Stmt{one},
		}}
	} else {
		k.Body = copyBlocks(e, src.buffer, dst.buffer, from.cells(e.size))
	}
	n.add(k, e.finish(k))
}

// copyBlocks copies count cells, of which each thread takes some neighbours.
func copyBlocks(e *env, src, dst *kernel.Buffer, count kernel.Expr) []kernel.Stmt {
	width := min(8, 16/int64(src.Elem.Size()))
	top := newScope(nil)
	top.names[src.Name], top.names[dst.Name] = true, true
	count = top.let(e, "count", "count", count)
	block, thread := top.declare(e, "block", types.I64), top.declare(e, "thread", types.I64)
	body := newScope(top)
	at := body.let(e, "cell", "cell",
		kernel.Mul(kernel.Add(kernel.Mul(kernel.V(block), kernel.I(copyThreads)), kernel.V(thread)), kernel.I(width)))
	wide := &kernel.LoadVector{Buffer: src, Index: at}
	var values []kernel.Expr
	for range width {
		v := body.declare(e, "x", src.Elem)
		wide.Vars, values = append(wide.Vars, v), append(values, kernel.V(v))
	}
	i := body.declare(e, "i", types.I64)
	body.emit(&kernel.If{
		Cond: kernel.Le(kernel.Add(at, kernel.I(width)), count),
		Then: []kernel.Stmt{wide, &kernel.StoreVector{Buffer: dst, Index: at, Values: values}},
		Else: []kernel.Stmt{&kernel.Loop{Var: i, Lo: at, Hi: count, Step: kernel.I(1), Body: []kernel.Stmt{
			&kernel.Store{Buffer: dst, Index: kernel.V(i), Value: &kernel.Load{Buffer: src, Index: kernel.V(i)}},
		}}},
	})
	threads := &kernel.Loop{
		Var: thread, Lo: kernel.I(0), Hi: kernel.I(copyThreads), Step: kernel.I(1),
		Tag: kernel.ThreadX, Body: body.stmts,
	}
	blocks := kernel.CeilDiv(count, kernel.I(copyThreads*width))
	top.emit(&kernel.Loop{
		Var: block, Lo: kernel.I(0), Hi: blocks, Step: kernel.I(1), Tag: kernel.BlockX, Body: []kernel.Stmt{threads},
	})
	return top.stmts
}

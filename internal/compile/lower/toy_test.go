package lower

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// A family in one file, to show that a family is declared in one file. Its blocks
// are rows of threads that stand on the inner axis like the teeth of a comb: each
// computes cells at the distance of the row, at all positions on the other axes.
// Its parameters have names of their own.

// RegisterToy registers the family until a test is over.
func RegisterToy(t *testing.T) {
	t.Helper()
	before := families
	t.Cleanup(func() {
		families = before
		declared.Clear()
	})
	register(&family{
		name: "comb", doc: "rows of threads that comb the other axes", place: 40,
		target: GPU, rank: func(rank int) bool { return rank > 0 },
		can: func(n *nest) bool { return n.tileable() && len(n.reductions()) == 0 },
		declare: func([]string) ([]schedule.Param, []schedule.Constraint) {
			return []schedule.Param{
					{
						Name: "teeth", Role: schedule.Threads, Axis: schedule.InnerAxis, Doc: "threads of a row",
						Values: schedule.Numbers(4096, 64, 32, 128, 256), Default: schedule.Int(4096),
						Finer: func() []schedule.Value { return schedule.Numbers(96) },
					},
					{
						Name: "strokes", Role: schedule.CyclicUnroll, Axis: schedule.InnerAxis,
						Doc:    "cells of a thread on the inner axis",
						Values: schedule.Numbers(1, 2, 4), Default: schedule.Int(1),
					},
					{
						Name: "cap", Role: schedule.RegisterLimit, Doc: "the most registers of a thread",
						Values: schedule.Numbers(0, 32, 64), Default: schedule.Int(0),
					},
					{
						Name: "extents", Role: schedule.Sizes, Doc: "whether sizes are literals",
						Values:  schedule.Words(schedule.SizeArguments, schedule.SizeLiterals),
						Default: schedule.Word(schedule.SizeArguments),
					},
				}, []schedule.Constraint{{
					Name: "short rows", Doc: "a long row of threads has enough cells",
					Params: []string{"teeth", "strokes"},
					Holds:  func(c schedule.Config) bool { return c.Int("teeth")*c.Int("strokes") <= 4096 },
				}}
		},
		seeds: map[int][]string{2: {"teeth=128,strokes=W,extents=literals"}},
		build: (*nest).comb,
	})
}

func (n *nest) comb() ([]kernel.Stmt, []func()) {
	teeth, strokes := n.config.Int("teeth"), n.config.Int("strokes")
	n.strided = nil
	top := newScope(nil)
	edge, pos := map[int]bool{}, map[int]kernel.Expr{}
	var loops []*kernel.Loop // outermost first
	for _, axis := range n.axes {
		n.nameBounds(top, axis)
		sp, name := n.span[axis], n.Program.Axes[axis]
		edge[axis] = sp.low || sp.high
		v := kernel.NewVar(name, types.I64)
		pos[axis], top.names[name] = kernel.V(v), true
		if axis != n.inner() {
			loops = append(loops, &kernel.Loop{Var: v, Lo: sp.lo, Hi: sp.hi, Step: kernel.I(1)})
		}
	}
	name, sp := n.Program.Axes[n.inner()], n.span[n.inner()]
	block, thread := top.declare(n.env, name+"_block", types.I64), top.declare(n.env, name+"_tooth", types.I64)
	stroke := top.declare(n.env, name+"_stroke", types.I64)
	row := kernel.Add(kernel.Mul(kernel.V(block), kernel.I(strokes)), kernel.V(stroke))
	at := kernel.Add(sp.lo, kernel.Add(kernel.Mul(row, kernel.I(teeth)), kernel.V(thread)))
	work := newScope(top)
	c := n.newCell(edge, pos, work)
	none := func(*statement, kernel.Expr) kernel.Stmt { panic("lower: a comb reduces nothing") }
	stmts := c.statements(none)
	list := append(work.stmts, stmts...)
	list = []kernel.Stmt{
		&kernel.Let{Var: pos[n.inner()].(*kernel.Ref).Var, Value: at},
		&kernel.If{Cond: kernel.Lt(pos[n.inner()], sp.hi), Then: list},
	}
	list = []kernel.Stmt{&kernel.Loop{
		Var: stroke, Lo: kernel.I(0), Hi: kernel.I(strokes), Step: kernel.I(1), Body: list,
	}}
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].Body = list
		list = []kernel.Stmt{loops[i]}
	}
	cells := kernel.Max(kernel.Sub(sp.hi, sp.lo), kernel.I(0))
	list = wrapped([]launchLoop{{thread, kernel.I(teeth), kernel.ThreadX}}, list)
	list = wrapped([]launchLoop{{block, kernel.CeilDiv(cells, kernel.I(teeth*strokes)), kernel.BlockX}}, list)
	return append(top.stmts, list...), nil
}

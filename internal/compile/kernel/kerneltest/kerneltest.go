// Package kerneltest draws random kernels for property tests. All that it
// draws passes kernel.Verify; indices stay within their buffers, and
// iterations that run at once write cells of their own, so that a kernel runs
// without a fault and its results do not depend on who runs first. It also
// holds kernels written by hand that take many time steps in one launch.
package kerneltest

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"pgregory.net/rapid"
)

// Cells is the size of every buffer argument of a kernel that is drawn for
// the scalar N = Size.
const (
	Size  = 6
	Cells = Size * Size
)

// Kernel draws a kernel with the buffer arguments a, b (f64, read), c (f32,
// read), d (i32, read), v (f64, written and read) and w (f32, only written),
// each of N*N cells, and the scalars N (i64), x (f64) and n (i32).
func Kernel(t *rapid.T) *kernel.Kernel {
	g := &gen{t: t, k: &kernel.Kernel{Name: "random"}}
	n := g.scalar("N", types.I64)
	g.scalar("x", types.F64)
	g.scalar("n", types.I32)
	g.n = kernel.V(n)
	g.a = g.buffer("a", types.F64, kernel.In)
	g.buffer("b", types.F64, kernel.In)
	g.buffer("c", types.F32, kernel.In)
	g.buffer("d", types.I32, kernel.In)
	g.v = g.buffer("v", types.F64, kernel.InOut)
	g.w = g.buffer("w", types.F32, kernel.Out)
	for range g.upTo(2) {
		g.k.Doc = append(g.k.Doc, g.name("line ; \"of\" doc"))
	}
	if g.bool() {
		g.k.Body = g.threads()
	} else {
		g.k.Body = g.loops()
	}
	return g.k
}

type gen struct {
	t     *rapid.T
	k     *kernel.Kernel
	n     kernel.Expr
	a     *kernel.Buffer
	v, w  *kernel.Buffer
	count int

	read    []*kernel.Buffer // that may be loaded from at any index
	vars    []*kernel.Var    // that may be read
	mutable []*kernel.Var    // of those, that may be assigned to
	cell    kernel.Expr      // index of the cell that is this iteration's own; nil outside
	depth   int

	registers bool // private memory is in registers: there are threads
}

func (g *gen) upTo(n int) int          { return rapid.IntRange(0, n).Draw(g.t, "n") }
func (g *gen) bool() bool              { return rapid.Bool().Draw(g.t, "b") }
func (g *gen) name(base string) string { g.count++; return fmt.Sprintf("%s%d", base, g.count) }

func pick[T any](g *gen, from ...T) T { return from[g.upTo(len(from)-1)] }

func (g *gen) scalar(name string, t types.Type) *kernel.Var {
	v := kernel.NewVar(name, t)
	g.k.Scalars = append(g.k.Scalars, v)
	g.vars = append(g.vars, v)
	return v
}

func (g *gen) buffer(name string, t types.Type, m kernel.Mode) *kernel.Buffer {
	b := &kernel.Buffer{Name: name, Elem: t, Mode: m, Cells: kernel.Mul(g.n, g.n)}
	if m == kernel.In {
		g.read = append(g.read, b)
		b.Space = pick(g, kernel.Global, kernel.Constant)
	}
	g.k.Buffers = append(g.k.Buffers, b)
	return b
}

// scoped runs f and forgets the names that it made.
func (g *gen) scoped(f func() []kernel.Stmt) []kernel.Stmt {
	vars, mutable, read := len(g.vars), len(g.mutable), len(g.read)
	out := f()
	g.vars, g.mutable, g.read = g.vars[:vars], g.mutable[:mutable], g.read[:read]
	return out
}

// frozen runs f with no variable that it may assign to from outside.
func (g *gen) frozen(f func() []kernel.Stmt) []kernel.Stmt {
	mutable := g.mutable
	g.mutable = nil
	out := g.scoped(f)
	g.mutable = mutable
	return out
}

// loops draws a nest for a CPU: rows shared out, cells of a row in lanes.
func (g *gen) loops() []kernel.Stmt {
	return g.scoped(func() []kernel.Stmt {
		out := g.locals()
		j, i := kernel.NewVar(g.name("j"), types.I64), kernel.NewVar(g.name("i"), types.I64)
		row := &kernel.Loop{
			Var: j, Lo: kernel.I(0), Hi: g.n, Step: kernel.I(1),
			Tag: pick(g, kernel.Parallel, kernel.Serial), Path: g.path(),
		}
		col := &kernel.Loop{
			Var: i, Lo: kernel.I(int64(g.upTo(2))), Hi: g.n, Step: kernel.I(1),
			Tag: pick(g, kernel.Vector, kernel.Serial), Path: row.Path,
		}
		if row.Tag == kernel.Parallel {
			row.Threads = g.upTo(3)
			if g.bool() {
				row.Team = kernel.Ge(g.n, kernel.I(int64(g.upTo(40))))
			}
			if g.bool() {
				col.Tag, row.Collapse = kernel.Parallel, 2
			}
		}
		inner := func() []kernel.Stmt {
			g.vars = append(g.vars, i)
			g.cell = kernel.Add(kernel.Mul(kernel.V(j), g.n), kernel.V(i))
			col.Body = g.frozen(func() []kernel.Stmt { return g.body(4) })
			g.cell = nil
			return []kernel.Stmt{col}
		}
		row.Body = g.frozen(func() []kernel.Stmt {
			g.vars = append(g.vars, j)
			if row.Collapse > 1 {
				return inner()
			}
			list := g.locals()
			if col.Tag == kernel.Vector && g.bool() {
				return append(list, g.reduction(col, kernel.Mul(kernel.V(j), g.n), inner)...)
			}
			return append(list, inner()...)
		})
		return append(out, row)
	})
}

// reduction makes a loop find the largest of some values, which is the same in
// every order, and stores it at an index.
func (g *gen) reduction(l *kernel.Loop, at kernel.Expr, inner func() []kernel.Stmt) []kernel.Stmt {
	best := kernel.NewVar(g.name("best"), types.F64)
	l.Reduce = []kernel.Reduction{{Op: op.Max, Var: best}}
	out := inner()
	value := kernel.Un(op.Neg, kernel.Conv(types.F64, kernel.V(l.Var)))
	l.Body = append(l.Body, &kernel.Assign{Var: best, Value: &kernel.Binary{Op: op.Max, X: kernel.V(best), Y: value}})
	start := &kernel.Declare{Var: best, Init: kernel.L(op.Float(types.F64, -100))}
	end := &kernel.Store{Buffer: g.v, Index: at, Value: kernel.V(best)}
	return append(append([]kernel.Stmt{start}, out...), end)
}

func (g *gen) path() kernel.Path { return pick(g, kernel.AnyPath, kernel.Interior, kernel.Edge) }

// threads draws a kernel of blocks whose threads pass rows through shared
// memory, which they, asynchronous copies or a bulk copy fill.
func (g *gen) threads() []kernel.Stmt {
	g.registers = true
	return g.scoped(func() []kernel.Stmt {
		out := g.locals()
		by, ty, tx := kernel.NewVar(g.name("by"), types.I64), kernel.NewVar(g.name("ty"), types.I64),
			kernel.NewVar(g.name("tx"), types.I64)
		b := &team{rows: int64(1 + g.upTo(2)), first: kernel.And(isZero(ty), isZero(tx))}
		b.tile = &kernel.Buffer{
			Name: g.name("tile"), Elem: pick(g, types.F64, types.F32), Space: kernel.Shared, Mode: kernel.InOut,
			Cells: kernel.I(b.rows * Size),
		}
		number := kernel.V(by) // of the block
		if g.bool() {
			b.rank = kernel.NewVar(g.name("rank"), types.I32)
			number = kernel.Add(kernel.Mul(number, kernel.I(clusterSize)), kernel.Conv(types.I64, kernel.V(b.rank)))
		}
		lines := &kernel.Loop{Var: ty, Lo: kernel.I(0), Hi: kernel.I(b.rows), Step: kernel.I(1), Tag: kernel.ThreadY}
		cols := &kernel.Loop{Var: tx, Lo: kernel.I(0), Hi: kernel.I(Size), Step: kernel.I(1), Tag: kernel.ThreadX}
		var made []kernel.Stmt
		cols.Body = g.frozen(func() []kernel.Stmt {
			g.vars = append(g.vars, by, ty, tx)
			if b.rank != nil {
				g.vars = append(g.vars, b.rank)
			}
			list := g.locals()
			own := kernel.Add(kernel.Mul(kernel.V(ty), kernel.I(Size)), kernel.V(tx))
			row := kernel.Add(kernel.Mul(number, kernel.I(b.rows)), kernel.V(ty))
			allocs, fill := g.fill(b, own)
			made = allocs
			list = append(list, fill...)
			g.read = append(g.read, b.tile)
			if b.rank != nil {
				list = append(list, g.neighbour(b, own)...)
			}
			list = append(list, g.wide(row, kernel.V(tx))...)
			g.cell = kernel.Add(kernel.Mul(row, g.n), kernel.V(tx))
			guarded := g.scoped(func() []kernel.Stmt { return g.body(3) })
			g.cell = nil
			return append(list, &kernel.If{Cond: kernel.Lt(row, g.n), Then: guarded})
		})
		lines.Body = []kernel.Stmt{cols}
		body := append(made, lines)
		blocks := b.rows
		if b.rank != nil {
			lit := func(i int64) kernel.Expr { return kernel.L(op.Int(types.I32, i)) }
			body = []kernel.Stmt{&kernel.Loop{
				Var: b.rank, Lo: lit(0), Hi: lit(clusterSize), Step: lit(1), Tag: kernel.ClusterX, Body: body,
			}}
			blocks *= clusterSize
		}
		return append(out, &kernel.Loop{
			Var: by, Lo: kernel.I(0), Hi: kernel.CeilDiv(g.n, kernel.I(blocks)), Step: kernel.I(1),
			Tag: kernel.BlockY, Body: body,
		})
	})
}

// locals draws some values with names.
func (g *gen) locals() []kernel.Stmt {
	var out []kernel.Stmt
	for range g.upTo(2) {
		out = append(out, g.local())
	}
	return out
}

func (g *gen) local() kernel.Stmt {
	t := pick(g, types.I64, types.I64, types.F64, types.F32, types.I32, types.Bool)
	value := g.expr(t, 3)
	v := kernel.NewVar(g.name("t"), t)
	g.vars = append(g.vars, v)
	if g.bool() {
		g.mutable = append(g.mutable, v)
		return &kernel.Declare{Var: v, Init: value}
	}
	return &kernel.Let{Var: v, Value: value}
}

// body draws statements that work on the iteration's own cell.
func (g *gen) body(most int) []kernel.Stmt {
	var out []kernel.Stmt
	for range 1 + g.upTo(most) {
		switch g.upTo(7) {
		case 0, 1:
			out = append(out, g.local())
		case 2:
			if len(g.mutable) > 0 {
				v := pick(g, g.mutable...)
				out = append(out, &kernel.Assign{Var: v, Value: g.expr(v.Type, 3)})
			}
		case 3:
			out = append(out, &kernel.Store{Buffer: g.v, Index: g.cell, Value: g.expr(types.F64, 3)})
		case 4:
			out = append(out, &kernel.Store{Buffer: g.w, Index: g.cell, Value: g.expr(types.F32, 3)})
		case 5:
			if g.depth < 2 {
				out = append(out, g.branch())
			}
		case 6:
			if g.depth < 2 {
				out = append(out, g.loop())
			}
		case 7:
			out = append(out, g.scratch()...)
		}
	}
	return out
}

func (g *gen) branch() kernel.Stmt {
	g.depth++
	defer func() { g.depth-- }()
	s := &kernel.If{Cond: g.expr(types.Bool, 2)}
	s.Then = g.scoped(func() []kernel.Stmt { return g.body(2) })
	if g.bool() {
		s.Else = g.scoped(func() []kernel.Stmt { return g.body(2) })
	}
	return s
}

// loop draws a short loop of one thread. Its bounds read no variable that may
// change.
func (g *gen) loop() kernel.Stmt {
	g.depth++
	defer func() { g.depth-- }()
	t := pick(g, types.I64, types.I32)
	lit := func(v int64) kernel.Expr { return kernel.L(op.Int(t, v)) }
	l := &kernel.Loop{
		Var: kernel.NewVar(g.name("r"), t), Lo: lit(int64(g.upTo(2))), Hi: lit(int64(g.upTo(4))),
		Step: lit(1 + int64(g.upTo(1))), Tag: pick(g, kernel.Serial, kernel.Unroll),
	}
	if l.Tag == kernel.Serial && t == types.I64 && g.bool() {
		// The same trip count for all threads, which nobody needs to know.
		l.Hi = kernel.Bin(op.Rem, g.n, kernel.I(int64(1+g.upTo(3))))
	}
	l.Body = g.scoped(func() []kernel.Stmt {
		g.vars = append(g.vars, l.Var)
		return g.body(2)
	})
	return l
}

// scratch draws private memory, written once and then read.
func (g *gen) scratch() []kernel.Stmt {
	n := int64(1 + g.upTo(3))
	b := &kernel.Buffer{
		Name: g.name("p"), Elem: pick(g, types.F64, types.F32, types.I32), Space: kernel.Private,
		Mode: kernel.InOut, Cells: kernel.I(n),
	}
	out := []kernel.Stmt{&kernel.Alloc{Buffer: b}}
	for i := range n {
		out = append(out, &kernel.Store{Buffer: b, Index: kernel.I(i), Value: g.expr(b.Elem, 2)})
	}
	g.read = append(g.read, b)
	return append(out, &kernel.Comment{Text: g.name("now \"it\" is full ")})
}

package kerneltest

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// wide draws what the threads of a block do together: shuffles, loads of
// several elements, and stores of the cells of two threads by one of them.
func (g *gen) wide(row, tx kernel.Expr) []kernel.Stmt {
	var out []kernel.Stmt
	if g.bool() {
		t := pick(g, types.F64, types.F32, types.I64, types.I32)
		kind := pick(g, kernel.ShuffleUp, kernel.ShuffleDown, kernel.ShuffleXor, kernel.ShuffleFrom)
		s := &kernel.Shuffle{Var: kernel.NewVar(g.name("lane"), t), Kind: kind}
		s.Value, s.By = g.expr(t, 2), kernel.L(op.Int(types.I32, int64(g.upTo(3))))
		g.vars = append(g.vars, s.Var)
		out = append(out, s)
	}
	if g.bool() {
		out = append(out, g.loadVector())
	}
	if g.bool() {
		x, y := g.expr(types.F64, 2), g.expr(types.F64, 2)
		even := kernel.Bin(op.Eq, kernel.Bin(op.Rem, tx, kernel.I(2)), kernel.I(0))
		pair := &kernel.StoreVector{
			Buffer: g.v, Index: kernel.Add(kernel.Mul(row, g.n), tx), Values: []kernel.Expr{x, y},
		}
		out = append(out,
			&kernel.If{Cond: kernel.And(kernel.Lt(row, g.n), even), Then: []kernel.Stmt{pair}},
			&kernel.Barrier{Scope: kernel.BlockScope})
	}
	return out
}

// loadVector draws a load of elements that lie anywhere in an input.
func (g *gen) loadVector() kernel.Stmt {
	b := pick(g, g.k.Buffers[:4]...)
	n := 2
	if b.Elem.Size() == 4 && g.bool() {
		n = 4
	}
	at := kernel.I(int64(n))
	s := &kernel.LoadVector{
		Buffer: b, Index: kernel.Mul(within(g.expr(types.I64, 2), kernel.Bin(op.Div, b.Cells, at)), at), Via: g.via(b),
	}
	for range n {
		s.Vars = append(s.Vars, kernel.NewVar(g.name("e"), b.Elem))
	}
	g.vars = append(g.vars, s.Vars...)
	return s
}

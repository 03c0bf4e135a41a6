package kerneltest

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

var (
	arithmetic  = []op.Op{op.Add, op.Sub, op.Mul, op.Div, op.Min, op.Max}
	whole       = append([]op.Op{op.Rem, op.And, op.Or}, arithmetic...)
	logic       = []op.Op{op.LAnd, op.LOr, op.And, op.Or}
	comparisons = []op.Op{op.Eq, op.Ne, op.Lt, op.Le, op.Gt, op.Ge}
	exact       = []op.Func{op.Sqrt, op.Abs, op.Floor, op.Ceil, op.Trunc, op.Round, op.Fmod, op.Quotient, op.InvSqrt}
)

// expr draws an expression of a type, sometimes through a constructor and
// sometimes as a plain node that the constructors would simplify.
func (g *gen) expr(t types.Type, depth int) kernel.Expr {
	if depth == 0 {
		return g.leaf(t)
	}
	switch g.upTo(9) {
	case 0:
		return g.leaf(t)
	case 1:
		return g.load(t, depth)
	case 2:
		from := pick(g, types.I32, types.I64, types.F32, types.F64)
		if t == types.Bool && g.bool() {
			return &kernel.Unary{Op: op.Not, X: g.expr(types.Bool, depth-1)}
		}
		return &kernel.Cast{To: t, X: g.expr(from, depth-1)}
	case 3:
		x, y := g.expr(t, depth-1), g.expr(t, depth-1)
		c := g.expr(types.Bool, depth-1)
		if g.bool() {
			return kernel.Sel(c, x, y)
		}
		return &kernel.Select{Cond: c, X: x, Y: y}
	case 4:
		return g.apply(t, depth)
	case 5:
		if t.IsFloat() && g.bool() {
			x, y, z := g.expr(t, depth-1), g.expr(t, depth-1), g.expr(t, depth-1)
			if g.bool() {
				return kernel.Fused(x, y, z)
			}
			return &kernel.Fma{X: x, Y: y, Z: z}
		}
		if t.IsFloat() {
			return &kernel.Random{T: t, Seed: g.expr(types.I64, depth-1), Number: g.expr(types.I64, depth-1)}
		}
	}
	return g.binary(t, depth)
}

func (g *gen) apply(t types.Type, depth int) kernel.Expr {
	switch {
	case t.IsFloat() && g.bool():
		f := pick(g, exact...)
		args := []kernel.Expr{g.expr(t, depth-1)}
		if f.Arity() == 2 {
			args = append(args, g.expr(t, depth-1))
		}
		return &kernel.FuncCall{Func: f, Args: args}
	case t == types.I32 && g.bool():
		return &kernel.FuncCall{Func: op.Abs, Args: []kernel.Expr{g.expr(t, depth-1)}}
	case t == types.Bool:
		return kernel.Un(op.Not, g.expr(t, depth-1))
	}
	return kernel.Un(op.Neg, g.expr(t, depth-1))
}

func (g *gen) binary(t types.Type, depth int) kernel.Expr {
	if t == types.Bool && g.bool() {
		u := pick(g, types.I32, types.I64, types.F32, types.F64, types.Bool)
		return g.join(pick(g, comparisons...), g.expr(u, depth-1), g.expr(u, depth-1))
	}
	ops := arithmetic
	switch t {
	case types.Bool:
		ops = logic
	case types.I32, types.I64:
		ops = whole
	}
	return g.join(pick(g, ops...), g.expr(t, depth-1), g.expr(t, depth-1))
}

func (g *gen) join(o op.Op, x, y kernel.Expr) kernel.Expr {
	if g.bool() {
		return kernel.Bin(o, x, y)
	}
	return &kernel.Binary{Op: o, X: x, Y: y}
}

func (g *gen) leaf(t types.Type) kernel.Expr {
	var fit []*kernel.Var
	for _, v := range g.vars {
		if v.Type == t {
			fit = append(fit, v)
		}
	}
	if len(fit) > 0 && g.bool() {
		return kernel.V(pick(g, fit...))
	}
	switch {
	case t == types.Bool:
		return kernel.L(op.BoolOf(g.bool()))
	case t.IsFloat():
		return kernel.L(op.Float(t, pick(g, 0.1, 1, -2.5, 0, 1e-3)))
	}
	return kernel.L(op.Int(t, int64(g.upTo(8)-3)))
}

// load draws a load of a type from anywhere in a buffer, or from the
// iteration's own cell of the one that is written.
func (g *gen) load(t types.Type, depth int) kernel.Expr {
	if t == types.F64 && g.cell != nil && g.bool() {
		return &kernel.Load{Buffer: g.v, Index: g.cell}
	}
	var fit []*kernel.Buffer
	for _, b := range g.read {
		if b.Elem == t {
			fit = append(fit, b)
		}
	}
	if len(fit) == 0 {
		return g.leaf(t)
	}
	b := pick(g, fit...)
	if b.Space == kernel.Private && g.registers {
		n, _ := kernel.IntLit(b.Cells)
		return &kernel.Load{Buffer: b, Index: kernel.I(int64(g.upTo(int(n) - 1)))}
	}
	if g.bool() && g.cell != nil && b.Space != kernel.Shared && b.Space != kernel.Private {
		return &kernel.Load{Buffer: b, Index: g.cell, Via: g.via(b)}
	}
	return &kernel.Load{Buffer: b, Index: within(g.expr(types.I64, depth-1), b.Cells), Via: g.via(b)}
}

// via draws a way to load from a buffer.
func (g *gen) via(b *kernel.Buffer) kernel.Via {
	if b.Space != kernel.Global || b.Mode != kernel.In || !g.registers {
		return kernel.Plain
	}
	return pick(g, kernel.Plain, kernel.ReadOnly, kernel.Streaming, kernel.Resident)
}

// within limits an index to 0..n-1.
func within(x, n kernel.Expr) kernel.Expr {
	return kernel.Max(kernel.I(0), kernel.Min(x, kernel.Sub(n, kernel.I(1))))
}

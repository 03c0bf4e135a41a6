package analysis

import (
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Ops counts operations as the text has them, nothing simplified or shared.
// Operations whose operands are the same at every cell are not in it: they are
// done once. Changing a sign, taking an absolute value and converting are not
// counted.
type Ops struct {
	Add     float64 `json:"add"`     // floating point, subtractions too
	Mul     float64 `json:"mul"`     // floating point; x^n is n-1 of them
	Div     float64 `json:"div"`     // floating point
	Sqrt    float64 `json:"sqrt"`    // floating point
	Special float64 `json:"special"` // every other mathematical function
	Compare float64 `json:"compare"` // comparisons, min, max, selections and logic, on any type
	Int     float64 `json:"int"`     // arithmetic and bit operations on integers
	// FMA is the number of fused multiply-adds; under fast arithmetic, of additions
	// that can take a product in. Both parts are still in Add and Mul.
	FMA float64 `json:"fma_pairs"`
}

// Flops returns the floating-point operations: additions, multiplications,
// divisions, square roots and other functions, each as one. It is the count of
// Zhang and Mueller's Table 4 and of Rawat's Table I.
func (o Ops) Flops() float64 { return o.Add + o.Mul + o.Div + o.Sqrt + o.Special }

// Fused returns the floating-point operations when every pair that can be
// fused is one operation.
func (o Ops) Fused() float64 { return o.Flops() - o.FMA }

func (o Ops) plus(p Ops) Ops {
	return Ops{o.Add + p.Add, o.Mul + p.Mul, o.Div + p.Div, o.Sqrt + p.Sqrt, o.Special + p.Special, o.Compare +
		p.Compare, o.Int + p.Int, o.FMA + p.FMA}
}

func (o Ops) times(w float64) Ops {
	return Ops{w * o.Add, w * o.Mul, w * o.Div, w * o.Sqrt, w * o.Special, w * o.Compare, w * o.Int, w * o.FMA}
}

// count returns a statement's operations, and those in single precision among
// them.
func (g *gatherer) count(s *ir.Stmt) (all, single Ops) {
	c := &counter{g: g}
	c.expr(s.Value)
	if s.Reduce != nil {
		c.binary(map[ir.ReduceKind]op.Op{ir.Sum: op.Add, ir.Max: op.Max, ir.Min: op.Min}[s.Reduce.Kind], s.Value.Type())
	}
	return c.double.plus(c.single), c.single
}

type counter struct {
	g              *gatherer
	double, single Ops
}

// on returns where operations on a type are counted.
func (c *counter) on(t types.Type) *Ops {
	if t == types.F32 {
		return &c.single
	}
	return &c.double
}

// expr counts an expression and reports whether its value varies over cells.
func (c *counter) expr(e ir.Expr) bool {
	varies := false
	for _, x := range ir.Children(e) {
		varies = c.expr(x) || varies
	}
	switch e := e.(type) {
	case *ir.Access, ir.Pos, *ir.Random:
		return true
	case ir.TempRef:
		return c.g.varies(e.Temp)
	case *ir.Unary:
		if varies {
			c.unary(e.Op, e.X.Type())
		}
	case *ir.Binary:
		if varies {
			c.binary(e.Op, e.X.Type())
			if c.g.p.Arithmetic == arith.Fast && c.fuses(e) {
				c.on(e.X.Type()).FMA++
			}
		}
	case *ir.Fma:
		n := c.on(e.Type())
		if varies {
			n.Add++
		}
		if c.g.variesExpr(e.X) || c.g.variesExpr(e.Y) {
			n.Mul++
			n.FMA++
		}
	case *ir.Select:
		if varies {
			c.on(e.Type()).Compare++
		}
	case *ir.FuncCall:
		if varies {
			c.funcCall(e.Func, e.Type())
		}
	case *ir.PowInt:
		if varies {
			c.power(e.N, e.Type())
		}
	}
	return varies
}

func (c *counter) unary(o op.Op, t types.Type) {
	switch {
	case o == op.Not:
		c.on(t).Compare++
	case !t.IsFloat():
		c.on(t).Int++
	}
}

func (c *counter) binary(o op.Op, t types.Type) {
	n := c.on(t)
	switch {
	case o.IsComparison() || o.IsLogic() || o == op.Min || o == op.Max:
		n.Compare++
	case !t.IsFloat():
		n.Int++
	case o == op.Add || o == op.Sub:
		n.Add++
	case o == op.Mul:
		n.Mul++
	case o == op.Div:
		n.Div++
	}
}

func (c *counter) funcCall(f op.Func, t types.Type) {
	n := c.on(t)
	switch {
	case f == op.Abs && t.IsFloat():
	case f == op.Abs:
		n.Int++
	case f == op.Sqrt:
		n.Sqrt++
	default:
		n.Special++
	}
}

func (c *counter) power(p int, t types.Type) {
	n, m := c.on(t), float64(max(p, -p))
	if !t.IsFloat() {
		n.Int += max(0, m-1)
		if p < 0 {
			n.Int++
		}
		return
	}
	n.Mul += max(0, m-1)
	if p < 0 {
		n.Div++
	}
}

// fuses reports whether an addition takes a product that varies over cells and
// that nothing else uses.
func (c *counter) fuses(e *ir.Binary) bool {
	return (e.Op == op.Add || e.Op == op.Sub) && e.X.Type().IsFloat() && (c.product(e.X) || c.product(e.Y))
}

func (c *counter) product(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Binary:
		return e.Op == op.Mul && c.g.variesExpr(e)
	case *ir.PowInt:
		return e.N > 1 && c.g.variesExpr(e)
	case *ir.Unary:
		return c.product(e.X)
	case ir.TempRef:
		s := c.g.deps.assigned[e.Temp]
		return c.g.deps.uses[e.Temp] == 1 && c.product(s.Value)
	}
	return false
}

func (g *gatherer) varies(t *ir.Temp) bool { return len(g.deps.of[g.deps.assigned[t]].axes) > 0 }

func (g *gatherer) variesExpr(e ir.Expr) bool {
	varies := false
	ir.Walk(e, func(e ir.Expr) {
		switch e := e.(type) {
		case *ir.Access, ir.Pos, *ir.Random:
			varies = true
		case ir.TempRef:
			varies = varies || g.varies(e.Temp)
		}
	})
	return varies
}

package lower

import (
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// sink takes the values of reductions: it writes a statement that deals with
// one cell's value.
type sink func(s *statement, value kernel.Expr) kernel.Stmt

// newCell starts the code for a cell. edge are the axes whose guards and
// boundaries are needed here.
func (n *nest) newCell(edge map[int]bool, pos map[int]kernel.Expr, row *scope) *cell {
	return &cell{nest: n, edge: edge, pos: pos, row: row, body: newScope(row), vals: map[*ir.Temp]kernel.Expr{}}
}

// statements writes the group's statements at one cell.
func (c *cell) statements(reduce sink) []kernel.Stmt {
	for _, s := range c.stmts {
		c.statement(s, reduce)
	}
	return c.body.stmts
}

func (c *cell) statement(s *statement, reduce sink) {
	guard := c.guard(s)
	if guard == nil {
		c.plain(s, reduce)
		return
	}
	outer := c.body
	c.body = newScope(outer)
	var keep *kernel.Var
	if s.src.Temp != nil {
		keep = outer.declare(c.env, s.src.Temp.Name, s.src.Temp.Type)
		outer.emit(&kernel.Declare{Var: keep, Init: zero(keep.Type)})
	}
	if keep != nil {
		value := c.expr(s.src.Value)
		c.body.emit(&kernel.Assign{Var: keep, Value: value})
		c.vals[s.src.Temp] = kernel.V(keep)
		c.write(s)
	} else {
		c.plain(s, reduce)
	}
	inside := c.body.stmts
	c.body = outer
	c.body.emit(&kernel.If{Cond: guard, Then: inside})
}

func (c *cell) plain(s *statement, reduce sink) {
	value := c.expr(s.src.Value)
	switch {
	case s.src.Temp != nil:
		v := c.body.declare(c.env, s.src.Temp.Name, s.src.Temp.Type)
		c.body.emit(&kernel.Let{Var: v, Value: value})
		c.vals[s.src.Temp] = kernel.V(v)
		c.write(s)
	case s.src.Reduce != nil:
		if s.src.Color != nil {
			value = kernel.Sel(c.hasColor(s.src.Color), value, identity(s.src.Reduce.Kind, value.Type()))
		}
		c.body.emit(reduce(s, value))
	default:
		b := c.bufferOf(s.into)
		b.writes = true
		c.body.emit(&kernel.Store{Buffer: b.buffer, Index: c.here(s.into), Value: value})
	}
}

// write stores a materialised temp's value.
func (c *cell) write(s *statement) {
	if s.into == nil {
		return
	}
	b := c.bufferOf(s.into)
	b.writes = true
	c.body.emit(&kernel.Store{Buffer: b.buffer, Index: c.here(s.into), Value: c.vals[s.src.Temp]})
}

// here is the element of a store that belongs to this cell.
func (c *cell) here(st *store) kernel.Expr {
	var idx []index
	for _, d := range st.dims {
		if _, ok := c.pos[d.axis]; ok {
			off := c.place[d.axis]
			key := fmt.Sprintf("%d%+d", d.axis, off)
			idx = append(idx, index{axis: d.axis, at: c.at(d.axis), offset: off, plain: true, key: key})
			continue
		}
		// The loop does not run over this axis, so the value does not vary on it.
		idx = append(idx, index{axis: -1, at: d.lo(c.size), key: "first"})
	}
	return c.element(st, idx)
}

// guard returns the condition under which a statement runs at this cell, or
// nil if it always does.
func (c *cell) guard(s *statement) kernel.Expr {
	var any kernel.Expr
	for _, w := range s.where {
		within := c.within(w)
		if within == nil {
			return nil
		}
		if any == nil {
			any = within
		} else {
			any = kernel.Bin(op.LOr, any, within)
		}
	}
	return any
}

// within returns the condition under which this cell is one of some, or nil if
// it always is: in their box on the axes that are at an edge here, where that
// is narrower than the loop, and of their colour.
func (c *cell) within(w analysis.Cells) kernel.Expr {
	var cond kernel.Expr
	for _, axis := range c.axes {
		if !c.edge[axis] {
			continue
		}
		sp := c.span[axis]
		r := w.Box[axis]
		if len(r.Lo) > 0 && !sameBounds(r.Lo, sp.loBounds) {
			cond = conj(cond, kernel.Ge(c.pos[axis], c.low(r.Lo, nil)))
		}
		if len(r.Hi) > 0 && !sameBounds(r.Hi, sp.hiBounds) {
			cond = conj(cond, kernel.Le(c.pos[axis], c.high(r.Hi, nil)))
		}
	}
	if w.Color != nil && c.strided == nil {
		cond = conj(cond, c.hasColor(w.Color))
	}
	return cond
}

// hasColor reports whether this cell has a colour.
func (c *cell) hasColor(col *ir.Color) kernel.Expr {
	var sum kernel.Expr = kernel.I(0)
	for _, axis := range c.axes {
		if col.Coef[axis] != 0 {
			sum = kernel.Add(sum, kernel.Mul(c.at(axis), kernel.I(col.Coef[axis])))
		}
	}
	return kernel.Bin(op.Eq, floorMod(sum, kernel.I(col.Mod)), kernel.I(col.Rem))
}

// cellNumber numbers the cells of a reduction's box in row-major order.
func (c *cell) cellNumber(s *statement) kernel.Expr {
	var num kernel.Expr = kernel.I(0)
	for _, axis := range c.axes {
		r := s.src.Domain[axis]
		lo := c.low(r.Lo, nil)
		size := kernel.Add(kernel.Sub(c.high(r.Hi, nil), lo), kernel.I(1))
		num = kernel.Add(kernel.Mul(num, size), kernel.Sub(c.at(axis), lo))
	}
	return num
}

func zero(t types.Type) kernel.Expr { return kernel.L(op.Convert(t, op.Int(types.I32, 0))) }

func lowest(t types.Type) op.Value {
	switch {
	case t.IsFloat():
		return op.Float(t, math.Inf(-1))
	case t == types.I32:
		return op.Int(t, math.MinInt32)
	}
	return op.Int(t, 0)
}

func highest(t types.Type) op.Value {
	switch {
	case t.IsFloat():
		return op.Float(t, math.Inf(1))
	case t == types.I32:
		return op.Int(t, math.MaxInt32)
	case t == types.U8:
		return op.Int(t, math.MaxUint8)
	}
	return op.Int(t, 1)
}

// expr lowers an expression at this cell.
func (c *cell) expr(e ir.Expr) kernel.Expr {
	if c.stage != nil && c.stage.terms != nil {
		if v := c.stage.terms[termOf{e, c.stage.temporary}]; v != nil {
			return v
		}
	}
	if c.stage != nil && c.stage.ready != nil {
		if v := c.stage.ready(e, c.stage.temporary); v != nil {
			return v
		}
	}
	switch e := e.(type) {
	case ir.Const:
		return kernel.L(e.Value)
	case ir.ParamRef:
		return kernel.Conv(types.I32, c.size(e.Param))
	case ir.ScalarRef:
		return c.scalar(e.Scalar)
	case ir.TempRef:
		return c.temp(e.Temp)
	case ir.Pos:
		return kernel.Conv(types.I32, c.at(e.Axis))
	case ir.StepRef:
		if c.stage != nil {
			step := kernel.Add(c.stepVar(), kernel.L(op.Int(types.I32, c.stage.of.Step)))
			if c.stage.earlier != nil {
				step = kernel.Add(step, c.stage.earlier)
			}
			return step
		}
		return c.stepVar()
	case *ir.Access:
		return c.load(e)
	case *ir.Unary:
		return kernel.Un(e.Op, c.expr(e.X))
	case *ir.Binary:
		return c.binary(e)
	case *ir.Fma:
		return c.fused(e)
	case *ir.Select:
		return kernel.Sel(c.expr(e.Cond), c.expr(e.X), c.expr(e.Y))
	case *ir.Cast:
		return kernel.Conv(e.To, c.expr(e.X))
	case *ir.FuncCall:
		args := make([]kernel.Expr, len(e.Args))
		for i, a := range e.Args {
			args[i] = c.expr(a)
		}
		return &kernel.FuncCall{Func: e.Func, Args: args}
	case *ir.PowInt:
		return c.power(e)
	case *ir.Random:
		return &kernel.Random{T: e.T, Seed: kernel.Conv(types.I64, c.expr(e.Seed)), Number: c.number()}
	}
	panic(fmt.Sprintf("lower: unknown expression %T", e))
}

// temp returns the value of a scalar local: the one computed at this cell, or
// the one that an earlier group stored.
func (c *cell) temp(t *ir.Temp) kernel.Expr {
	if v, ok := c.vals[t]; ok {
		return v
	}
	if c.stage != nil {
		return c.stage.temp(c, t)
	}
	st := c.temps[t]
	b := c.bufferOf(st)
	b.reads = true
	return &kernel.Load{Buffer: b.buffer, Index: c.here(st)}
}

// fused lowers a fused multiply-add. A sum of products gets a name for every
// product that it takes in. That changes no bit, and keeps the order of the text:
// compilers evaluate the operands of a call from the left, so that nested calls
// would begin with the last product and hold all of them in registers.
func (c *cell) fused(e *ir.Fma) kernel.Expr {
	z := c.expr(e.Z)
	if takesProducts(z) {
		z = c.sum(z)
	}
	return kernel.Fused(c.expr(e.X), c.expr(e.Y), z)
}

// binary lowers an operation. A sum of products that stands before another one is
// complete, and has a name, before the other begins: it takes one register then, and not
// one for each product that is still to be taken in.
func (c *cell) binary(e *ir.Binary) kernel.Expr {
	x := c.expr(e.X)
	if takesProducts(x) && anyFma(e.Y) {
		x = c.sum(x)
	}
	return kernel.Bin(e.Op, x, c.expr(e.Y))
}

// sum names a value.
func (c *cell) sum(x kernel.Expr) kernel.Expr {
	v := c.body.declare(c.env, "sum", x.Type())
	c.body.emit(&kernel.Let{Var: v, Value: x})
	return kernel.V(v)
}

// anyFma reports whether there is a fused multiply-add in an expression.
func anyFma(e ir.Expr) bool {
	found := false
	ir.Walk(e, func(e ir.Expr) {
		_, fma := e.(*ir.Fma)
		found = found || fma
	})
	return found
}

// takesProducts reports whether a fused multiply-add is among an expression's operands.
func takesProducts(e kernel.Expr) bool {
	found := false
	kernel.Walk(e, func(e kernel.Expr) {
		_, fma := e.(*kernel.Fma)
		found = found || fma
	})
	return found
}

// power multiplies a value by itself, in op.PowInt's order.
func (c *cell) power(e *ir.PowInt) kernel.Expr {
	x := c.expr(e.X)
	t := e.X.Type()
	one := op.Convert(t, op.Int(types.I32, 1))
	if e.N == 0 {
		return kernel.L(one)
	}
	if _, ok := x.(*kernel.Lit); !ok {
		if _, ok := x.(*kernel.Ref); !ok {
			v := c.body.declare(c.env, "base", t)
			c.body.emit(&kernel.Let{Var: v, Value: x})
			x = kernel.V(v)
		}
	}
	n := e.N
	if n < 0 {
		n = -n
	}
	p := x
	for range n - 1 {
		p = kernel.Mul(p, x)
	}
	if e.N < 0 {
		return kernel.Bin(op.Div, kernel.L(one), p)
	}
	return p
}

// number is the cell's place in row-major order within the extents of the
// group's target.
func (c *cell) number() kernel.Expr {
	for _, s := range c.stmts {
		if s.src.Array != nil {
			into := *s.into
			into.layout = dense // padding has no numbers
			return c.here(&into)
		}
	}
	panic("lower: random outside an assignment")
}

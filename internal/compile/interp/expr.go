package interp

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// node is a compiled expression: f for floating-point types, i for the others.
// A node may return memory that is not its own, so results are never written.
type node struct {
	f func(*row) []float64
	i func(*row) []int64
}

// compiler turns the expressions of one statement into nodes.
type compiler struct {
	state   *State
	dom     []ir.Extent // where the statement is evaluated, by axis
	rowAxis int         // the last of its axes, or -1
	stores  map[*ir.Array]*store
	temps   map[*ir.Temp]*store
	target  *ir.Array // nil for temps and reductions

	uniforms []ir.Expr
	depth    int // scratch rows in use at the deepest place
	err      error
}

// uniform returns the number of an expression that is evaluated once for all
// cells, each time the statement is executed.
func (c *compiler) uniform(e ir.Expr) int {
	c.uniforms = append(c.uniforms, e)
	return len(c.uniforms) - 1
}

// scratch says that a node at depth d writes to scratch rows d.
func (c *compiler) scratch(d int) { c.depth = max(c.depth, d+1) }

func (c *compiler) fail(err error) node {
	if c.err == nil {
		c.err = err
	}
	return node{}
}

// expr compiles e; its result and what is beneath it use scratch rows from d
// on. An operand's result survives while those after it use rows further up.
func (c *compiler) expr(e ir.Expr, d int) node {
	c.scratch(d)
	if ir.Uniform(e) {
		u := c.uniform(e)
		return node{
			f: func(r *row) []float64 { return r.uf[u][:r.n] },
			i: func(r *row) []int64 { return r.ui[u][:r.n] },
		}
	}
	switch e := e.(type) {
	case ir.TempRef:
		return c.temp(e.Temp, d)
	case ir.Pos:
		return c.position(e.Axis, d)
	case *ir.Access:
		a, err := c.newAccess(e.Array.Name, c.stores[e.Array], e.Array.Dims, e.Index)
		if err != nil {
			return c.fail(err)
		}
		return load(a, d)
	case *ir.Unary:
		return c.unary(e, d)
	case *ir.Binary:
		return c.binary(e, d)
	case *ir.Fma:
		x, y, z, t := c.expr(e.X, d), c.expr(e.Y, d+1), c.expr(e.Z, d+2), e.Type()
		return node{f: func(r *row) []float64 {
			dst, a, b := r.f[d][:r.n], x.f(r), y.f(r)
			fma(t, dst, a, b, z.f(r))
			return dst
		}}
	case *ir.Select:
		cond, x, y := c.expr(e.Cond, d), c.expr(e.X, d+1), c.expr(e.Y, d+2)
		return node{
			f: func(r *row) []float64 {
				dst, w := r.f[d][:r.n], cond.i(r)
				choose(dst, w, x.f(r), y.f(r))
				return dst
			},
			i: func(r *row) []int64 {
				dst, w := r.i[d][:r.n], cond.i(r)
				choose(dst, w, x.i(r), y.i(r))
				return dst
			},
		}
	case *ir.Cast:
		return c.cast(e, d)
	case *ir.FuncCall:
		return c.funcCall(e, d)
	case *ir.PowInt:
		return c.power(e, d)
	case *ir.Random:
		return c.random(e, d)
	}
	panic(fmt.Sprintf("interp: cannot evaluate %T", e))
}

func load(a *access, d int) node {
	return node{
		f: func(r *row) []float64 { return a.floats(r, r.f[d][:r.n]) },
		i: func(r *row) []int64 { return a.ints(r, r.i[d][:r.n]) },
	}
}

func (c *compiler) temp(t *ir.Temp, d int) node {
	a, err := c.tempAccess(t)
	if err != nil {
		return c.fail(err)
	}
	return load(a, d)
}

func (c *compiler) tempAccess(t *ir.Temp) (*access, error) {
	from := c.temps[t]
	index := make([]ir.Index, len(from.axes))
	for k, axis := range from.axes {
		index[k].Axis = axis
	}
	return c.newAccess(t.Name, from, make([]ir.Dim, len(index)), index)
}

func (c *compiler) position(axis, d int) node {
	step := one(axis == c.rowAxis)
	return node{i: func(r *row) []int64 {
		dst, x := r.i[d][:r.n], r.pos[axis]
		for k := range dst {
			dst[k] = x + int64(k)*step
		}
		return dst
	}}
}

func (c *compiler) unary(e *ir.Unary, d int) node {
	x, t := c.expr(e.X, d), e.Type()
	switch e.Op {
	case op.Neg:
		return node{
			f: func(r *row) []float64 {
				dst := r.f[d][:r.n]
				negate(dst, x.f(r))
				return dst
			},
			i: func(r *row) []int64 {
				dst := r.i[d][:r.n]
				negateInts(t, dst, x.i(r))
				return dst
			},
		}
	case op.Not:
		return node{i: func(r *row) []int64 {
			dst := r.i[d][:r.n]
			not(dst, x.i(r))
			return dst
		}}
	}
	panic(fmt.Sprintf("interp: %v is not unary", e.Op))
}

func (c *compiler) binary(e *ir.Binary, d int) node {
	x, y, t := c.expr(e.X, d), c.expr(e.Y, d+1), e.X.Type()
	switch {
	case !t.IsFloat():
		return node{i: func(r *row) []int64 {
			dst, a := r.i[d][:r.n], x.i(r)
			ints(e.Op, t, dst, a, y.i(r))
			return dst
		}}
	case e.Op.IsComparison():
		return node{i: func(r *row) []int64 {
			dst, a := r.i[d][:r.n], x.f(r)
			compare(e.Op, dst, a, y.f(r))
			return dst
		}}
	}
	return node{f: func(r *row) []float64 {
		dst, a := r.f[d][:r.n], x.f(r)
		floats(e.Op, t, dst, a, y.f(r))
		return dst
	}}
}

func (c *compiler) cast(e *ir.Cast, d int) node {
	x, from := c.expr(e.X, d), e.X.Type()
	switch {
	case from.IsFloat() && e.To.IsFloat():
		return node{f: func(r *row) []float64 {
			dst := r.f[d][:r.n]
			copy(dst, x.f(r))
			round(e.To, dst)
			return dst
		}}
	case e.To.IsFloat():
		return node{f: func(r *row) []float64 {
			dst := r.f[d][:r.n]
			intsToFloats(e.To, dst, x.i(r))
			return dst
		}}
	case from.IsFloat():
		return node{i: func(r *row) []int64 {
			dst := r.i[d][:r.n]
			floatsToInts(e.To, dst, x.f(r))
			return dst
		}}
	}
	return node{i: func(r *row) []int64 {
		dst := r.i[d][:r.n]
		copy(dst, x.i(r))
		wrap(e.To, dst)
		return dst
	}}
}

func (c *compiler) funcCall(e *ir.FuncCall, d int) node {
	x, t := c.expr(e.Args[0], d), e.Type()
	if !t.IsFloat() {
		return node{i: func(r *row) []int64 {
			dst := r.i[d][:r.n]
			absInts(t, dst, x.i(r))
			return dst
		}}
	}
	if len(e.Args) == 1 {
		return node{f: func(r *row) []float64 {
			dst := r.f[d][:r.n]
			call(e.Func, t, dst, x.f(r), nil)
			return dst
		}}
	}
	y := c.expr(e.Args[1], d+1)
	return node{f: func(r *row) []float64 {
		dst, a := r.f[d][:r.n], x.f(r)
		call(e.Func, t, dst, a, y.f(r))
		return dst
	}}
}

func (c *compiler) power(e *ir.PowInt, d int) node {
	x, t := c.expr(e.X, d+1), e.Type()
	if t.IsFloat() {
		multiply := func(d, x, y []float64) { floats(op.Mul, t, d, x, y) }
		divide := func(d, x, y []float64) { floats(op.Div, t, d, x, y) }
		return node{f: func(r *row) []float64 {
			dst := r.f[d][:r.n]
			power(e.N, dst, x.f(r), multiply, divide)
			return dst
		}}
	}
	multiply := func(d, x, y []int64) { ints(op.Mul, t, d, x, y) }
	divide := func(d, x, y []int64) { ints(op.Div, t, d, x, y) }
	return node{i: func(r *row) []int64 {
		dst := r.i[d][:r.n]
		power(e.N, dst, x.i(r), multiply, divide)
		return dst
	}}
}

// random numbers the target's cells in row-major order.
func (c *compiler) random(e *ir.Random, d int) node {
	seed := c.uniform(e.Seed)
	if c.target == nil || c.target.Local {
		return c.fail(fmt.Errorf("random has no grid to number the cells of"))
	}
	to, index := c.stores[c.target], identity(c.target)
	a, err := c.newAccess(c.target.Name, to, make([]ir.Dim, len(index)), index)
	if err != nil {
		return c.fail(err)
	}
	return node{f: func(r *row) []float64 {
		dst := r.f[d][:r.n]
		n, s := a.first(r), r.ui[seed][0]
		for k := range dst {
			dst[k] = op.Random(e.T, s, n+int64(k)*a.stride).F
		}
		return dst
	}}
}

// identity is the index at which a statement writes its target.
func identity(a *ir.Array) []ir.Index {
	index := make([]ir.Index, len(a.Dims))
	for d, dim := range a.Dims {
		index[d].Axis = dim.Axis
	}
	return index
}

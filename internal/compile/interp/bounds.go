package interp

import (
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// bounded is a row of values with their bounds. In Fast mode a float row may be
// an open chain of sums and products: then b is what its leaves propagate, and
// s and m are the sums of magnitudes and the largest products.
type bounded struct {
	f       []float64
	i       []int64
	b, s, m []float64
}

// bnode is a compiled expression with bounds. ops is the number of operations
// of an open chain; 0 says that b is the bound.
type bnode struct {
	eval func(*row) bounded
	ops  int
}

// bound compiles e with bounds. Uniform expressions are not evaluated apart:
// a device may take them into whatever surrounds them.
func (c *compiler) bound(e ir.Expr, d int) bnode {
	c.scratch(d)
	switch e := e.(type) {
	case ir.Const, ir.ParamRef, ir.ScalarRef, ir.StepRef:
		u := c.uniform(e)
		return c.leaf(d, e.Type(), func(r *row, b []float64) bounded {
			copy(b, r.ub[u])
			return bounded{f: r.uf[u][:r.n], i: r.ui[u][:r.n], b: b}
		})
	case ir.TempRef:
		a, err := c.tempAccess(e.Temp)
		if err != nil {
			c.fail(err)
			return bnode{}
		}
		return c.loaded(a, e.Type(), d)
	case *ir.Access:
		a, err := c.newAccess(e.Array.Name, c.stores[e.Array], e.Array.Dims, e.Index)
		if err != nil {
			c.fail(err)
			return bnode{}
		}
		return c.loaded(a, e.Type(), d)
	case ir.Pos, *ir.Random:
		v := c.expr(e, d)
		return c.leaf(d, e.Type(), func(r *row, b []float64) bounded {
			clear(b)
			out := bounded{b: b}
			if e.Type().IsFloat() {
				out.f = v.f(r)
			} else {
				out.i = v.i(r)
			}
			return out
		})
	case *ir.Unary:
		return c.boundUnary(e, d)
	case *ir.Binary:
		return c.boundBinary(e, d)
	case *ir.Fma:
		return c.boundFma(e, d)
	case *ir.Select:
		return c.boundSelect(e, d)
	case *ir.Cast:
		return c.boundCast(e, d)
	case *ir.FuncCall:
		return c.boundFuncCall(e, d)
	case *ir.PowInt:
		return c.boundPower(e, d)
	}
	panic(fmt.Sprintf("interp: cannot evaluate %T", e))
}

// leaf completes a row of values and bounds, written to scratch rows d, to a
// chain of no operations.
func (c *compiler) leaf(d int, t types.Type, eval func(r *row, b []float64) bounded) bnode {
	if c.state.opts.Bounds != Fast || !t.IsFloat() {
		return bnode{eval: func(r *row) bounded { return eval(r, r.b[d][0][:r.n]) }}
	}
	return bnode{eval: func(r *row) bounded {
		out := eval(r, r.b[d][0][:r.n])
		out.s, out.m = r.b[d][1][:r.n], r.b[d][2][:r.n]
		for k, v := range out.f {
			out.s[k] = (math.Abs(v) + out.b[k]) * outward
			out.m[k] = max(1, out.s[k])
		}
		return out
	}}
}

// closed compiles e to a row whose bounds are final.
func (c *compiler) closed(e ir.Expr, d int) func(*row) bounded {
	return c.close(c.bound(e, d), e.Type(), d)
}

func (c *compiler) close(n bnode, t types.Type, d int) func(*row) bounded {
	if n.ops == 0 {
		return n.eval
	}
	k := newMargins(Fast, t)
	return func(r *row) bounded {
		out := n.eval(r)
		b := r.b[d][0][:r.n]
		for i := range b {
			b[i] = k.rearranged(n.ops, out.b[i], out.s[i], out.m[i])
		}
		out.b = b
		return out
	}
}

func (c *compiler) loaded(a *access, t types.Type, d int) bnode {
	v := load(a, d)
	eval := func(r *row, b []float64) bounded {
		out := bounded{b: a.plane(r, b, a.from.Bound, func(u int) float64 { return r.ub[u][0] })}
		if t.IsFloat() {
			out.f = v.f(r)
		} else {
			out.i = v.i(r)
		}
		return out
	}
	if !a.from.chain {
		return c.leaf(d, t, eval)
	}
	sum := func(r *row, u int) float64 { return math.Abs(r.uf[u][0]) + r.ub[u][0] }
	return bnode{ops: a.from.ops, eval: func(r *row) bounded {
		out := eval(r, r.b[d][0][:r.n])
		out.s = a.plane(r, r.b[d][1][:r.n], a.from.sum, func(u int) float64 { return sum(r, u) })
		out.m = a.plane(r, r.b[d][2][:r.n], a.from.mag, func(u int) float64 { return max(1, sum(r, u)) })
		return out
	}}
}

// floatLeaf is the result of an operation that is no part of a chain: value
// computes the row, margin the bound of the cell k.
func (c *compiler) floatLeaf(d int, t types.Type,
	value func(r *row, dst []float64) func(k int, v float64) float64) bnode {
	return c.leaf(d, t, func(r *row, b []float64) bounded {
		dst := r.f[d][:r.n]
		margin := value(r, dst)
		for k, v := range dst {
			b[k] = margin(k, v)
		}
		return bounded{f: dst, b: b}
	})
}

func (c *compiler) intLeaf(d int, t types.Type, value func(r *row, dst []int64) func(k int, v float64) float64) bnode {
	return c.leaf(d, t, func(r *row, b []float64) bounded {
		dst := r.i[d][:r.n]
		margin := value(r, dst)
		for k, v := range dst {
			b[k] = margin(k, float64(v))
		}
		return bounded{i: dst, b: b}
	})
}

func (c *compiler) boundUnary(e *ir.Unary, d int) bnode {
	n, t := c.bound(e.X, d), e.Type()
	if t.IsFloat() {
		return bnode{ops: n.ops, eval: func(r *row) bounded {
			x := n.eval(r)
			dst := r.f[d][:r.n]
			negate(dst, x.f)
			x.f = dst
			return x
		}}
	}
	return c.intLeaf(d, t, func(r *row, dst []int64) func(int, float64) float64 {
		x := n.eval(r)
		if e.Op == op.Not {
			not(dst, x.i)
		} else {
			negateInts(t, dst, x.i)
		}
		return func(k int, v float64) float64 { return integer(t, v, x.b[k]) }
	})
}

func (c *compiler) boundBinary(e *ir.Binary, d int) bnode {
	t := e.X.Type()
	fast := c.state.opts.Bounds == Fast
	switch {
	case t.IsFloat() && fast && (e.Op == op.Add || e.Op == op.Sub || e.Op == op.Mul || e.Op == op.Div):
		return c.chain(e, d)
	case t.IsFloat() && !e.Op.IsComparison():
		x, y := c.closed(e.X, d), c.closed(e.Y, d+1)
		margin := newMargins(c.state.opts.Bounds, t).binary(e.Op)
		return c.floatLeaf(d, t, func(r *row, dst []float64) func(int, float64) float64 {
			// A margin needs the operands, and the result may take the place
			// of the first.
			x := x(r)
			a := r.spare[:r.n]
			y := y(r)
			copy(a, x.f)
			floats(e.Op, t, dst, x.f, y.f)
			return func(k int, v float64) float64 { return margin(a[k], x.b[k], y.f[k], y.b[k], v) }
		})
	case t.IsFloat():
		x, y := c.closed(e.X, d), c.closed(e.Y, d+1)
		return c.intLeaf(d, types.Bool, func(r *row, dst []int64) func(int, float64) float64 {
			x := x(r)
			y := y(r)
			compare(e.Op, dst, x.f, y.f)
			return func(k int, v float64) float64 { return compared(x.f[k], x.b[k], y.f[k], y.b[k]) }
		})
	}
	x, y := c.closed(e.X, d), c.closed(e.Y, d+1)
	return c.intLeaf(d, e.Type(), func(r *row, dst []int64) func(int, float64) float64 {
		x := x(r)
		a := r.spare[:r.n]
		y := y(r)
		for k, v := range x.i {
			a[k] = float64(v)
		}
		ints(e.Op, t, dst, x.i, y.i)
		return func(k int, v float64) float64 {
			return integers(e.Op, t, a[k], x.b[k], float64(y.i[k]), y.b[k], v)
		}
	})
}

func (c *compiler) boundFma(e *ir.Fma, d int) bnode {
	t := e.Type()
	x, y, z := c.closed(e.X, d), c.closed(e.Y, d+1), c.closed(e.Z, d+2)
	margin := newMargins(c.state.opts.Bounds, t)
	return c.floatLeaf(d, t, func(r *row, dst []float64) func(int, float64) float64 {
		// A margin needs the first operand, whose place the result may take.
		x := x(r)
		a := r.spare[:r.n]
		y, z := y(r), z(r)
		copy(a, x.f)
		fma(t, dst, x.f, y.f, z.f)
		return func(k int, v float64) float64 { return margin.fma(a[k], x.b[k], y.f[k], y.b[k], z.b[k], v) }
	})
}

// binary returns the formula of an operator on floats.
func (k margins) binary(o op.Op) func(x, X, y, Y, r float64) float64 {
	switch o {
	case op.Add, op.Sub:
		return func(_, X, _, Y, r float64) float64 { return k.sum(X, Y, r) }
	case op.Mul:
		return k.product
	case op.Div:
		return k.quotient
	case op.Min, op.Max:
		return k.extreme
	}
	panic(fmt.Sprintf("interp: no margin for %v", o))
}

// chain continues the operands' chains with one more operation.
func (c *compiler) chain(e *ir.Binary, d int) bnode {
	t := e.X.Type()
	x, y := c.bound(e.X, d), c.bound(e.Y, d+1)
	if e.Op == op.Div {
		y = c.reciprocal(y, t, d+1)
	}
	return bnode{ops: x.ops + y.ops + 1, eval: func(r *row) bounded {
		x := x.eval(r)
		y := y.eval(r)
		out := bounded{f: r.f[d][:r.n], b: r.b[d][0][:r.n], s: r.b[d][1][:r.n], m: r.b[d][2][:r.n]}
		floats(e.Op, t, out.f, x.f, y.f)
		for k := range out.b {
			p, s, m := (x.b[k]+y.b[k])*outward, (x.s[k]+y.s[k])*outward, x.m[k]+y.m[k]
			if e.Op == op.Mul || e.Op == op.Div {
				p, s, m = product(x.b[k], x.s[k], x.m[k], y.b[k], y.s[k], y.m[k])
			}
			out.b[k], out.s[k], out.m[k] = p, s, m
		}
		return out
	}}
}

// product multiplies two chains' propagated bounds, magnitudes and largest
// products.
func product(xp, xs, xm, yp, ys, ym float64) (p, s, m float64) {
	p = xs*yp + ys*xp
	if p != p {
		p = inf
	}
	return p * outward, xs * ys * outward, xm * ym
}

// reciprocal turns the operand y of a quotient into the bounds of 1/y, leaving
// the values those of y.
func (c *compiler) reciprocal(y bnode, t types.Type, d int) bnode {
	closed := c.close(y, t, d)
	k := newMargins(Fast, t)
	return bnode{eval: func(r *row) bounded {
		out := closed(r)
		y, b := out.f, out.b
		out.b, out.s, out.m = r.b[d][0][:r.n], r.b[d][1][:r.n], r.b[d][2][:r.n]
		for i, v := range y {
			q := 1 / v
			Y := b[i]
			out.b[i] = k.quotient(1, 0, v, Y, q)
			out.s[i] = (math.Abs(q) + out.b[i]) * outward
			out.m[i] = max(1, out.s[i], math.Abs(v)+Y)
		}
		return out
	}}
}

func (c *compiler) boundSelect(e *ir.Select, d int) bnode {
	cond, x, y := c.closed(e.Cond, d), c.closed(e.X, d+1), c.closed(e.Y, d+2)
	t := e.Type()
	pick := func(w, x, y bounded, at func(bounded, int) float64, k int) float64 {
		yes, no := x, y
		if w.i[k] == 0 {
			yes, no = y, x
		}
		if w.b[k] == 0 {
			return yes.b[k]
		}
		return chosen(at(yes, k), yes.b[k], at(no, k), no.b[k])
	}
	if t.IsFloat() {
		return c.leaf(d, t, func(r *row, b []float64) bounded {
			w := cond(r)
			x := x(r)
			y := y(r)
			for k := range b {
				b[k] = pick(w, x, y, func(v bounded, k int) float64 { return v.f[k] }, k)
			}
			choose(r.f[d][:r.n], w.i, x.f, y.f)
			return bounded{f: r.f[d][:r.n], b: b}
		})
	}
	return c.leaf(d, t, func(r *row, b []float64) bounded {
		w := cond(r)
		x := x(r)
		y := y(r)
		for k := range b {
			b[k] = pick(w, x, y, func(v bounded, k int) float64 { return float64(v.i[k]) }, k)
		}
		choose(r.i[d][:r.n], w.i, x.i, y.i)
		return bounded{i: r.i[d][:r.n], b: b}
	})
}

func (c *compiler) boundCast(e *ir.Cast, d int) bnode {
	from := e.X.Type()
	if from == e.To {
		return c.bound(e.X, d)
	}
	x := c.closed(e.X, d)
	margin := newMargins(c.state.opts.Bounds, e.To)
	switch {
	case from.IsFloat() && e.To.IsFloat():
		return c.floatLeaf(d, e.To, func(r *row, dst []float64) func(int, float64) float64 {
			x := x(r)
			copy(dst, x.f)
			round(e.To, dst)
			if e.To == types.F64 {
				return func(k int, v float64) float64 { return x.b[k] }
			}
			return func(k int, v float64) float64 { return margin.narrowed(x.b[k], v) }
		})
	case e.To.IsFloat():
		return c.floatLeaf(d, e.To, func(r *row, dst []float64) func(int, float64) float64 {
			x := x(r)
			intsToFloats(e.To, dst, x.i)
			return func(k int, v float64) float64 { return margin.narrowed(x.b[k], v) }
		})
	case from.IsFloat():
		return c.intLeaf(d, e.To, func(r *row, dst []int64) func(int, float64) float64 {
			x := x(r)
			floatsToInts(e.To, dst, x.f)
			return func(k int, v float64) float64 {
				if e.To == types.Bool {
					return compared(x.f[k], x.b[k], 0, 0)
				}
				w := float64(truncate(x.f[k]))
				return wrapped(e.To, w, truncated(x.f[k], x.b[k], w))
			}
		})
	}
	return c.intLeaf(d, e.To, func(r *row, dst []int64) func(int, float64) float64 {
		x := x(r)
		a := r.spare[:r.n]
		for k, v := range x.i {
			a[k] = float64(v)
		}
		copy(dst, x.i)
		wrap(e.To, dst)
		return func(k int, v float64) float64 {
			if e.To == types.Bool {
				return compared(a[k], x.b[k], 0, 0)
			}
			return wrapped(e.To, a[k], x.b[k])
		}
	})
}

// wrapped is the bound of the conversion of an integer v to a type, if the
// integer's own is b.
func wrapped(t types.Type, v, b float64) float64 {
	if t == types.U8 {
		v = float64(uint8(int64(v)))
	}
	return integer(t, v, b)
}

func (c *compiler) boundFuncCall(e *ir.FuncCall, d int) bnode {
	t := e.Type()
	x := c.closed(e.Args[0], d)
	margin := newMargins(c.state.opts.Bounds, t)
	if !t.IsFloat() {
		return c.intLeaf(d, t, func(r *row, dst []int64) func(int, float64) float64 {
			x := x(r)
			absInts(t, dst, x.i)
			return func(k int, v float64) float64 { return integer(t, v, x.b[k]) }
		})
	}
	if len(e.Args) == 1 {
		return c.floatLeaf(d, t, func(r *row, dst []float64) func(int, float64) float64 {
			x := x(r)
			a := r.spare[:r.n]
			copy(a, x.f)
			call(e.Func, t, dst, x.f, nil)
			return func(k int, v float64) float64 { return margin.function(e.Func, a[k], x.b[k], v) }
		})
	}
	y := c.closed(e.Args[1], d+1)
	return c.floatLeaf(d, t, func(r *row, dst []float64) func(int, float64) float64 {
		x := x(r)
		a := r.spare[:r.n]
		y := y(r)
		copy(a, x.f)
		call(e.Func, t, dst, x.f, y.f)
		return func(k int, v float64) float64 {
			return margin.function2(e.Func, a[k], x.b[k], y.f[k], y.b[k], v)
		}
	})
}

func (c *compiler) boundPower(e *ir.PowInt, d int) bnode {
	t, n := e.Type(), max(e.N, -e.N)
	if n == 1 && e.N > 0 {
		return c.bound(e.X, d)
	}
	if t.IsFloat() && c.state.opts.Bounds == Fast {
		p := c.chainPower(e, n, d)
		if e.N < 0 {
			return c.overOne(p, t, d)
		}
		return p
	}
	x := c.closed(e.X, d+1)
	k := newMargins(c.state.opts.Bounds, t)
	if t.IsFloat() {
		return c.floatLeaf(d, t, func(r *row, dst []float64) func(int, float64) float64 {
			x := x(r)
			power(e.N, dst, x.f,
				func(d, x, y []float64) { floats(op.Mul, t, d, x, y) },
				func(d, x, y []float64) { floats(op.Div, t, d, x, y) })
			return func(i int, v float64) float64 { return k.power(t, x.f[i], x.b[i], e.N) }
		})
	}
	return c.intLeaf(d, t, func(r *row, dst []int64) func(int, float64) float64 {
		x := x(r)
		power(e.N, dst, x.i,
			func(d, x, y []int64) { ints(op.Mul, t, d, x, y) },
			func(d, x, y []int64) { ints(op.Div, t, d, x, y) })
		return func(i int, v float64) float64 {
			if x.b[i] == 0 {
				return 0
			}
			return integer(t, v, inf)
		}
	})
}

// power follows op.PowInt product by product.
func (k margins) power(t types.Type, x, X float64, n int) float64 {
	if n == 0 {
		return 0
	}
	p, P := x, X
	for range max(n, -n) - 1 {
		r := op.Float(t, float64(p*x)).F
		P = k.product(p, P, x, X, r)
		p = r
	}
	if n < 0 {
		return k.quotient(1, 0, p, P, op.Float(t, 1/p).F)
	}
	return P
}

// chainPower is the chain of a positive power n of e.X.
func (c *compiler) chainPower(e *ir.PowInt, n, d int) bnode {
	t := e.Type()
	x := c.bound(e.X, d+1)
	return bnode{ops: n*(x.ops+1) + 1, eval: func(r *row) bounded {
		x := x.eval(r)
		out := bounded{f: r.f[d][:r.n], b: r.b[d][0][:r.n], s: r.b[d][1][:r.n], m: r.b[d][2][:r.n]}
		power(n, out.f, x.f, func(d, x, y []float64) { floats(op.Mul, t, d, x, y) }, nil)
		for k := range out.b {
			p, s, m := 0.0, 1.0, 1.0
			for range n {
				p, s, m = product(p, s, m, x.b[k], x.s[k], x.m[k])
			}
			out.b[k], out.s[k], out.m[k] = p, s, m
		}
		return out
	}}
}

// overOne is 1/y.
func (c *compiler) overOne(y bnode, t types.Type, d int) bnode {
	q := c.reciprocal(y, t, d)
	return bnode{ops: 1, eval: func(r *row) bounded {
		out := q.eval(r)
		dst := r.f[d][:r.n]
		for k, v := range out.f {
			dst[k] = 1 / v
		}
		round(t, dst)
		out.f = dst
		return out
	}}
}

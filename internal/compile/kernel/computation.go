package kernel

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// computation is Eval of one expression, prepared to be carried out many times: variables have slots.
type computation func(values []op.Value) op.Value

// at returns the slot of a variable.
func (p *pieces) at(v *Var) int {
	i, known := p.slot[v]
	if !known {
		i = len(p.slot)
		p.slot[v] = i
	}
	return i
}

// compute prepares an expression that loads nothing.
func (p *pieces) compute(e Expr) computation {
	switch e := e.(type) {
	case *Lit:
		v := e.Value
		return func([]op.Value) op.Value { return v }
	case *Phase:
		return func([]op.Value) op.Value { return op.Int(types.I64, 0) }
	case *Ref:
		i := p.at(e.Var)
		return func(values []op.Value) op.Value { return values[i] }
	case *Unary:
		o, x := e.Op, p.compute(e.X)
		return func(values []op.Value) op.Value { return op.Unary(o, x(values)) }
	case *Binary:
		o, x, y := e.Op, p.compute(e.X), p.compute(e.Y)
		return func(values []op.Value) op.Value { return op.Binary(o, x(values), y(values)) }
	case *Select:
		cond, x, y := p.compute(e.Cond), p.compute(e.X), p.compute(e.Y)
		return func(values []op.Value) op.Value {
			if cond(values).True() {
				return x(values)
			}
			return y(values)
		}
	case *Cast:
		to, x := e.To, p.compute(e.X)
		return func(values []op.Value) op.Value { return op.Convert(to, x(values)) }
	case *Fma:
		x, y, z := p.compute(e.X), p.compute(e.Y), p.compute(e.Z)
		return func(values []op.Value) op.Value { return op.Fma(x(values), y(values), z(values)) }
	case *FuncCall:
		f, list := e.Func, make([]computation, len(e.Args))
		for i, a := range e.Args {
			list[i] = p.compute(a)
		}
		return func(values []op.Value) op.Value {
			args := make([]op.Value, len(list))
			for i, a := range list {
				args[i] = a(values)
			}
			return op.Call(f, args...)
		}
	case *Random:
		t, seed, number := e.T, p.compute(e.Seed), p.compute(e.Number)
		return func(values []op.Value) op.Value { return op.Random(t, seed(values).I, number(values).I) }
	}
	panic(fmt.Sprintf("kernel: %T cannot be evaluated here", e))
}

// whole is a computation of an integer or a condition.
type whole func(values []op.Value) int64

// whole prepares an expression of such a type that loads nothing: index arithmetic, which decides most loops, without
// what floating-point numbers need.
func (p *pieces) whole(e Expr) whole {
	switch e := e.(type) {
	case *Lit:
		v := e.Value.I
		return func([]op.Value) int64 { return v }
	case *Ref:
		i := p.at(e.Var)
		return func(values []op.Value) int64 { return values[i].I }
	case *Binary:
		if t := e.X.Type(); t == types.I64 || t == types.I32 || t == types.Bool {
			if f := wholeBinary(e.Op, p.whole(e.X), p.whole(e.Y)); f != nil {
				if t == types.I32 && e.Type() == t {
					return func(values []op.Value) int64 { return int64(int32(f(values))) }
				}
				return f
			}
		}
	}
	f := p.compute(e)
	return func(values []op.Value) int64 { return f(values).I }
}

// wholeBinary prepares an operator; nil if it is none of those that index arithmetic and conditions are made of. A
// result is not reduced to the range of its type.
func wholeBinary(o op.Op, x, y whole) whole {
	is := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	switch o {
	case op.Add:
		return func(v []op.Value) int64 { return x(v) + y(v) }
	case op.Sub:
		return func(v []op.Value) int64 { return x(v) - y(v) }
	case op.Mul:
		return func(v []op.Value) int64 { return x(v) * y(v) }
	case op.Min:
		return func(v []op.Value) int64 { return min(x(v), y(v)) }
	case op.Max:
		return func(v []op.Value) int64 { return max(x(v), y(v)) }
	case op.And:
		return func(v []op.Value) int64 { return x(v) & y(v) }
	case op.LAnd:
		return func(v []op.Value) int64 { return is(x(v) != 0 && y(v) != 0) }
	case op.LOr:
		return func(v []op.Value) int64 { return is(x(v) != 0 || y(v) != 0) }
	case op.Lt:
		return func(v []op.Value) int64 { return is(x(v) < y(v)) }
	case op.Le:
		return func(v []op.Value) int64 { return is(x(v) <= y(v)) }
	case op.Gt:
		return func(v []op.Value) int64 { return is(x(v) > y(v)) }
	case op.Ge:
		return func(v []op.Value) int64 { return is(x(v) >= y(v)) }
	case op.Eq:
		return func(v []op.Value) int64 { return is(x(v) == y(v)) }
	case op.Ne:
		return func(v []op.Value) int64 { return is(x(v) != y(v)) }
	}
	return nil
}

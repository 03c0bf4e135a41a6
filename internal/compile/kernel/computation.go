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
		if f := wide[o]; f != nil && e.X.Type() == types.I64 {
			return func(values []op.Value) op.Value { return f(x(values).I, y(values).I) }
		}
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

// wide are the operators that index arithmetic is made of, on I64.
var wide = map[op.Op]func(x, y int64) op.Value{
	op.Add: func(x, y int64) op.Value { return op.Value{T: types.I64, I: x + y} },
	op.Sub: func(x, y int64) op.Value { return op.Value{T: types.I64, I: x - y} },
	op.Mul: func(x, y int64) op.Value { return op.Value{T: types.I64, I: x * y} },
	op.Min: func(x, y int64) op.Value { return op.Value{T: types.I64, I: min(x, y)} },
	op.Max: func(x, y int64) op.Value { return op.Value{T: types.I64, I: max(x, y)} },
	op.Lt:  func(x, y int64) op.Value { return op.BoolOf(x < y) },
	op.Le:  func(x, y int64) op.Value { return op.BoolOf(x <= y) },
	op.Gt:  func(x, y int64) op.Value { return op.BoolOf(x > y) },
	op.Ge:  func(x, y int64) op.Value { return op.BoolOf(x >= y) },
	op.Eq:  func(x, y int64) op.Value { return op.BoolOf(x == y) },
}

package ir

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// typed checks that e is well formed and of type t.
func (v *verifier) typed(e Expr, t types.Type) bool {
	before := len(v.errs)
	v.expr(e)
	if len(v.errs) == before && e.Type() != t {
		v.errorf("%s is of type %v, not %v", v.p.ExprText(e), e.Type(), t)
	}
	return len(v.errs) == before
}

// expr checks one expression and everything beneath it.
func (v *verifier) expr(e Expr) {
	before := len(v.errs)
	for _, c := range Children(e) {
		if c == nil {
			v.errorf("an operand is missing in a %T", e)
			return
		}
		v.expr(c)
	}
	if len(v.errs) > before {
		return
	}
	if fault := v.fault(e); fault != "" {
		v.errorf("%s", fault)
	}
}

// fault returns what is wrong with an expression whose operands are right.
func (v *verifier) fault(e Expr) string {
	switch e := e.(type) {
	case Const:
		if !cell(e.Value.T) && e.Value.T != types.I64 {
			return fmt.Sprintf("a constant of type %v", e.Value.T)
		}
	case ParamRef:
		if e.Param < 0 || e.Param >= len(v.p.Params) {
			return fmt.Sprintf("there is no parameter %d", e.Param)
		}
	case ScalarRef:
		if !slices.Contains(v.p.Scalars, e.Scalar) {
			return "a scalar that is not the program's"
		}
	case TempRef:
		if v.call == nil || !slices.Contains(v.call.Temps, e.Temp) {
			return "a temp that is not the call's"
		}
	case Pos:
		if e.Axis < 0 || e.Axis >= len(v.p.Axes) {
			return fmt.Sprintf("there is no axis %d", e.Axis)
		}
	case *Access:
		return v.accessFault(e)
	case *Random:
		if !e.T.IsFloat() || e.Seed.Type() != types.I32 || !Uniform(e.Seed) {
			return "a random value needs a floating-point type and a uniform int as its seed"
		}
	default:
		return v.typeFault(e)
	}
	return ""
}

func (v *verifier) accessFault(e *Access) string {
	if v.call == nil || !slices.Contains(v.call.Arrays, e.Array) {
		return "an array that is not the call's"
	}
	if len(e.Index) != len(e.Array.Dims) {
		return fmt.Sprintf("%s has %d dimensions and is read with %d indices", e.Array.Name, len(e.Array.Dims),
			len(e.Index))
	}
	for _, ix := range e.Index {
		if ix.Axis < -1 || ix.Axis >= len(v.p.Axes) {
			return fmt.Sprintf("there is no axis %d", ix.Axis)
		}
	}
	return ""
}

// typeFault checks operators against the types that package op computes on.
func (v *verifier) typeFault(e Expr) string {
	ok := true
	switch e := e.(type) {
	case *Unary:
		t := e.X.Type()
		ok = e.Op == op.Neg && numeric(t) || e.Op == op.Not && t == types.Bool
	case *Binary:
		t := e.X.Type()
		ok = t == e.Y.Type()
		switch {
		case e.Op == op.Rem:
			ok = ok && numeric(t) && !t.IsFloat()
		case e.Op >= op.Add && e.Op <= op.Max:
			ok = ok && numeric(t)
		case e.Op == op.And || e.Op == op.Or:
			ok = ok && (t == types.Bool || t == types.I32 || t == types.I64)
		case e.Op == op.LAnd || e.Op == op.LOr:
			ok = ok && t == types.Bool
		case !e.Op.IsComparison():
			ok = false
		}
	case *Fma:
		t := e.X.Type()
		ok = t.IsFloat() && t == e.Y.Type() && t == e.Z.Type()
		if v.p.Arithmetic != arith.Contract {
			return v.p.ExprText(e) + " is fused, and the arithmetic is " + v.p.Arithmetic.String()
		}
	case *Select:
		ok = e.Cond.Type() == types.Bool && e.X.Type() == e.Y.Type()
	case *Cast:
		ok = cell(e.To) || e.To == types.I64
	case *FuncCall:
		ok = e.Func != op.NoFunc && len(e.Args) == e.Func.Arity()
		for _, a := range e.Args {
			t := a.Type()
			ok = ok && t == e.Args[0].Type() && (t.IsFloat() || t == types.I32 && e.Func == op.Abs)
		}
	case *PowInt:
		ok = numeric(e.X.Type()) && e.N >= -MaxPower && e.N <= MaxPower
	}
	if !ok {
		return v.p.ExprText(e) + " has operands that do not fit"
	}
	return ""
}

// MaxPower is the largest exponent of a PowInt, and the negative one's.
const MaxPower = 16

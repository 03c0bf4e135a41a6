package exec

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// Formula is a uniform expression in postfix order. What the binding fixes,
// sizes and scalars that nothing reduces into, is in it as values.
type Formula []Term

// TermKind says what a term does to the stack.
type TermKind uint8

const (
	PushValue TermKind = iota // of type Type: Bits
	PushCell                  // the present value of cell Index
	PushStep
	ApplyOp     // Op, to one or two operands
	ApplySelect // of condition, value, value
	ApplyCast   // to Type
	ApplyCall   // Func, to its arguments
	ApplyPower  // Index
)

// Term is one step of evaluating a formula.
type Term struct {
	Kind  TermKind
	Type  types.Type
	Bits  [8]byte
	Index int
	Op    op.Op
	Func  op.Func
}

// formula translates a uniform expression; cell gives a reduced scalar's
// index.
func formula(b *ir.Binding, e ir.Expr, cell func(*ir.Scalar) (int, bool)) Formula {
	var f Formula
	value := func(v op.Value) {
		t := Term{Kind: PushValue, Type: v.T}
		device.Encode(t.Bits[:], v)
		f = append(f, t)
	}
	var walk func(e ir.Expr)
	walk = func(e ir.Expr) {
		for _, c := range ir.Children(e) {
			walk(c)
		}
		switch e := e.(type) {
		case ir.Const, ir.ParamRef:
			value(b.Eval(e, 0))
		case ir.ScalarRef:
			if i, ok := cell(e.Scalar); ok {
				f = append(f, Term{Kind: PushCell, Index: i})
			} else {
				value(b.Eval(e, 0))
			}
		case ir.StepRef:
			f = append(f, Term{Kind: PushStep})
		case *ir.Unary:
			f = append(f, Term{Kind: ApplyOp, Op: e.Op})
		case *ir.Binary:
			f = append(f, Term{Kind: ApplyOp, Op: e.Op})
		case *ir.Select:
			f = append(f, Term{Kind: ApplySelect})
		case *ir.Cast:
			f = append(f, Term{Kind: ApplyCast, Type: e.To})
		case *ir.FuncCall:
			f = append(f, Term{Kind: ApplyCall, Func: e.Func})
		case *ir.PowInt:
			f = append(f, Term{Kind: ApplyPower, Index: e.N})
		default:
			panic(fmt.Sprintf("exec: %T is not uniform", e))
		}
	}
	walk(e)
	return f
}

// evaluator evaluates formulas, in a stack that it keeps.
type evaluator struct {
	cell  func(i int) op.Value // its present value
	stack []op.Value
}

func (v *evaluator) eval(f Formula, step int64) op.Value {
	s := v.stack[:0]
	for i := range f {
		t := &f[i]
		switch t.Kind {
		case PushValue:
			s = append(s, device.Decode(t.Type, t.Bits[:]))
		case PushCell:
			s = append(s, v.cell(t.Index))
		case PushStep:
			s = append(s, op.Int(types.I32, step))
		case ApplyOp:
			n := len(s) - t.Op.Arity()
			if t.Op.Arity() == 1 {
				s[n] = op.Unary(t.Op, s[n])
			} else {
				s[n] = op.Binary(t.Op, s[n], s[n+1])
			}
			s = s[:n+1]
		case ApplySelect:
			// Operands have no effects, so both may have been evaluated.
			n := len(s) - 3
			if s[n].True() {
				s[n] = s[n+1]
			} else {
				s[n] = s[n+2]
			}
			s = s[:n+1]
		case ApplyCast:
			s[len(s)-1] = op.Convert(t.Type, s[len(s)-1])
		case ApplyCall:
			n := len(s) - t.Func.Arity()
			s[n] = op.Call(t.Func, s[n:]...)
			s = s[:n+1]
		case ApplyPower:
			s[len(s)-1] = op.PowInt(s[len(s)-1], t.Index)
		default:
			panic(fmt.Sprintf("exec: no term of kind %d", t.Kind))
		}
	}
	v.stack = s
	return s[0]
}

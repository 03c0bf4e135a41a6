package ir

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Infix prints a statement as mathematics, for people: comments in generated
// code, tables, drawings. It does not parse back.
//
// Example:
//
//	next[k][j][i] = u[k][j][i] + alpha * (u[k][j][i+1] - u[k][j][i])
func (p *Program) Infix(s *Stmt) string {
	var b strings.Builder
	switch {
	case s.Array != nil:
		b.WriteString(s.Array.Name)
		for _, d := range s.Array.Dims {
			fmt.Fprintf(&b, "[%s]", p.Axes[d.Axis])
		}
	case s.Temp != nil:
		b.WriteString(s.Temp.Name)
	default:
		fmt.Fprintf(&b, "%s = %s over cells of ", s.Reduce.Scalar.Name, s.Reduce.Kind)
		b.WriteString(p.InfixExpr(s.Value))
		return b.String()
	}
	return b.String() + " = " + p.InfixExpr(s.Value)
}

// InfixExpr prints an expression as mathematics.
func (p *Program) InfixExpr(e Expr) string {
	text, _ := p.infix(e)
	return text
}

const (
	precSelect = 1
	precAtom   = 20
)

// infix returns the text and its precedence.
func (p *Program) infix(e Expr) (string, int) {
	switch e := e.(type) {
	case Const:
		return e.Value.String(), precAtom
	case ParamRef:
		return p.Params[e.Param].Name, precAtom
	case ScalarRef:
		return e.Scalar.Name, precAtom
	case TempRef:
		return e.Temp.Name, precAtom
	case Pos:
		return p.Axes[e.Axis], precAtom
	case StepRef:
		return "step", precAtom
	case *Access:
		var b strings.Builder
		b.WriteString(e.Array.Name)
		for _, ix := range e.Index {
			switch {
			case ix.Axis < 0:
				fmt.Fprintf(&b, "[%d]", ix.Offset)
			case ix.Offset == 0:
				fmt.Fprintf(&b, "[%s]", p.Axes[ix.Axis])
			default:
				fmt.Fprintf(&b, "[%s%+d]", p.Axes[ix.Axis], ix.Offset)
			}
		}
		return b.String(), precAtom
	case *Unary:
		return e.Op.Sign() + p.operand(e.X, e.Op.Prec()), e.Op.Prec()
	case *Binary:
		if e.Op == op.Min || e.Op == op.Max {
			return fmt.Sprintf("%v(%s, %s)", e.Op, p.InfixExpr(e.X), p.InfixExpr(e.Y)), precAtom
		}
		prec := e.Op.Prec()
		return p.operand(e.X, prec) + " " + e.Op.Sign() + " " + p.operand(e.Y, prec+1), prec
	case *Fma:
		return p.infix(written(e))
	case *Select:
		return p.operand(e.Cond, precSelect+1) + " ? " + p.operand(e.X, precSelect+1) + " : " +
			p.operand(e.Y, precSelect), precSelect
	case *Cast:
		if e.To == e.X.Type() || e.To.IsFloat() && e.X.Type() != types.F64 {
			return p.infix(e.X) // widening says nothing to a reader
		}
		return e.To.Word() + "(" + p.InfixExpr(e.X) + ")", precAtom
	case *FuncCall:
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			args[i] = p.InfixExpr(a)
		}
		return fmt.Sprintf("%v(%s)", e.Func, strings.Join(args, ", ")), precAtom
	case *PowInt:
		return fmt.Sprintf("%s^%d", p.operand(e.X, precAtom), e.N), precAtom - 1
	case *Random:
		return "random(" + p.InfixExpr(e.Seed) + ")", precAtom
	}
	panic("ir: unknown expression")
}

// written is a fused multiply-add as its readers know it: as a sum of a product.
func written(e *Fma) Expr {
	x, minus := unsigned(e.X)
	product := &Binary{Op: op.Mul, X: x, Y: e.Y}
	if z, less := unsigned(e.Z); less && !minus {
		return &Binary{Op: op.Sub, X: product, Y: z}
	}
	if minus {
		return &Binary{Op: op.Sub, X: e.Z, Y: product}
	}
	return &Binary{Op: op.Add, X: e.Z, Y: product}
}

// unsigned returns e without its sign, and whether it had one.
func unsigned(e Expr) (Expr, bool) {
	switch of := e.(type) {
	case *Unary:
		if of.Op == op.Neg {
			return of.X, true
		}
	case Const:
		if of.Value.T.IsFloat() && of.Value.F < 0 {
			return Const{op.Unary(op.Neg, of.Value)}, true
		}
	}
	return e, false
}

func (p *Program) operand(e Expr, prec int) string {
	text, own := p.infix(e)
	if own < prec {
		return "(" + text + ")"
	}
	return text
}

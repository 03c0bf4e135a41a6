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
	var b strings.Builder
	p.infix(&b, e)
	return b.String()
}

const (
	precSelect = 1
	precAtom   = 20
)

// precedence is that of an expression's text.
func precedence(e Expr) int {
	switch e := e.(type) {
	case *Unary:
		return e.Op.Prec()
	case *Binary:
		if e.Op != op.Min && e.Op != op.Max {
			return e.Op.Prec()
		}
	case *Fma:
		return precedence(written(e))
	case *Select:
		return precSelect
	case *Cast:
		if e.isSilent() {
			return precedence(e.X)
		}
	case *PowInt:
		return precAtom - 1
	}
	return precAtom
}

// isSilent reports whether a cast says nothing to a reader, as widening does.
func (e *Cast) isSilent() bool {
	return e.To == e.X.Type() || e.To.IsFloat() && e.X.Type() != types.F64
}

// infix writes the text. Sums of a thousand terms are as deep, so that no text is copied into a longer one.
func (p *Program) infix(b *strings.Builder, e Expr) {
	switch e := e.(type) {
	case Const:
		b.WriteString(e.Value.String())
	case ParamRef:
		b.WriteString(p.Params[e.Param].Name)
	case ScalarRef:
		b.WriteString(e.Scalar.Name)
	case TempRef:
		b.WriteString(e.Temp.Name)
	case Pos:
		b.WriteString(p.Axes[e.Axis])
	case StepRef:
		b.WriteString("step")
	case *Access:
		b.WriteString(e.Array.Name)
		for _, ix := range e.Index {
			switch {
			case ix.Axis < 0:
				fmt.Fprintf(b, "[%d]", ix.Offset)
			case ix.Offset == 0:
				fmt.Fprintf(b, "[%s]", p.Axes[ix.Axis])
			default:
				fmt.Fprintf(b, "[%s%+d]", p.Axes[ix.Axis], ix.Offset)
			}
		}
	case *Unary:
		b.WriteString(e.Op.Sign())
		p.operand(b, e.X, e.Op.Prec())
	case *Binary:
		if e.Op == op.Min || e.Op == op.Max {
			p.called(b, fmt.Sprint(e.Op), e.X, e.Y)
			return
		}
		prec := e.Op.Prec()
		p.operand(b, e.X, prec)
		b.WriteString(" " + e.Op.Sign() + " ")
		p.operand(b, e.Y, prec+1)
	case *Fma:
		p.infix(b, written(e))
	case *Select:
		p.operand(b, e.Cond, precSelect+1)
		b.WriteString(" ? ")
		p.operand(b, e.X, precSelect+1)
		b.WriteString(" : ")
		p.operand(b, e.Y, precSelect)
	case *Cast:
		if e.isSilent() {
			p.infix(b, e.X)
			return
		}
		p.called(b, e.To.Word(), e.X)
	case *FuncCall:
		p.called(b, fmt.Sprint(e.Func), e.Args...)
	case *PowInt:
		p.operand(b, e.X, precAtom)
		fmt.Fprintf(b, "^%d", e.N)
	case *Random:
		p.called(b, "random", e.Seed)
	default:
		panic("ir: unknown expression")
	}
}

// called writes a function of arguments.
func (p *Program) called(b *strings.Builder, name string, args ...Expr) {
	b.WriteString(name + "(")
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		p.infix(b, a)
	}
	b.WriteString(")")
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

// operand writes an expression within another, in parentheses if it needs them there.
func (p *Program) operand(b *strings.Builder, e Expr, prec int) {
	if precedence(e) >= prec {
		p.infix(b, e)
		return
	}
	b.WriteString("(")
	p.infix(b, e)
	b.WriteString(")")
}

package fission

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// sourceText writes expressions of a program as they stand in the body of a stencil: sums are written out, and entries
// of tables are numbers.
type sourceText struct {
	program *ir.Program
	scalars map[*ir.Scalar]string // those that have another name in the body, or none that means them
	hidden  map[string]bool       // names that mean something else in the body than in the file
	used    map[string]bool
	failed  bool // an expression cannot be written
}

// globalText returns a writer of expressions where all names mean what they do in the file.
func globalText(p *ir.Program) *sourceText {
	return &sourceText{program: p, scalars: map[*ir.Scalar]string{}, hidden: map[string]bool{}, used: map[string]bool{}}
}

// newSourceText returns a writer of expressions in a stencil's body, for one of its calls.
func newSourceText(p *ir.Program, b *body, call *lang.CallStep) *sourceText {
	s := globalText(p)
	for _, f := range b.def.Formals {
		s.hidden[f.Name.Name] = true
	}
	for name := range b.locals {
		s.hidden[name] = true
	}
	for n, f := range b.def.Formals {
		if n >= len(call.Args) {
			continue
		}
		if id, ok := call.Args[n].(*lang.Ident); ok {
			if x := p.Scalar(id.Name); x != nil {
				s.scalars[x] = f.Name.Name
			}
		}
	}
	return s
}

// name notes that a name is used, which means what it does in the file.
func (s *sourceText) global(name string) string {
	s.failed = s.failed || s.hidden[name]
	return s.own(name)
}

// own notes that a name is used.
func (s *sourceText) own(name string) string {
	s.used[name] = true
	return name
}

func (s *sourceText) scalar(x *ir.Scalar) string {
	if name, ok := s.scalars[x]; ok {
		return s.own(name)
	}
	return s.global(x.Name)
}

// local returns the name of a local of the body: its values have numbers behind a point.
func (s *sourceText) local(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return s.own(name)
}

func (s *sourceText) affine(a ir.Affine) string {
	for _, t := range a.Terms {
		s.global(s.program.Params[t.Param].Name)
	}
	return a.Text(s.program.Params)
}

// box returns a domain.
func (s *sourceText) box(b ir.Box) string {
	var ranges []string
	for _, r := range b {
		if len(r.Lo) != 1 || len(r.Hi) != 1 {
			s.failed = true
			return ""
		}
		ranges = append(ranges, s.affine(r.Lo[0])+":"+s.affine(r.Hi[0]))
	}
	return "[" + strings.Join(ranges, ", ") + "]"
}

// dims returns the dimensions of a grid, as a declaration has them.
func (s *sourceText) dims(dims []ir.Dim) string {
	var list []string
	for _, d := range dims {
		if d.Lo.Equal(ir.Num(0)) {
			list = append(list, s.affine(d.Hi.Add(1)))
		} else {
			list = append(list, s.affine(d.Lo)+":"+s.affine(d.Hi))
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

// cell returns the index of the cell that a statement assigns.
func (s *sourceText) cell(dims []ir.Dim) string {
	var list []string
	for _, d := range dims {
		list = append(list, s.global(s.program.Axes[d.Axis]))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// How tight expressions bind, beside operators.
const (
	selectBinds = 1
	atomBinds   = 20
	powerBinds  = 19
)

// expr returns an expression.
func (s *sourceText) expr(e ir.Expr) string {
	text, _ := s.binding(e)
	return text
}

// operand returns an expression, in parentheses if it binds less than it has to.
func (s *sourceText) operand(e ir.Expr, least int) string {
	text, binds := s.binding(e)
	if binds < least {
		return "(" + text + ")"
	}
	return text
}

// binding returns an expression, and how tight it binds.
func (s *sourceText) binding(e ir.Expr) (string, int) {
	switch e := e.(type) {
	case ir.Const:
		return number(e.Value)
	case ir.ParamRef:
		return s.global(s.program.Params[e.Param].Name), atomBinds
	case ir.ScalarRef:
		return s.scalar(e.Scalar), atomBinds
	case ir.TempRef:
		return s.local(e.Temp.Name), atomBinds
	case ir.Pos:
		return s.global(s.program.Axes[e.Axis]), atomBinds
	case ir.StepRef:
		return s.global("step"), atomBinds
	case *ir.Access:
		var index []string
		for _, ix := range e.Index {
			switch {
			case ix.Axis < 0:
				index = append(index, fmt.Sprint(ix.Offset))
			case ix.Offset == 0:
				index = append(index, s.global(s.program.Axes[ix.Axis]))
			default:
				index = append(index, fmt.Sprintf("%s%+d", s.global(s.program.Axes[ix.Axis]), ix.Offset))
			}
		}
		return s.own(e.Array.Name) + "[" + strings.Join(index, ",") + "]", atomBinds
	case *ir.Unary:
		return e.Op.Sign() + s.operand(e.X, e.Op.Prec()), e.Op.Prec()
	case *ir.Binary:
		if e.Op == op.Min || e.Op == op.Max {
			return fmt.Sprintf("%v(%s, %s)", e.Op, s.expr(e.X), s.expr(e.Y)), atomBinds
		}
		binds, sign := e.Op.Prec(), e.Op.Sign()
		if e.Op == op.Mul || e.Op == op.Div || e.Op == op.Rem {
			return s.operand(e.X, binds) + sign + s.operand(e.Y, binds+1), binds
		}
		return s.operand(e.X, binds) + " " + sign + " " + s.operand(e.Y, binds+1), binds
	case *ir.Fma:
		return s.binding(asSum(e))
	case *ir.Select:
		return s.operand(e.Cond, selectBinds+1) + " ? " + s.operand(e.X, selectBinds+1) + " : " +
			s.operand(e.Y, selectBinds), selectBinds
	case *ir.Cast:
		return e.To.Word() + "(" + s.expr(e.X) + ")", atomBinds
	case *ir.FuncCall:
		var args []string
		for _, a := range e.Args {
			args = append(args, s.expr(a))
		}
		return fmt.Sprintf("%v(%s)", e.Func, strings.Join(args, ", ")), atomBinds
	case *ir.PowInt:
		return fmt.Sprintf("%s^%d", s.operand(e.X, atomBinds), e.N), powerBinds
	}
	s.failed = true
	return "", atomBinds
}

// number returns a number. What is negative is a sign with a number.
func number(v op.Value) (string, int) {
	text := v.String()
	if v.T.IsFloat() && !strings.ContainsAny(text, ".eIN") {
		text += ".0"
	}
	switch {
	case v.T == types.U8:
		return "byte(" + strconv.FormatInt(v.I, 10) + ")", atomBinds
	case strings.HasPrefix(text, "-"):
		return text, op.Neg.Prec()
	}
	return text, atomBinds
}

// asSum returns a fused multiply-add as the sum that ir.Program.In makes it of.
func asSum(e *ir.Fma) ir.Expr {
	x, minus := withoutSign(e.X)
	z, less := withoutSign(e.Z)
	product := &ir.Binary{Op: op.Mul, X: x, Y: e.Y}
	_, _, _, two := ir.Product(e.Z)
	switch {
	case minus:
		return &ir.Binary{Op: op.Sub, X: e.Z, Y: product}
	case less && !two:
		return &ir.Binary{Op: op.Sub, X: product, Y: z}
	}
	return &ir.Binary{Op: op.Add, X: e.Z, Y: product}
}

// withoutSign returns an expression without its sign, and whether it had one.
func withoutSign(e ir.Expr) (ir.Expr, bool) {
	switch of := e.(type) {
	case *ir.Unary:
		return of.X, of.Op == op.Neg
	case ir.Const:
		if of.Value.F < 0 {
			return ir.Const{Value: op.Unary(op.Neg, of.Value)}, true
		}
	}
	return e, false
}

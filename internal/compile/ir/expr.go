package ir

import (
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Expr is a typed expression. Conversions are explicit: the operands of every
// Binary have one type.
type Expr interface {
	Type() types.Type
	expr()
}

// Const is a literal.
//
// Example printed form:
//
//	(f64 0.1)
type Const struct{ Value op.Value }

// ParamRef is the value of a size parameter, of type I32.
//
// Example printed form:
//
//	(param N)
type ParamRef struct{ Param int } // index in Program.Params

// ScalarRef is the value of a scalar that does not vary over cells.
//
// Example printed form:
//
//	(scalar alpha)
type ScalarRef struct{ Scalar *Scalar }

// TempRef is a scalar local's value at the same cell.
//
// Example printed form:
//
//	(temp c)
type TempRef struct{ Temp *Temp }

// Pos is the cell's position on an axis, in grid coordinates, of type I32.
//
// Example printed form:
//
//	(pos k)
type Pos struct{ Axis int }

// StepRef is the number of iterations that the innermost enclosing iterate has
// completed, of type I32; 0 outside any.
//
// Example printed form:
//
//	(step)
type StepRef struct{}

// Access reads one cell of an array. Index has one entry a dimension.
//
// Example printed form:
//
//	(load u k+1 j i-2)
type Access struct {
	Array *Array
	Index []Index
}

// Cell is what an access reads: the same cell exactly if they are equal.
type Cell struct {
	Array *Array
	Index string // a text of the indices
}

// Cell returns what the access reads.
func (a *Access) Cell() Cell {
	text := make([]byte, 0, 8*len(a.Index))
	for _, x := range a.Index {
		text = strconv.AppendInt(text, int64(x.Axis), 10)
		text = strconv.AppendInt(append(text, '+'), x.Offset, 10)
		text = append(text, ' ')
	}
	return Cell{a.Array, string(text)}
}

// Index is one index of an access: Axis's position plus Offset, or the
// constant Offset where Axis is negative.
type Index struct {
	Axis   int
	Offset int64
}

// Unary is Neg or Not.
//
// Example printed form:
//
//	(neg x)
type Unary struct {
	Op op.Op
	X  Expr
}

// Binary is an operator on two operands of one type.
//
// Example printed form:
//
//	(add x y)
type Binary struct {
	Op   op.Op
	X, Y Expr
}

// Fma is X*Y + Z, rounded once (op.Fma), on floats of one type. Program.In makes
// it; nothing else makes one or takes one apart.
//
// Example printed form:
//
//	(fma x y z)
type Fma struct{ X, Y, Z Expr }

// Select is X where Cond holds and Y elsewhere.
//
// Example printed form:
//
//	(select c x y)
type Select struct{ Cond, X, Y Expr }

// Cast converts as op.Convert does.
//
// Example printed form:
//
//	(cast f32 x)
type Cast struct {
	To types.Type
	X  Expr
}

// FuncCall applies a mathematical function to arguments of one type.
//
// Example printed form:
//
//	(call sqrt x)
type FuncCall struct {
	Func op.Func
	Args []Expr
}

// PowInt is X to a constant power, by repeated multiplication (op.PowInt).
//
// Example printed form:
//
//	(powi 3 x)
type PowInt struct {
	X Expr
	N int
}

// Random is a uniform random value in [0, 1) that depends on Seed and on the
// number of the cell in row-major order within the target's extents
// (op.Random). It stands in initial blocks alone.
//
// Example printed form:
//
//	(random f64 seed)
type Random struct {
	T    types.Type
	Seed Expr // uniform, of type I32
}

func (Const) expr()     {}
func (ParamRef) expr()  {}
func (ScalarRef) expr() {}
func (TempRef) expr()   {}
func (Pos) expr()       {}
func (StepRef) expr()   {}
func (*Access) expr()   {}
func (*Unary) expr()    {}
func (*Binary) expr()   {}
func (*Fma) expr()      {}
func (*Select) expr()   {}
func (*Cast) expr()     {}
func (*FuncCall) expr() {}
func (*PowInt) expr()   {}
func (*Random) expr()   {}

func (e Const) Type() types.Type     { return e.Value.T }
func (ParamRef) Type() types.Type    { return types.I32 }
func (e ScalarRef) Type() types.Type { return e.Scalar.Type }
func (e TempRef) Type() types.Type   { return e.Temp.Type }
func (Pos) Type() types.Type         { return types.I32 }
func (StepRef) Type() types.Type     { return types.I32 }
func (e *Access) Type() types.Type   { return e.Array.Type }
func (e *Unary) Type() types.Type    { return e.X.Type() }
func (e *Fma) Type() types.Type      { return e.X.Type() }
func (e *Select) Type() types.Type   { return e.X.Type() }
func (e *Cast) Type() types.Type     { return e.To }
func (e *FuncCall) Type() types.Type { return e.Args[0].Type() }
func (e *PowInt) Type() types.Type   { return e.X.Type() }
func (e *Random) Type() types.Type   { return e.T }
func (e *Binary) Type() types.Type {
	if e.Op.IsComparison() {
		return types.Bool
	}
	return e.X.Type()
}

// Children returns an expression's operands in evaluation order: what a fused multiply-add
// adds to comes before the product, so that sums are walked from their first term.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case Const, ParamRef, ScalarRef, TempRef, Pos, StepRef, *Access:
		return nil
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.X, e.Y}
	case *Fma:
		return []Expr{e.Z, e.X, e.Y}
	case *Select:
		return []Expr{e.Cond, e.X, e.Y}
	case *Cast:
		return []Expr{e.X}
	case *FuncCall:
		return e.Args
	case *PowInt:
		return []Expr{e.X}
	case *Random:
		return []Expr{e.Seed}
	}
	panic("ir: unknown expression")
}

// Walk calls f for e and everything below it, parents first.
func Walk(e Expr, f func(Expr)) {
	f(e)
	for _, c := range Children(e) {
		Walk(c, f)
	}
}

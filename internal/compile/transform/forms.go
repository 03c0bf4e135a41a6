package transform

import (
	"fmt"
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// maxAxes bounds the axes of a program whose values are compared.
const maxAxes = 8

// vector is a displacement of cells, by axis of the program.
type vector [maxAxes]int32

// forms number expressions, so that those have one number that are the same but for a displacement of all their
// accesses: the same operations in the same order, on the same types and contents of arrays.
type forms struct {
	number  map[string]int
	list    []form
	uniform map[*ir.Temp]bool // local scalars that are the same at all cells
	known   map[ir.Expr]placed
}

// form is an expression wherever it is.
type form struct {
	typ   types.Type
	axes  uint    // on which its accesses move
	moves bool    // its value at another cell is that of its accesses there
	own   float64 // cost of its last operation
	cost  float64 // of all its operations
}

// placed is an expression: its form, and where its first access along each axis is.
type placed struct {
	form int
	at   vector
}

func newForms() *forms {
	return &forms{number: map[string]int{}, uniform: map[*ir.Temp]bool{}, known: map[ir.Expr]placed{}}
}

// place returns where an expression is. Versions tell the contents of arrays apart, and those of reduced scalars.
func (s *forms) place(e ir.Expr, versions map[any]int) placed {
	switch e.(type) {
	case *ir.Access, *ir.Unary, *ir.Binary, *ir.Fma, *ir.Select, *ir.Cast, *ir.FuncCall, *ir.PowInt:
	default:
		return s.find(e, versions)
	}
	at, ok := s.known[e]
	if !ok {
		at = s.find(e, versions)
		s.known[e] = at
	}
	return at
}

func (s *forms) find(e ir.Expr, versions map[any]int) placed {
	var key strings.Builder
	f := form{typ: e.Type(), moves: true}
	var at vector
	on := func(axis int, offset int64) {
		if f.axes&(1<<axis) == 0 {
			f.axes |= 1 << axis
			at[axis] = int32(offset)
		}
	}
	switch e := e.(type) {
	case ir.Const:
		bits := uint64(e.Value.I)
		if e.Value.T.IsFloat() {
			bits = math.Float64bits(e.Value.F)
		}
		fmt.Fprintf(&key, "const %x", bits)
	case ir.ParamRef:
		fmt.Fprintf(&key, "param %d", e.Param)
	case ir.ScalarRef:
		fmt.Fprintf(&key, "scalar %s %d", e.Scalar.Name, versions[e.Scalar])
	case ir.StepRef:
		key.WriteString("step")
	case ir.TempRef:
		key.WriteString("temp " + e.Temp.Name)
		f.moves = s.uniform[e.Temp]
	case ir.Pos:
		fmt.Fprintf(&key, "pos %d", e.Axis)
		f.moves = false
	case *ir.Random:
		fmt.Fprintf(&key, "random %p", e)
		f.moves = false
	case *ir.Access:
		fmt.Fprintf(&key, "load %s %d", e.Array.Name, versions[e.Array])
		for _, ix := range e.Index {
			d := ix.Offset
			if ix.Axis >= 0 {
				on(ix.Axis, d)
				d -= int64(at[ix.Axis])
			}
			fmt.Fprintf(&key, " %d:%d", ix.Axis, d)
		}
		for _, d := range e.Array.Dims { // what is beyond the array may change, too
			for _, face := range []ir.Boundary{d.Faces.Low, d.Faces.High} {
				if face.Value != nil {
					fmt.Fprintf(&key, " %d", s.place(face.Value, versions).form)
				}
			}
		}
	case *ir.Unary:
		fmt.Fprintf(&key, "%v", e.Op)
	case *ir.Binary:
		fmt.Fprintf(&key, "%v", e.Op)
	case *ir.Fma:
		key.WriteString("fma")
	case *ir.Select:
		key.WriteString("select")
	case *ir.Cast:
		key.WriteString("cast")
	case *ir.FuncCall:
		fmt.Fprintf(&key, "call %v", e.Func)
	case *ir.PowInt:
		fmt.Fprintf(&key, "power %d", e.N)
	}
	fmt.Fprintf(&key, " %v", f.typ)
	varies := false
	for _, c := range ir.Children(e) {
		q := s.place(c, versions)
		of := s.list[q.form]
		fmt.Fprintf(&key, " (%d", q.form)
		for axis := range maxAxes {
			if of.axes&(1<<axis) != 0 {
				on(axis, int64(q.at[axis]))
				fmt.Fprintf(&key, " %d:%d", axis, q.at[axis]-at[axis])
			}
		}
		key.WriteByte(')')
		f.moves = f.moves && of.moves
		f.cost += of.cost
		varies = varies || of.axes != 0 || !of.moves
	}
	if varies {
		f.own = costOf(e)
		f.cost += f.own
	}
	n, ok := s.number[key.String()]
	if !ok {
		n = len(s.list)
		s.number[key.String()] = n
		s.list = append(s.list, f)
	}
	return placed{n, at}
}

// What operations cost that take longer than a sum.
const (
	costOfQuotient = 8
	costOfFunction = 20
)

// costOf returns what the last operation of an expression costs, in sums. Signs cost nothing: what follows takes them.
func costOf(e ir.Expr) float64 {
	switch e := e.(type) {
	case *ir.Unary:
		if e.Op == op.Neg && e.Type().IsFloat() {
			return 0
		}
		return 1
	case *ir.Binary:
		switch {
		case e.Op == op.Div || e.Op == op.Rem:
			return costOfQuotient
		case e.Op == op.Mul && (isOne(e.X) || isOne(e.Y)):
			return 0
		}
		return 1
	case *ir.Fma, *ir.Select:
		return 1
	case *ir.Cast:
		if e.To == e.X.Type() {
			return 0
		}
		return 1
	case *ir.FuncCall:
		switch e.Func {
		case op.Abs:
			return 0
		case op.Sqrt:
			return costOfQuotient
		}
		return costOfFunction
	case *ir.PowInt:
		if e.N < 0 {
			return costOfQuotient + float64(-e.N-1)
		}
		return max(0, float64(e.N-1))
	}
	return 0
}

// isOne reports whether an expression is 1 or -1, by which nothing is multiplied.
func isOne(e ir.Expr) bool {
	c, ok := e.(ir.Const)
	return ok && (c.Value.F == 1 || c.Value.F == -1 || c.Value.I == 1 || c.Value.I == -1)
}

package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// The constructors below fold constants and drop neutral elements as they
// build, so that what lowering writes plainly comes out short. Integers are
// simplified freely; floating-point operations are folded only between
// literals, where the result is the one the device would compute.

// I returns an I64 literal.
func I(v int64) Expr { return &Lit{op.Int(types.I64, v)} }

// L returns a literal.
func L(v op.Value) Expr { return &Lit{v} }

// V reads a variable.
func V(v *Var) Expr { return &Ref{v} }

// NewVar returns a variable.
func NewVar(name string, t types.Type) *Var { return &Var{Name: name, Type: t} }

// IntLit returns the value of an integer literal.
func IntLit(e Expr) (int64, bool) {
	if l, ok := e.(*Lit); ok && !l.Value.T.IsFloat() {
		return l.Value.I, true
	}
	return 0, false
}

// Bin applies a binary operator.
func Bin(o op.Op, x, y Expr) Expr {
	if lx, ok := x.(*Lit); ok {
		if ly, ok := y.(*Lit); ok {
			return &Lit{op.Binary(o, lx.Value, ly.Value)}
		}
	}
	if !x.Type().IsFloat() {
		if e := simplifyInt(o, x, y); e != nil {
			return e
		}
	}
	return &Binary{o, x, y}
}

// Fused is x*y + z, rounded once.
func Fused(x, y, z Expr) Expr {
	a, okA := x.(*Lit)
	b, okB := y.(*Lit)
	c, okC := z.(*Lit)
	if okA && okB && okC {
		return &Lit{op.Fma(a.Value, b.Value, c.Value)}
	}
	return &Fma{x, y, z}
}

func simplifyInt(o op.Op, x, y Expr) Expr {
	a, xLit := IntLit(x)
	c, yLit := IntLit(y)
	switch o {
	case op.Add:
		switch {
		case xLit && a == 0:
			return y
		case yLit && c == 0:
			return x
		case xLit:
			return Bin(op.Add, y, x) // literals to the right
		case yLit:
			// (z + a) + c = z + (a+c), also where z + a is written z - a
			if b, ok := x.(*Binary); ok && (b.Op == op.Add || b.Op == op.Sub) {
				if d, ok := IntLit(b.Y); ok {
					if b.Op == op.Sub {
						d = -d
					}
					return Bin(op.Add, b.X, &Lit{op.Int(x.Type(), c+d)})
				}
			}
			if c < 0 && c != minOf(x.Type()) {
				return &Binary{op.Sub, x, &Lit{op.Int(x.Type(), -c)}}
			}
		}
	case op.Sub:
		if yLit && c != minOf(x.Type()) {
			return Bin(op.Add, x, &Lit{op.Int(x.Type(), -c)})
		}
		if Same(x, y) {
			return &Lit{op.Int(x.Type(), 0)}
		}
		// (z + c) - z = c
		if b, ok := x.(*Binary); ok && b.Op == op.Add && Same(b.X, y) {
			return b.Y
		}
	case op.Mul:
		switch {
		case xLit && a == 1:
			return y
		case yLit && c == 1:
			return x
		case xLit && a == 0:
			return x
		case yLit && c == 0:
			return y
		case xLit:
			return Bin(op.Mul, y, x)
		}
	case op.Div:
		if yLit && c == 1 {
			return x
		}
	case op.Min, op.Max:
		if Same(x, y) {
			return x
		}
	case op.LAnd:
		switch {
		case xLit && a != 0:
			return y
		case yLit && c != 0:
			return x
		case xLit:
			return x
		case yLit:
			return y
		}
	case op.LOr:
		switch {
		case xLit && a == 0:
			return y
		case yLit && c == 0:
			return x
		case xLit:
			return x
		case yLit:
			return y
		}
	case op.Le, op.Ge, op.Eq:
		if Same(x, y) {
			return &Lit{op.BoolOf(true)}
		}
	case op.Lt, op.Gt, op.Ne:
		if Same(x, y) {
			return &Lit{op.BoolOf(false)}
		}
	}
	return nil
}

func minOf(t types.Type) int64 {
	if t == types.I64 {
		return -1 << 63
	}
	return -1 << 31
}

// Add, Sub, Mul, Min, Max, Lt, Le, Ge and And build the operators that index
// arithmetic is made of.
func Add(x, y Expr) Expr { return Bin(op.Add, x, y) }
func Sub(x, y Expr) Expr { return Bin(op.Sub, x, y) }
func Mul(x, y Expr) Expr { return Bin(op.Mul, x, y) }
func Min(x, y Expr) Expr { return Bin(op.Min, x, y) }
func Max(x, y Expr) Expr { return Bin(op.Max, x, y) }
func Lt(x, y Expr) Expr  { return Bin(op.Lt, x, y) }
func Le(x, y Expr) Expr  { return Bin(op.Le, x, y) }
func Ge(x, y Expr) Expr  { return Bin(op.Ge, x, y) }
func And(x, y Expr) Expr { return Bin(op.LAnd, x, y) }

// CeilDiv returns the smallest integer at least x / y, for x >= 0 and y > 0.
func CeilDiv(x, y Expr) Expr {
	return Bin(op.Div, Add(x, Sub(y, &Lit{op.Int(x.Type(), 1)})), y)
}

// Un applies Neg or Not.
func Un(o op.Op, x Expr) Expr {
	if l, ok := x.(*Lit); ok {
		return &Lit{op.Unary(o, l.Value)}
	}
	return &Unary{o, x}
}

// Sel chooses between two values.
func Sel(c, x, y Expr) Expr {
	if v, ok := IntLit(c); ok {
		if v != 0 {
			return x
		}
		return y
	}
	if Same(x, y) {
		return x
	}
	return &Select{c, x, y}
}

// Conv converts to a type.
func Conv(t types.Type, x Expr) Expr {
	if x.Type() == t {
		return x
	}
	if l, ok := x.(*Lit); ok {
		return &Lit{op.Convert(t, l.Value)}
	}
	return &Cast{t, x}
}

// Same reports whether two expressions are written alike, so that they have
// one value wherever both are evaluated at one point.
func Same(x, y Expr) bool {
	switch x := x.(type) {
	case *Lit:
		y, ok := y.(*Lit)
		return ok && x.Value.Same(y.Value)
	case *Ref:
		y, ok := y.(*Ref)
		return ok && x.Var == y.Var
	case *Load:
		y, ok := y.(*Load)
		return ok && x.Buffer == y.Buffer && Same(x.Index, y.Index) && sameRank(x.Rank, y.Rank)
	case *Unary:
		y, ok := y.(*Unary)
		return ok && x.Op == y.Op && Same(x.X, y.X)
	case *Binary:
		y, ok := y.(*Binary)
		return ok && x.Op == y.Op && Same(x.X, y.X) && Same(x.Y, y.Y)
	case *Fma:
		y, ok := y.(*Fma)
		return ok && Same(x.X, y.X) && Same(x.Y, y.Y) && Same(x.Z, y.Z)
	case *Select:
		y, ok := y.(*Select)
		return ok && Same(x.Cond, y.Cond) && Same(x.X, y.X) && Same(x.Y, y.Y)
	case *Cast:
		y, ok := y.(*Cast)
		return ok && x.To == y.To && Same(x.X, y.X)
	case *FuncCall:
		y, ok := y.(*FuncCall)
		if !ok || x.Func != y.Func {
			return false
		}
		for i := range x.Args {
			if !Same(x.Args[i], y.Args[i]) {
				return false
			}
		}
		return true
	case *Phase:
		y, ok := y.(*Phase)
		return ok && *x == *y
	case *Random:
		y, ok := y.(*Random)
		return ok && x.T == y.T && Same(x.Seed, y.Seed) && Same(x.Number, y.Number)
	}
	panic("kernel: unknown expression")
}

// sameRank compares the ranks of two loads, which may be missing.
func sameRank(x, y Expr) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	return Same(x, y)
}

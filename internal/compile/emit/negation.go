package emit

import (
	"math"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// negText negates what may be a fused multiply-add. GCC makes -fma(a, b, c) one
// instruction, which computes (-a)*b - c: where a*b + c is 0 that is 0, too, and not -0.
// It does not look through the bits.
func negText(t types.Type) string {
	return strings.ReplaceAll(`%[1]s gl_neg_%[2]s(%[1]s x)
{
#if defined __GNUC__ && !defined __clang__
    uintBITS_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits); // GCC takes -fma(a, b, c) for (-a)*b - c: 0, not -0
    bits ^= (uintBITS_t)1 << (BITS - 1);
    __builtin_memcpy(&x, &bits, sizeof bits);
    return x;
#else
    return -x;
#endif
}`, "BITS", strconv.Itoa(8*t.Size()))
}

// negated returns x if e is -x of floats, however it is written: -x, -1*x, x*-1, x / -1
// or -0 - x, which compilers make -x of.
func negated(e kernel.Expr) kernel.Expr {
	switch e := e.(type) {
	case *kernel.Unary:
		if e.Op == op.Neg && e.Type().IsFloat() {
			return e.X
		}
	case *kernel.Binary:
		switch {
		case !e.Type().IsFloat():
		case e.Op == op.Mul && isFloat(e.X, -1), e.Op == op.Sub && isFloat(e.X, math.Copysign(0, -1)):
			return e.Y
		case (e.Op == op.Mul || e.Op == op.Div) && isFloat(e.Y, -1):
			return e.X
		}
	}
	return nil
}

// isFloat reports whether e is a literal with the bits of f. Zeros have a sign.
func isFloat(e kernel.Expr, f float64) bool {
	switch e := e.(type) {
	case *kernel.Lit:
		return e.Type().IsFloat() && math.Float64bits(e.Value.F) == math.Float64bits(f)
	case *kernel.Unary:
		return e.Op == op.Neg && isFloat(e.X, -f)
	}
	return false
}

// fusedValues are the variables and buffers of a kernel that hold fused multiply-adds, as
// a compiler may find out: it looks through names, conditions and memory.
type fusedValues struct {
	vars    map[*kernel.Var]bool
	buffers map[*kernel.Buffer]bool
}

// fusedIn looks for them until there are no more.
func fusedIn(k *kernel.Kernel) fusedValues {
	f := fusedValues{map[*kernel.Var]bool{}, map[*kernel.Buffer]bool{}}
	for found := true; found; {
		found = false
		name := func(v *kernel.Var, values ...kernel.Expr) {
			for _, e := range values {
				if !f.vars[v] && f.has(e) {
					f.vars[v], found = true, true
				}
			}
		}
		keep := func(b *kernel.Buffer, values ...kernel.Expr) {
			for _, e := range values {
				if !f.buffers[b] && f.has(e) {
					f.buffers[b], found = true, true
				}
			}
		}
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Let:
				name(s.Var, s.Value)
			case *kernel.Declare:
				name(s.Var, s.Init)
			case *kernel.Assign:
				name(s.Var, s.Value)
			case *kernel.Shuffle:
				name(s.Var, s.Value)
			case *kernel.Store:
				keep(s.Buffer, s.Value)
			case *kernel.StoreVector:
				keep(s.Buffer, s.Values...)
			case *kernel.LoadVector:
				for _, v := range s.Vars {
					if f.buffers[s.Buffer] && !f.vars[v] {
						f.vars[v], found = true, true
					}
				}
			}
		}, nil)
	}
	return f
}

// has reports whether e may be a fused multiply-add or the negative of one.
func (f fusedValues) has(e kernel.Expr) bool {
	switch e := e.(type) {
	case *kernel.Fma:
		return true
	case *kernel.Ref:
		return f.vars[e.Var]
	case *kernel.Load:
		return f.buffers[e.Buffer]
	case *kernel.Select:
		return f.has(e.X) || f.has(e.Y)
	case *kernel.Cast:
		return f.has(e.X)
	case *kernel.Binary:
		if (e.Op == op.Min || e.Op == op.Max) && e.Type().IsFloat() {
			return f.has(e.X) || f.has(e.Y)
		}
	}
	x := negated(e)
	return x != nil && f.has(x)
}

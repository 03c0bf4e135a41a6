package emit

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// sameInt hides from the compiler of PTX where an int comes from. On compute capability 9.0 it computes
// max(min(a, b), 0) in one instruction, and takes a predicate of that for what is compared with a or b. That predicate
// is wrong: with a = 0 and b = 1, the maximum equals b. Seen with CUDA 13.0, in a kernel whose cells ask whether they
// are the last of their row. The compiler knows no identity by a table of truth values, so the comparison is one of its
// own. NVIDIA's own libraries do the same for other faults of the instruction before CUDA 13.4:
// https://github.com/NVIDIA/cccl/pull/11306.
const sameInt = `int32_t gl_same_i32(int32_t x) // x, which the compiler does not know
{
    asm("lop3.b32 %0, %0, 0, 0, 0xf0;" : "+r"(x));
    return x;
}`

// clampedIn returns the ints of a kernel that are no less than 0 because a maximum says so.
func clampedIn(k *kernel.Kernel) map[*kernel.Var]bool {
	clamped := map[*kernel.Var]bool{}
	name := func(v *kernel.Var, value kernel.Expr) bool {
		found := !clamped[v] && isClamped(value, clamped)
		if found {
			clamped[v] = true
		}
		return found
	}
	for found := true; found; { // an assignment may come before what it depends on
		found = false
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Let:
				found = name(s.Var, s.Value) || found
			case *kernel.Declare:
				found = name(s.Var, s.Init) || found
			case *kernel.Assign:
				found = name(s.Var, s.Value) || found
			}
		}, nil)
	}
	return clamped
}

// isClamped reports whether an int is a maximum with 0, an extremum that such a maximum is part of, or a constant from
// one. Sums with what is not constant are no clamps: hidden, too, they cost kernels of the family pipe registers.
func isClamped(e kernel.Expr, vars map[*kernel.Var]bool) bool {
	if e == nil || e.Type() != types.I32 {
		return false
	}
	switch e := e.(type) {
	case *kernel.Ref:
		return vars[e.Var]
	case *kernel.Select:
		return isMaximum(e) || isClamped(e.X, vars) || isClamped(e.Y, vars)
	case *kernel.Binary:
		switch e.Op {
		case op.Max:
			return isZero(e.X) || isZero(e.Y) || isClamped(e.X, vars) || isClamped(e.Y, vars)
		case op.Min:
			return isClamped(e.X, vars) || isClamped(e.Y, vars)
		case op.Add, op.Sub: // the compiler moves constants to the other side
			_, constant := kernel.IntLit(e.Y)
			return constant && isClamped(e.X, vars)
		}
	}
	return false
}

// isMaximum reports whether a choice is a maximum with 0, as x < 0 ? 0 : x is, or the minimum.
func isMaximum(e *kernel.Select) bool {
	asked, ok := e.Cond.(*kernel.Binary)
	if !ok || !asked.Op.IsComparison() {
		return false
	}
	other := e.X
	if isZero(e.X) {
		other = e.Y
	} else if !isZero(e.Y) {
		return false
	}
	return isZero(asked.X) && kernel.Same(asked.Y, other) || isZero(asked.Y) && kernel.Same(asked.X, other)
}

// compared prints an operand of a comparison, as a call of a helper if it is a clamped int and the dialect has one.
func (p *printer) compared(e kernel.Expr, prec int) string {
	if p.SameInt == "" || !isClamped(e, p.clamped) {
		return p.operand(e, prec)
	}
	return fmt.Sprintf("%s(%s)", p.helper(p.SameInt), p.expr(e))
}

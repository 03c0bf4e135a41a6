package transform

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// Fold adds the terms of a sum that are multiplied by one coefficient before
// it multiplies them (computation folding: Rawat et al. 2019, section III-B4).
// Stencils with mirrored weights lose half of their multiplications and more.
// A coefficient is a product of what does not vary over cells; terms stay where
// the first with their coefficient stands.
//
//	c*u[i-1] + b*u[i] + c*u[i+1]  =>  c*(u[i-1] + u[i+1]) + b*u[i]
//
// Of integers the value has the same bits; sums of floating-point numbers are
// rearranged, which only fast arithmetic allows. The number is that of the
// multiplications that are saved.
func Fold(p *ir.Program, e ir.Expr) (ir.Expr, int) {
	saved := 0
	out := ir.Rewrite(e, func(e ir.Expr) ir.Expr {
		if !isSum(e) {
			return e
		}
		terms := flatten(e, 1, nil)
		for i := range terms {
			terms[i].split(p)
		}
		sum, n := foldTerms(terms)
		if n == 0 {
			return e
		}
		saved += n
		return sum
	})
	return out, saved
}

func isSum(e ir.Expr) bool {
	b, ok := e.(*ir.Binary)
	return ok && (b.Op == op.Add || b.Op == op.Sub)
}

// term is sign * coefficient * rest; without a coefficient it is sign * rest.
type term struct {
	sign        int
	coefficient ir.Expr
	key         string // of the coefficient
	rest        ir.Expr
}

// flatten lists the terms of a sum.
func flatten(e ir.Expr, sign int, list []term) []term {
	switch e := e.(type) {
	case *ir.Binary:
		switch e.Op {
		case op.Add:
			return flatten(e.Y, sign, flatten(e.X, sign, list))
		case op.Sub:
			return flatten(e.Y, -sign, flatten(e.X, sign, list))
		}
	case *ir.Unary:
		if e.Op == op.Neg {
			return flatten(e.X, -sign, list)
		}
	}
	return append(list, term{sign: sign, rest: e})
}

// split parts a term's product in its coefficient and the rest.
func (t *term) split(p *ir.Program) {
	var fixed, rest []ir.Expr
	sign := t.sign
	var factors func(e ir.Expr)
	factors = func(e ir.Expr) {
		switch x := e.(type) {
		case *ir.Binary:
			if x.Op == op.Mul {
				factors(x.X)
				factors(x.Y)
				return
			}
		case ir.Const:
			if v := x.Value; v.T.IsFloat() && v.F < 0 {
				sign = -sign
				e = ir.Const{Value: op.Unary(op.Neg, v)}
			}
		}
		if ir.Uniform(e) {
			fixed = append(fixed, e)
		} else {
			rest = append(rest, e)
		}
	}
	factors(t.rest)
	if len(fixed) == 0 || len(rest) == 0 {
		return
	}
	t.sign, t.coefficient, t.rest = sign, productOf(fixed), productOf(rest)
	t.key = p.ExprText(t.coefficient)
}

func productOf(factors []ir.Expr) ir.Expr {
	x := factors[0]
	for _, y := range factors[1:] {
		x = &ir.Binary{Op: op.Mul, X: x, Y: y}
	}
	return x
}

// foldTerms adds terms up, those of one coefficient together, and counts the
// coefficients that are saved.
func foldTerms(terms []term) (ir.Expr, int) {
	var sum ir.Expr
	saved := 0
	done := map[string]bool{}
	for i, t := range terms {
		if t.coefficient == nil {
			sum = signed(sum, t.sign, t.rest)
			continue
		}
		if done[t.key] {
			continue
		}
		done[t.key] = true
		var inner ir.Expr
		for _, u := range terms[i:] {
			if u.key != t.key {
				continue
			}
			if inner != nil {
				saved++
			}
			inner = signed(inner, t.sign*u.sign, u.rest)
		}
		sum = signed(sum, t.sign, &ir.Binary{Op: op.Mul, X: t.coefficient, Y: inner})
	}
	return sum, saved
}

// signed returns x + y or x - y; x may be nil.
func signed(x ir.Expr, sign int, y ir.Expr) ir.Expr {
	switch {
	case sign > 0:
		return added(x, y)
	case x == nil:
		return &ir.Unary{Op: op.Neg, X: y}
	}
	return &ir.Binary{Op: op.Sub, X: x, Y: y}
}

package kernel

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// polynomial is an integer expression multiplied out: a sum of products of
// expressions that are no sums or products themselves. Arithmetic wraps in the
// type, where that changes nothing.
type polynomial []monomial

type monomial struct {
	coef    int64
	factors []Expr
}

// monomials is the number from which on an expression is not multiplied out.
const monomials = 24

// polynomialOf multiplies an expression out; expand returns what a variable
// stands for, or nil. It fails where the result would be long.
func polynomialOf(e Expr, expand func(*Var) Expr) (polynomial, bool) {
	p := multiplyOut(e, expand)
	return p, len(p) <= monomials
}

func multiplyOut(e Expr, expand func(*Var) Expr) polynomial {
	switch x := e.(type) {
	case *Lit:
		return polynomial{}.plus(1, monomial{x.Value.I, nil}, e.Type())
	case *Ref:
		if value := expand(x.Var); value != nil {
			return multiplyOut(value, expand)
		}
	case *Unary:
		if x.Op == op.Neg {
			return polynomial{}.add(-1, multiplyOut(x.X, expand), e.Type())
		}
	case *Binary:
		switch x.Op {
		case op.Add, op.Sub:
			sign := int64(1)
			if x.Op == op.Sub {
				sign = -1
			}
			return multiplyOut(x.X, expand).add(sign, multiplyOut(x.Y, expand), e.Type())
		case op.Mul:
			p, q := multiplyOut(x.X, expand), multiplyOut(x.Y, expand)
			if len(p)*len(q) <= monomials {
				return p.times(q, e.Type())
			}
		}
	}
	return polynomial{{1, []Expr{e}}}
}

// plus returns p + c*m.
func (p polynomial) plus(c int64, m monomial, t types.Type) polynomial {
	c = op.Int(t, c*m.coef).I
	if c == 0 {
		return p
	}
	for i, q := range p {
		if !sameFactors(q.factors, m.factors) {
			continue
		}
		sum := op.Int(t, q.coef+c).I
		if sum == 0 {
			return slices.Delete(slices.Clone(p), i, i+1)
		}
		p = slices.Clone(p)
		p[i].coef = sum
		return p
	}
	return append(slices.Clip(p), monomial{c, m.factors})
}

// add returns p + c*q.
func (p polynomial) add(c int64, q polynomial, t types.Type) polynomial {
	for _, m := range q {
		p = p.plus(c, m, t)
	}
	return p
}

// times returns p*q.
func (p polynomial) times(q polynomial, t types.Type) polynomial {
	var out polynomial
	for _, a := range p {
		for _, b := range q {
			out = out.plus(1, monomial{op.Int(t, a.coef*b.coef).I, slices.Concat(a.factors, b.factors)}, t)
		}
	}
	return out
}

// sameFactors reports whether two products have the same factors in some order.
func sameFactors(x, y []Expr) bool {
	if len(x) != len(y) {
		return false
	}
	left := slices.Clone(y)
	for _, e := range x {
		i := slices.IndexFunc(left, func(o Expr) bool { return Same(e, o) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// by returns a and b where p = a*x + b and neither has x; ok is false if there
// are none.
func (p polynomial) by(x *Var) (a, b polynomial, ok bool) {
	for _, m := range p {
		var rest []Expr
		n := 0
		for _, e := range m.factors {
			switch {
			case isRef(e, x):
				n++
			case reads(e, x):
				return nil, nil, false
			default:
				rest = append(rest, e)
			}
		}
		switch n {
		case 0:
			b = append(b, m)
		case 1:
			a = append(a, monomial{m.coef, rest})
		default:
			return nil, nil, false
		}
	}
	return a, b, true
}

// only reports whether all factors are variables of a set.
func (p polynomial) only(set func(*Var) bool) bool {
	for _, m := range p {
		for _, e := range m.factors {
			if r, ok := e.(*Ref); !ok || !set(r.Var) {
				return false
			}
		}
	}
	return true
}

// place is equal for polynomials that differ only by products of a set's
// variables.
func (p polynomial) place(set func(*Var) bool) uint64 {
	sum := uint64(0)
	for _, m := range p {
		if !(polynomial{m}).only(set) {
			product := uint64(m.coef)
			for _, e := range m.factors {
				product *= hash(e) | 1
			}
			sum += product
		}
	}
	return sum
}

// addTo returns x plus a polynomial, whose products are written by product.
func (p polynomial) addTo(x Expr, product func([]Expr) Expr) Expr {
	t := x.Type()
	number := int64(0)
	for _, m := range p {
		if len(m.factors) == 0 {
			number = m.coef
			continue
		}
		if of := product(m.factors); m.coef < -1 && m.coef != minOf(t) {
			x = Sub(x, Mul(of, L(op.Int(t, -m.coef))))
		} else {
			x = term{m.coef, of}.addTo(x)
		}
	}
	return Add(x, L(op.Int(t, number)))
}

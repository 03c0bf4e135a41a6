package kernel

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// linear is an integer expression as a sum: a constant and terms, each an
// expression that is no sum itself with a literal coefficient. All arithmetic
// wraps in the type, where sums may be regrouped at will.
type linear struct {
	constant int64
	terms    []term
}

type term struct {
	coef int64
	atom Expr
}

// linearOf returns e as a sum.
func linearOf(e Expr) linear {
	var l linear
	l.add(e, 1)
	l.terms = slices.DeleteFunc(l.terms, func(t term) bool { return wrapTo(e, t.coef) == 0 })
	return l
}

// Spread writes an integer expression as a sum of terms with a literal at the end. Indices that differ by a number then
// have all but that in common: compilers compute an address for them all.
func Spread(e Expr) Expr { return linearOf(e).expr(e.Type()) }

// add adds c * e.
func (l *linear) add(e Expr, c int64) {
	if v, ok := IntLit(e); ok {
		l.constant += c * v
		return
	}
	switch x := e.(type) {
	case *Unary:
		if x.Op == op.Neg {
			l.add(x.X, -c)
			return
		}
	case *Binary:
		switch x.Op {
		case op.Add:
			l.add(x.X, c)
			l.add(x.Y, c)
			return
		case op.Sub:
			l.add(x.X, c)
			l.add(x.Y, -c)
			return
		case op.Mul:
			if v, ok := IntLit(x.Y); ok {
				l.add(x.X, c*v)
				return
			}
			if v, ok := IntLit(x.X); ok {
				l.add(x.Y, c*v)
				return
			}
		}
	}
	for i := range l.terms {
		if Same(l.terms[i].atom, e) {
			l.terms[i].coef += c
			return
		}
	}
	l.terms = append(l.terms, term{c, e})
}

// Difference returns x - y where that is one number whatever the values of
// the variables. Both are integers of one type.
func Difference(x, y Expr) (int64, bool) {
	l := linearOf(x)
	l.add(y, -1)
	for _, t := range l.terms {
		if wrapTo(x, t.coef) != 0 {
			return 0, false
		}
	}
	return wrapTo(x, l.constant), true
}

func wrapTo(like Expr, v int64) int64 { return op.Int(like.Type(), v).I }

// Trips returns the number of iterations of a loop where it is one number
// whatever the values of the variables.
func Trips(l *Loop) (int64, bool) {
	d, ok := Difference(l.Hi, l.Lo)
	if !ok {
		return 0, false
	}
	if d <= 0 {
		return 0, true
	}
	step, ok := IntLit(l.Step)
	if !ok || step < 1 {
		return 0, false
	}
	return (d-1)/step + 1, true
}

// expr writes a sum out, literal last.
func (l linear) expr(t types.Type) Expr {
	var x Expr = L(op.Int(t, 0))
	for _, t := range l.terms {
		x = t.addTo(x)
	}
	return Add(x, L(op.Int(t, l.constant)))
}

// addTo returns x plus the term.
func (t term) addTo(x Expr) Expr {
	c := wrapTo(t.atom, t.coef)
	switch c {
	case 0:
		return x
	case 1:
		return Add(x, t.atom)
	case -1:
		if v, ok := IntLit(x); ok && v == 0 {
			return Un(op.Neg, t.atom)
		}
		return Sub(x, t.atom)
	}
	return Add(x, Mul(t.atom, L(op.Int(t.atom.Type(), c))))
}

// same reports whether two sums have the same terms, whatever their order and
// constants.
func (l linear) same(m linear) bool {
	if len(l.terms) != len(m.terms) {
		return false
	}
	for _, t := range l.terms {
		found := false
		for _, u := range m.terms {
			found = found || t.coef == u.coef && Same(t.atom, u.atom)
		}
		if !found {
			return false
		}
	}
	return true
}

// hash is equal for sums that are the same but for order and constants.
func (l linear) hash() uint64 {
	sum := uint64(0)
	for _, t := range l.terms {
		sum += uint64(t.coef) * hash(t.atom)
	}
	return sum
}

// hash is equal for expressions that are the same.
func hash(e Expr) uint64 {
	const prime = 1099511628211
	h := uint64(0)
	switch e := e.(type) {
	case *Lit:
		h = 2 + uint64(e.Value.I)
	case *Ref:
		for _, c := range []byte(e.Var.Name) {
			h = (h ^ uint64(c)) * prime
		}
	case *Binary:
		h = 3 + uint64(e.Op)
	}
	for _, c := range Children(e) {
		h = (h*prime + hash(c)) ^ h>>31
	}
	return h*prime + 1
}

package kernel

import (
	"math/bits"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// passStrides computes indices from each other: one that differs from a named
// one by numbers and products of sizes becomes a sum, and the products get
// names before everything else.
//
//	(let row i64 (mul (add (mul k M) j) N))
//	(let row_kp1 i64 (mul (add (mul (add k (i64 1)) M) j) N))
//	=>
//	(let plane i64 (mul M N))
//	...
//	(let row i64 (mul (add (mul k M) j) N))
//	(let row_kp1 i64 (add row plane))
func passStrides(k *Kernel) *Kernel {
	s := newStrider(k)
	body := s.list(k.Body)
	return TidyNames(k.with(append(s.entry, body...)))
}

// strider knows the named values in scope, multiplied out.
type strider struct {
	changes map[*Var]bool
	sizes   map[*Var]bool // the kernel's arguments
	uses    map[*Var]int
	values  map[*Var]Expr // of Lets that are integer arithmetic on what does not change
	loop    map[*Var]*Loop
	inside  *Loop // the innermost loop around the statement
	scope   []base
	entry   []Stmt // names for products of sizes, before the body
	names   *names // of those
}

// base is a named value in scope.
type base struct {
	at    *Var
	poly  polynomial
	place uint64 // equal for values that differ by sizes alone
}

func newStrider(k *Kernel) *strider {
	s := &strider{
		changes: assigned(k.Body), sizes: map[*Var]bool{}, uses: countUses(k.Body), values: map[*Var]Expr{},
		loop: map[*Var]*Loop{}, names: newNames(),
	}
	for _, v := range k.Scalars {
		s.sizes[v] = true
	}
	return s
}

func (s *strider) list(list []Stmt) []Stmt {
	scope, inside := len(s.scope), s.inside
	var out []Stmt
	for _, st := range list {
		switch st := st.(type) {
		case *Let:
			l := &Let{st.Var, s.accesses(st.Value)}
			if isIndexType(st.Value) {
				l.Value = s.nearest(l.Value)
				s.name(l)
			}
			out = append(out, l)
		case *Loop:
			l := mapStmt(st, s.accesses).(*Loop)
			s.inside = st
			l.Body = s.list(st.Body)
			s.inside = inside
			out = append(out, l)
		case *If:
			out = append(out, &If{s.accesses(st.Cond), s.list(st.Then), s.list(st.Else)})
		default:
			out = append(out, mapIndexed(st, func(e Expr, index bool) Expr {
				e = s.accesses(e)
				if index {
					e = s.nearest(e)
				}
				return e
			}))
		}
	}
	s.scope = s.scope[:scope]
	return out
}

// name notes what a Let stands for.
func (s *strider) name(l *Let) {
	if !lasts(l.Value, s.changes) {
		return
	}
	s.values[l.Var], s.loop[l.Var] = l.Value, s.inside
	if p, ok := polynomialOf(V(l.Var), s.expand); ok {
		s.scope = append(s.scope, base{l.Var, p, p.place(s.isSize)})
	}
}

// expand returns the value of a Let that is arithmetic.
func (s *strider) expand(v *Var) Expr {
	switch e := s.values[v].(type) {
	case *Unary, *Ref, *Lit:
		return e
	case *Binary:
		if e.Op == op.Add || e.Op == op.Sub || e.Op == op.Mul {
			return e
		}
	}
	return nil
}

// accesses rewrites the indices of the loads in an expression.
func (s *strider) accesses(e Expr) Expr {
	return Rewrite(e, func(e Expr) Expr {
		if l, ok := e.(*Load); ok {
			return &Load{l.Buffer, s.nearest(l.Index), l.Via, l.Rank}
		}
		return e
	})
}

// nearest writes an integer expression as a sum of a named value and sizes, if
// that takes fewer operations.
func (s *strider) nearest(e Expr) Expr {
	most := s.cost(e)
	if _, named := e.(*Ref); named || most < 2 || !isIndexType(e) {
		return e
	}
	p, ok := polynomialOf(e, s.expand)
	if !ok {
		return e
	}
	t, place := e.Type(), p.place(s.isSize)
	var best *base
	var far polynomial
	for i, b := range s.scope {
		if b.at.Type != t || b.place != place {
			continue
		}
		d := p.add(-1, b.poly, t)
		if d.only(s.isSize) && d.cost() < most {
			best, far, most = &s.scope[i], d, d.cost()
		}
	}
	if best == nil {
		return e
	}
	s.uses[best.at]++
	return far.addTo(V(best.at), s.product)
}

func (s *strider) isSize(v *Var) bool { return s.sizes[v] }

// cost counts the additions that add a polynomial, whose products have names,
// and multiplications.
func (p polynomial) cost() int {
	n := 0
	for _, m := range p {
		n++
		if len(m.factors) > 0 && m.coef != 1 && m.coef != -1 {
			n += times(m.coef)
		}
	}
	return n
}

// cost counts the operations of an expression, with those of values that have
// a name for it alone.
func (s *strider) cost(e Expr) int {
	switch e := e.(type) {
	case *Lit:
		return 0
	case *Ref:
		if value := s.expand(e.Var); value != nil && s.uses[e.Var] == 1 && s.loop[e.Var] == s.inside {
			return s.cost(value)
		}
		return 0
	case *Binary:
		n := 1
		switch e.Op {
		case op.Mul:
			n = times(0)
			if v, ok := IntLit(e.Y); ok {
				n = times(v)
			}
		case op.Div, op.Rem:
			n = 10
		}
		return n + s.cost(e.X) + s.cost(e.Y)
	}
	n := 1
	for _, c := range Children(e) {
		n += s.cost(c)
	}
	return n
}

// times is the cost of a product by a number: for powers of two it is a shift.
func times(v int64) int {
	if bits.OnesCount64(uint64(v)) == 1 {
		return 1
	}
	return 3
}

// product returns a product of sizes, by its name if it is one of several.
func (s *strider) product(factors []Expr) Expr {
	if len(factors) == 1 {
		return factors[0]
	}
	for _, b := range s.scope {
		if len(b.poly) == 1 && b.poly[0].coef == 1 && sameFactors(b.poly[0].factors, factors) &&
			b.at.Type == factors[0].Type() {
			return V(b.at)
		}
	}
	for _, st := range s.entry {
		l := st.(*Let)
		if p := s.mustPolynomial(l.Value); sameFactors(p[0].factors, factors) {
			return V(l.Var)
		}
	}
	x := factors[0]
	for _, f := range factors[1:] {
		x = Mul(x, f)
	}
	name := "plane"
	if len(factors) > 2 {
		name = "volume"
	}
	l := &Let{NewVar(s.names.take(name), x.Type()), x}
	s.entry = append(s.entry, l)
	s.values[l.Var] = x
	return V(l.Var)
}

// mustPolynomial multiplies out a product of sizes.
func (s *strider) mustPolynomial(e Expr) polynomial {
	return multiplyOut(e, func(*Var) Expr { return nil })
}

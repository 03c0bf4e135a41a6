package ir

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/op"
)

// In returns p for a mode of arithmetic. A program that lang.Load has made, or In,
// can be had in every mode. A part of one, and one that was read from a text in
// another mode than strict, stay in theirs: In panics.
//
// Under arith.Contract every sum or difference of floats in a statement takes a
// product in: x + a*b and x - a*b become one Fma, and if the second operand is no
// product but the first is, a*b + y and a*b - y do. A product is a
// multiplication of the sum's type, seen through minus signs. Powers, quotients,
// calls, conversions and names are no products. So the choice follows from the
// text alone, and no pass that stores or inlines a name changes a bit.
//
// p stays as it is. The result shares its declarations and has calls of its own.
func (p *Program) In(mode arith.Mode) *Program {
	switch {
	case p.Arithmetic == mode:
		return p
	case p.strict != nil && len(p.Calls) == len(p.strict.Calls): // and not a part of it
		return p.strict.In(mode)
	case p.Arithmetic != arith.Strict:
		panic(fmt.Sprintf("ir: %v arithmetic cannot become %v", p.Arithmetic, mode))
	}
	out := *p
	out.Arithmetic, out.strict = mode, p
	if mode == arith.Contract {
		out.mapStatements(contract)
	} else {
		out.mapStatements(loosen)
	}
	return &out
}

// In returns b for a mode of arithmetic (Program.In).
func (b *Binding) In(mode arith.Mode) *Binding {
	out := *b
	out.Program = b.Program.In(mode)
	return &out
}

// mapStatements gives p copies of its calls, with f applied to every
// statement's value.
func (p *Program) mapStatements(f func(Expr) Expr) {
	copies := map[*Call]*Call{}
	copied := func(s *Call) *Call {
		if c, ok := copies[s]; ok {
			return c
		}
		c := *s
		c.Body = make([]*Stmt, len(s.Body))
		for i, st := range s.Body {
			of := *st
			of.Value = f(st.Value)
			c.Body[i] = &of
		}
		copies[s] = &c
		return &c
	}
	calls := make([]*Call, len(p.Calls))
	for i, s := range p.Calls {
		calls[i] = copied(s)
	}
	p.Calls = calls
	if p.Initial != nil {
		p.Initial = copied(p.Initial)
	}
	p.Body = mapRuns(p.Body, copied)
}

func mapRuns(body []Op, f func(*Call) *Call) []Op {
	out := make([]Op, len(body))
	for i, o := range body {
		switch o := o.(type) {
		case *Run:
			out[i] = &Run{f(o.Call)}
		case *Iterate:
			it := *o
			it.Body = mapRuns(o.Body, f)
			out[i] = &it
		default:
			out[i] = o
		}
	}
	return out
}

// contract makes the sums in e take products in.
func contract(e Expr) Expr {
	return Rewrite(e, func(e Expr) Expr {
		sum, ok := e.(*Binary)
		if !ok || sum.Op != op.Add && sum.Op != op.Sub || !sum.Type().IsFloat() {
			return e
		}
		if x, y, negative, ok := Product(sum.Y); ok {
			return &Fma{signed(x, negative != (sum.Op == op.Sub)), y, sum.X}
		}
		if x, y, negative, ok := Product(sum.X); ok {
			return &Fma{signed(x, negative), y, signed(sum.Y, sum.Op == op.Sub)}
		}
		return e
	})
}

// loosen drops the conversions of floats to their own type, which keep products
// apart from sums.
func loosen(e Expr) Expr {
	return Rewrite(e, func(e Expr) Expr {
		if c, ok := e.(*Cast); ok && c.To == c.X.Type() && c.To.IsFloat() {
			return c.X
		}
		return e
	})
}

// Product returns the factors of a multiplication, seen through minus signs, and
// whether an odd number of these stands before it.
func Product(e Expr) (x, y Expr, negative, ok bool) {
	for {
		switch of := e.(type) {
		case *Unary:
			if of.Op != op.Neg {
				return nil, nil, false, false
			}
			e, negative = of.X, !negative
			continue
		case *Binary:
			return of.X, of.Y, negative, of.Op == op.Mul
		}
		return nil, nil, false, false
	}
}

// signed returns e, or -e, which is exact.
func signed(e Expr, negative bool) Expr {
	if !negative {
		return e
	}
	switch of := e.(type) {
	case Const:
		return Const{op.Unary(op.Neg, of.Value)}
	case *Unary:
		if of.Op == op.Neg {
			return of.X
		}
	}
	return &Unary{op.Neg, e}
}

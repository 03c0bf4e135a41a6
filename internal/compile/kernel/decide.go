package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Decide removes tests that come out the same for all these arguments: it
// keeps the smaller of two values where it is known, one side of a select or a
// condition, and the dividend of a remainder that is smaller than the divisor.
//
//	(let lo i64 (min (i64 1) N)) (let hi i64 (max (sub N (i64 1)) lo))
//	=> where N is at least 2
//	(let lo i64 (i64 1)) (let hi i64 (sub N (i64 1)))
func Decide(k *Kernel, arguments Ranges) *Kernel {
	d := &decider{newRanger(k, arguments)}
	return TidyNames(k.with(d.list(k.Body)))
}

type decider struct{ *ranger }

func (d *decider) list(list []Stmt) []Stmt {
	var out []Stmt
	for _, s := range list {
		c := mapStmt(s, d.expr)
		switch c := c.(type) {
		case *Loop:
			c.Body = d.list(c.Body)
		case *If:
			d.under(s.(*If).Cond, true, func() { c.Then = d.list(c.Then) })
			d.under(s.(*If).Cond, false, func() { c.Else = d.list(c.Else) })
			if holds, known := IntLit(c.Cond); known {
				side := c.Else
				if holds != 0 {
					side = c.Then
				}
				out = append(out, side...)
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// expr rewrites an expression from its leaves up.
func (d *decider) expr(e Expr) Expr {
	if s, ok := e.(*Select); ok {
		c, x, y := d.expr(s.Cond), s.X, s.Y
		d.under(s.Cond, true, func() { x = d.expr(s.X) })
		d.under(s.Cond, false, func() { y = d.expr(s.Y) })
		return Sel(c, x, y)
	}
	was := e
	e = mapChildren(e, d.expr)
	b, ok := e.(*Binary)
	if !ok || b.X.Type().IsFloat() || b.X.Type() == types.Bool {
		return e
	}
	x, y := d.interval(b.X), d.interval(b.Y)
	switch b.Op {
	case op.Min, op.Max:
		first := op.Le
		if b.Op == op.Max {
			first = op.Ge
		}
		if holds, known := d.decided(first, b.X, b.Y); known && holds {
			return b.X
		}
		if holds, known := d.decided(first, b.Y, b.X); known && holds {
			return b.Y
		}
	case op.Rem:
		// By a number it may tell the colour of a cell, and stays in sight.
		if _, literal := IntLit(b.Y); !literal && x.Lo >= 0 && x.Hi < y.Lo {
			return b.X
		}
		fallthrough
	case op.Div:
		if i := d.interval(was); i.Lo == i.Hi {
			return L(op.Int(e.Type(), i.Lo))
		}
	default:
		if holds, known := d.decided(b.Op, b.X, b.Y); known {
			return L(op.BoolOf(holds))
		}
	}
	return e
}

// decided says whether a comparison holds, if it is the same for all values:
// by the intervals of both sides or because they differ by a number.
func (d *decider) decided(o op.Op, x, y Expr) (holds, known bool) {
	if holds, known := decided(o, d.interval(x), d.interval(y)); known {
		return holds, true
	}
	if n, ok := Difference(x, y); ok && d.whole(x) && d.whole(y) {
		return decided(o, Exactly(n), Exactly(0))
	}
	return false, false
}

// whole reports whether no sum in an expression wraps, and its numbers are
// small, so that what is added to one side of a comparison tells which is the
// greater.
func (d *decider) whole(e Expr) bool {
	switch e := e.(type) {
	case *Lit:
		return Exactly(e.Value.I).fits(types.I32)
	case *Unary:
		return false
	case *Binary:
		if e.Op == op.Add || e.Op == op.Sub {
			_, ok := d.exact(e)
			return ok && d.whole(e.X) && d.whole(e.Y)
		}
		_, x := IntLit(e.X)
		_, y := IntLit(e.Y)
		return e.Op != op.Mul || !x && !y
	}
	return true // a term of the sum
}

package kernel

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Narrow computes in I32 what is I64 and, with these arguments, has no value
// that I32 has not: variables, counters of loops and arithmetic on them. What
// could overflow stays in I64, and so do the arguments themselves; those that
// are needed in I32 are converted once, before everything else.
//
//	(for i i64 serial (i64 0) N (i64 1) (store v (mul i M) a))
//	=>
//	(let N_int i32 (cast i32 N))
//	(let M_int i32 (cast i32 M))
//	(for i i32 serial (i32 0) N_int (i32 1) (store v (mul i M_int) a))
//
// A GPU computes a 64-bit product by several 32-bit ones and keeps it in two
// registers.
func Narrow(k *Kernel, arguments Ranges) *Kernel {
	n := &narrower{
		ranger: newRanger(k, arguments), vars: map[*Var]*Var{}, keeps: reduced(k.Body), arguments: map[*Var]bool{},
	}
	for _, v := range k.Scalars {
		n.arguments[v] = true
	}
	body := n.list(k.Body)
	var entry []Stmt
	for _, v := range k.Scalars { // in their order, not in that of use
		if w := n.vars[v]; w != nil {
			entry = append(entry, &Let{w, Conv(types.I32, V(v))})
		}
	}
	return TidyNames(k.with(append(entry, body...)))
}

type narrower struct {
	*ranger
	vars      map[*Var]*Var // their I32 counterparts
	keeps     map[*Var]bool // variables that stay as they are
	arguments map[*Var]bool
}

func (n *narrower) list(list []Stmt) []Stmt {
	var out []Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *Let:
			out = append(out, n.define(s.Var, s.Value, func(v *Var, e Expr) Stmt { return &Let{v, e} }))
		case *Declare:
			out = append(out, n.define(s.Var, s.Init, func(v *Var, e Expr) Stmt { return &Declare{v, e} }))
		case *Assign:
			if v := n.vars[s.Var]; v != nil {
				out = append(out, &Assign{v, n.narrow(s.Value)})
			} else {
				out = append(out, mapStmt(s, n.expr))
			}
		case *Loop:
			l := n.loop(s)
			l.Body = n.list(s.Body)
			out = append(out, l)
		case *If:
			c := &If{Cond: n.expr(s.Cond)}
			n.under(s.Cond, true, func() { c.Then = n.list(s.Then) })
			n.under(s.Cond, false, func() { c.Else = n.list(s.Else) })
			out = append(out, c)
		default:
			out = append(out, mapIndexed(s, func(e Expr, index bool) Expr {
				if index {
					return n.index(e)
				}
				return n.expr(e)
			}))
		}
	}
	return out
}

// define declares a variable, in I32 if its values allow it.
func (n *narrower) define(v *Var, value Expr, as func(*Var, Expr) Stmt) Stmt {
	if v.Type != types.I64 || n.keeps[v] || !n.of[v].fits(types.I32) {
		return as(v, n.expr(value))
	}
	x := n.narrow(value)
	n.vars[v] = NewVar(v.Name, types.I32)
	return as(n.vars[v], x)
}

// loop returns a loop whose counter is I32 if neither its values nor the one
// at which it ends need more.
func (n *narrower) loop(l *Loop) *Loop {
	if l.Var.Type != types.I64 {
		return mapStmt(l, n.expr).(*Loop)
	}
	lo, hi, step := n.interval(l.Lo), n.interval(l.Hi), n.interval(l.Step)
	end, ok := hi.plus(Interval{step.Lo - 1, step.Hi - 1})
	if ok && lo.fits(types.I32) && hi.fits(types.I32) && step.fits(types.I32) && end.Hi <= math.MaxInt32 {
		bound := n.narrow
		if l.Tag.isLaunch() { // whose bounds the launch computes, in words of the arguments
			bound = n.shortened
		}
		c := mapStmt(l, bound).(*Loop)
		c.Var, c.Team = NewVar(l.Var.Name, types.I32), maybe(l.Team, n.expr)
		if c.Tag != Unroll || steadyTrips(c) {
			n.vars[l.Var] = c.Var
			return c
		}
	}
	if l.Tag == Unroll { // whose trip count has to stay in sight
		return mapStmt(l, n.spelled).(*Loop)
	}
	return mapStmt(l, n.expr).(*Loop)
}

// shortened returns an I64 expression whose values fit, computed in I64 as far
// as its variables are, and then converted.
func (n *narrower) shortened(e Expr) Expr {
	e = n.spelled(e)
	if c, ok := e.(*Cast); ok && c.X.Type() == types.I32 {
		return c.X
	}
	return Conv(types.I32, e)
}

func steadyTrips(l *Loop) bool {
	_, known := Trips(l)
	return known
}

// isI64 says that an expression is in the type that the pass is about.
func isI64(e Expr) bool { return e.Type() == types.I64 }

// expr rewrites an expression and keeps its type.
func (n *narrower) expr(e Expr) Expr {
	switch x := e.(type) {
	case *Ref:
		if v := n.vars[x.Var]; v != nil && !n.arguments[x.Var] {
			return Conv(types.I64, V(v))
		}
		return e
	case *Lit:
		return e
	case *Load:
		return &Load{x.Buffer, n.index(x.Index), x.Via, maybe(x.Rank, n.expr)}
	case *Binary:
		if x.Op.IsComparison() && isI64(x.X) && n.easy(x.X) && n.easy(x.Y) && (n.reads(x.X) || n.reads(x.Y)) {
			return Bin(x.Op, n.narrow(x.X), n.narrow(x.Y))
		}
	case *Cast:
		if isI64(x.X) && n.easy(x.X) && n.reads(x.X) {
			return Conv(x.To, n.narrow(x.X))
		}
	}
	if isI64(e) && n.easy(e) && n.reads(e) {
		return Conv(types.I64, n.narrow(e))
	}
	return n.operands(e, n.expr)
}

// index rewrites an index, which may be I32.
func (n *narrower) index(e Expr) Expr {
	if isI64(e) && n.easy(e) && n.reads(e) {
		return n.narrow(e)
	}
	return n.expr(e)
}

// narrow returns an I64 expression whose values fit, in I32.
func (n *narrower) narrow(e Expr) Expr {
	switch x := e.(type) {
	case *Lit:
		return L(op.Int(types.I32, x.Value.I))
	case *Ref:
		if v := n.vars[x.Var]; v != nil {
			return V(v)
		}
		if n.arguments[x.Var] {
			n.vars[x.Var] = NewVar(x.Var.Name+"_int", types.I32)
			return V(n.vars[x.Var])
		}
		return Conv(types.I32, e)
	case *Cast:
		return Conv(types.I32, n.expr(x.X))
	case *Load:
		return Conv(types.I32, n.expr(e))
	}
	fit := true
	n.operands(e, func(c Expr) Expr {
		fit = fit && (!isI64(c) || n.interval(c).fits(types.I32))
		return c
	})
	if !fit {
		return Conv(types.I32, n.expr(e))
	}
	return n.operands(e, func(c Expr) Expr {
		if isI64(c) {
			return n.narrow(c)
		}
		return n.expr(c)
	})
}

// operands rebuilds an expression from what f makes of its operands, each
// under the condition that it is evaluated under.
func (n *narrower) operands(e Expr, f func(Expr) Expr) Expr {
	s, ok := e.(*Select)
	if !ok {
		return mapChildren(e, f)
	}
	c, x, y := f(s.Cond), s.X, s.Y
	n.under(s.Cond, true, func() { x = f(s.X) })
	n.under(s.Cond, false, func() { y = f(s.Y) })
	return Sel(c, x, y)
}

// easy reports whether an I64 expression can be computed in I32 all the way
// from variables that are, or may be.
func (n *narrower) easy(e Expr) bool {
	if !n.interval(e).fits(types.I32) {
		return false
	}
	switch x := e.(type) {
	case *Ref:
		return n.vars[x.Var] != nil || n.arguments[x.Var]
	case *Load:
		return false
	case *Cast:
		return true
	}
	ok := true
	n.operands(e, func(c Expr) Expr {
		ok = ok && (!isI64(c) || n.easy(c))
		return c
	})
	return ok
}

// reads reports whether an expression has something to do with what is I32
// now, arguments apart: others are as well left as they are.
func (n *narrower) reads(e Expr) bool {
	found := false
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			found = found || n.vars[e.Var] != nil && !n.arguments[e.Var]
		case *Cast:
			found = found || e.To == types.I64
		}
	})
	return found
}

// spelled rewrites an expression and changes nothing but the variables.
func (n *narrower) spelled(e Expr) Expr {
	return Rewrite(e, func(e Expr) Expr {
		if r, ok := e.(*Ref); ok {
			return n.expr(r)
		}
		return e
	})
}

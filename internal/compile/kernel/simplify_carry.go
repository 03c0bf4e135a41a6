package kernel

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// passCarry carries named products with a loop's counter along the loop: they
// start as what they are for its first value and grow by what a step adds.
// Only loops of one thread are such that one iteration follows another.
//
//	(for k i64 serial lo hi (i64 1)
//	  (let at i64 (add (mul (add (mul k M) j) N) i)) ...)
//	=>
//	(var at i64 (add (mul (add (mul lo M) j) N) i))
//	(for k i64 serial lo hi (i64 1) ... (set at (add at plane)))
//
// This is strength reduction of induction variables (Cocke and Kennedy, An
// algorithm for reduction of operator strength, CACM 20(11), 1977).
func passCarry(k *Kernel) *Kernel {
	c := &carrier{newStrider(k)}
	body := c.list(k.Body)
	return TidyNames(k.with(append(c.entry, body...)))
}

type carrier struct{ *strider }

// list carries along the loops of a list, the innermost first.
func (c *carrier) list(list []Stmt) []Stmt {
	var out []Stmt
	scope := len(c.scope)
	for _, s := range list {
		switch s := s.(type) {
		case *Let:
			c.name(s) // for products of sizes that have one
			out = append(out, s)
		case *Loop:
			l := *s
			l.Body = c.list(s.Body)
			if l.Tag == Serial {
				out = append(out, c.carry(&l)...)
			}
			out = append(out, &l)
		case *If:
			out = append(out, &If{s.Cond, c.list(s.Then), c.list(s.Else)})
		default:
			out = append(out, s)
		}
	}
	c.scope = c.scope[:scope]
	return out
}

// carry changes a loop whose body is its own, and returns what comes before it.
func (c *carrier) carry(l *Loop) []Stmt {
	inside := defined(l.Body, map[*Var]bool{l.Var: true})
	heads := map[*Var]bool{} // what decides whether something runs
	values := map[*Var]Expr{}
	WalkStmts(l.Body, func(s Stmt) {
		switch s := s.(type) {
		case *Let:
			values[s.Var] = s.Value
		case *Loop, *If:
			for _, e := range ownExprs(s) {
				Walk(e, func(e Expr) {
					if r, ok := e.(*Ref); ok {
						heads[r.Var] = true
					}
				})
			}
		}
	}, nil)
	// steady reports whether the loop changes nothing in e but its counter.
	steady := func(e Expr) bool {
		ok := true
		Walk(e, func(e Expr) {
			switch e := e.(type) {
			case *Ref:
				ok = ok && (e.Var == l.Var || !inside[e.Var] && !c.changes[e.Var])
			case *Load:
				ok = false
			}
		})
		return ok
	}
	var before, after []Stmt
	carried := map[*Var]*Var{}
	try := func(let *Let) bool {
		if !isIndexType(let.Value) || heads[let.Var] || let.Value.Type() != l.Var.Type || !steady(l.Step) {
			return false
		}
		// What varies may not show in the first value: (k - lo)*x is 0.
		value := opened(let.Value, values)
		if !steady(value) {
			return false
		}
		first := Rewrite(value, func(e Expr) Expr {
			if isRef(e, l.Var) {
				return l.Lo
			}
			return e
		})
		// What is a sum of names costs less than a register to carry it in.
		if !steady(first) || c.cost(let.Value) < 4 {
			return false
		}
		p, ok := polynomialOf(value, func(*Var) Expr { return nil })
		if !ok {
			return false
		}
		slope, _, ok := p.by(l.Var)
		step, ok2 := polynomialOf(l.Step, func(*Var) Expr { return nil })
		if !ok || !ok2 || len(slope) == 0 {
			return false
		}
		x := NewVar(let.Var.Name, let.Var.Type)
		carried[let.Var] = x
		add := slope.times(step, x.Type).addTo(L(op.Int(x.Type, 0)), c.factor)
		if len(Children(add)) > 0 {
			by := &Let{NewVar(let.Var.Name+"_step", x.Type), add}
			if i := slices.IndexFunc(before,
				func(s Stmt) bool { b, ok := s.(*Let); return ok && Same(b.Value, add) }); i >= 0 {
				by = before[i].(*Let)
			} else {
				before = append(before, by)
			}
			add = V(by.Var)
		}
		before = append(before, &Declare{x, first})
		after = append(after, &Assign{x, &Binary{op.Add, V(x), add}})
		return true
	}
	use := func(e Expr) Expr {
		return Rewrite(e, func(e Expr) Expr {
			if r, ok := e.(*Ref); ok && carried[r.Var] != nil {
				return V(carried[r.Var])
			}
			return e
		})
	}
	var scan func(list []Stmt) []Stmt
	scan = func(list []Stmt) []Stmt {
		var out []Stmt
		for _, s := range list {
			switch s := s.(type) {
			case *Let:
				if try(s) {
					continue
				}
			case *If:
				out = append(out, &If{use(s.Cond), scan(s.Then), scan(s.Else)})
				continue
			}
			out = append(out, rebuild([]Stmt{s}, use, nil)...)
		}
		return out
	}
	l.Body = scan(l.Body)
	for _, s := range after {
		a := s.(*Assign)
		c.changes[a.Var] = true
		l.Body = append(l.Body, a)
	}
	return before
}

// opened puts what a loop's names stand for into an expression.
func opened(e Expr, values map[*Var]Expr) Expr {
	return Rewrite(e, func(e Expr) Expr {
		if r, ok := e.(*Ref); ok && values[r.Var] != nil && isIndexType(e) {
			return opened(values[r.Var], values)
		}
		return e
	})
}

// factor writes a product: that of sizes has a name if there are several.
func (c *carrier) factor(factors []Expr) Expr {
	if (polynomial{{1, factors}}).only(c.isSize) {
		return c.product(factors)
	}
	x := factors[0]
	for _, f := range factors[1:] {
		x = Mul(x, f)
	}
	return x
}

package kernel

import "github.com/gridloom/gridloom/internal/compile/op"

// passSingle writes a named sum or product out where one other name of the same
// list is all that needs it.
//
//	(let base i64 (add (mul k M) j)) (let row i64 (mul base N))
//	=>
//	(let row i64 (mul (add (mul k M) j) N))
func passSingle(k *Kernel) *Kernel {
	return k.with(single(k.Body, countUses(k.Body), assigned(k.Body)))
}

func single(list []Stmt, uses map[*Var]int, changes map[*Var]bool) []Stmt {
	wanted := map[*Var]bool{} // by names of this list
	for _, s := range list {
		if l, ok := s.(*Let); ok && isIndexType(l.Value) {
			Walk(l.Value, func(e Expr) {
				if r, ok := e.(*Ref); ok {
					wanted[r.Var] = true
				}
			})
		}
	}
	value := map[*Var]Expr{}
	var out []Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *Let:
			c := &Let{s.Var, Rewrite(s.Value, func(e Expr) Expr {
				if r, ok := e.(*Ref); ok && value[r.Var] != nil {
					return value[r.Var]
				}
				return e
			})}
			if isIndexType(c.Value) && uses[s.Var] == 1 && wanted[s.Var] && isSum(c.Value) && lasts(c.Value, changes) {
				value[s.Var] = c.Value
				continue
			}
			out = append(out, c)
		case *Loop:
			l := *s
			l.Body = single(s.Body, uses, changes)
			out = append(out, &l)
		case *If:
			out = append(out, &If{s.Cond, single(s.Then, uses, changes), single(s.Else, uses, changes)})
		default:
			out = append(out, s)
		}
	}
	return out
}

// isSum reports whether an expression is made of sums and products alone:
// what is chosen is better read by its name.
func isSum(e Expr) bool {
	ok := true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Lit, *Ref:
		case *Unary:
			ok = ok && e.Op == op.Neg
		case *Binary:
			ok = ok && (e.Op == op.Add || e.Op == op.Sub || e.Op == op.Mul)
		default:
			ok = false
		}
	})
	return ok
}

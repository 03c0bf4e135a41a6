package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// passRoots says in one operation what 1 over a square root is, in double. The root is computed from an approximation
// of its reciprocal, which CUDA then has already. A root with a name of its own is written out where it is the only
// use of that.
//
//	(let s f64 (call sqrt x)) (let y f64 (div (f64 1) s))
//	=>
//	(let y f64 (call invsqrt x))
func passRoots(k *Kernel) *Kernel {
	return k.with(roots(k.Body, countUses(k.Body), assigned(k.Body)))
}

func roots(list []Stmt, uses map[*Var]int, changes map[*Var]bool) []Stmt {
	root := map[*Var]*FuncCall{} // names for roots that are used once
	gone := map[*Var]bool{}
	replace := func(e Expr) Expr {
		return Rewrite(e, func(e Expr) Expr {
			b, ok := e.(*Binary)
			if !ok || b.Op != op.Div || b.Y.Type() != types.F64 || !isLiteral(b.X, 1) {
				return e
			}
			if f := rootOf(b.Y); f != nil {
				return &FuncCall{op.InvSqrt, f.Args}
			}
			if r, ok := b.Y.(*Ref); ok && root[r.Var] != nil {
				gone[r.Var] = true
				return &FuncCall{op.InvSqrt, root[r.Var].Args}
			}
			return e
		})
	}
	var out []Stmt
	for _, s := range list {
		if dividesDoubles(s) {
			s = mapStmt(s, replace)
		}
		switch c := s.(type) {
		case *Let:
			if f := rootOf(c.Value); f != nil && uses[c.Var] == 1 && lasts(f, changes) {
				root[c.Var] = f
			}
		case *Loop:
			l := *c
			l.Body = roots(c.Body, uses, changes)
			s = &l
		case *If:
			s = &If{c.Cond, roots(c.Then, uses, changes), roots(c.Else, uses, changes)}
		}
		out = append(out, s)
	}
	kept := out[:0]
	for _, s := range out {
		if l, ok := s.(*Let); !ok || !gone[l.Var] {
			kept = append(kept, s)
		}
	}
	return kept
}

// dividesDoubles reports whether there is a division in double in a statement, those inside apart.
func dividesDoubles(s Stmt) bool {
	found := false
	for _, e := range ownExprs(s) {
		Walk(e, func(e Expr) {
			b, ok := e.(*Binary)
			found = found || ok && b.Op == op.Div && b.Y.Type() == types.F64
		})
	}
	return found
}

// rootOf returns e if it is a square root.
func rootOf(e Expr) *FuncCall {
	if f, ok := e.(*FuncCall); ok && f.Func == op.Sqrt {
		return f
	}
	return nil
}

func isLiteral(e Expr, x float64) bool {
	l, ok := e.(*Lit)
	return ok && l.Value.T.IsFloat() && l.Value.F == x
}

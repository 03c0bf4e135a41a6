package kernel

import (
	"maps"

	"github.com/gridloom/gridloom/internal/compile/op"
)

// passFold computes literal operations. Functions are computed only where all
// devices agree on the result.
//
//	(let x f64 (mul (call sqrt (f64 4)) (f64 3)))  =>  (let x f64 (f64 6))
func passFold(k *Kernel) *Kernel {
	return k.with(rebuild(k.Body, fold, nil))
}

func fold(e Expr) Expr { return Rewrite(e, foldCall) }

func foldCall(e Expr) Expr {
	c, ok := e.(*Call)
	if !ok || c.Func.ULP() > 0 {
		return e
	}
	args := make([]op.Value, len(c.Args))
	for i, a := range c.Args {
		l, ok := a.(*Lit)
		if !ok {
			return e
		}
		args[i] = l.Value
	}
	return &Lit{op.Call(c.Func, args...)}
}

// passCopies puts literals and names that never change in the place of names
// for them. A variable that nothing assigns to is a name for its first value.
//
//	(let n i64 N) (store u n a)  =>  (store u N a)
func passCopies(k *Kernel) *Kernel {
	changes := assigned(k.Body)
	maps.Copy(changes, reduced(k.Body))
	value := map[*Var]Expr{}
	expr := func(e Expr) Expr {
		return Rewrite(e, func(e Expr) Expr {
			if r, ok := e.(*Ref); ok && value[r.Var] != nil {
				return value[r.Var]
			}
			return foldCall(e)
		})
	}
	return k.with(rebuild(k.Body, expr, func(s Stmt) []Stmt {
		if d, ok := s.(*Declare); ok && !changes[d.Var] {
			s = &Let{d.Var, d.Init}
		}
		if l, ok := s.(*Let); ok {
			switch v := l.Value.(type) {
			case *Lit:
				value[l.Var] = v
				return nil
			case *Ref:
				if !changes[v.Var] {
					value[l.Var] = v
					return nil
				}
			}
		}
		return []Stmt{s}
	}))
}

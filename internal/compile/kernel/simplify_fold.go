package kernel

import (
	"maps"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// passFold computes literal operations, and leaves out limits and choices that
// make no difference. Functions are computed only where all devices agree on
// the result.
//
//	(let x f64 (mul (call sqrt (f64 4)) (f64 3)))  =>  (let x f64 (f64 6))
func passFold(k *Kernel) *Kernel {
	return k.with(rebuild(k.Body, fold, nil))
}

func fold(e Expr) Expr { return Rewrite(e, foldNode) }

// foldNode folds an expression whose operands are folded.
func foldNode(e Expr) Expr {
	switch e := e.(type) {
	case *FuncCall:
		return foldFuncCall(e)
	case *Unary:
		return foldNot(e)
	case *Binary:
		if (e.Op == op.Add || e.Op == op.Sub) && isIndexType(e) {
			if sum := linearOf(e); len(sum.terms) == 0 {
				return L(op.Int(e.Type(), sum.constant)) // its terms cancel
			}
		}
		return foldLimits(e)
	case *Select:
		return foldSelect(e)
	}
	return e
}

// foldNot turns the negation of a comparison of integers around.
func foldNot(e *Unary) Expr {
	if e.Op != op.Not {
		return e
	}
	switch x := e.X.(type) {
	case *Unary:
		if x.Op == op.Not {
			return x.X
		}
	case *Binary:
		if o, ok := opposite[x.Op]; ok && !x.X.Type().IsFloat() {
			return Bin(o, x.X, x.Y)
		}
	}
	return e
}

// foldLimits joins numbers that limit an integer from one side, and those from
// both sides if they leave one value.
func foldLimits(e *Binary) Expr {
	if e.Op != op.Min && e.Op != op.Max || e.X.Type().IsFloat() {
		return e
	}
	if _, ok := IntLit(e.X); ok {
		e = &Binary{e.Op, e.Y, e.X} // literals to the right
	}
	inner, ok := e.X.(*Binary)
	if !ok {
		return e
	}
	y, ok1 := IntLit(e.Y)
	c, ok2 := IntLit(inner.Y)
	if x, ok := IntLit(inner.X); ok {
		c, ok2 = x, true
		inner = &Binary{inner.Op, inner.Y, inner.X}
	}
	switch {
	case !ok1 || !ok2:
	case inner.Op == e.Op:
		return Bin(e.Op, inner.X, Bin(e.Op, inner.Y, e.Y))
	case e.Op == op.Min && inner.Op == op.Max && y <= c, e.Op == op.Max && inner.Op == op.Min && y >= c:
		return e.Y
	}
	return e
}

// foldSelect chooses without a select where the condition itself says it, and
// asks a condition once.
func foldSelect(e *Select) Expr {
	x, y := e.X, e.Y
	if s, ok := x.(*Select); ok && Same(s.Cond, e.Cond) {
		x = s.X
	}
	if s, ok := y.(*Select); ok && Same(s.Cond, e.Cond) {
		y = s.Y
	}
	if n, ok := e.Cond.(*Unary); ok && n.Op == op.Not {
		return foldNode(Sel(n.X, y, x))
	}
	if e.Type() == types.Bool {
		vx, okx := IntLit(x)
		vy, oky := IntLit(y)
		if okx && oky && vx != vy {
			if vx != 0 {
				return e.Cond
			}
			return foldNode(Un(op.Not, e.Cond))
		}
	}
	return Sel(e.Cond, x, y)
}

func foldFuncCall(c *FuncCall) Expr {
	if c.Func.ULP() > 0 {
		return c
	}
	args := make([]op.Value, len(c.Args))
	for i, a := range c.Args {
		l, ok := a.(*Lit)
		if !ok {
			return c
		}
		args[i] = l.Value
	}
	return &Lit{op.Call(c.Func, args...)}
}

// passCopies puts literals and names that never change in the place of names
// for them. A variable that nothing assigns to is a name for its first value.
// A counter k_block of which k is another name is called k.
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
			return foldNode(e)
		})
	}
	loops := map[*Var]*Var{}
	WalkStmts(k.Body, func(s Stmt) {
		if l, ok := s.(*Loop); ok {
			loops[l.Var] = l.Var
		}
	}, nil)
	body := rebuild(k.Body, expr, func(s Stmt) []Stmt {
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
					if now := loops[v.Var]; now != nil && strings.HasPrefix(now.Name, l.Var.Name+"_") {
						loops[v.Var] = NewVar(l.Var.Name, v.Var.Type)
					}
					value[l.Var] = v
					return nil
				}
			}
		}
		return []Stmt{s}
	})
	return TidyNames(k.with(renamed(body, loops)))
}

// renamed gives the counters of loops other names.
func renamed(body []Stmt, loops map[*Var]*Var) []Stmt {
	return rebuild(body, func(e Expr) Expr {
		return Rewrite(e, func(e Expr) Expr {
			if r, ok := e.(*Ref); ok && loops[r.Var] != nil {
				return V(loops[r.Var])
			}
			return e
		})
	}, func(s Stmt) []Stmt {
		if l, ok := s.(*Loop); ok {
			l.Var = loops[l.Var] // l is a copy
		}
		return []Stmt{s}
	})
}

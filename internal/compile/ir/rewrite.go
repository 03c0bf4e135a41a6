package ir

// Rewrite returns e with f applied to every expression in it, operands first.
// Nodes whose operands stay the same are kept.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Unary:
		if a := Rewrite(x.X, f); a != x.X {
			return f(&Unary{x.Op, a})
		}
	case *Binary:
		a, b := Rewrite(x.X, f), Rewrite(x.Y, f)
		if a != x.X || b != x.Y {
			return f(&Binary{x.Op, a, b})
		}
	case *Select:
		c, a, b := Rewrite(x.Cond, f), Rewrite(x.X, f), Rewrite(x.Y, f)
		if c != x.Cond || a != x.X || b != x.Y {
			return f(&Select{c, a, b})
		}
	case *Cast:
		if a := Rewrite(x.X, f); a != x.X {
			return f(&Cast{x.To, a})
		}
	case *Call:
		args, changed := make([]Expr, len(x.Args)), false
		for i, a := range x.Args {
			args[i] = Rewrite(a, f)
			changed = changed || args[i] != a
		}
		if changed {
			return f(&Call{x.Func, args})
		}
	case *PowInt:
		if a := Rewrite(x.X, f); a != x.X {
			return f(&PowInt{a, x.N})
		}
	case *Random:
		if a := Rewrite(x.Seed, f); a != x.Seed {
			return f(&Random{x.T, a})
		}
	}
	return f(e)
}

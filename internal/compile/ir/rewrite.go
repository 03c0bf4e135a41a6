package ir

// Rewrite returns e with f applied to every expression in it, operands first.
// Nodes whose operands stay the same are kept.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	return f(MapChildren(e, func(c Expr) Expr { return Rewrite(c, f) }))
}

// MapChildren returns e with f applied to each of its operands, in the order of Children. If f leaves all
// as they are, that is e itself.
func MapChildren(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Unary:
		if a := f(x.X); a != x.X {
			return &Unary{x.Op, a}
		}
	case *Binary:
		a, b := f(x.X), f(x.Y)
		if a != x.X || b != x.Y {
			return &Binary{x.Op, a, b}
		}
	case *Fma:
		c := f(x.Z)
		a, b := f(x.X), f(x.Y)
		if a != x.X || b != x.Y || c != x.Z {
			return &Fma{a, b, c}
		}
	case *Select:
		c, a, b := f(x.Cond), f(x.X), f(x.Y)
		if c != x.Cond || a != x.X || b != x.Y {
			return &Select{c, a, b}
		}
	case *Cast:
		if a := f(x.X); a != x.X {
			return &Cast{x.To, a}
		}
	case *FuncCall:
		args, changed := make([]Expr, len(x.Args)), false
		for i, a := range x.Args {
			args[i] = f(a)
			changed = changed || args[i] != a
		}
		if changed {
			return &FuncCall{x.Func, args}
		}
	case *PowInt:
		if a := f(x.X); a != x.X {
			return &PowInt{a, x.N}
		}
	case *Random:
		if a := f(x.Seed); a != x.Seed {
			return &Random{x.T, a}
		}
	}
	return e
}

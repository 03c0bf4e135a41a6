package kernel

// Rewrite rebuilds an expression from its leaves up; f may replace every node.
// The constructors of build.go simplify what comes out.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	return f(mapChildren(e, func(c Expr) Expr { return Rewrite(c, f) }))
}

// mapChildren rebuilds an expression from what f makes of its operands.
func mapChildren(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Lit, *Ref:
		return e
	case *Load:
		l := &Load{Buffer: x.Buffer, Index: f(x.Index), Via: x.Via}
		if x.Rank != nil {
			l.Rank = f(x.Rank)
		}
		return l
	case *Unary:
		return Un(x.Op, f(x.X))
	case *Binary:
		return Bin(x.Op, f(x.X), f(x.Y))
	case *Select:
		return Sel(f(x.Cond), f(x.X), f(x.Y))
	case *Cast:
		return Conv(x.To, f(x.X))
	case *Call:
		args := make([]Expr, len(x.Args))
		for i, a := range x.Args {
			args[i] = f(a)
		}
		return &Call{x.Func, args}
	case *Random:
		return &Random{x.T, f(x.Seed), f(x.Number)}
	}
	panic("kernel: unknown expression")
}

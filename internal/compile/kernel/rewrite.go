package kernel

// Rewrite rebuilds an expression from its leaves up; f may replace every node.
// The constructors of build.go simplify what comes out.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Lit, *Ref:
		return f(e)
	case *Load:
		return f(&Load{x.Buffer, Rewrite(x.Index, f)})
	case *Unary:
		return f(Un(x.Op, Rewrite(x.X, f)))
	case *Binary:
		return f(Bin(x.Op, Rewrite(x.X, f), Rewrite(x.Y, f)))
	case *Select:
		return f(Sel(Rewrite(x.Cond, f), Rewrite(x.X, f), Rewrite(x.Y, f)))
	case *Cast:
		return f(Conv(x.To, Rewrite(x.X, f)))
	case *Call:
		args := make([]Expr, len(x.Args))
		for i, a := range x.Args {
			args[i] = Rewrite(a, f)
		}
		return f(&Call{x.Func, args})
	case *Random:
		return f(&Random{x.T, Rewrite(x.Seed, f), Rewrite(x.Number, f)})
	}
	panic("kernel: unknown expression")
}

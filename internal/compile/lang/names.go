package lang

// Names returns all words of a file, be they names of anything or words of the language.
func (f *File) Names() map[string]bool {
	names := map[string]bool{}
	for _, t := range f.tokens {
		if t.Kind == Name {
			names[f.Source.Text[t.Start:t.End]] = true
		}
	}
	return names
}

// WalkNames calls f for every name in x that stands for a value.
func WalkNames(x Expr, f func(*Ident)) {
	switch x := x.(type) {
	case *Ident:
		f(x)
	case *ParenExpr:
		WalkNames(x.X, f)
	case *UnaryExpr:
		WalkNames(x.X, f)
	case *BinaryExpr:
		WalkNames(x.X, f)
		WalkNames(x.Y, f)
	case *CondExpr:
		WalkNames(x.Cond, f)
		WalkNames(x.X, f)
		WalkNames(x.Y, f)
	case *CallExpr:
		for _, a := range x.Args {
			WalkNames(a, f)
		}
	case *IndexExpr:
		f(x.Name)
		for _, a := range x.Indices {
			WalkNames(a, f)
		}
	case *SumExpr:
		WalkNames(x.Lo, f)
		WalkNames(x.Hi, f)
		WalkNames(x.Body, func(id *Ident) {
			if id.Name != x.Var.Name {
				f(id)
			}
		})
	}
}

// WalkSums calls f for every sum in x.
func WalkSums(x Expr, f func(*SumExpr)) {
	switch x := x.(type) {
	case *ParenExpr:
		WalkSums(x.X, f)
	case *UnaryExpr:
		WalkSums(x.X, f)
	case *BinaryExpr:
		WalkSums(x.X, f)
		WalkSums(x.Y, f)
	case *CondExpr:
		WalkSums(x.Cond, f)
		WalkSums(x.X, f)
		WalkSums(x.Y, f)
	case *CallExpr:
		for _, a := range x.Args {
			WalkSums(a, f)
		}
	case *IndexExpr:
		for _, a := range x.Indices {
			WalkSums(a, f)
		}
	case *SumExpr:
		f(x)
		WalkSums(x.Lo, f)
		WalkSums(x.Hi, f)
		WalkSums(x.Body, f)
	}
}

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
	case *IndexExpr:
		f(x.Name)
	case *SumExpr:
		WalkNames(x.Lo, f)
		WalkNames(x.Hi, f)
		WalkNames(x.Body, func(id *Ident) {
			if id.Name != x.Var.Name {
				f(id)
			}
		})
		return
	}
	for _, o := range operands(x) {
		WalkNames(o, f)
	}
}

// WalkSums calls f for every sum in x.
func WalkSums(x Expr, f func(*SumExpr)) {
	if s, ok := x.(*SumExpr); ok {
		f(s)
	}
	for _, o := range operands(x) {
		WalkSums(o, f)
	}
}

// operands returns the expressions that an expression is made of.
func operands(x Expr) []Expr {
	switch x := x.(type) {
	case *ParenExpr:
		return []Expr{x.X}
	case *UnaryExpr:
		return []Expr{x.X}
	case *BinaryExpr:
		return []Expr{x.X, x.Y}
	case *CondExpr:
		return []Expr{x.Cond, x.X, x.Y}
	case *CallExpr:
		return x.Args
	case *IndexExpr:
		return x.Indices
	case *SumExpr:
		return []Expr{x.Lo, x.Hi, x.Body}
	}
	return nil
}

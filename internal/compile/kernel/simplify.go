package kernel

// with returns a copy of k with another body.
func (k *Kernel) with(body []Stmt) *Kernel {
	c := *k
	c.Body = body
	return &c
}

// rebuild copies a list of statements from the first to the last, the inside
// of a statement before what encloses it. Every expression is replaced by what
// expr makes of it, and then every statement by what stmt makes of it; nil
// leaves them as they are.
func rebuild(list []Stmt, expr func(Expr) Expr, stmt func(Stmt) []Stmt) []Stmt {
	if expr == nil {
		expr = func(e Expr) Expr { return e }
	}
	var out []Stmt
	for _, s := range list {
		c := mapStmt(s, expr)
		switch c := c.(type) {
		case *Loop:
			c.Body = rebuild(c.Body, expr, stmt)
		case *If:
			c.Then, c.Else = rebuild(c.Then, expr, stmt), rebuild(c.Else, expr, stmt)
		}
		if stmt == nil {
			out = append(out, c)
		} else {
			out = append(out, stmt(c)...)
		}
	}
	return out
}

// assigned returns the variables that some Assign changes.
func assigned(list []Stmt) map[*Var]bool {
	set := map[*Var]bool{}
	WalkStmts(list, func(s Stmt) {
		if a, ok := s.(*Assign); ok {
			set[a.Var] = true
		}
	}, nil)
	return set
}

// defined adds the variables that a list of statements and the lists inside
// declare.
func defined(list []Stmt, set map[*Var]bool) map[*Var]bool {
	WalkStmts(list, func(s Stmt) {
		for _, v := range Named(s) {
			set[v] = true
		}
		if l, ok := s.(*Loop); ok {
			set[l.Var] = true
		}
	}, nil)
	return set
}

// reduced returns the variables that some loop reduces into.
func reduced(list []Stmt) map[*Var]bool {
	set := map[*Var]bool{}
	WalkStmts(list, func(s Stmt) {
		if l, ok := s.(*Loop); ok {
			for _, r := range l.Reduce {
				set[r.Var] = true
			}
		}
	}, nil)
	return set
}

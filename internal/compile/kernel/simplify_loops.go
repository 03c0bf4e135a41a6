package kernel

// passBranches keeps one side of conditions that are literal.
//
//	(if (bool true) (then (store u N a)))  =>  (store u N a)
func passBranches(k *Kernel) *Kernel {
	return TidyNames(k.with(decidedBranches(k.Body)))
}

// decidedBranches keeps one side of conditions that are literal.
func decidedBranches(list []Stmt) []Stmt {
	return rebuild(list, nil, func(s Stmt) []Stmt {
		if c, ok := s.(*If); ok {
			if v, ok := IntLit(c.Cond); ok {
				if v != 0 {
					return c.Then
				}
				return c.Else
			}
		}
		return []Stmt{s}
	})
}

// passTrips removes loops that run no iteration whatever the sizes are, and
// puts a name for the variable and the body in the place of loops that run
// one. The loops of threads, blocks and clusters
// stay: they say how large a launch is.
//
//	(for i i64 serial n (add n (i64 1)) (i64 1) (store u i a))
//	=>
//	(let i i64 n) (store u i a)
func passTrips(k *Kernel) *Kernel {
	inner := map[*Var]bool{} // variables of loops that are collapsed into others
	WalkStmts(k.Body, func(s Stmt) {
		if l, ok := s.(*Loop); ok && !inner[l.Var] {
			for _, c := range Collapsed(l)[1:] {
				inner[c.Var] = true
			}
		}
	}, nil)
	return TidyNames(k.with(rebuild(k.Body, nil, func(s Stmt) []Stmt {
		l, ok := s.(*Loop)
		if !ok || l.Tag.isLaunch() || inner[l.Var] {
			return []Stmt{s}
		}
		nest := Collapsed(l)
		var open []Stmt
		for _, c := range nest {
			switch trips, known := Trips(c); {
			case known && trips == 0:
				return nil
			case known && trips == 1:
				open = append(open, &Let{c.Var, c.Lo})
			}
		}
		if len(open) < len(nest) {
			return []Stmt{s}
		}
		return append(open, nest[len(nest)-1].Body...)
	})))
}

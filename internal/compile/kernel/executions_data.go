package kernel

// open reports whether a condition is left open: memory or another lane decides it.
func (c *counter) open(cond Expr) bool { return c.data != nil && dependsOnData(cond, c.data) }

// dependsOnData reports whether an expression loads, or reads one of the variables.
func dependsOnData(e Expr, data map[*Var]bool) bool {
	found := false
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Load:
			found = true
		case *Ref:
			found = found || data[e.Var]
		}
	})
	return found
}

// dataVars returns the variables of a kernel whose values depend on memory, or on what another lane has.
func dataVars(k *Kernel) map[*Var]bool {
	data := map[*Var]bool{}
	for changed := true; changed; {
		changed = false
		mark := func(v *Var, from bool) {
			changed = changed || from && !data[v]
			data[v] = data[v] || from
		}
		WalkStmts(k.Body, func(s Stmt) {
			switch s := s.(type) {
			case *Let:
				mark(s.Var, dependsOnData(s.Value, data))
			case *Declare:
				mark(s.Var, dependsOnData(s.Init, data))
			case *Assign:
				mark(s.Var, dependsOnData(s.Value, data))
			case *Shuffle:
				mark(s.Var, s.Kind != ShuffleFrom || dependsOnData(s.Value, data))
			case *LoadVector:
				for _, v := range s.Vars {
					mark(v, true)
				}
			}
		}, nil)
	}
	return data
}

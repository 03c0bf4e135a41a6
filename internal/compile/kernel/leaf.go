package kernel

// mapIndexed is mapStmt, and says of each expression whether it is the index
// of an access to a buffer.
func mapIndexed(s Stmt, f func(e Expr, index bool) Expr) Stmt {
	indices := 0 // which come first
	switch s.(type) {
	case *Store, *LoadVector, *StoreVector, *Prefetch, *TensorCopy:
		indices = 1
	case *AsyncCopy, *BulkCopy:
		indices = 2
	}
	return mapStmt(s, func(e Expr) Expr {
		indices--
		return f(e, indices >= 0)
	})
}

// ownExprs returns a statement's expressions, without those of the lists
// inside.
func ownExprs(s Stmt) []Expr {
	var own []Expr
	mapStmt(s, func(e Expr) Expr { own = append(own, e); return e })
	return own
}

// eachExpr calls f for the expressions of a statement and of those inside, as
// mapIndexed does.
func eachExpr(s Stmt, f func(e Expr, index bool)) {
	WalkStmts([]Stmt{s}, func(s Stmt) {
		mapIndexed(s, func(e Expr, index bool) Expr { f(e, index); return e })
	}, nil)
}

// mapNames puts what f makes of a statement's buffers in their places, and
// what v makes of the variables that it declares or changes; the statement is
// a copy already. Those of loops, and of memory that is made, stay the same.
func mapNames(s Stmt, f func(*Buffer) *Buffer, v func(*Var) *Var) {
	switch s := s.(type) {
	case *Let:
		s.Var = v(s.Var)
	case *Declare:
		s.Var = v(s.Var)
	case *Assign:
		s.Var = v(s.Var)
	case *Store:
		s.Buffer = f(s.Buffer)
	case *LoadVector:
		s.Buffer = f(s.Buffer)
		vars := make([]*Var, len(s.Vars))
		for i, x := range s.Vars {
			vars[i] = v(x)
		}
		s.Vars = vars
	case *StoreVector:
		s.Buffer = f(s.Buffer)
	case *Prefetch:
		s.Buffer = f(s.Buffer)
	case *Shuffle:
		s.Var = v(s.Var)
	case *AsyncCopy:
		s.To, s.From = f(s.To), f(s.From)
	case *BulkCopy:
		s.To, s.From, s.Mbarrier = f(s.To), f(s.From), f(s.Mbarrier)
	case *TensorCopy:
		s.To, s.From, s.Mbarrier = f(s.To), f(s.From), f(s.Mbarrier)
	case *MbarrierInit:
		s.Mbarrier = f(s.Mbarrier)
	case *MbarrierArrive:
		s.Mbarrier = f(s.Mbarrier)
	case *MbarrierWait:
		s.Mbarrier = f(s.Mbarrier)
	case *FlagSet:
		s.Buffer = f(s.Buffer)
	case *FlagWait:
		s.Buffer = f(s.Buffer)
	}
}

// lasts reports whether an expression has one value from where a Let names it
// to the end of the name's scope.
func lasts(e Expr, changes map[*Var]bool) bool {
	ok := true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			ok = ok && !changes[e.Var]
		case *Load:
			ok = false
		}
	})
	return ok
}

// countUses counts how often every variable is read.
func countUses(body []Stmt) map[*Var]int {
	uses := map[*Var]int{}
	WalkStmts(body, nil, func(e Expr) {
		Walk(e, func(e Expr) {
			if r, ok := e.(*Ref); ok {
				uses[r.Var]++
			}
		})
	})
	return uses
}

// isLaunch reports whether a loop's iterations are those of the launch:
// threads, blocks and clusters.
func (t Tag) isLaunch() bool { return t.IsThread() || t.IsBlock() || t.IsCluster() }

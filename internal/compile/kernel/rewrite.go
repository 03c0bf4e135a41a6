package kernel

// Rewrite rebuilds an expression from its leaves up; f may replace every node.
// The constructors of build.go simplify what comes out.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	return f(mapChildren(e, func(c Expr) Expr { return Rewrite(c, f) }))
}

// mapChildren rebuilds an expression from what f makes of its operands, in the order of
// Children.
func mapChildren(e Expr, f func(Expr) Expr) Expr {
	switch x := e.(type) {
	case *Lit, *Ref, *Phase:
		return e
	case *Load:
		return &Load{x.Buffer, f(x.Index), x.Via, maybe(x.Rank, f)}
	case *Unary:
		return Un(x.Op, f(x.X))
	case *Binary:
		return Bin(x.Op, f(x.X), f(x.Y))
	case *Fma:
		z := f(x.Z)
		return Fused(f(x.X), f(x.Y), z)
	case *Select:
		return Sel(f(x.Cond), f(x.X), f(x.Y))
	case *Cast:
		return Conv(x.To, f(x.X))
	case *FuncCall:
		return &FuncCall{x.Func, mapAll(x.Args, f)}
	case *Random:
		return &Random{x.T, f(x.Seed), f(x.Number)}
	}
	panic("kernel: unknown expression")
}

// mapStmt copies a statement with what f makes of each of its expressions, the
// indices of its accesses first. The lists inside a loop or a condition, and
// the size of memory that is made, stay the same.
func mapStmt(s Stmt, f func(Expr) Expr) Stmt {
	switch s := s.(type) {
	case *Let:
		return &Let{s.Var, f(s.Value)}
	case *Declare:
		return &Declare{s.Var, f(s.Init)}
	case *Assign:
		return &Assign{s.Var, f(s.Value)}
	case *Store:
		return &Store{s.Buffer, f(s.Index), f(s.Value), s.Via, maybe(s.Rank, f)}
	case *LoadVector:
		return &LoadVector{s.Vars, s.Buffer, f(s.Index), s.Via}
	case *StoreVector:
		return &StoreVector{s.Buffer, f(s.Index), mapAll(s.Values, f), s.Via, maybe(s.Rank, f)}
	case *Shuffle:
		return &Shuffle{s.Var, s.Kind, f(s.Value), f(s.By)}
	case *Prefetch:
		return &Prefetch{s.Buffer, f(s.Index)}
	case *AsyncCopy:
		return &AsyncCopy{s.To, f(s.At), s.From, f(s.Index), s.Cells}
	case *BulkCopy:
		return &BulkCopy{s.To, f(s.At), s.From, f(s.Index), f(s.Cells), s.Mbarrier, f(s.Slot)}
	case *TensorCopy:
		return &TensorCopy{s.To, f(s.At), s.From, mapAll(s.Corner, f), s.Mbarrier, f(s.Slot), maybe(s.Blocks, f)}
	case *MbarrierInit:
		return &MbarrierInit{s.Mbarrier, f(s.Slot), f(s.Count)}
	case *MbarrierArrive:
		return &MbarrierArrive{s.Mbarrier, f(s.Slot), maybe(s.Bytes, f), maybe(s.Rank, f)}
	case *MbarrierWait:
		return &MbarrierWait{s.Mbarrier, f(s.Slot), f(s.Parity)}
	case *FlagSet:
		return &FlagSet{s.Buffer, f(s.Index), f(s.Value)}
	case *FlagWait:
		return &FlagWait{s.Buffer, f(s.Index), f(s.Value)}
	case *Loop:
		l := *s
		l.Lo, l.Hi, l.Step, l.Team = f(s.Lo), f(s.Hi), f(s.Step), maybe(s.Team, f)
		return &l
	case *If:
		return &If{f(s.Cond), s.Then, s.Else}
	case *Alloc, *AsyncCommit, *AsyncWait, *AsyncFence, *Barrier, *Comment:
		return s
	}
	panic("kernel: unknown statement")
}

// maybe is f of an expression that may be missing.
func maybe(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	return f(e)
}

func mapAll(list []Expr, f func(Expr) Expr) []Expr {
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = f(e)
	}
	return out
}

// Named returns the variables that a statement names for the statements after
// it in its list.
func Named(s Stmt) []*Var {
	switch s := s.(type) {
	case *Let:
		return []*Var{s.Var}
	case *Declare:
		return []*Var{s.Var}
	case *Shuffle:
		return []*Var{s.Var}
	case *LoadVector:
		return s.Vars
	}
	return nil
}

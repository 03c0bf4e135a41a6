package kernel

import "slices"

// passDead removes what nothing needs: variables that are never read, memory
// that is never loaded from, and conditions and loops around nothing. The
// loops of threads, blocks and clusters stay, and so does whatever others wait
// for: barriers, groups of copies, arrivals and the copies that they announce.
//
//	(let x f64 (load u N)) (store v N a)  =>  (store v N a)
func passDead(k *Kernel) *Kernel {
	for {
		body, changed := sweep(k.Body, needed(k.Body))
		if !changed {
			return k.with(body)
		}
		k = k.with(body)
	}
}

// needs is the set of variables and local buffers whose values matter.
type needs struct {
	vars    map[*Var]bool
	buffers map[*Buffer]bool
	local   map[*Buffer]bool
	sources map[any][]Expr // what a variable's or buffer's values are made of
}

func needed(body []Stmt) *needs {
	n := &needs{map[*Var]bool{}, map[*Buffer]bool{}, map[*Buffer]bool{}, map[any][]Expr{}}
	var roots []Expr
	stored := func(b *Buffer, values []Expr) {
		if n.local[b] {
			n.sources[b] = append(n.sources[b], values...)
		} else {
			roots = append(roots, values...)
		}
	}
	WalkStmts(body, func(s Stmt) {
		switch s := s.(type) {
		case *Let:
			n.sources[s.Var] = append(n.sources[s.Var], s.Value)
		case *Declare:
			n.sources[s.Var] = append(n.sources[s.Var], s.Init)
		case *Assign:
			n.sources[s.Var] = append(n.sources[s.Var], s.Value)
		case *Alloc:
			n.local[s.Buffer] = true
			n.sources[s.Buffer] = append(n.sources[s.Buffer], s.Buffer.Cells)
		case *LoadVector:
			for _, v := range s.Vars {
				n.sources[v] = append(n.sources[v], &Load{Buffer: s.Buffer, Index: s.Index})
			}
		case *Shuffle:
			n.sources[s.Var] = append(n.sources[s.Var], s.Value, s.By)
		case *Store:
			stored(s.Buffer, ownExprs(s))
		case *StoreVector:
			stored(s.Buffer, ownExprs(s))
		case *Prefetch:
			roots = append(roots, &Load{Buffer: s.Buffer, Index: s.Index})
		case *AsyncCopy:
			stored(s.To, []Expr{s.At, &Load{Buffer: s.From, Index: s.Index}})
		case *BulkCopy:
			roots = append(roots, &Load{Buffer: s.To, Index: s.At}, &Load{Buffer: s.From, Index: s.Index}, s.Cells,
				&Load{Buffer: s.Mbarrier, Index: s.Slot})
		case *TensorCopy:
			roots = append(roots, &Load{Buffer: s.To, Index: s.At}, &Load{Buffer: s.Mbarrier, Index: s.Slot})
			roots = append(roots, ownExprs(s)...)
		case *MbarrierInit:
			roots = append(roots, &Load{Buffer: s.Mbarrier, Index: s.Slot})
			roots = append(roots, ownExprs(s)...)
		case *MbarrierArrive:
			roots = append(roots, &Load{Buffer: s.Mbarrier, Index: s.Slot})
			roots = append(roots, ownExprs(s)...)
		case *MbarrierWait:
			roots = append(roots, &Load{Buffer: s.Mbarrier, Index: s.Slot})
			roots = append(roots, ownExprs(s)...)
		case *Loop, *If, *FlagSet, *FlagWait:
			roots = append(roots, ownExprs(s)...)
		case *AsyncCommit, *AsyncWait, *AsyncFence, *Barrier, *Comment:
		default:
			panic("kernel: unknown statement")
		}
	}, nil)
	for _, e := range roots {
		n.mark(e)
	}
	return n
}

// mark notes that an expression's value matters.
func (n *needs) mark(e Expr) {
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			if !n.vars[e.Var] {
				n.vars[e.Var] = true
				n.all(n.sources[e.Var])
			}
		case *Load:
			if !n.buffers[e.Buffer] {
				n.buffers[e.Buffer] = true
				n.all(n.sources[e.Buffer])
			}
		}
	})
}

// stored reports whether anything may read what is stored to a buffer.
func (n *needs) stored(b *Buffer) bool { return !n.local[b] || n.buffers[b] }

func (n *needs) all(list []Expr) {
	for _, e := range list {
		n.mark(e)
	}
}

// sweep removes what is not needed and reports whether there was anything.
func sweep(body []Stmt, n *needs) ([]Stmt, bool) {
	changed := false
	keep := func(s Stmt, needed bool) []Stmt {
		if needed {
			return []Stmt{s}
		}
		changed = true
		return nil
	}
	out := rebuild(body, nil, func(s Stmt) []Stmt {
		switch s := s.(type) {
		case *Let:
			return keep(s, n.vars[s.Var])
		case *Declare:
			return keep(s, n.vars[s.Var])
		case *Assign:
			return keep(s, n.vars[s.Var])
		case *Alloc:
			return keep(s, n.buffers[s.Buffer])
		case *LoadVector:
			return keep(s, slices.ContainsFunc(s.Vars, func(v *Var) bool { return n.vars[v] }))
		case *Shuffle:
			return keep(s, n.vars[s.Var])
		case *Store:
			return keep(s, n.stored(s.Buffer))
		case *StoreVector:
			return keep(s, n.stored(s.Buffer))
		case *AsyncCopy:
			return keep(s, n.stored(s.To))
		case *Loop:
			var reduce []Reduction
			for _, r := range s.Reduce {
				if n.vars[r.Var] {
					reduce = append(reduce, r)
				}
			}
			s.Reduce = reduce // s is a copy
			return keep(s, s.Tag.isLaunch() || !empty(s.Body))
		case *If:
			return keep(s, !empty(s.Then) || !empty(s.Else))
		}
		return []Stmt{s}
	})
	return out, changed
}

// empty reports whether a list does nothing.
func empty(list []Stmt) bool {
	for _, s := range list {
		if _, ok := s.(*Comment); !ok {
			return false
		}
	}
	return true
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// liveRegisters returns the most registers that a thread's values take at once:
// if everything is computed in the order of the text, where loads stand early,
// and if loads stand as late as they can. Values that are the same for a whole
// block live in registers of its own, or among the arguments.
func liveRegisters(k *kernel.Kernel) (early, late int64) {
	s := &liveScan{uniform: map[*kernel.Var]bool{}}
	for _, v := range k.Scalars {
		s.uniform[v] = true
	}
	s.findUniform(k.Body)
	return s.most(k.Body), s.most(sunk(k.Body))
}

// most returns the most registers that are live at once.
func (s *liveScan) most(body []kernel.Stmt) int64 {
	s.live, s.changes, s.weight, s.peak, s.arrays = map[*kernel.Var]bool{}, nil, 0, 0, 0
	s.list(body)
	return s.peak + s.arrays
}

// liveScan goes through a kernel from its end and knows what is needed later.
type liveScan struct {
	uniform map[*kernel.Var]bool
	live    map[*kernel.Var]bool
	changes []change // of what is live, in order
	weight  int64    // of the live ones
	peak    int64
	arrays  int64 // of private buffers, which live in registers too
}

// change is a variable that has become live, or is no longer.
type change struct {
	of   *kernel.Var
	live bool
}

// registersOf returns the registers that a value takes. Indices are narrowed to
// 32 bits where they fit, and they usually do; conditions have registers of
// their own.
func registersOf(t types.Type) int64 {
	switch t {
	case types.F64:
		return 2
	case types.Bool:
		return 0
	}
	return 1
}

// findUniform finds the names for what is the same for a whole block.
func (s *liveScan) findUniform(body []kernel.Stmt) {
	kernel.WalkStmts(body, func(st kernel.Stmt) {
		switch st := st.(type) {
		case *kernel.Let:
			same := true
			kernel.Walk(st.Value, func(e kernel.Expr) {
				switch e := e.(type) {
				case *kernel.Ref:
					same = same && s.uniform[e.Var]
				case *kernel.Load:
					same = false
				}
			})
			if same {
				s.uniform[st.Var] = true
			}
		case *kernel.Loop:
			if st.Tag.IsBlock() || st.Tag.IsCluster() {
				s.uniform[st.Var] = true
			}
		}
	}, nil)
}

func (s *liveScan) add(v *kernel.Var) {
	if !s.live[v] && !s.uniform[v] {
		s.live[v] = true
		s.changes = append(s.changes, change{v, true})
		s.weight += registersOf(v.Type)
	}
}

func (s *liveScan) remove(v *kernel.Var) {
	if s.live[v] {
		delete(s.live, v)
		s.changes = append(s.changes, change{v, false})
		s.weight -= registersOf(v.Type)
	}
}

// uses makes everything live that an expression reads, and counts what its
// evaluation needs besides.
func (s *liveScan) uses(exprs ...kernel.Expr) {
	for _, e := range exprs {
		if e == nil {
			continue
		}
		kernel.Walk(e, func(e kernel.Expr) {
			if r, ok := e.(*kernel.Ref); ok {
				s.add(r.Var)
			}
		})
		s.peak = max(s.peak, s.weight+temporaries(e))
	}
	s.peak = max(s.peak, s.weight)
}

// temporaries returns the registers that the evaluation of an expression takes
// besides its variables, the larger operand first (Sethi and Ullman 1970).
func temporaries(e kernel.Expr) int64 {
	switch e.(type) {
	case *kernel.Lit, *kernel.Ref:
		return 0
	}
	most, held := int64(0), int64(0)
	operands := kernel.Children(e)
	order := make([]int64, len(operands))
	for i, c := range operands {
		order[i] = temporaries(c)
	}
	for range operands { // the neediest that is left
		at := 0
		for i := range order {
			if order[i] > order[at] {
				at = i
			}
		}
		if order[at] > 0 {
			most = max(most, held+order[at])
			held += registersOf(operands[at].Type())
		}
		order[at] = -1
	}
	return max(most, held, registersOf(e.Type()))
}

// list goes through statements from the last to the first.
func (s *liveScan) list(list []kernel.Stmt) {
	for i := len(list) - 1; i >= 0; i-- {
		s.stmt(list[i])
	}
}

func (s *liveScan) stmt(st kernel.Stmt) {
	switch st := st.(type) {
	case *kernel.Let:
		s.remove(st.Var)
		s.uses(st.Value)
	case *kernel.Declare:
		s.remove(st.Var)
		s.uses(st.Init)
	case *kernel.Assign:
		s.uses(st.Value)
	case *kernel.Store:
		s.uses(st.Index, st.Value, st.Rank)
	case *kernel.LoadVector:
		for _, v := range st.Vars {
			s.add(v) // a load fills all of them
		}
		s.uses()
		for _, v := range st.Vars {
			s.remove(v)
		}
		s.uses(st.Index)
	case *kernel.Prefetch:
		s.uses(st.Index)
	case *kernel.StoreVector:
		s.vector(st)
	case *kernel.Shuffle:
		s.remove(st.Var)
		s.uses(st.Value, st.By)
	case *kernel.AsyncCopy:
		s.uses(st.At, st.Index)
	case *kernel.BulkCopy:
		s.uses(st.At, st.Index, st.Cells, st.Slot)
	case *kernel.TensorCopy:
		s.uses(append(st.Corner, st.At, st.Slot, st.Blocks)...)
	case *kernel.MbarrierInit:
		s.uses(st.Slot, st.Count)
	case *kernel.MbarrierArrive:
		s.uses(st.Slot, st.Bytes, st.Rank)
	case *kernel.MbarrierWait:
		s.uses(st.Slot, st.Parity)
	case *kernel.FlagSet:
		s.uses(st.Index, st.Value)
	case *kernel.FlagWait:
		s.uses(st.Index, st.Value)
	case *kernel.Alloc:
		if n, ok := kernel.IntLit(st.Buffer.Cells); ok && st.Buffer.Space == kernel.Private {
			s.arrays += n * registersOf(st.Buffer.Elem)
		}
	case *kernel.If:
		s.branches(st)
	case *kernel.Loop:
		s.loop(st)
	case *kernel.AsyncCommit, *kernel.AsyncWait, *kernel.AsyncFence, *kernel.Barrier, *kernel.Comment:
	default:
		panic("lower: unknown statement")
	}
}

// vector counts the values of a wide store one after the other: those that
// are computed wait for the last.
func (s *liveScan) vector(st *kernel.StoreVector) {
	s.uses(st.Index, st.Rank)
	held := int64(0)
	for _, v := range st.Values {
		s.uses(v)
	}
	for _, v := range st.Values {
		if _, named := v.(*kernel.Ref); named {
			continue
		}
		s.peak = max(s.peak, s.weight+held+temporaries(v))
		held += registersOf(v.Type())
	}
}

// branches joins what either side needs. Most have few statements, and much is
// live around them: so changes are undone instead of copying what is live.
func (s *liveScan) branches(st *kernel.If) {
	start, weight := len(s.changes), s.weight
	s.list(st.Else)
	other := slices.Clone(s.changes[start:])
	for _, c := range slices.Backward(other) {
		if c.live {
			delete(s.live, c.of)
		} else {
			s.live[c.of] = true
		}
	}
	s.changes, s.weight = s.changes[:start], weight
	s.list(st.Then)
	before := map[*kernel.Var]bool{} // of what this side has changed: the first change tells
	for _, c := range slices.Backward(s.changes[start:]) {
		before[c.of] = !c.live
	}
	after := map[*kernel.Var]bool{} // of what the other side has changed: the last one tells
	for _, c := range other {
		after[c.of] = c.live
	}
	for v, needed := range after {
		if needed {
			s.add(v)
		}
	}
	for v, needed := range before {
		if _, changed := after[v]; needed && !changed {
			s.add(v) // after the branches, and the other side does not compute it
		}
	}
	s.uses(st.Cond)
}

// loop keeps alive all through it what its body takes from outside.
func (s *liveScan) loop(l *kernel.Loop) {
	inside := map[*kernel.Var]bool{l.Var: true}
	kernel.WalkStmts(l.Body, func(st kernel.Stmt) {
		switch st := st.(type) {
		case *kernel.Let:
			inside[st.Var] = true
		case *kernel.Declare:
			inside[st.Var] = true
		case *kernel.LoadVector:
			for _, v := range st.Vars {
				inside[v] = true
			}
		case *kernel.Shuffle:
			inside[st.Var] = true
		case *kernel.Loop:
			inside[st.Var] = true
		}
	}, nil)
	kernel.WalkStmts(l.Body, nil, func(e kernel.Expr) {
		kernel.Walk(e, func(e kernel.Expr) {
			if r, ok := e.(*kernel.Ref); ok && !inside[r.Var] {
				s.add(r.Var)
			}
		})
	})
	if !l.Tag.IsBlock() && !l.Tag.IsCluster() {
		s.add(l.Var)
	}
	s.list(l.Body)
	s.remove(l.Var)
	s.uses(l.Lo, l.Hi, l.Step)
}

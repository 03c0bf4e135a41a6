package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// skipLoads puts another value in the place of what is loaded from some buffers, but in one iteration of each innermost
// loop, of which no compiler knows which it is: that where the loop's variable is the number of the block. Outside of
// loops the second block loads. The instructions that load stay, behind a predicate that holds them back, so the issue
// slots that they take stay too. Only floats are left out: numbers that decide where a kernel goes are loaded.
//
// The other value is one that each thread makes of its number at its start. A literal would not do: compilers move what
// is computed of it to the branch that loads.
func skipLoads(k *Kernel, of func(*Buffer) bool) (*Kernel, error) {
	blocks := blockVars(k.Body)
	if len(blocks) == 0 {
		return nil, absent("it has no blocks: its loads are those of vectors, which a test would take apart")
	}
	s := &skipper{of: of, block: blocks[len(blocks)-1], flags: Flags(k.Body), changes: assigned(k.Body)}
	body := s.list(k.Body, nil)
	if s.skipped == 0 {
		return nil, absent("it has no such loads")
	}
	return rebuilt(k, body), nil
}

type skipper struct {
	of      func(*Buffer) bool
	flags   map[*Buffer]bool
	changes map[*Var]bool // variables
	block   *Var
	inside  bool // of the loop over blocks
	thread  *Var // of the loop over threads, fastest first, around the statement; nil outside
	others  map[types.Type]*Var
	known   []knownLoad // that have names here
	skipped int
}

// knownLoad is a load with the name of what it gave.
type knownLoad struct {
	load *Load
	name *Var
}

// list rewrites statements under a loop that is carried out one iteration after the other, or nil.
func (s *skipper) list(list []Stmt, when *Var) []Stmt {
	known := s.known
	defer func() { s.known = known }()
	var out []Stmt
	for _, stmt := range list {
		switch stmt := stmt.(type) {
		case *Loop:
			l := *stmt
			was, thread, others := s.inside, s.thread, s.others
			s.inside = s.inside || l.Var == s.block
			switch {
			case l.Tag == ThreadX && s.inside:
				s.thread, s.others = l.Var, map[types.Type]*Var{}
				l.Body = s.list(stmt.Body, when)
				l.Body = append(s.start(), l.Body...)
			case l.Tag == Serial && s.inside:
				v := NewVar("loads_here", types.Bool)
				before := s.skipped
				l.Body = s.list(stmt.Body, v)
				if s.skipped > before {
					l.Body = append([]Stmt{&Let{v, s.sameNumber(l.Var)}}, l.Body...)
				}
			default:
				l.Body = s.list(stmt.Body, when)
			}
			s.inside, s.thread, s.others = was, thread, others
			out = append(out, &l)
		case *If:
			out = append(out, &If{stmt.Cond, s.list(stmt.Then, when), s.list(stmt.Else, when)})
		case *LoadVector:
			if !s.leaves(stmt.Buffer) {
				out = append(out, stmt)
				continue
			}
			out = append(out, s.vector(stmt, when)...)
		case *Let, *Declare, *Assign, *Store, *StoreVector, *Shuffle:
			var names []Stmt
			stmt = mapStmt(stmt, func(e Expr) Expr { return s.expr(e, when, &names) })
			out = append(append(out, names...), stmt)
		default:
			out = append(out, stmt)
		}
	}
	return out
}

// expr rewrites an expression. What it loads of a buffer that does not change is named before it, so that who loads it
// again takes the name, as compilers would.
func (s *skipper) expr(e Expr, when *Var, names *[]Stmt) Expr {
	switch x := e.(type) {
	case *Load:
		index := s.expr(x.Index, when, names)
		l := &Load{x.Buffer, index, x.Via, x.Rank}
		switch {
		case !s.leaves(x.Buffer):
			return l
		case names == nil || !constantLoad(l, s.changes):
			return s.instead(l, when)
		}
		for _, k := range s.known {
			if Same(k.load, l) {
				return V(k.name)
			}
		}
		name := NewVar(x.Buffer.Name+"_here", x.Type())
		*names = append(*names, &Let{name, s.instead(l, when)})
		s.known = append(s.known[:len(s.known):len(s.known)], knownLoad{l, name})
		return V(name)
	case *Select: // its operands may not be evaluated
		return Sel(s.expr(x.Cond, when, names), s.expr(x.X, when, nil), s.expr(x.Y, when, nil))
	case *Binary:
		if x.Op == op.LAnd || x.Op == op.LOr {
			return Bin(x.Op, s.expr(x.X, when, names), s.expr(x.Y, when, nil))
		}
	}
	return mapChildren(e, func(c Expr) Expr { return s.expr(c, when, names) })
}

// constantLoad reports whether a load gives the same wherever it is carried out: nothing writes the buffer, nor changes
// its index.
func constantLoad(l *Load, changes map[*Var]bool) bool {
	return l.Buffer.Mode == In && (l.Buffer.Space == Global || l.Buffer.Space == Image || l.Buffer.Space == Constant) &&
		lasts(l.Index, changes)
}

// leaves reports whether loads of a buffer are left out.
func (s *skipper) leaves(b *Buffer) bool {
	return s.thread != nil && b.Elem.IsFloat() && s.of(b) && !s.flags[b]
}

// vector is a load of several elements, where it is carried out.
func (s *skipper) vector(l *LoadVector, when *Var) []Stmt {
	t := l.Buffer.Elem
	load := &LoadVector{Buffer: l.Buffer, Index: l.Index, Via: l.Via}
	then := []Stmt{load}
	var out []Stmt
	for _, v := range l.Vars {
		out = append(out, &Declare{v, V(s.other(t))})
		loaded := NewVar(v.Name+"_loaded", t)
		load.Vars = append(load.Vars, loaded)
		then = append(then, &Assign{v, V(loaded)})
	}
	s.skipped++
	return append(out, &If{Cond: s.here(when), Then: then})
}

// here is the condition under which loads are carried out.
func (s *skipper) here(when *Var) Expr {
	if when != nil {
		return V(when)
	}
	return Bin(op.Eq, V(s.block), L(op.Int(s.block.Type, 1)))
}

// other is the thread's other value of a type.
func (s *skipper) other(t types.Type) *Var {
	if s.others[t] == nil {
		s.others[t] = NewVar("not_loaded", t)
	}
	return s.others[t]
}

// instead is a load, where it is carried out, and the thread's other value elsewhere.
func (s *skipper) instead(l *Load, when *Var) Expr {
	s.skipped++
	return Sel(s.here(when), l, V(s.other(l.Type())))
}

// start names the other values of a thread: from 1 on, so that nothing is divided by zero.
func (s *skipper) start() []Stmt {
	var list []Stmt
	for _, t := range []types.Type{types.F32, types.F64} {
		if v := s.others[t]; v != nil {
			list = append(list, &Let{v, Conv(t, Add(V(s.thread), L(op.Int(s.thread.Type, 1))))})
		}
	}
	return list
}

// sameNumber reports whether a loop's variable is the block's.
func (s *skipper) sameNumber(v *Var) Expr {
	if v.Type == s.block.Type {
		return Bin(op.Eq, V(v), V(s.block))
	}
	return Bin(op.Eq, Conv(types.I64, V(v)), Conv(types.I64, V(s.block)))
}

package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// passShare names index arithmetic that the statements of a list, and of the
// lists inside, write more than once. Sums that differ by a constant share a
// name.
//
//	(store v (add row i) (load u (sub (add row i) (i64 1))))
//	=>
//	(let at i64 (add row i))
//	(store v at (load u (sub at (i64 1))))
func passShare(k *Kernel) *Kernel {
	s := &sharer{changes: assigned(k.Body)}
	return TidyNames(k.with(s.list(k.Body)))
}

type sharer struct {
	changes map[*Var]bool // variables that some Assign changes
}

// list shares within a list, after the lists inside.
func (s *sharer) list(list []Stmt) []Stmt {
	var out []Stmt
	inner := map[*Var]bool{} // declared inside the statements of this list
	for _, st := range list {
		switch st := st.(type) {
		case *Loop:
			l := *st
			nest := Collapsed(st)
			body := s.list(nest[len(nest)-1].Body)
			for i := len(nest) - 1; i > 0; i-- {
				c := *nest[i]
				c.Body = body
				body = []Stmt{&c}
			}
			l.Body = body
			defined([]Stmt{&l}, inner)
			out = append(out, &l)
		case *If:
			c := &If{st.Cond, s.list(st.Then), s.list(st.Else)}
			defined([]Stmt{c}, inner)
			out = append(out, c)
		default:
			out = append(out, st)
		}
	}
	for {
		best := s.best(out, inner)
		if best == nil {
			return out
		}
		out = s.apply(out, best)
	}
}

// repeated is a sum that stands in several places.
type repeated struct {
	sum   linear // without its constant
	expr  Expr   // the same, written out
	ops   int
	count int
	first int  // statement of the list that it is first met in
	index bool // whether it is an index somewhere
	named *Var // a Let of the list that has it as its value, at first
}

// best returns the largest sum that can be named before the first statement
// that has it, of those the first; nil if none is written twice.
func (s *sharer) best(list []Stmt, inner map[*Var]bool) *repeated {
	var all []*repeated
	like := map[uint64][]*repeated{} // by hash
	for i, st := range list {
		eachExpr(st, func(e Expr, index bool) {
			s.collect(e, index, func(e Expr, index bool) {
				sum := linearOf(e)
				sum.constant = 0
				h := sum.hash()
				for _, r := range like[h] {
					if r.expr.Type() == e.Type() && r.sum.same(sum) {
						r.count++
						r.index = r.index || index
						return
					}
				}
				r := &repeated{sum: sum, expr: sum.expr(e.Type()), count: 1, first: i, index: index}
				r.ops = operations(r.expr)
				if l, ok := st.(*Let); ok && Same(l.Value, r.expr) {
					r.named = l.Var
				}
				all = append(all, r)
				like[h] = append(like[h], r)
			})
		})
	}
	var best *repeated
	for _, r := range all {
		if r.count > 1 && r.ops > 0 && s.free(r.expr, inner) && (best == nil || r.ops > best.ops) {
			best = r
		}
	}
	return best
}

// free reports whether an expression reads neither memory, nor what changes,
// nor what is declared further inside.
func (s *sharer) free(e Expr, inner map[*Var]bool) bool {
	free := true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			free = free && !inner[e.Var] && !s.changes[e.Var]
		case *Load:
			free = false
		}
	})
	return free
}

// collect calls f for every integer expression below e, sums as a whole.
func (s *sharer) collect(e Expr, index bool, f func(e Expr, index bool)) {
	if isIndexType(e) {
		f(e, index)
		for _, t := range linearOf(e).terms {
			if t.atom != e {
				s.collect(t.atom, false, f)
			} else {
				s.operands(e, f)
			}
		}
		return
	}
	s.operands(e, f)
}

func (s *sharer) operands(e Expr, f func(e Expr, index bool)) {
	_, load := e.(*Load)
	for _, c := range Children(e) {
		s.collect(c, load, f)
	}
}

func isIndexType(e Expr) bool { return e.Type() == types.I64 || e.Type() == types.I32 }

// apply gives a repeated sum a name and uses it.
func (s *sharer) apply(list []Stmt, r *repeated) []Stmt {
	at := r.named
	from := r.first + 1
	if at == nil {
		name := "part"
		if r.index {
			name = "at"
		}
		at = NewVar(name, r.expr.Type())
		from = r.first
	}
	replace := func(e Expr) Expr { return s.replace(e, r, at) }
	out := append([]Stmt{}, list[:from]...)
	if r.named == nil {
		out = append(out, &Let{at, r.expr})
	}
	return append(out, rebuild(list[from:], replace, nil)...)
}

// replace puts the name in the place of the sum.
func (s *sharer) replace(e Expr, r *repeated, at *Var) Expr {
	if isIndexType(e) && e.Type() == at.Type {
		sum := linearOf(e)
		if sum.same(r.sum) {
			return Add(V(at), L(op.Int(at.Type, sum.constant)))
		}
		if _, ok := e.(*Binary); ok && len(sum.terms) > 0 && sum.terms[0].atom != e {
			// A sum of other terms: look into those, not into parts of the sum.
			var x Expr = L(op.Int(at.Type, 0))
			changed := false
			for _, t := range sum.terms {
				atom := s.replace(t.atom, r, at)
				changed = changed || atom != t.atom
				x = term{t.coef, atom}.addTo(x)
			}
			if !changed {
				return e
			}
			return Add(x, L(op.Int(at.Type, sum.constant)))
		}
	}
	changed := false
	for _, c := range Children(e) {
		changed = changed || s.replace(c, r, at) != c
	}
	if !changed {
		return e
	}
	return mapChildren(e, func(c Expr) Expr { return s.replace(c, r, at) })
}

// operations returns the number of operations of an expression.
func operations(e Expr) int {
	n := 0
	Walk(e, func(e Expr) {
		if len(Children(e)) > 0 {
			n++
		}
	})
	return n
}

// eachExpr calls f for the expressions of a statement and of those inside,
// and says of each whether it is an index.
func eachExpr(s Stmt, f func(e Expr, index bool)) {
	WalkStmts([]Stmt{s}, func(s Stmt) {
		switch s := s.(type) {
		case *Let:
			f(s.Value, false)
		case *Declare:
			f(s.Init, false)
		case *Assign:
			f(s.Value, false)
		case *Store:
			f(s.Index, true)
			f(s.Value, false)
		case *If:
			f(s.Cond, false)
		case *Loop:
			f(s.Lo, false)
			f(s.Hi, false)
			f(s.Step, false)
		}
	}, nil)
}

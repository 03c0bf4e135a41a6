package kernel

import (
	"slices"
	"strings"

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
	s := &sharer{changes: assigned(k.Body), sizes: map[*Var]bool{}}
	for _, v := range k.Scalars {
		s.sizes[v] = true
	}
	return TidyNames(k.with(s.list(k.Body)))
}

type sharer struct {
	changes map[*Var]bool // variables that some Assign changes
	sizes   map[*Var]bool // the kernel's arguments
}

// nameFor says what a sum is called: that of an index after where it is, that
// of a part of one after the variable that it ends with.
func (s *sharer) nameFor(r *repeated) string {
	if r.index {
		return shiftedName("at", r.expr, func(v *Var) bool { return s.sizes[v] })
	}
	name := "base"
	Walk(r.expr, func(e Expr) {
		if v, ok := e.(*Ref); ok && !s.sizes[v.Var] && !strings.Contains(v.Var.Name, "_") {
			name = "base_" + v.Var.Name
		}
	})
	return name
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
		sums := s.repeated(out, inner)
		if len(sums.chosen) == 0 {
			return out
		}
		out = sums.apply(out)
	}
}

// repeated is a sum that stands in several places.
type repeated struct {
	sum   linear // without its constant
	expr  Expr   // the same, written out
	count int    // occurrences
	whole int    // occurrences that are not within those of another repeated sum
	first int    // statement of the list that it is first met in
	index bool   // whether it is an index somewhere
	named bool   // whether the first is a Let of the list that has it as its value
	at    *Var   // its name, once it is chosen
}

// chosen reports whether the sum is one to be named now.
func (r *repeated) chosen() bool { return r != nil && r.whole > 1 }

// sums are the sums of a list, to be found by what they are.
type sums struct {
	changes map[*Var]bool
	inner   map[*Var]bool
	byHash  map[uint64][]*repeated
	chosen  []*repeated
}

// repeated finds the sums that are written at least twice outside of larger
// ones that are, and can be named before the first statement that has them.
// What is repeated within those shows once they have names.
func (s *sharer) repeated(list []Stmt, inner map[*Var]bool) *sums {
	all := &sums{changes: s.changes, inner: inner, byHash: map[uint64][]*repeated{}}
	each := func(f func(i int, e Expr, index bool)) {
		for i, st := range list {
			eachExpr(st, func(e Expr, index bool) { f(i, e, index) })
		}
	}
	each(func(i int, e Expr, index bool) {
		all.walk(e, index, func(e Expr, index bool) bool {
			r := all.find(e)
			if r == nil {
				r = all.add(e)
				r.first = i
				if l, ok := list[i].(*Let); ok && Same(l.Value, r.expr) {
					r.named, r.at = true, l.Var
				}
			}
			r.count++
			r.index = r.index || index
			return true
		})
	})
	each(func(i int, e Expr, index bool) {
		all.walk(e, index, func(e Expr, index bool) bool {
			r := all.find(e)
			if !all.useful(r) {
				return true
			}
			if r.whole++; r.whole == 2 {
				all.chosen = append(all.chosen, r)
			}
			return false
		})
	})
	for _, r := range all.chosen {
		if !r.named {
			r.first = afterParts(list, r)
			r.at = NewVar(s.nameFor(r), r.expr.Type())
		}
	}
	return all
}

// afterParts returns where a sum can be named: right after the last of a list
// that names a part of it, so that all that is near it can be computed from
// it; before the statement that has it first if the list names none.
func afterParts(list []Stmt, r *repeated) int {
	for i := r.first - 1; i >= 0; i-- {
		for _, v := range Named(list[i]) {
			if reads(r.expr, v) {
				return i + 1
			}
		}
	}
	return r.first
}

// find returns what is known of the sum that an expression is, its constant
// apart; nil if it has not been met.
func (s *sums) find(e Expr) *repeated {
	sum := linearOf(e)
	for _, r := range s.byHash[sum.hash()] {
		if r.expr.Type() == e.Type() && r.sum.same(sum) {
			return r
		}
	}
	return nil
}

func (s *sums) add(e Expr) *repeated {
	sum := linearOf(e)
	r := &repeated{sum: sum, expr: withoutConstant(e, sum)}
	r.sum.constant = 0
	h := sum.hash()
	s.byHash[h] = append(s.byHash[h], r)
	return r
}

// withoutConstant returns a sum without its constant, as it is written if that
// stands apart.
func withoutConstant(e Expr, sum linear) Expr {
	if sum.constant == 0 {
		return e
	}
	if b, ok := e.(*Binary); ok && (b.Op == op.Add || b.Op == op.Sub) {
		if _, literal := IntLit(b.Y); literal && linearOf(b.X).constant == 0 {
			return b.X
		}
	}
	sum.constant = 0
	return sum.expr(e.Type())
}

// useful reports whether a sum is repeated and is an operation that reads
// neither memory, nor what changes, nor what is declared further inside.
func (s *sums) useful(r *repeated) bool {
	if r == nil || r.count < 2 || len(r.sum.terms) == 0 || len(Children(r.expr)) == 0 {
		return false
	}
	free := true
	Walk(r.expr, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			free = free && !s.inner[e.Var] && !s.changes[e.Var]
		case *Load:
			free = false
		}
	})
	return free
}

// walk calls f for every integer expression in e, sums as a whole, and goes
// into it if f says so.
func (s *sums) walk(e Expr, index bool, f func(e Expr, index bool) bool) {
	if isIndexType(e) {
		if !f(e, index) {
			return
		}
		if terms := linearOf(e).terms; len(terms) != 1 || terms[0].atom != e {
			for _, t := range terms {
				s.walk(t.atom, false, f)
			}
			return
		}
	}
	_, load := e.(*Load)
	for _, c := range Children(e) {
		s.walk(c, load, f)
	}
}

func isIndexType(e Expr) bool { return e.Type() == types.I64 || e.Type() == types.I32 }

// apply gives the chosen sums names and uses them.
func (s *sums) apply(list []Stmt) []Stmt {
	var out []Stmt
	for i, st := range list {
		for _, r := range s.chosen {
			if r.first == i && !r.named {
				out = append(out, &Let{r.at, r.expr})
			}
		}
		if l, ok := st.(*Let); ok {
			if r := s.find(l.Value); r.chosen() && r.named && r.first == i {
				out = append(out, st)
				continue
			}
		}
		out = append(out, rebuild([]Stmt{st}, s.replace, nil)...)
	}
	return out
}

// replace puts names in the place of the chosen sums.
func (s *sums) replace(e Expr) Expr {
	if isIndexType(e) {
		if r := s.find(e); r.chosen() {
			return Add(V(r.at), L(op.Int(e.Type(), linearOf(e).constant)))
		}
		sum := linearOf(e)
		if len(sum.terms) != 1 || sum.terms[0].atom != e {
			return s.replaceTerms(e, sum)
		}
	}
	changed := false
	operands := slices.Clone(Children(e))
	for i, c := range operands {
		x := s.replace(c)
		changed = changed || x != c
		operands[i] = x
	}
	if !changed {
		return e
	}
	i := -1
	return mapChildren(e, func(Expr) Expr { i++; return operands[i] })
}

// replaceTerms puts names into the terms of a sum, which stays as it is
// written if that changes nothing.
func (s *sums) replaceTerms(e Expr, sum linear) Expr {
	changed := false
	var x Expr = L(op.Int(e.Type(), 0))
	for _, t := range sum.terms {
		atom := s.replace(t.atom)
		changed = changed || atom != t.atom
		x = term{t.coef, atom}.addTo(x)
	}
	if !changed {
		return e
	}
	return Add(x, L(op.Int(e.Type(), sum.constant)))
}

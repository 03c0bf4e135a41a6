package kernel

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// passHoist moves what a loop does not change to before it: values with names,
// index arithmetic that is worth a name, and loads from inputs that every
// iteration makes. A load is made only if the loop runs at all. Sums are
// regrouped so that what the loop does not change comes together. Nothing
// leaves the loops of threads and blocks: each thread would compute it all the
// same, even what only some threads need.
//
//	(for i i64 serial (i64 0) N (i64 1)
//	  (store v (add (add i (mul j N)) (i64 1)) (load u j)))
//	=>
//	(let row i64 (mul j N))
//	(let u_j f64 (select (lt (i64 0) N) (load u j) (f64 0)))
//	(for i i64 serial (i64 0) N (i64 1)
//	  (store v (add (add row i) (i64 1)) u_j))
func passHoist(k *Kernel) *Kernel {
	h := &hoister{changes: assigned(k.Body), sizes: map[*Var]bool{}}
	for _, v := range k.Scalars {
		h.sizes[v] = true
	}
	return TidyNames(k.with(h.list(k.Body)))
}

type hoister struct {
	changes map[*Var]bool // variables that some Assign changes
	sizes   map[*Var]bool // the kernel's arguments
}

func (h *hoister) isSize(v *Var) bool { return h.sizes[v] }

// list hoists within the loops of a list, the innermost first.
func (h *hoister) list(list []Stmt) []Stmt {
	var out []Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *Loop:
			out = append(out, h.loop(s)...)
		case *If:
			out = append(out, &If{s.Cond, h.list(s.Then), h.list(s.Else)})
		default:
			out = append(out, s)
		}
	}
	return out
}

// loop returns a loop with what has been moved out before it. Loops that are
// collapsed count as one.
func (h *hoister) loop(l *Loop) []Stmt {
	nest := Collapsed(l)
	body := h.list(nest[len(nest)-1].Body)
	if l.Tag.isLaunch() {
		c := *l
		c.Body = body
		return []Stmt{&c}
	}
	m := &mover{hoister: h, nest: nest, inside: defined(body, map[*Var]bool{}), base: "row", names: newNames()}
	for _, n := range nest {
		m.inside[n.Var] = true
	}
	WalkStmts(body, func(s Stmt) {
		if _, ok := s.(*Loop); ok {
			m.base = "base" // not of a row: there are loops below
		}
	}, nil)
	body = m.list(body, true)
	for i := len(nest) - 1; i >= 0; i-- {
		n := *nest[i]
		n.Body = body
		body = []Stmt{&n}
	}
	return append(m.out, body...)
}

// mover moves values out of one loop.
type mover struct {
	*hoister
	nest   []*Loop
	inside map[*Var]bool // declared in the loop, its variable included
	base   string        // what a part of an index is called
	out    []Stmt        // moved to before the loop
	named  []*Let        // of those, the ones that this loop's mover made
	names  *names        // of those
}

// list rewrites statements of the loop's body; always says that every
// iteration runs them.
func (m *mover) list(list []Stmt, always bool) []Stmt {
	var kept []Stmt
	for _, s := range list {
		if l, ok := s.(*Let); ok && m.moves(l.Value, always) {
			m.out = append(m.out, &Let{l.Var, m.guard(l.Value)})
			delete(m.inside, l.Var)
			continue
		}
		kept = append(kept, m.stmt(s, always))
	}
	return kept
}

// stmt rewrites the expressions of a statement. Loads of several elements and
// values of other lanes have names and stay where they are.
func (m *mover) stmt(s Stmt, always bool) Stmt {
	expr := func(e Expr) Expr { return m.expr(e, always) }
	switch s := s.(type) {
	case *If:
		return &If{m.expr(s.Cond, always), m.list(s.Then, false), m.list(s.Else, false)}
	case *Loop:
		l := *s
		if l.Tag != Unroll { // whose trip count has to stay in sight
			l = *mapStmt(s, expr).(*Loop)
		}
		l.Body = m.list(s.Body, false)
		return &l
	}
	return mapStmt(s, expr)
}

// steady reports whether the loop does not change an expression's value, and
// whether it loads from memory.
func (m *mover) steady(e Expr) (ok, loads bool) {
	ok = true
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Ref:
			if m.inside[e.Var] || m.changes[e.Var] {
				ok = false
			}
		case *Load:
			loads = true
			if e.Buffer.Mode != In {
				ok = false
			}
		}
	})
	return ok, loads
}

// moves reports whether a value with a name is moved out as a whole. One that
// not every iteration needs has to be worth it.
func (m *mover) moves(e Expr, always bool) bool {
	ok, loads := m.steady(e)
	switch {
	case !ok:
		return false
	case loads:
		return always
	}
	return !e.Type().IsFloat() && (always || worthName(e))
}

// guard keeps a value with loads from being computed if the loop does not run.
func (m *mover) guard(e Expr) Expr {
	if _, loads := m.steady(e); !loads {
		return e
	}
	runs := L(op.BoolOf(true))
	for _, l := range m.nest {
		if trips, known := Trips(l); !known || trips == 0 {
			runs = both(runs, Lt(l.Lo, l.Hi))
		}
	}
	if s, ok := e.(*Select); ok && isZero(s.Y) {
		if _, loads := m.steady(s.Cond); !loads {
			return Sel(both(runs, s.Cond), s.X, s.Y) // one choice rather than one in another
		}
	}
	return Sel(runs, e, L(op.Convert(e.Type(), op.Int(types.I32, 0))))
}

// both returns a condition that holds where x and y do.
func both(x, y Expr) Expr {
	if b, ok := y.(*Binary); ok && b.Op == op.LAnd {
		return both(both(x, b.X), b.Y)
	}
	if isAmong(y, x) {
		return x
	}
	return And(x, y)
}

// isAmong reports whether y is one of the conditions that x joins by and.
func isAmong(y, x Expr) bool {
	if b, ok := x.(*Binary); ok && b.Op == op.LAnd {
		return isAmong(y, b.X) || isAmong(y, b.Y)
	}
	return Same(x, y)
}

func isZero(e Expr) bool {
	l, ok := e.(*Lit)
	return ok && l.Value.Same(op.Convert(e.Type(), op.Int(types.I32, 0)))
}

// expr rewrites an expression; always says that every iteration evaluates it.
func (m *mover) expr(e Expr, always bool) Expr {
	ok, loads := m.steady(e)
	isIndex := e.Type() == types.I64 || e.Type() == types.I32
	switch x := e.(type) {
	case *Lit, *Ref:
		return e
	case *Load:
		if ok && always {
			return m.name(x.Buffer.Name+"_"+subject(x.Index), e)
		}
	case *Select:
		if !(ok && !loads && isIndex) {
			return Sel(m.expr(x.Cond, always), m.expr(x.X, false), m.expr(x.Y, false))
		}
	case *Binary:
		if isIndex && !ok && (x.Op == op.Add || x.Op == op.Sub) {
			if sum := m.regroup(e, always); sum != nil {
				return sum
			}
		}
	}
	if ok && !loads && isIndex {
		if worthName(e) {
			return m.name(m.base, e)
		}
		return e
	}
	return mapChildren(e, func(c Expr) Expr { return m.expr(c, always) })
}

// regroup splits a sum into what the loop does not change, which gets a name,
// and the rest; nil if that is not worth a name.
func (m *mover) regroup(e Expr, always bool) Expr {
	sum := linearOf(e)
	var still linear
	var moving []term
	for _, t := range sum.terms {
		if ok, loads := m.steady(t.atom); ok && !loads {
			still.terms = append(still.terms, t)
		} else {
			moving = append(moving, t)
		}
	}
	part := still.expr(e.Type())
	if !worthName(part) {
		return nil
	}
	x := m.name(m.base, part)
	for _, t := range moving {
		x = term{t.coef, m.expr(t.atom, always)}.addTo(x)
	}
	return Add(x, L(op.Int(e.Type(), sum.constant)))
}

// worthName reports whether an expression is more than sums of two terms.
func worthName(e Expr) bool {
	ops := 0
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Binary:
			ops++
			if e.Op != op.Add && e.Op != op.Sub {
				ops++
			}
		case *Lit, *Ref:
		default:
			ops += 2
		}
	})
	return ops > 1
}

// name gives a value a name before the loop, or finds the one that it has.
func (m *mover) name(base string, e Expr) Expr {
	e = m.guard(e)
	for _, l := range m.named {
		if Same(l.Value, e) {
			return V(l.Var)
		}
	}
	if isIndexType(e) {
		base = shiftedName(base, e, m.isSize)
	}
	l := &Let{NewVar(m.names.take(base), e.Type()), e}
	m.named = append(m.named, l)
	m.out = append(m.out, l)
	return V(l.Var)
}

// subject returns the name of the variable that an index is mostly about: the
// last that it reads.
func subject(e Expr) string {
	name := "first"
	Walk(e, func(e Expr) {
		if r, ok := e.(*Ref); ok {
			name = r.Var.Name
		}
	})
	return name
}

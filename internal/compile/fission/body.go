package fission

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lang"
)

// body is what is known of the statements of a stencil.
type body struct {
	def        *lang.StencilDef
	calls      []*lang.CallStep
	statements []*statement
	locals     map[string]bool // names that are declared in the body
}

// statement is a statement of a body, or the declaration of one name. It says what that reads and writes, by name. A
// declaration writes what it declares; an assignment reads its target, too: cells outside of its domain keep their
// values.
type statement struct {
	lang.Stmt
	declares      *lang.Declarator // of a declaration
	bounds        *lang.Ident      // the grid of a boundary
	reads, writes []string
}

func newBody(def *lang.StencilDef, calls []*lang.CallStep) *body {
	b := &body{def: def, calls: calls, locals: map[string]bool{}}
	for _, st := range def.Body {
		for _, id := range written(st) {
			s := &statement{Stmt: st, writes: []string{id.Name}}
			from := st
			if d, ok := st.(*lang.VarDecl); ok {
				for _, v := range d.Vars {
					if v.Name == id {
						s.declares = v
						from = &lang.VarDecl{Domain: d.Domain, Vars: []*lang.Declarator{v}}
					}
				}
				b.locals[id.Name] = true
			}
			if _, ok := st.(*lang.BoundaryDecl); ok {
				s.bounds = id
			}
			for _, x := range expressions(from) {
				lang.WalkNames(x, func(id *lang.Ident) { s.reads = append(s.reads, id.Name) })
			}
			b.statements = append(b.statements, s)
		}
	}
	return b
}

// written returns the names that a statement declares, or gives values or boundaries.
func written(st lang.Stmt) []*lang.Ident {
	switch st := st.(type) {
	case *lang.VarDecl:
		var list []*lang.Ident
		for _, v := range st.Vars {
			list = append(list, v.Name)
		}
		return list
	case *lang.BoundaryDecl:
		return st.Grids
	case *lang.Assignment:
		return []*lang.Ident{st.Assigned()}
	case *lang.Reduction:
		return []*lang.Ident{st.Target}
	}
	return nil
}

// expressions returns those of a statement; an assignment's target is one.
func expressions(st lang.Stmt) []lang.Expr {
	var list []lang.Expr
	add := func(x lang.Expr) {
		if x != nil {
			list = append(list, x)
		}
	}
	domain := func(d *lang.Domain) {
		if d != nil {
			for _, r := range d.Ranges {
				add(r.Lo)
				add(r.Hi)
			}
		}
	}
	var table func(t *lang.Table)
	table = func(t *lang.Table) {
		for _, n := range t.Entries {
			switch n := n.(type) {
			case *lang.Table:
				table(n)
			case lang.Expr:
				add(n)
			}
		}
	}
	switch st := st.(type) {
	case *lang.VarDecl:
		domain(st.Domain)
		for _, v := range st.Vars {
			for _, d := range v.Dims {
				add(d.Lo)
				add(d.Hi)
			}
			add(v.Value)
			if v.Table != nil {
				table(v.Table)
			}
		}
	case *lang.BoundaryDecl:
		for _, r := range st.Rules {
			add(r.Value)
		}
	case *lang.Assignment:
		domain(st.Domain)
		add(st.Target)
		add(st.Value)
	case *lang.Reduction:
		domain(st.Domain)
		add(st.Value)
	}
	return list
}

// slice returns the statements that assign some outputs, and others, with those that assign temporaries that they need.
func (b *body) slice(outputs []string, others ...int) []int {
	needed := make([]bool, len(b.statements))
	locals := map[string]int{} // the last statement that needs a temporary
	for i, st := range slices.Backward(b.statements) {
		for _, w := range st.writes {
			_, used := locals[w]
			needed[i] = needed[i] || b.locals[w] && used || !b.locals[w] && slices.Contains(outputs, w)
		}
		needed[i] = needed[i] || slices.Contains(others, i)
		if !needed[i] {
			continue
		}
		for _, name := range append(slices.Clone(st.reads), st.writes...) {
			if b.locals[name] {
				locals[name] = i
			}
		}
	}
	var list []int
	for i, is := range needed {
		if is {
			list = append(list, i)
		}
	}
	return list
}

// conflict reports whether one of two statements writes what the other reads or writes, temporaries aside.
func (b *body) conflict(x, y *statement) bool {
	meets := func(writes, names []string) bool {
		return slices.ContainsFunc(writes, func(w string) bool {
			other := func(n string) bool { return !b.locals[n] && b.same(w, n) }
			return !b.locals[w] && slices.ContainsFunc(names, other)
		})
	}
	return meets(x.writes, y.reads) || meets(x.writes, y.writes) || meets(y.writes, x.reads)
}

// same reports whether two names stand for the same grid or scalar in one of the calls.
func (b *body) same(x, y string) bool {
	if x == y {
		return true
	}
	for _, c := range b.calls {
		if b.passed(c, x) == b.passed(c, y) {
			return true
		}
	}
	return false
}

// passed returns what a name stands for in a call.
func (b *body) passed(c *lang.CallStep, name string) string {
	for i, f := range b.def.Formals {
		if f.Name.Name == name && i < len(c.Args) {
			if id, ok := c.Args[i].(*lang.Ident); ok {
				return id.Name
			}
			return ":" + name // a value of its own
		}
	}
	return name
}

// calls returns the calls of a stencil.
func calls(f *lang.File, name string) []*lang.CallStep {
	var list []*lang.CallStep
	eachCall(f, func(c *lang.CallStep) {
		if c.Name.Name == name {
			list = append(list, c)
		}
	})
	return list
}

// eachCall calls do for each call of a file, in order.
func eachCall(f *lang.File, do func(*lang.CallStep)) {
	var visit func(step lang.Step)
	visit = func(step lang.Step) {
		switch step := step.(type) {
		case *lang.CallStep:
			do(step)
		case *lang.IterateStep:
			for _, s := range step.Body {
				visit(s)
			}
		case *lang.UntilStep:
			for _, s := range step.Body {
				visit(s)
			}
		}
	}
	for _, item := range f.Items {
		if step, ok := item.(lang.Step); ok {
			visit(step)
		}
	}
}

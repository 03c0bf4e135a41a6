package lang

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
)

// cycles reports values that depend on themselves.
func (c *checker) cycles() {
	const busy, done = 1, 2
	state := make(map[symbol]int)
	var visit func(s symbol) bool
	visit = func(s symbol) bool {
		switch state[s] {
		case busy:
			return false
		case done:
			return true
		}
		state[s] = busy
		ok := true
		for _, x := range valuesOf(s) {
			WalkNames(x, func(id *Ident) {
				if t := c.globals[id.Name]; t != nil {
					ok = visit(t) && ok
				}
			})
		}
		state[s] = done
		if !ok {
			c.diags.Errorf(markCyclic(s), "the value of %q depends on itself", c.nameOf(s))
		}
		return true
	}
	for _, s := range c.order {
		visit(s)
	}
}

// valuesOf returns the expressions that a global's value is made of.
func valuesOf(s symbol) []Expr {
	var x Expr
	switch s := s.(type) {
	case *paramSym:
		x = s.decl.Value
	case *scalarSym:
		x = s.decl.Value
	case *tableSym:
		return s.entries
	}
	if x == nil {
		return nil
	}
	return []Expr{x}
}

// markCyclic keeps a global's value from being looked at again, and returns
// where it is declared.
func markCyclic(s symbol) diag.Range {
	switch s := s.(type) {
	case *paramSym:
		s.broken = true
		return s.decl.Name.Span()
	case *scalarSym:
		s.broken = true
		return s.decl.Name.Span()
	case *tableSym:
		s.broken = true
		return s.decl.Name.Span()
	}
	panic("lang: only what has a value can depend on itself")
}

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
			walkNames(x, func(id *Ident) {
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

// walkNames calls f for every name in x that stands for a value.
func walkNames(x Expr, f func(*Ident)) {
	switch x := x.(type) {
	case *Ident:
		f(x)
	case *ParenExpr:
		walkNames(x.X, f)
	case *UnaryExpr:
		walkNames(x.X, f)
	case *BinaryExpr:
		walkNames(x.X, f)
		walkNames(x.Y, f)
	case *CondExpr:
		walkNames(x.Cond, f)
		walkNames(x.X, f)
		walkNames(x.Y, f)
	case *CallExpr:
		for _, a := range x.Args {
			walkNames(a, f)
		}
	case *IndexExpr:
		f(x.Name)
		for _, a := range x.Indices {
			walkNames(a, f)
		}
	case *SumExpr:
		walkNames(x.Lo, f)
		walkNames(x.Hi, f)
		walkNames(x.Body, func(id *Ident) {
			if id.Name != x.Var.Name {
				f(id)
			}
		})
	}
}

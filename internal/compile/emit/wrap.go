package emit

import (
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Ints wrap around, and compilers may assume that they do not. Where a dialect
// cannot forbid that, what a program computes from data is computed as
// unsigned; indices stay as they are, since they do not overflow and are faster
// for being known not to.

// wraps reports whether arithmetic on operands may wrap around.
func (p *printer) wraps(operands ...kernel.Expr) bool {
	if p.Wraps {
		return false
	}
	for _, e := range operands {
		if e.Type() == types.I32 && fromData(e, p.data) {
			return true
		}
	}
	return false
}

// fromData reports whether a value depends on what memory or arguments hold.
func fromData(e kernel.Expr, data map[*kernel.Var]bool) bool {
	switch e := e.(type) {
	case *kernel.Load:
		return true
	case *kernel.Ref:
		return data[e.Var]
	case *kernel.Cast:
		if t := e.X.Type(); t.IsFloat() {
			return true
		}
	}
	for _, c := range kernel.Children(e) {
		if fromData(c, data) {
			return true
		}
	}
	return false
}

// dataOf returns the variables of a kernel whose values come from data.
func dataOf(k *kernel.Kernel) map[*kernel.Var]bool {
	data := map[*kernel.Var]bool{}
	for _, v := range k.Scalars {
		data[v] = v.Type != types.I64
	}
	note := func(v *kernel.Var, values ...kernel.Expr) (more bool) {
		for _, e := range values {
			more = more || !data[v] && fromData(e, data)
		}
		if more {
			data[v] = true
		}
		return more
	}
	for more := true; more; { // an assignment may come before what it depends on
		more = false
		kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
			switch s := s.(type) {
			case *kernel.Let:
				more = note(s.Var, s.Value) || more
			case *kernel.Declare:
				more = note(s.Var, s.Init) || more
			case *kernel.Assign:
				more = note(s.Var, s.Value) || more
			case *kernel.Shuffle:
				more = note(s.Var, s.Value) || more
			case *kernel.LoadVector:
				for _, v := range s.Vars {
					more = more || !data[v]
					data[v] = true
				}
			}
		}, nil)
	}
	return data
}

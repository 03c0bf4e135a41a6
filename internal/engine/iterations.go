package engine

import "github.com/gridloom/gridloom/internal/compile/ir"

// Iterations returns the iterations of a program's outermost iterates, or 0 if
// a condition or a result decides.
func Iterations(b *ir.Binding) int64 {
	total := int64(0)
	for _, o := range b.Program.Body {
		it, ok := o.(*ir.Iterate)
		if !ok || it.Sequence {
			continue
		}
		if !counted(it) {
			return 0
		}
		total += max(0, b.Eval(it.Count, 0).I)
	}
	return total
}

// counted reports whether the number of iterations is known before the first.
func counted(it *ir.Iterate) bool {
	if it.Count == nil {
		return false
	}
	known := true
	ir.Walk(it.Count, func(e ir.Expr) {
		if s, ok := e.(ir.ScalarRef); ok && s.Scalar.Reduced {
			known = false
		}
	})
	return known
}

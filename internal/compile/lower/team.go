package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
)

const (
	// teamWork is the number of operations from which on a team of threads is
	// worth its start: five microseconds of one thread, as docs/performance-log.md
	// has it.
	teamWork = 1 << 18
	// slowWork is what a division or the call of a function counts.
	slowWork = 16
)

// team returns the condition under which threads share a loop over so many
// cells, each of so many operations.
func team(cells kernel.Expr, each int64) kernel.Expr {
	return kernel.Ge(cells, kernel.I((teamWork+each-1)/each))
}

// team returns the condition for the loop over the group's cells; nil where the
// plan says how many threads there are.
func (l *loopNest) team() kernel.Expr {
	if l.threads > 0 {
		return nil
	}
	cells := kernel.Expr(kernel.I(1))
	for _, axis := range l.axes {
		cells = kernel.Mul(cells, kernel.Sub(l.span[axis].hi, l.span[axis].lo))
	}
	each := int64(0)
	for _, s := range l.stmts {
		each += operations(s.src.Value)
	}
	return team(cells, max(1, each))
}

// operations returns the operations of an expression, slow ones as several.
func operations(e ir.Expr) int64 {
	n := int64(0)
	ir.Walk(e, func(e ir.Expr) {
		n++
		switch e := e.(type) {
		case *ir.Fma:
			n++ // a product and a sum
		case *ir.FuncCall:
			n += slowWork
		case *ir.Binary:
			if e.Op == op.Div || e.Op == op.Rem {
				n += slowWork
			}
		}
	})
	return n
}

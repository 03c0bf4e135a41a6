package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// Large expressions are computed term by term where threads are to load no more than a few cells at a time: what
// belongs together stands between two warp barriers, which compilers move no loads across. So they need registers for
// a few terms and a sum, and not for all that a statement reads. Operations and their order are the same.

// mostLoads is how many loads stand between two barriers, about.
const mostLoads = 16

// termOf is an operation in an expression of a statement, or of a local scalar.
type termOf struct {
	of ir.Expr
	in *ir.Temp
}

// terms are operations that were computed before, with their values.
type terms map[termOf]kernel.Expr

// inTerms computes the parts of an expression that read many cells, each after those in it, and returns its value.
func (c *cell) inTerms(e ir.Expr) kernel.Expr {
	if c.stage != nil && c.stage.terms != nil {
		c.prepareTerms(e)
	}
	return c.expr(e)
}

// prepareTerms computes the parts of an expression, and returns how many loads are left to do for the rest.
func (c *cell) prepareTerms(e ir.Expr) (loads int) {
	switch e.(type) {
	case *ir.Access:
		return 1
	case *ir.Select: // one of two is needed
		return 0
	}
	if t, ok := e.(ir.TempRef); ok {
		c.temp(t.Temp) // in terms, where it is used first
		return 0
	}
	for _, x := range ir.Children(e) {
		loads += c.prepareTerms(x)
	}
	if loads < mostLoads {
		return loads
	}
	v := c.body.declare(c.env, "term", e.Type())
	c.body.emit(&kernel.Let{Var: v, Value: c.expr(e)}, &kernel.Barrier{Scope: kernel.WarpScope})
	c.stage.terms[termOf{e, c.stage.temporary}] = kernel.V(v)
	return 0
}

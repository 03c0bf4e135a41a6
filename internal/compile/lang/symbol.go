package lang

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// symbol is what a name stands for.
type symbol interface {
	// kind says what the name is, for messages: "a grid".
	kind() string
}

// paramSym is a parameter.
type paramSym struct {
	name  string
	index int
	decl  *Parameter

	broken bool // its value was reported; so with the other symbols
}

// iterSym is an iterator.
type iterSym struct{ axis int }

// scalarSym is a scalar of the program.
type scalarSym struct {
	scalar *ir.Scalar
	decl   *Declarator
	broken bool
}

// gridSym is a grid of the program.
type gridSym struct {
	grid *ir.Grid
	decl *Declarator
	axes axisUse

	broken bool
}

// tableSym is a constant table. Its entries are lowered where they are used.
type tableSym struct {
	name    string
	decl    *Declarator
	typ     types.Type
	lo      []int64
	size    []int64
	entries []Expr // row-major
	env     *env   // in which the entries are read
	broken  bool
}

// tempSym is a scalar local: the temp that holds its value at the moment.
type tempSym struct {
	name string
	typ  types.Type
	now  *ir.Temp // nil before its first assignment
}

// arraySym is a grid as a stencil's body sees it: a formal, a global or a
// local grid.
type arraySym struct {
	array  *ir.Array
	broken bool
}

// argSym is a scalar formal: the expression that is passed for it.
type argSym struct {
	expr Expr
	env  *env
}

// constSym is the variable of a bounded sum.
type constSym struct{ value int64 }

func (*paramSym) kind() string  { return "a parameter" }
func (*iterSym) kind() string   { return "an iterator" }
func (*scalarSym) kind() string { return "a scalar" }
func (*gridSym) kind() string   { return "a grid" }
func (*tableSym) kind() string  { return "a table" }
func (*tempSym) kind() string   { return "a scalar local" }
func (*arraySym) kind() string  { return "a grid" }
func (*argSym) kind() string    { return "a scalar" }
func (*constSym) kind() string  { return "a number" }

// undefined reports a name that stands for nothing.
func (c *checker) undefined(id *Ident, candidates []string) {
	c.unknown++
	if c.doubtful[id.Name] {
		return
	}
	d := c.diags.Errorf(id.Span(), "nothing is called %q", id.Name)
	if near := diag.Nearest(id.Name, candidates); near != "" {
		d.Hintf("did you mean %q?", near)
	}
}

// globalNames returns every declared name that f picks, in declaration order.
func (c *checker) globalNames(f func(symbol) bool) []string {
	var names []string
	for _, s := range c.order {
		if f(s) {
			names = append(names, c.nameOf(s))
		}
	}
	return names
}

func (c *checker) nameOf(s symbol) string {
	switch s := s.(type) {
	case *paramSym:
		return s.name
	case *iterSym:
		return c.prog.Axes[s.axis]
	case *scalarSym:
		return s.scalar.Name
	case *gridSym:
		return s.grid.Name
	case *tableSym:
		return s.name
	}
	panic(fmt.Sprintf("lang: %T is no global", s))
}

func anySymbol(symbol) bool { return true }

func isGrid(s symbol) bool {
	_, ok := s.(*gridSym)
	return ok
}

func isGridOrScalar(s symbol) bool {
	switch s.(type) {
	case *gridSym, *scalarSym:
		return true
	}
	return false
}

package lang

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
)

// attributes applies copyin, copyout and the like.
func (c *checker) attributes(f *File) {
	for _, d := range itemsOf[*AttributeDecl](f) {
		for _, id := range d.Names {
			c.attribute(d.Word.Name, id)
		}
	}
}

func (c *checker) attribute(word string, id *Ident) {
	switch s := c.globals[id.Name].(type) {
	case nil:
		if c.doubtful[id.Name] {
			return
		}
		d := c.lenient(undeclared, id.Span(), id.Name, "%s names %q, which is not declared", word, id.Name)
		if near := diag.Nearest(id.Name, c.globalNames(isGridOrScalar)); near != "" && d != nil {
			d.Hintf("did you mean %q?", near)
		}
	case *gridSym:
		switch word {
		case "copyin":
			s.grid.CopyIn = true
		case "copyout":
			s.grid.CopyOut = true
		case "constant":
			s.grid.Constant = true
		case "coefficient":
			c.diags.Errorf(id.Span(), "coefficient names scalars, and %q is a grid", id.Name).
				Hintf("a grid that never changes is declared with constant")
		}
	case *scalarSym:
		switch word {
		case "copyin":
			s.scalar.Argument = true
		case "copyout":
			s.scalar.CopyOut = true
			c.results = append(c.results, id)
		case "coefficient":
			s.scalar.Coefficient = true
		case "allocin":
			c.diags.Errorf(id.Span(), "allocin names grids, and %q is a scalar", id.Name)
		}
	case *paramSym:
		c.diags.Warnf(id.Span(), "%q is a parameter, which is always given from outside: %s says nothing more",
			id.Name, word)
	default:
		c.diags.Errorf(id.Span(), "%s names grids and scalars, and %q is %s", word, id.Name, s.kind())
	}
}

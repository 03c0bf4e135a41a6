package lang

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// check finds the mistakes in a table's entries, used or not.
func (s *tableSym) check() {
	for _, x := range s.entries {
		s.env.typeOf(x)
	}
}

// maxTable bounds the entries of one table.
const maxTable = 65536

// tableValue reads the shape and the entries of a table.
func (c *checker) tableValue(s *tableSym) {
	s.broken = !c.tableShape(s, s.decl) || !c.fillTable(s, s.decl.Table, 0)
}

func (c *checker) tableShape(s *tableSym, v *Declarator) bool {
	if len(v.Dims) == 0 {
		c.diags.Errorf(v.Name.Span(), "a table needs a size").Hintf("write %s[%d] = {...}", v.Name.Name,
			len(v.Table.Entries))
		return false
	}
	total := int64(1)
	for _, d := range v.Dims {
		hi, ok := s.env.affine(d.Hi)
		lo, okLo := ir.Num(0), true
		if d.Lo != nil {
			lo, okLo = s.env.affine(d.Lo)
			hi = hi.Add(1)
		}
		if !ok || !okLo {
			return false
		}
		if !hi.IsConst() || !lo.IsConst() {
			c.diags.Errorf(d.Span(), "the size of a table is a constant number")
			return false
		}
		n := hi.Const - lo.Const
		if n < 1 {
			c.diags.Errorf(d.Span(), "this dimension of %q holds no entries", s.name)
			return false
		}
		if n > maxTable || total*n > maxTable {
			c.diags.Errorf(d.Span(), "a table has at most %d entries", maxTable)
			return false
		}
		total *= n
		s.lo = append(s.lo, lo.Const)
		s.size = append(s.size, n)
	}
	return true
}

func (c *checker) fillTable(s *tableSym, t *Table, depth int) bool {
	if int64(len(t.Entries)) != s.size[depth] {
		c.diags.Errorf(t.Span(), "%q needs %d entries here, not %d", s.name, s.size[depth], len(t.Entries))
		return false
	}
	last := depth == len(s.size)-1
	for _, entry := range t.Entries {
		switch entry := entry.(type) {
		case *Table:
			if last {
				c.diags.Errorf(entry.Span(), "%q has %d dimension%s; this is one more", s.name, len(s.size),
					plural(len(s.size)))
				return false
			}
			if !c.fillTable(s, entry, depth+1) {
				return false
			}
		case Expr:
			if !last {
				c.diags.Errorf(entry.Span(), "%q has %d dimensions: a list in braces is due here", s.name, len(s.size))
				return false
			}
			s.entries = append(s.entries, entry)
		}
	}
	return true
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

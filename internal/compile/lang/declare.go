package lang

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// declare enters every name of the file. Parameters and iterators come first,
// because shapes are made of them.
func (c *checker) declare(f *File) {
	places := make(map[string]diag.Range)
	enter := func(id *Ident, s symbol) bool {
		if first, ok := places[id.Name]; ok {
			later, earlier := id.Span(), first
			if later.Start < earlier.Start {
				later, earlier = earlier, later
			}
			c.diags.Errorf(later, "%q is declared twice", id.Name).Notef(earlier, "it is first declared here")
			return false
		}
		places[id.Name] = id.Span()
		c.globals[id.Name] = s
		return true
	}
	for _, d := range itemsOf[*ParameterDecl](f) {
		for _, p := range d.Params {
			s := &paramSym{name: p.Name.Name, index: len(c.prog.Params), decl: p}
			if enter(p.Name, s) {
				c.prog.Params = append(c.prog.Params, &ir.Param{Name: s.name, Range: p.Name.Span()})
			}
		}
	}
	for _, d := range itemsOf[*IteratorDecl](f) {
		for _, id := range d.Names {
			if enter(id, &iterSym{axis: len(c.prog.Axes)}) {
				c.prog.Axes = append(c.prog.Axes, id.Name)
			}
		}
	}
	for _, d := range itemsOf[*VarDecl](f) {
		t, _ := types.FromWord(d.Type.Name)
		for _, v := range d.Vars {
			enter(v.Name, c.newVar(t, v))
		}
	}
	// In the order of the text, for the interface.
	for _, it := range f.Items {
		for _, id := range declaredNames(it) {
			if s := c.globals[id.Name]; places[id.Name] == id.Span() && s != nil {
				c.order = append(c.order, s)
			}
		}
	}
	c.shapes()
	c.declareStencils(f)
}

func declaredNames(it Item) []*Ident {
	var list []*Ident
	switch it := it.(type) {
	case *ParameterDecl:
		for _, p := range it.Params {
			list = append(list, p.Name)
		}
	case *IteratorDecl:
		list = it.Names
	case *VarDecl:
		for _, v := range it.Vars {
			list = append(list, v.Name)
		}
	}
	return list
}

// newVar makes the symbol of a declarator, whose shape is found later.
func (c *checker) newVar(t types.Type, v *Declarator) symbol {
	switch name := v.Name.Name; {
	case v.Table != nil:
		return &tableSym{name: name, typ: t, env: c.global, decl: v}
	case len(v.Dims) > 0:
		return &gridSym{grid: &ir.Grid{Name: name, Type: t, Range: v.Name.Span()}, decl: v}
	default:
		return &scalarSym{scalar: &ir.Scalar{Name: name, Type: t, Range: v.Name.Span()}, decl: v}
	}
}

// shapes reads the sizes of the declared grids and tables.
func (c *checker) shapes() {
	for _, s := range c.order {
		switch s := s.(type) {
		case *tableSym:
			c.tableValue(s)
		case *gridSym:
			if s.decl.Value != nil {
				c.gridValue(s.decl)
			}
			dims, ok := c.dims(s.decl)
			s.grid.Dims, s.broken = dims, !ok
			if ok {
				c.prog.Grids = append(c.prog.Grids, s.grid)
			}
		case *scalarSym:
			c.prog.Scalars = append(c.prog.Scalars, s.scalar)
		}
	}
}

func (c *checker) gridValue(v *Declarator) {
	c.diags.Errorf(v.Value.Span(), "a grid takes its first values from an initial block or from input").
		Hintf("a table of constants is written %s[3] = {1, 2, 3}", v.Name.Name)
}

func (c *checker) declareStencils(f *File) {
	for _, def := range itemsOf[*StencilDef](f) {
		if first, ok := c.stencils[def.Name.Name]; ok {
			c.diags.Errorf(def.Name.Span(), "stencil %q is defined twice", def.Name.Name).
				Notef(first.def.Name.Span(), "it is first defined here")
			continue
		}
		c.stencils[def.Name.Name] = &stencilInfo{def: def}
	}
}

// maxDims bounds the dimensions of one grid.
const maxDims = 8

// dims returns the shape that a declarator gives.
func (c *checker) dims(v *Declarator) ([]ir.Dim, bool) {
	var dims []ir.Dim
	ok := true
	if len(v.Dims) > maxDims {
		c.diags.Errorf(v.Dims[maxDims].Span(), "%q has more than %d dimensions", v.Name.Name, maxDims)
		ok = false
	}
	for _, d := range v.Dims {
		dim := ir.Dim{Axis: -1}
		hi, okHi := c.affine(d.Hi)
		if d.Lo == nil {
			dim.Hi = hi.Add(-1)
		} else {
			lo, okLo := c.affine(d.Lo)
			dim.Lo, dim.Hi = lo, hi
			okHi = okHi && okLo
		}
		if n, isConst := dim.Hi.Diff(dim.Lo); okHi && isConst && n < 0 {
			c.diags.Errorf(d.Span(), "this dimension of %q holds no cells", v.Name.Name)
			okHi = false
		}
		dims = append(dims, dim)
		ok = ok && okHi
	}
	return dims, ok
}

// values gives parameters and scalars their initial values.
func (c *checker) values() {
	c.cycles()
	for _, s := range c.order {
		switch s := s.(type) {
		case *paramSym:
			if s.decl.Value != nil && !s.broken {
				c.prog.Params[s.index].Default, _ = c.sizes.integer(s.decl.Value)
			}
		case *scalarSym:
			if s.decl.Value != nil && !s.broken {
				s.scalar.Init, _ = c.global.valueOf(s.decl.Value, s.scalar.Type)
			}
		case *tableSym:
			s.check()
		}
	}
}

// check finds the mistakes in a table's entries, used or not.
func (s *tableSym) check() {
	for _, x := range s.entries {
		s.env.typeOf(x)
	}
}

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

// maxTable bounds the entries of one table.
const maxTable = 65536

// tableValue reads the shape and the entries of a table.
func (c *checker) tableValue(s *tableSym) {
	s.broken = !c.tableShape(s, s.decl) || !c.fillTable(s, s.decl.Table, 0)
}

func (c *checker) tableShape(s *tableSym, v *Declarator) bool {
	if len(v.Dims) == 0 {
		c.diags.Errorf(v.Name.Span(), "a table needs a size").Hintf("write %s[%d] = {...}", v.Name.Name, len(v.Table.Entries))
		return false
	}
	total := int64(1)
	for _, d := range v.Dims {
		hi, ok := c.affine(d.Hi)
		lo, okLo := ir.Num(0), true
		if d.Lo != nil {
			lo, okLo = c.affine(d.Lo)
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
				c.diags.Errorf(entry.Span(), "%q has %d dimension%s; this is one more", s.name, len(s.size), plural(len(s.size)))
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
		d := c.lenient(id.Span(), "%s names %q, which is not declared", word, id.Name)
		if near := diag.Nearest(id.Name, c.globalNames(isGridOrScalar)); near != "" {
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
		c.diags.Warnf(id.Span(), "%q is a parameter, which is always given from outside: %s says nothing more", id.Name, word)
	default:
		c.diags.Errorf(id.Span(), "%s names grids and scalars, and %q is %s", word, id.Name, s.kind())
	}
}

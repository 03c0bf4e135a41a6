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
			dims, ok := c.global.dims(s.decl)
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
func (e *env) dims(v *Declarator) ([]ir.Dim, bool) {
	c := e.c
	var dims []ir.Dim
	ok := true
	if len(v.Dims) > maxDims {
		c.diags.Errorf(v.Dims[maxDims].Span(), "%q has more than %d dimensions", v.Name.Name, maxDims)
		ok = false
	}
	for _, d := range v.Dims {
		dim := ir.Dim{Axis: -1}
		hi, okHi := e.affine(d.Hi)
		if d.Lo == nil {
			dim.Hi = hi.Add(-1)
		} else {
			lo, okLo := e.affine(d.Lo)
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

package lang

import (
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// boundCall is a call step with its stencil and what is passed for each
// formal: a *gridSym, a *tableSym or an *argSym.
type boundCall struct {
	info *stencilInfo
	args []symbol
}

// bindAll looks up the stencil and the arguments of every call, and notes on
// the grids how their formals are used.
func (c *checker) bindAll(f *File) {
	for _, s := range c.order {
		if g, ok := s.(*gridSym); ok {
			g.axes = newAxisUse(len(g.grid.Dims))
		}
	}
	for _, d := range itemsOf[*BoundaryDecl](f) {
		for _, id := range d.Grids {
			if g, ok := c.globals[id.Name].(*gridSym); ok {
				g.axes.fixed = true
			}
		}
	}
	for _, info := range c.initials {
		c.useGlobals(info)
	}
	for _, it := range f.Items {
		if s, ok := it.(Step); ok {
			c.bindStep(s)
		}
	}
	for _, it := range f.Items {
		def, ok := it.(*StencilDef)
		if !ok {
			continue
		}
		info := c.stencils[def.Name.Name]
		if info.def == def && !info.called {
			c.diags.Warnf(def.Name.Span(), "stencil %q is never called", def.Name.Name)
		}
	}
}

func (c *checker) bindStep(s Step) {
	switch s := s.(type) {
	case *CallStep:
		if b := c.bindCall(s); b != nil {
			c.bound[s] = b
		}
	case *RotateStep:
		c.rotations = append(c.rotations, s)
	case *IterateStep:
		for _, inner := range s.Body {
			c.bindStep(inner)
		}
	case *UntilStep:
		for _, inner := range s.Body {
			c.bindStep(inner)
		}
	}
}

func (c *checker) bindCall(s *CallStep) *boundCall {
	name := s.Name.Name
	info, ok := c.stencils[name]
	if !ok {
		c.noStencil(s)
		for _, a := range s.Args {
			c.argument(a)
		}
		return nil
	}
	if !info.called {
		info.called = true
		c.useGlobals(info)
	}
	b := &boundCall{info: info}
	for _, a := range s.Args {
		b.args = append(b.args, c.argument(a))
	}
	formals := info.def.Formals
	if info.def.Damaged {
		return nil
	}
	if len(s.Args) != len(formals) {
		c.diags.Errorf(s.Span(), "stencil %s takes %d argument%s, not %d", name, len(formals), plural(len(formals)),
			len(s.Args)).
			Notef(info.def.Name.Span(), "it is defined here")
		return nil
	}
	if info.broken {
		return nil
	}
	for i, f := range formals {
		if b.args[i] == nil || !c.fits(info, f, s.Args[i], b.args[i]) {
			return nil
		}
	}
	return b
}

func (c *checker) noStencil(s *CallStep) {
	name := s.Name.Name
	if c.doubtful[name] {
		return
	}
	d := c.diags.Errorf(s.Name.Span(), "there is no stencil %q", name)
	candidates := append(sortedNames(c.stencils), "swap", "rotate")
	if near := diag.Nearest(name, candidates); near != "" {
		d.Hintf("did you mean %q?", near)
	}
}

// argument returns what a call passes, or nil after a report.
func (c *checker) argument(x Expr) symbol {
	if id, ok := x.(*Ident); ok {
		switch s := c.globals[id.Name].(type) {
		case *gridSym, *tableSym:
			return s
		}
	}
	if c.between.typeOf(x) == types.Invalid {
		return nil
	}
	return &argSym{expr: x, env: c.between}
}

// fits checks that what is passed is of the kind that the stencil's body makes
// of the formal, and notes the use of a grid.
func (c *checker) fits(info *stencilInfo, f *Formal, x Expr, actual symbol) bool {
	name := f.Name.Name
	if info.formals[name] != f {
		return true
	}
	indexed, bare := info.indexed[name], info.bare[name]
	switch s := actual.(type) {
	case *argSym:
		if len(indexed) > 0 {
			c.diags.Errorf(x.Span(), "stencil %s needs a grid for %q", info.def.Name.Name, name).
				Notef(indexed[0].Span(), "%q has an index here", name)
			return false
		}
		if f.InOut {
			c.diags.Errorf(x.Span(), "stencil %s needs a grid for inout:%s", info.def.Name.Name, name)
			return false
		}
	default:
		if bare != nil {
			c.diags.Errorf(x.Span(), "stencil %s needs a scalar for %q, and this is %s", info.def.Name.Name, name,
				actual.kind()).
				Notef(bare.Span(), "%q has no index here", name)
			return false
		}
		if g, ok := s.(*gridSym); ok {
			c.useGrid(g, info, name)
		}
	}
	return true
}

// useGlobals notes the grids that a body names directly.
func (c *checker) useGlobals(info *stencilInfo) {
	for _, name := range sortedNames(info.indexed) {
		if info.formals[name] != nil || info.locals[name] != nil {
			continue
		}
		if g, ok := c.globals[name].(*gridSym); ok {
			c.useGrid(g, info, name)
		}
	}
}

func (c *checker) useGrid(g *gridSym, info *stencilInfo, name string) {
	for _, x := range info.indexed[name] {
		g.axes.add(c, x)
	}
	if info.targets[name] {
		g.axes.fixed = true
	}
}

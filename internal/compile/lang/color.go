package lang

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// colors returns the colours of a statement one after the other; a single nil
// if it has none.
func (s *callBuilder) colors(c *Color, arr *ir.Array) ([]*ir.Color, bool) {
	if c == nil {
		return []*ir.Color{nil}, true
	}
	diags := &s.c.diags
	l, problem, place := s.env.linearOf(c.Sum)
	if problem == "is in error" {
		return nil, false
	}
	if problem != "" {
		diags.Errorf(place, "a colour is a sum of iterators with whole-number factors")
		return nil, false
	}
	mod, ok := s.c.intLit(c.Mod, false)
	if !ok {
		return nil, false
	}
	if mod < 2 {
		diags.Errorf(c.Mod.Span(), "there are at least 2 colours")
		return nil, false
	}
	uniform := true
	for axis, k := range l.coef {
		uniform = uniform && k%mod == 0
		if k != 0 && arr != nil && !slices.Contains(axesOf(arr), axis) {
			diags.Errorf(c.Sum.Span(), "the colour varies along %s, and %q has no dimension there", s.c.prog.Axes[axis],
				arr.Name)
			return nil, false
		}
	}
	if uniform {
		diags.Errorf(c.Span(), "this gives all cells one colour")
		return nil, false
	}
	first, last := int64(0), mod-1
	switch {
	case c.Rem != nil:
		rem, ok := s.c.intLit(c.Rem, false)
		if !ok {
			return nil, false
		}
		if rem >= mod {
			diags.Errorf(c.Rem.Span(), "the colours are 0 to %d", mod-1)
			return nil, false
		}
		first, last = rem, rem
	case mod > maxColors:
		diags.Errorf(c.Mod.Span(), "each stands for at most %d colours", maxColors)
		return nil, false
	case arr == nil:
		diags.Errorf(c.Span(), "a reduction has one colour or none")
		return nil, false
	}
	if arr != nil && arr.Local && arr.Box == nil && c.Rem != nil {
		diags.Errorf(c.Span(), "%q has no values yet at the cells of the other colours", arr.Name).
			Hintf("assign it at all cells first, or use == each")
		return nil, false
	}
	var list []*ir.Color
	for rem := first; rem <= last; rem++ {
		list = append(list, &ir.Color{Coef: l.coef, Mod: mod, Rem: ((rem-l.c)%mod + mod) % mod})
	}
	return list, true
}

const maxColors = 64

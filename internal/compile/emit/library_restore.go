package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Rotations and spans exchange pointers while a call is at work. When it is over, the
// contents of the caller's grids must lie in the caller's arrays again, while
// those of the handle's own grids may lie in any memory of the handle.

// restore prints the code that brings contents back, one call for every set of
// grids that rotations connect.
func (h *host) restore(once []ir.Op) {
	for _, set := range h.lib.rotated() {
		var callers, own []*libraryGrid
		for _, g := range set {
			if g.Caller {
				callers = append(callers, g)
			} else {
				own = append(own, g)
			}
		}
		if len(callers) == 0 {
			for _, g := range own {
				h.line("h->own.%s = g->%s;", g.Field, g.Field)
			}
			continue
		}
		h.Exchange = true
		var at, home, spent []string
		for _, g := range append(callers, own...) {
			at = append(at, "g->"+g.Field)
			if g.Caller {
				home = append(home, "home->"+g.Field)
			}
			spent = append(spent, fmt.Sprint(g.Spare != nil || !g.Caller && h.lib.spent(g.grid, once)))
		}
		h.line("{")
		h.indent++
		memory, handle := h.lib.AnyMemory(), ""
		if h.lib.GPU() {
			handle = "h, "
		}
		h.line("%sat[] = { %s };", memory, strings.Join(at, ", "))
		h.line("%sconst to[] = { %s };", memory, strings.Join(home, ", "))
		h.line("static const bool spent[] = { %s };", strings.Join(spent, ", "))
		h.line("gl_bring_back(%sat, to, %d, spent, h->bytes[%d]);", handle, len(callers), callers[0].Index)
		for i, g := range own {
			h.line("h->own.%s = %sat[%d];", g.Field, h.lib.memoryCast(g), len(callers)+i)
		}
		h.indent--
		h.line("}")
	}
}

// exchanged returns the grids of every rotation, and of every exchange with a spare.
func (l *library) exchanged() [][]*libraryGrid {
	var list [][]*libraryGrid
	for _, r := range rotations(l.module.Program.Body) {
		var grids []*libraryGrid
		for _, g := range r.Grids {
			grids = append(grids, l.grids[g])
		}
		list = append(list, grids)
	}
	for _, s := range l.spans {
		for _, x := range s.Exchanges {
			list = append(list, []*libraryGrid{l.grids[x.Grid], l.spares[x.Spare]})
		}
	}
	return list
}

// rotated returns the sets of grids that rotations and spares connect, in order
// of the grids.
func (l *library) rotated() [][]*libraryGrid {
	set := map[*libraryGrid]int{}
	next := 0
	for _, grids := range l.exchanged() {
		next++
		for _, g := range grids {
			old, ok := set[g]
			set[g] = next
			if !ok {
				continue
			}
			for _, other := range l.Grids {
				if n, ok := set[other]; ok && n == old {
					set[other] = next
				}
			}
		}
	}
	var list [][]*libraryGrid
	done := map[int]bool{}
	for _, g := range l.Grids {
		n, ok := set[g]
		if !ok || done[n] {
			continue
		}
		done[n] = true
		var members []*libraryGrid
		for _, other := range l.Grids {
			if m, ok := set[other]; ok && m == n {
				members = append(members, other)
			}
		}
		list = append(list, members)
	}
	return list
}

// spent reports whether the contents that one of the handle's grids has
// between two runs of a body are never used: before anything reads them they
// are overwritten everywhere.
func (l *library) spent(g *ir.Grid, once []ir.Op) bool {
	seen := map[*ir.Grid]bool{}
	for !seen[g] {
		seen[g] = true
		holder, fate := l.follow(g, once)
		if fate != moved {
			return fate == overwritten
		}
		g = holder
		if l.grids[g].Caller {
			return false
		}
	}
	return true // they only go round
}

type fate uint8

const (
	moved       fate = iota // still there, perhaps in another grid
	overwritten             // everywhere, before anything read them
	needed                  // read, or not known
)

// follow says what one run of a body does to the contents of a grid.
func (l *library) follow(g *ir.Grid, body []ir.Op) (*ir.Grid, fate) {
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			if f := callFate(g, o.Call); f != moved {
				return nil, f
			}
		case *ir.Rotate:
			if i := slices.Index(o.Grids, g); i >= 0 {
				g = o.Grids[(i+len(o.Grids)-1)%len(o.Grids)]
			}
		case *ir.Iterate:
			if o.Sequence {
				var f fate
				if g, f = l.follow(g, o.Body); f != moved {
					return nil, f
				}
				continue
			}
			if touches(g, o.Body) {
				return nil, needed // as often as the loop likes
			}
		}
	}
	return g, moved
}

// callFate says what a call does to the contents of a grid.
func callFate(g *ir.Grid, s *ir.Call) fate {
	whole, touched := false, false
	for _, st := range s.Body {
		read := false
		ir.Walk(st.Value, func(e ir.Expr) {
			if a, ok := e.(*ir.Access); ok && a.Array.Grid == g {
				read = true
			}
		})
		if read && !whole {
			return needed
		}
		if st.Array == nil || st.Array.Grid != g {
			continue
		}
		touched = true
		whole = whole || coversAll(st)
	}
	switch {
	case whole:
		return overwritten
	case touched:
		return needed
	}
	return moved
}

// coversAll reports whether a statement sets every cell of its target.
func coversAll(st *ir.Stmt) bool {
	if st.Color != nil {
		return false
	}
	for _, d := range st.Array.Dims {
		extent := ir.Range{Lo: []ir.Affine{d.Lo}, Hi: []ir.Affine{d.Hi}}
		if d.Axis < 0 || !st.Domain[d.Axis].Equal(extent) {
			return false
		}
	}
	return true
}

// touches reports whether a body reads, writes or exchanges a grid.
func touches(g *ir.Grid, body []ir.Op) bool {
	return slices.ContainsFunc(body, func(o ir.Op) bool {
		switch o := o.(type) {
		case *ir.Run:
			return slices.ContainsFunc(o.Call.Arrays, func(a *ir.Array) bool { return a.Grid == g })
		case *ir.Rotate:
			return slices.Contains(o.Grids, g)
		case *ir.Iterate:
			return touches(g, o.Body)
		}
		return true
	})
}

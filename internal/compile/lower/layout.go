package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// layoutOf returns a grid's layout, which settleLayouts may still change.
func (m *module) layoutOf(g *ir.Grid) *kernel.Layout {
	l, ok := m.layouts[g]
	if !ok {
		l = &kernel.Layout{Align: 1}
		m.layouts[g] = l
	}
	return l
}

// settleLayouts gives every grid the alignment that the kernels' vectors ask
// for, or that of lines of memory where a plan asks for it (Zhang and Mueller 2013,
// section 3.1): the row's origin and cells at multiples of the widest vector from it
// start an aligned one. Grids of which no kernel makes vectors, or wants lines, stay dense.
func (m *module) settleLayouts(nests []*nest) {
	m.settleOrigin(nests)
	spans := m.spans
	for _, n := range nests {
		if s := n.spanOf(n.byPipeline); s != nil {
			spans = append(spans[:len(spans):len(spans)], s)
		}
		t, ok := n.tiling()
		if !ok {
			continue
		}
		for _, a := range n.call.Arrays {
			if a.Grid == nil || !n.touches(a) || !n.vectors(a) {
				continue
			}
			m.layoutOf(a.Grid).Align = max(m.layoutOf(a.Grid).Align, t.vec, n.lines(a.Type))
		}
	}
	for _, s := range spans {
		for _, g := range s.grids() {
			align := max(m.layoutOf(g).Align, s.vector(), s.boxRun(g))
			if len(g.Dims[len(g.Dims)-1].Lo.Terms) == 0 {
				align = max(align, s.lines(g.Type))
			}
			m.layoutOf(g).Align = align
		}
	}
	for g, n := range m.opts.aligned {
		m.layoutOf(g).Align = max(m.layoutOf(g).Align, n)
	}
	m.joinLayouts(m.Program.Body)
	for _, g := range m.Program.Grids {
		l, ok := m.layouts[g]
		if !ok {
			continue
		}
		if l.Align > 1 {
			l.Lead = mod(g.Dims[len(g.Dims)-1].Lo.Const-m.origin, l.Align)
		}
		if m.opts.Sized && l.Lead == 0 && m.rowLength(g)%l.Align == 0 {
			l.Align = 1 // these sizes need no padding
		}
		if *l != *dense {
			m.Layouts[g] = *l
		}
	}
}

// joinLayouts gives grids that change places the same layout.
func (m *module) joinLayouts(body []ir.Op) {
	together := rotations(body)
	for range together { // a grid may be in several of them
		for _, grids := range together {
			widest := int64(1)
			for _, g := range grids {
				widest = max(widest, m.layoutOf(g).Align)
			}
			for _, g := range grids {
				m.layoutOf(g).Align = widest
			}
		}
	}
}

// rotations returns the grids that change places, one list for each op that says so.
func rotations(body []ir.Op) [][]*ir.Grid {
	var together [][]*ir.Grid
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Rotate:
			together = append(together, o.Grids)
		case *ir.Iterate:
			together = append(together, rotations(o.Body)...)
		}
	}
	return together
}

// rowLength returns the length of a grid's rows.
func (m *module) rowLength(g *ir.Grid) int64 {
	e := m.opts.Bound.Extent(g.Dims[len(g.Dims)-1])
	return e.Hi - e.Lo + 1
}

// touches reports whether the group reads or writes an array.
func (n *nest) touches(a *ir.Array) bool {
	for _, s := range n.stmts {
		if s.src.Array == a {
			return true
		}
		for _, x := range accesses(s.src.Value) {
			if x.Array == a {
				return true
			}
		}
	}
	return false
}

// vectors reports whether runs of an array's cells along the group's inner
// axis are runs of memory whose alignment is known before the sizes are.
func (n *nest) vectors(a *ir.Array) bool {
	if len(a.Dims) == 0 {
		return false
	}
	last := a.Dims[len(a.Dims)-1]
	return last.Axis == n.inner() && len(last.Lo.Terms) == 0 && a.Grid != nil
}

// mod returns x modulo n, not negative.
func mod(x, n int64) int64 { return ((x % n) + n) % n }

package lang

import "github.com/gridloom/gridloom/internal/compile/diag"

// axisUse collects which iterator indexes each dimension of an array.
type axisUse struct {
	seen  []axisSeen // by dimension
	fixed bool       // the array is written or has a boundary: one iterator a dimension
}

type axisSeen struct {
	axis  int // unseen, mixed or an axis
	at    diag.Range
	other diag.Range // a second index that made it mixed
}

const (
	unseen = -1
	mixed  = -2
)

func newAxisUse(rank int) axisUse {
	u := axisUse{seen: make([]axisSeen, rank)}
	for d := range u.seen {
		u.seen[d].axis = unseen
	}
	return u
}

// add takes note of an access.
func (u *axisUse) add(c *checker, x *IndexExpr) {
	if len(x.Indices) != len(u.seen) {
		return // reported when the access is typed
	}
	for d, ix := range x.Indices {
		a := c.axisIn(ix)
		s := &u.seen[d]
		switch {
		case a < 0 || s.axis == a:
		case s.axis == unseen:
			*s = axisSeen{axis: a, at: ix.Span()}
		case s.axis != mixed:
			s.axis, s.other = mixed, ix.Span()
		}
	}
}

// axisIn returns the iterator that an index speaks of, or unseen.
func (c *checker) axisIn(x Expr) int {
	axis := unseen
	WalkNames(x, func(id *Ident) {
		if s, ok := c.globals[id.Name].(*iterSym); ok && axis == unseen {
			axis = s.axis
		}
	})
	return axis
}

// settle decides the axis of every dimension; -1 where the accesses disagree
// or say nothing. It reports what cannot be decided for an array that must
// have an axis for each.
func (u *axisUse) settle(c *checker, name *Ident) ([]int, bool) {
	rank := len(u.seen)
	axes := make([]int, rank)
	for d, s := range u.seen {
		switch {
		case rank == c.rank() && (u.fixed || s.axis == unseen):
			axes[d] = d
		case s.axis >= 0:
			axes[d] = s.axis
		default:
			axes[d] = -1
		}
	}
	if !u.fixed || rank == c.rank() {
		return axes, true
	}
	if rank > c.rank() {
		c.lack(name.Span(), "%q has %d dimensions, but there are only the iterators %s", name.Name, rank, c.axisNames())
		return axes, false
	}
	for d := range axes {
		switch {
		case u.seen[d].axis == mixed:
			c.diags.Errorf(u.seen[d].other, "dimension %d of %q is indexed by more than one iterator", d+1, name.Name).
				Notef(u.seen[d].at, "another one indexes it here").
				Hintf("a grid that is written or has a boundary has one iterator for each dimension")
			return axes, false
		case axes[d] < 0:
			c.lack(name.Span(), "nothing says which iterator runs along dimension %d of %q", d+1, name.Name).
				Hintf("a grid with fewer dimensions than iterators must be indexed by an iterator somewhere")
			return axes, false
		case d > 0 && axes[d] <= axes[d-1]:
			c.diags.Errorf(u.seen[d].at, "the dimensions of %q do not follow the order of the iterators, %s", name.Name,
				c.axisNames())
			return axes, false
		}
	}
	return axes, true
}

// merge takes note of the uses of a grid that exchanges its contents with this
// one, and reports whether that says anything new.
func (u *axisUse) merge(v *axisUse) bool {
	if len(u.seen) != len(v.seen) {
		return false // reported when the rotation is checked
	}
	changed := v.fixed && !u.fixed
	u.fixed = u.fixed || v.fixed
	for d := range u.seen {
		s, t := &u.seen[d], v.seen[d]
		switch {
		case t.axis == unseen || s.axis == mixed || s.axis == t.axis:
		case s.axis == unseen:
			*s, changed = t, true
		default:
			s.axis, s.other, changed = mixed, t.at, true
		}
	}
	return changed
}

// inferAxes decides which iterator runs along which dimension of each grid.
// Grids that exchange their contents have the same axes.
func (c *checker) inferAxes() {
	for changed := true; changed; {
		changed = false
		for _, r := range c.rotations {
			for _, a := range r.Grids {
				for _, b := range r.Grids {
					g, okG := c.globals[a.Name].(*gridSym)
					h, okH := c.globals[b.Name].(*gridSym)
					if okG && okH && g.axes.merge(&h.axes) {
						changed = true
					}
				}
			}
		}
	}
	for _, s := range c.order {
		g, ok := s.(*gridSym)
		if !ok || g.broken {
			continue
		}
		axes, ok := g.axes.settle(c, g.decl.Name)
		for d, axis := range axes {
			g.grid.Dims[d].Axis = axis
		}
		g.broken = !ok
	}
}

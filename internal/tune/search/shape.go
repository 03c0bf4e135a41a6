package search

import "slices"

// shaper is a Space in which not every parameter exists at every point.
type shaper interface {
	// Shape returns p with Absent for what cannot exist beside its other values,
	// and Free for what has to have a value and has none.
	Shape(p Point) Point
}

// moves changes legal points into others.
type moves struct {
	space  Space
	params []Param
	shape  func(Point) Point
}

func newMoves(s Space) *moves {
	m := &moves{space: s, params: s.Params(), shape: slices.Clone[Point]}
	if sh, ok := s.(shaper); ok {
		m.shape = sh.Shape
	}
	return m
}

// change gives a coordinate another value.
type change struct{ at, to int }

// fit returns the legal point that has the given values and otherwise those of
// base. Only parameters that did not exist at base are chosen anew.
func (m *moves) fit(base Point, set []change) (Point, bool) {
	p := slices.Clone(base)
	for _, c := range set {
		p[c.at] = c.to
	}
	p = m.shape(p)
	for _, c := range set {
		if p[c.at] != c.to {
			return nil, false
		}
	}
	if !slices.Contains(p, Free) {
		return p, m.space.Legal(p)
	}
	return m.space.Complete(p)
}

package search

import "slices"

// shaper is a Space in which not every parameter exists at every point.
type shaper interface {
	// Shape returns p with Absent for coordinates that cannot exist beside its other values, and Free for those
	// that need a value and have none.
	Shape(p Point) Point
}

// moves turns legal points into other legal points.
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

// change is another value of a coordinate.
type change struct{ at, to int }

// fit returns the legal point with the given values and otherwise those of base. Only parameters that do not
// exist at base get new values.
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

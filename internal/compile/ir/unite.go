package ir

import "slices"

// Unite returns the box that holds exactly the cells of b and of c, if there
// is one and it can be shown for all sizes at which both hold cells: one box
// lies inside the other, or they agree on all axes but one and touch or
// overlap on that one. Bounds that other bounds imply at those sizes are
// dropped.
func (b Box) Unite(c Box) (Box, bool) {
	f := append(heldBy(b), heldBy(c)...)
	b, c = f.reduce(b), f.reduce(c)
	switch {
	case f.inside(c, b):
		return b, true
	case f.inside(b, c):
		return c, true
	}
	axis := -1
	for i := range b {
		if b[i].Equal(c[i]) {
			continue
		}
		if axis >= 0 {
			return nil, false
		}
		axis = i
	}
	r, ok := f.unite(b[axis], c[axis])
	b[axis] = r
	return b, ok
}

// facts are affine expressions that are known not to be negative. That every
// parameter is at least 1 goes without saying.
type facts []Affine

// heldBy returns what follows from a box holding cells: upper bounds are not
// below lower ones.
func heldBy(b Box) facts {
	var f facts
	for _, r := range b {
		for _, lo := range r.Lo {
			for _, hi := range r.Hi {
				f = append(f, hi.Minus(lo))
			}
		}
	}
	return f
}

// ge reports whether a >= b follows.
func (f facts) ge(a, b Affine) bool {
	d := a.Minus(b)
	return d.NeverNegative() || slices.ContainsFunc(f, func(g Affine) bool { return d.Minus(g).NeverNegative() })
}

// reduce drops the bounds of a box that others imply.
func (f facts) reduce(b Box) Box {
	out := make(Box, len(b))
	for i, r := range b {
		out[i] = Range{
			Lo: tightest(r.Lo, f.ge),
			Hi: tightest(r.Hi, func(a, b Affine) bool { return f.ge(b, a) }),
		}
	}
	return out
}

// tightest drops every bound that another is as tight as.
func tightest(bounds []Affine, asTight func(a, b Affine) bool) []Affine {
	var out []Affine
	for _, a := range bounds {
		if slices.ContainsFunc(out, func(o Affine) bool { return asTight(o, a) }) {
			continue
		}
		out = slices.DeleteFunc(out, func(o Affine) bool { return asTight(a, o) })
		out = append(out, a)
	}
	return out
}

// inside reports whether b lies inside c.
func (f facts) inside(b, c Box) bool {
	for i := range b {
		for _, lo := range c[i].Lo {
			if !slices.ContainsFunc(b[i].Lo, func(a Affine) bool { return f.ge(a, lo) }) {
				return false
			}
		}
		for _, hi := range c[i].Hi {
			if !slices.ContainsFunc(b[i].Hi, func(a Affine) bool { return f.ge(hi, a) }) {
				return false
			}
		}
	}
	return true
}

// unite joins two ranges, the one that starts first reaching to the other.
func (f facts) unite(r, s Range) (Range, bool) {
	if len(r.Lo) != 1 || len(r.Hi) != 1 || len(s.Lo) != 1 || len(s.Hi) != 1 {
		return Range{}, false
	}
	follows := func(r, s Range) bool {
		return f.ge(s.Lo[0], r.Lo[0]) && f.ge(s.Hi[0], r.Hi[0]) && f.ge(r.Hi[0].Add(1), s.Lo[0])
	}
	switch {
	case follows(r, s):
		return Range{Lo: r.Lo, Hi: s.Hi}, true
	case follows(s, r):
		return Range{Lo: s.Lo, Hi: r.Hi}, true
	}
	return Range{}, false
}

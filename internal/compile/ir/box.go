package ir

import "slices"

// Range is the set of positions on one axis between two inclusive bounds, each
// the tightest of several: max(Lo...) <= x <= min(Hi...). An empty list leaves
// that side unbounded.
type Range struct {
	Lo, Hi []Affine
}

// Box is a range for every axis of the program.
type Box []Range

// Unbounded returns the box of a program of that rank with no bounds at all.
func Unbounded(rank int) Box { return make(Box, rank) }

// Clone returns a copy that shares nothing which Intersect changes.
func (b Box) Clone() Box {
	out := make(Box, len(b))
	for i, r := range b {
		out[i] = Range{slices.Clone(r.Lo), slices.Clone(r.Hi)}
	}
	return out
}

// ClipLo adds the bound x >= a. Bounds that another implies for all sizes are
// dropped.
func (r *Range) ClipLo(a Affine) {
	r.Lo = tighten(r.Lo, a, func(d int64) bool { return d > 0 })
}

// ClipHi adds the bound x <= a.
func (r *Range) ClipHi(a Affine) {
	r.Hi = tighten(r.Hi, a, func(d int64) bool { return d < 0 })
}

// tighten adds a to bounds unless one of them is at least as tight; tighter
// says so of the constant difference new - old.
func tighten(bounds []Affine, a Affine, tighter func(int64) bool) []Affine {
	var out []Affine
	for i, old := range bounds {
		d, ok := a.Diff(old)
		switch {
		case !ok:
			out = append(out, old)
		case !tighter(d):
			return append(out, bounds[i:]...)
		}
	}
	return append(out, a)
}

// Clip intersects r with s.
func (r *Range) Clip(s Range) {
	for _, a := range s.Lo {
		r.ClipLo(a)
	}
	for _, a := range s.Hi {
		r.ClipHi(a)
	}
}

// Clip intersects b with c, in place.
func (b Box) Clip(c Box) {
	for i := range b {
		b[i].Clip(c[i])
	}
}

// Shift returns r moved by d.
func (r Range) Shift(d int64) Range {
	out := Range{}
	for _, a := range r.Lo {
		out.Lo = append(out.Lo, a.Add(d))
	}
	for _, a := range r.Hi {
		out.Hi = append(out.Hi, a.Add(d))
	}
	return out
}

// Has reports whether a range is known to have all cells of another.
func (r Range) Has(s Range) bool {
	within := func(bounds, others []Affine, by func(bound, other Affine) Affine) bool {
		for _, b := range bounds {
			if !slices.ContainsFunc(others, func(o Affine) bool { return by(b, o).NeverNegative() }) {
				return false
			}
		}
		return true
	}
	return within(r.Lo, s.Lo, func(b, o Affine) Affine { return o.Minus(b) }) &&
		within(r.Hi, s.Hi, func(b, o Affine) Affine { return b.Minus(o) })
}

// Equal reports whether two ranges hold the same bounds.
func (r Range) Equal(s Range) bool { return sameBounds(r.Lo, s.Lo) && sameBounds(r.Hi, s.Hi) }

func sameBounds(a, b []Affine) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, x.Equal) {
			return false
		}
	}
	return true
}

// Equal reports whether two boxes hold the same bounds.
func (b Box) Equal(c Box) bool {
	return slices.EqualFunc(b, c, Range.Equal)
}

// Empty reports whether r holds no position whatever the sizes are.
func (r Range) Empty() bool {
	for _, lo := range r.Lo {
		for _, hi := range r.Hi {
			if d, ok := hi.Diff(lo); ok && d < 0 {
				return true
			}
		}
	}
	return false
}

// Disjoint reports whether r and s share no position whatever the sizes are.
func (r Range) Disjoint(s Range) bool {
	both := Range{slices.Clone(r.Lo), slices.Clone(r.Hi)}
	both.Clip(s)
	return both.Empty()
}

// Extent is a range with known bounds; it is empty if Hi < Lo.
type Extent struct{ Lo, Hi int64 }

// Len returns the number of positions.
func (e Extent) Len() int64 { return max(0, e.Hi-e.Lo+1) }

// Eval returns the range for the given parameter values, within the extent
// that stands in for a missing bound.
func (r Range) Eval(params []int64, missing Extent) Extent {
	out := missing
	for i, a := range r.Lo {
		if v := a.Eval(params); i == 0 || v > out.Lo {
			out.Lo = v
		}
	}
	for i, a := range r.Hi {
		if v := a.Eval(params); i == 0 || v < out.Hi {
			out.Hi = v
		}
	}
	return out
}

package ir

import (
	"fmt"
	"slices"
)

func (v *verifier) checkCall(s *Call) {
	v.where, v.call = "call "+s.Name, s
	v.let, v.built, v.axes = map[*Temp]bool{}, map[*Array]Box{}, map[*Temp][]int{}
	v.from, v.stale = map[*Temp]source{}, map[*Temp]bool{}
	v.wrote, v.read, v.owner = map[*Array]bool{}, map[*Array]bool{}, map[*Grid]*Array{}
	v.unique("arrays", namesOf(s.Arrays, func(a *Array) string { return a.Name }))
	v.unique("temps", namesOf(s.Temps, func(t *Temp) string { return t.Name }))
	if h := s.Hints; h.Stream < -1 || h.Stream >= len(v.p.Axes) || h.Unroll != nil && len(h.Unroll) != len(v.p.Axes) {
		v.errorf("its hints name axes that there are not")
	}
	for _, a := range s.Arrays {
		v.array(a)
	}
	for _, t := range s.Temps {
		if !cell(t.Type) || len(t.Box) != len(v.p.Axes) {
			v.errorf("the temp %s has no proper type or box", t.Name)
		}
	}
	before := len(v.errs)
	for i, st := range s.Body {
		v.where = fmt.Sprintf("call %s, statement %d", s.Name, i+1)
		v.stmt(st)
	}
	v.where = "call " + s.Name
	for _, t := range s.Temps {
		if !v.let[t] {
			v.errorf("the temp %s is never assigned", t.Name)
		}
	}
	if len(v.errs) > before {
		return
	}
	for _, a := range s.Arrays {
		// What a folded expression read may still be marked.
		if a.Written != v.wrote[a] || v.read[a] && !a.Read {
			v.errorf("%s is marked read: %t, written: %t, but is read: %t, written: %t", a.Name, a.Read, a.Written,
				v.read[a], v.wrote[a])
		}
	}
}

func (v *verifier) array(a *Array) {
	where := v.where
	defer func() { v.where = where }()
	v.where += ", array " + a.Name
	v.shape(a.Type, a.Dims)
	switch {
	case a.Local != (a.Grid == nil):
		v.errorf("an array is either a grid's or local")
	case a.Local:
		if len(a.Box) != len(v.p.Axes) || !ascending(a.Dims) {
			v.errorf("a local grid needs a box and an axis for every dimension, in ascending order")
			return
		}
		for _, d := range a.Dims {
			r := a.Box[d.Axis]
			if len(r.Lo) == 0 || len(r.Hi) == 0 || !within(r, Range{[]Affine{d.Lo}, []Affine{d.Hi}}) {
				v.errorf("its box on %s is not bounded within its extents", v.p.Axes[d.Axis])
			}
		}
	default:
		if !slices.Contains(v.p.Grids, a.Grid) {
			v.errorf("its grid is not the program's")
			return
		}
		if v.owner[a.Grid] != nil {
			v.errorf("two arrays are the grid %s", a.Grid.Name)
		}
		v.owner[a.Grid] = a
		w := printer{v.p}
		if a.Type != a.Grid.Type || fmt.Sprint(w.dims(a.Dims)) != fmt.Sprint(w.dims(a.Grid.Dims)) {
			v.errorf("its type or dimensions are not those of %s", a.Grid.Name)
		}
	}
}

// within reports whether r lies inside s for all sizes: every bound of s is
// implied by one of r.
func within(r, s Range) bool {
	for _, lo := range s.Lo {
		if !slices.ContainsFunc(r.Lo, func(a Affine) bool { return a.Minus(lo).NeverNegative() }) {
			return false
		}
	}
	for _, hi := range s.Hi {
		if !slices.ContainsFunc(r.Hi, func(a Affine) bool { return hi.Minus(a).NeverNegative() }) {
			return false
		}
	}
	return true
}

// covers reports whether a holds all of b for all sizes.
func covers(a, b Box) bool {
	for axis := range a {
		if !within(b[axis], a[axis]) {
			return false
		}
	}
	return true
}

package ir

// DefinedAt returns the positions at which an access is defined: inside its
// array, without limit beyond a face that has a boundary; for a local grid
// without one, inside its own box. A constant index limits no position (Bind
// checks it).
func DefinedAt(rank int, a *Access) Box {
	box := Unbounded(rank)
	for d, ix := range a.Index {
		if ix.Axis < 0 {
			continue
		}
		r := a.Array.Holds(d).Shift(-ix.Offset)
		dim := a.Array.Dims[d]
		if dim.Faces.Low.Kind != None {
			r.Lo = nil
		}
		if dim.Faces.High.Kind != None {
			r.Hi = nil
		}
		box[ix.Axis].Clip(r)
	}
	return box
}

// Holds returns the range of indices at which dimension d holds values: the
// extent, or for a local grid its own box.
func (a *Array) Holds(d int) Range {
	dim := a.Dims[d]
	r := Range{Lo: []Affine{dim.Lo}, Hi: []Affine{dim.Hi}}
	if a.Local && a.Box != nil && dim.Axis >= 0 {
		r.Clip(a.Box[dim.Axis])
	}
	return r
}

// ExtentBox returns the box of an array's extents on its own axes, unbounded
// on the others.
func (a *Array) ExtentBox(rank int) Box {
	box := Unbounded(rank)
	for _, dim := range a.Dims {
		if dim.Axis >= 0 {
			box[dim.Axis].Clip(Range{Lo: []Affine{dim.Lo}, Hi: []Affine{dim.Hi}})
		}
	}
	return box
}

// HasBoundary reports whether any face of the array has a boundary.
func (a *Array) HasBoundary() bool {
	for _, dim := range a.Dims {
		if dim.Faces.Low.Kind != None || dim.Faces.High.Kind != None {
			return true
		}
	}
	return false
}

// ReadBox returns the positions at which every array and temp that e reads is
// defined.
func ReadBox(rank int, e Expr) Box {
	box := Unbounded(rank)
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Access:
			box.Clip(DefinedAt(rank, e))
		case TempRef:
			box.Clip(e.Temp.Box)
		}
	})
	return box
}

// InferDomain returns the domain of a statement that assigns value to target
// (nil for a temp or a reduction): the target's extents, intersected with the
// box where every read is defined, with user (the call domain and the
// statement domain; nil for none) and, for a reduction, with the extents of
// the arrays that are read, so that it is bounded where boundaries alone would
// leave it without limit.
func InferDomain(rank int, target *Array, reduction bool, value Expr, user Box) Box {
	box := ReadBox(rank, value)
	if user != nil {
		box.Clip(user)
	}
	if target != nil {
		box.Clip(target.ExtentBox(rank))
	}
	if reduction {
		Walk(value, func(e Expr) {
			a, ok := e.(*Access)
			if !ok {
				return
			}
			for d, ix := range a.Index {
				if ix.Axis >= 0 {
					dim := a.Array.Dims[d]
					box[ix.Axis].Clip(Range{Lo: []Affine{dim.Lo}, Hi: []Affine{dim.Hi}})
				}
			}
		})
	}
	return box
}

// AxesOf returns the axes on which e varies, ascending: those of its accesses,
// positions and temps. vary gives a temp's axes.
func AxesOf(rank int, e Expr, vary func(*Temp) []int) []int {
	seen := make([]bool, rank)
	Walk(e, func(e Expr) {
		switch e := e.(type) {
		case *Access:
			for _, ix := range e.Index {
				if ix.Axis >= 0 {
					seen[ix.Axis] = true
				}
			}
		case Pos:
			seen[e.Axis] = true
		case TempRef:
			for _, a := range vary(e.Temp) {
				seen[a] = true
			}
		}
	})
	var axes []int
	for a, s := range seen {
		if s {
			axes = append(axes, a)
		}
	}
	return axes
}

// Offsets returns the smallest and largest offset on an axis at which e reads
// the array, and whether it reads it on that axis at all. Temps are not looked
// into.
func Offsets(e Expr, a *Array, axis int) (lo, hi int64, ok bool) {
	Walk(e, func(e Expr) {
		acc, is := e.(*Access)
		if !is || acc.Array != a {
			return
		}
		for _, ix := range acc.Index {
			if ix.Axis != axis {
				continue
			}
			if !ok {
				lo, hi, ok = ix.Offset, ix.Offset, true
			}
			lo, hi = min(lo, ix.Offset), max(hi, ix.Offset)
		}
	})
	return lo, hi, ok
}

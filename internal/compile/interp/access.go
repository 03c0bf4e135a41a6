package interp

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// access is an ir.Access (or the use of a temp, which is one without offsets)
// within a statement.
type access struct {
	from  *store
	dims  []ir.Dim // for their boundaries
	index []ir.Index
	// constants holds the uniform of every constant boundary, by dimension and
	// side.
	constants [][2]int

	rowAxis int       // of the statement, or -1
	inside  ir.Extent // positions on it at which no index that it moves leaves its extents
	stride  int64     // cells between the places of neighbours on it
	signed  bool      // whether the sign of a value can turn
}

// newAccess resolves a read of from over the compiler's domain, and refuses one
// that leaves it where there is no boundary.
func (c *compiler) newAccess(name string, from *store, dims []ir.Dim, index []ir.Index) (*access, error) {
	a := &access{from: from, dims: dims, index: index, constants: make([][2]int, len(dims)), rowAxis: c.rowAxis,
		inside: everywhere, signed: from.Type != types.Bool}
	for d, ix := range index {
		faces := dims[d].Faces
		for side, face := range []ir.Boundary{faces.Low, faces.High} {
			if face.Kind == ir.Constant {
				a.constants[d][side] = c.uniform(face.Value)
			}
		}
		span := ir.Extent{Lo: ix.Offset, Hi: ix.Offset}
		if ix.Axis >= 0 {
			span = ir.Extent{Lo: c.dom[ix.Axis].Lo + ix.Offset, Hi: c.dom[ix.Axis].Hi + ix.Offset}
		}
		if span.Lo < from.lo[d] && faces.Low.Kind == ir.None || span.Hi > from.hi[d] && faces.High.Kind == ir.None {
			return nil, fmt.Errorf("%s is read from %d to %d in dimension %d, but holds %d to %d", name, span.Lo,
				span.Hi, d+1, from.lo[d], from.hi[d])
		}
		if ix.Axis >= 0 && ix.Axis == c.rowAxis {
			a.stride += from.stride[d]
			a.inside.Lo = max(a.inside.Lo, from.lo[d]-ix.Offset)
			a.inside.Hi = min(a.inside.Hi, from.hi[d]-ix.Offset)
		}
	}
	return a, nil
}

var everywhere = ir.Extent{Lo: -1 << 62, Hi: 1 << 62}

// place is where the value of one cell lies.
type place struct {
	at       int64 // in the array's memory
	negate   bool
	constant int // 1 + the uniform of the constant that is hit, else 0
}

// place applies boundaries dimension by dimension: the first constant wins,
// over signs too; the signs of anti-conditions multiply. x is the position on
// the row's axis.
func (a *access) place(r *row, x int64) place {
	var p place
	for d, ix := range a.index {
		v := ix.Offset
		switch {
		case ix.Axis < 0:
		case ix.Axis == a.rowAxis:
			v += x
		default:
			v += r.pos[ix.Axis]
		}
		lo, hi := a.from.lo[d], a.from.hi[d]
		if v < lo || v > hi {
			side, face := 0, &a.dims[d].Faces.Low
			if v > hi {
				side, face = 1, &a.dims[d].Faces.High
			}
			if face.Kind == ir.Constant {
				return place{constant: 1 + a.constants[d][side]}
			}
			at, negate := ir.MapIndex(face.Kind, v, lo, hi)
			v, p.negate = at, p.negate != (negate && a.signed)
		}
		p.at += (v - lo) * a.from.stride[d]
	}
	return p
}

// row reports where a row's cells lie: edge gets those found one by one, run
// those that follow each other in memory with the access's stride, as indices
// into the row.
func (a *access) row(r *row, edge func(k int, p place), run func(from, to int, first place)) {
	start := int64(0)
	if a.rowAxis >= 0 {
		start = r.pos[a.rowAxis]
	}
	from := int(min(max(a.inside.Lo-start, 0), int64(r.n)))
	to := int(max(min(a.inside.Hi-start+1, int64(r.n)), int64(from)))
	for k := range from {
		edge(k, a.place(r, start+int64(k)))
	}
	if from < to {
		run(from, to, a.place(r, start+int64(from)))
	}
	for k := to; k < r.n; k++ {
		edge(k, a.place(r, start+int64(k)))
	}
}

// read copies a row's values from an array's memory: D is float64 for float
// arrays and int64 for others.
func read[E element, D float64 | int64](a *access, r *row, dst []D, constants [][]D) []D {
	data := cells[E](a.from.Array)
	get := func(p place) D {
		switch {
		case p.constant > 0:
			return constants[p.constant-1][0]
		case p.negate:
			return D(-data[p.at])
		}
		return D(data[p.at])
	}
	a.row(r, func(k int, p place) { dst[k] = get(p) }, func(from, to int, first place) {
		switch {
		case first.constant > 0 || a.stride == 0:
			fill(dst[from:to], get(first))
		case a.stride == 1:
			for k, v := range data[first.at : first.at+int64(to-from)] {
				dst[from+k] = D(v)
			}
		default:
			at := first.at
			for k := from; k < to; k++ {
				dst[k] = D(data[at])
				at += a.stride
			}
		}
		if first.negate && first.constant == 0 && a.stride != 0 {
			for k := from; k < to; k++ {
				dst[k] = D(-E(dst[k]))
			}
		}
	})
	return dst
}

// view returns a row of an F64 array in place, if it lies there as it is read.
func (a *access) view(r *row) ([]float64, bool) {
	if a.stride != 1 {
		return nil, false
	}
	x := r.pos[a.rowAxis]
	if x < a.inside.Lo || x+int64(r.n)-1 > a.inside.Hi {
		return nil, false
	}
	p := a.place(r, x)
	if p.negate || p.constant > 0 {
		return nil, false
	}
	return cells[float64](a.from.Array)[p.at : p.at+int64(r.n)], true
}

// floats returns a row of a float array's values, in dst unless it can be read
// in place.
func (a *access) floats(r *row, dst []float64) []float64 {
	if a.from.Type == types.F32 {
		return read[float32](a, r, dst, r.uf)
	}
	if v, ok := a.view(r); ok {
		return v
	}
	return read[float64](a, r, dst, r.uf)
}

// ints returns a row of any other array's values in dst.
func (a *access) ints(r *row, dst []int64) []int64 {
	if a.from.Type == types.I32 {
		return read[int32](a, r, dst, r.ui)
	}
	return read[uint8](a, r, dst, r.ui)
}

// first returns where the first cell of a row lies, on an access that is
// inside its array.
func (a *access) first(r *row) int64 {
	x := int64(0)
	if a.rowAxis >= 0 {
		x = r.pos[a.rowAxis]
	}
	return a.place(r, x).at
}

// plane copies a row of one of the arrays that lie beside the values: bounds,
// or parts of them. Signs do not matter; constants gives a constant's own.
func (a *access) plane(r *row, dst, data []float64, constants func(uniform int) float64) []float64 {
	get := func(p place) float64 {
		if p.constant > 0 {
			return constants(p.constant - 1)
		}
		return data[p.at]
	}
	a.row(r, func(k int, p place) { dst[k] = get(p) }, func(from, to int, first place) {
		for k := from; k < to; k++ {
			dst[k] = get(first)
			first.at += a.stride
		}
	})
	return dst
}

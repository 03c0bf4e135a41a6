package interp

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// cell is one value on its way through a reduction: f for floats, i for other
// types, its bound, and for sums in any order the sum of magnitudes.
type cell struct {
	f    float64
	i    int64
	b, s float64
}

// tree combines values as they come: the first 2^k of them, for the largest
// 2^k below their number, apart from the rest, and so on in either part. The
// values so far are held as complete subtrees, the largest first.
type tree struct {
	join  func(a, b cell) cell
	n     uint64
	parts []cell
}

func (t *tree) push(v cell) {
	for m := t.n; m&1 == 1; m >>= 1 {
		last := len(t.parts) - 1
		v = t.join(t.parts[last], v)
		t.parts = t.parts[:last]
	}
	t.parts = append(t.parts, v)
	t.n++
}

// root returns the combination of all values, or none if there were none.
func (t *tree) root(none cell) cell {
	last := len(t.parts) - 1
	if last < 0 {
		return none
	}
	v := t.parts[last]
	for k := last - 1; k >= 0; k-- {
		v = t.join(t.parts[k], v)
	}
	return v
}

// segment is what a row has at ir.Segment positions that are combined first:
// values at some of the places, a bit of has for each.
type segment struct {
	values [ir.Segment]cell
	has    uint32
}

// put adds the value at a position, and reports whether the segment ends there.
func (g *segment) put(x int64, v cell) (last bool) {
	at := ((x % ir.Segment) + ir.Segment) % ir.Segment
	g.values[at] = v
	g.has |= 1 << at
	return at == ir.Segment-1
}

// take returns what the values combine to, and leaves none.
func (g *segment) take(join func(a, b cell) cell) cell {
	for by := ir.Segment / 2; by > 0; by /= 2 {
		for l := range by {
			switch g.has >> l & (1<<by | 1) {
			case 1<<by | 1:
				g.values[l] = join(g.values[l], g.values[l+by])
			case 1 << by:
				g.values[l] = g.values[l+by]
			}
		}
		g.has = (g.has | g.has>>by) & (1<<by - 1)
	}
	g.has = 0
	return g.values[0]
}

var reductionOps = [...]op.Op{ir.Sum: op.Add, ir.Max: op.Max, ir.Min: op.Min}

// joiner returns how two subtrees of a reduction combine.
func (s *State) joiner(kind ir.ReduceKind, t types.Type) func(a, b cell) cell {
	o, k := reductionOps[kind], newMargins(s.opts.Bounds, t)
	var value func(a, b cell) cell
	if t.IsFloat() {
		value = func(a, b cell) cell { return cell{f: op.Binary(o, op.Value{T: t, F: a.f}, op.Value{T: t, F: b.f}).F} }
	} else {
		value = func(a, b cell) cell { return cell{i: op.Binary(o, op.Value{T: t, I: a.i}, op.Value{T: t, I: b.i}).I} }
	}
	if s.opts.Bounds == NoBounds {
		return value
	}
	return func(a, b cell) cell {
		r := value(a, b)
		switch {
		case s.reorders(kind, t):
			r.b, r.s = (a.b+b.b)*outward, (a.s+b.s)*outward
		case !t.IsFloat():
			r.b = integers(o, t, float64(a.i), a.b, float64(b.i), b.b, float64(r.i))
		case o == op.Add:
			r.b = k.sum(a.b, b.b, r.f)
		default:
			r.b = k.extreme(a.f, a.b, b.f, b.b, r.f)
		}
		return r
	}
}

// reorders reports whether a device may combine the values of a reduction in
// another order, and get another result.
func (s *State) reorders(kind ir.ReduceKind, t types.Type) bool {
	return s.opts.Bounds == Fast && t.IsFloat() && kind == ir.Sum
}

// finish returns the bound of a reduction's result over n cells.
func (s *State) finish(v cell, kind ir.ReduceKind, t types.Type, n uint64) float64 {
	if !s.reorders(kind, t) || n == 0 {
		return v.b
	}
	return newMargins(s.opts.Bounds, t).rearranged(int(n-1), v.b, v.s, v.s+float64(n))
}

// neutral is what a cell of another colour takes part in a reduction with, and
// the result over no cells: 0, or the end of the type from which a maximum or a
// minimum starts.
func neutral(kind ir.ReduceKind, t types.Type) cell {
	lo, hi := int64(math.MinInt32), int64(math.MaxInt32)
	switch t {
	case types.U8:
		lo, hi = 0, 255
	case types.Bool:
		lo, hi = 0, 1
	}
	switch {
	case kind == ir.Sum:
		return cell{}
	case kind == ir.Max && t.IsFloat():
		return cell{f: math.Inf(-1)}
	case kind == ir.Min && t.IsFloat():
		return cell{f: math.Inf(1)}
	case kind == ir.Max:
		return cell{i: lo}
	}
	return cell{i: hi}
}

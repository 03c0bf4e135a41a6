package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Stream is a pipeline that goes along its first axis plane by plane. In step t a source
// has plane t - Lag for the first time: memory brings it, or a stage computes it. Threads
// keep the planes that they read of their own cells, and of neighbours along the last axis,
// in registers. Rows of other threads pass through shared memory, and are seen one step
// later, after a barrier.
type Stream struct {
	*Pipeline
	Sources []*Source // memory first, then stages in order
	// Planes is how many planes of a source are kept: that of this step and older ones. It is
	// also the unroll factor that lets registers keep their planes.
	Planes int64
}

// Source is contents that stages read at other cells than their own.
type Source struct {
	Value *graph.Value
	Stage *Stage // nil for memory
	Lag   int64
	Halo  []Halo // by axis: how far beyond a tile the values are needed
	// Rows is how many rows of another thread are read: Low of those before the thread's
	// first, High of those after its last.
	Rows Halo
}

// Lag returns by how many steps a stage is behind the first.
func (s *Stream) Lag(st *Stage) int64 {
	for _, x := range s.Sources {
		if x.Stage == st {
			return x.Lag
		}
	}
	panic("pipeline: a stage has no lag")
}

// Source returns the source of a value, or nil.
func (s *Stream) Source(v *graph.Value) *Source {
	for _, x := range s.Sources {
		if x.Value == v {
			return x
		}
	}
	return nil
}

// From returns the source that an access reads, or nil: then cells are read in memory one by one.
func (s *Stream) From(a *ir.Access, v *graph.Value) *Source {
	if !s.whole(a) { // a row or a plane of its own
		return nil
	}
	return s.Source(v)
}

// Operand reports whether an access reads a grid of memory at the cell that it is evaluated at, and the
// grid is nowhere read at others.
func (s *Stream) Operand(a *ir.Access, v *graph.Value) bool {
	return v.Def == nil && s.whole(a) && pointwise(a) && s.Source(v) == nil
}

// Age is how many steps before the present one a source had the plane that a stage reads
// at an offset along the stream.
func (s *Stream) Age(st *Stage, from *Source, offset int64) int64 {
	return s.Lag(st) - from.Lag - offset
}

// NewStream decides the lags of a pipeline, or says what prevents it.
func NewStream(p *Pipeline) (*Stream, error) {
	s := &Stream{Pipeline: p, Planes: 1}
	refuse := func(st *Stage, format string, args ...any) error { return p.refuse(st, format, args...) }
	for _, st := range p.Stages {
		if st.Stmt.Color != nil {
			return nil, refuse(st, "%s is assigned at the cells of one colour", st.Stmt.Array.Name)
		}
		if st.Fills() && (st.Value.Before == nil || !s.sameDomains(st.Value)) {
			return nil, refuse(st, "%s is assigned on different domains", st.Stmt.Array.Name)
		}
		if err := st.Accesses(func(a *ir.Access, v *graph.Value) error {
			if v.Def == nil && (pointwise(a) || !s.whole(a)) {
				return nil
			}
			if !s.whole(a) {
				return refuse(st, "%s has not all axes", a.Array.Name)
			}
			for d, dim := range a.Array.Dims { // else a boundary leads back from elsewhere than the ends
				whole := a.Array.Holds(d).Equal(ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}})
				if !whole && (dim.Faces.Low.Kind != ir.None || dim.Faces.High.Kind != ir.None) {
					return refuse(st, "%s has a boundary, and a part of it alone is assigned", a.Array.Name)
				}
				if dim.Faces.Periodic() && !p.Wraps[d] { // tiles end where the others do
					return refuse(st, "%s is periodic on %s, and what the loop computes is not", a.Array.Name,
						p.axis(d))
				}
			}
			if s.Source(v) == nil && v.Def == nil {
				s.Sources = append(s.Sources, &Source{Value: v, Halo: make([]Halo, len(p.Axes))})
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for _, st := range p.Stages {
		x := &Source{Value: st.Value, Stage: st, Halo: st.Halo}
		s.reads(st, func(from *Source, o []int64) {
			lag := from.Lag + o[0]
			if len(o) > 2 && slices.ContainsFunc(o[1:len(o)-1], func(o int64) bool { return o != 0 }) {
				lag++ // seen after a barrier
			}
			x.Lag = max(x.Lag, lag)
		})
		s.Sources = append(s.Sources, x)
	}
	for _, st := range p.Stages {
		s.reads(st, func(from *Source, o []int64) {
			s.Planes = max(s.Planes, s.Age(st, from, o[0])+1)
			if from.Stage == nil {
				for k := range o {
					from.Halo[k].widen(st.Halo[k], o[k])
				}
			}
			if len(o) > 2 {
				from.Rows.Low, from.Rows.High = max(from.Rows.Low, -o[1]), max(from.Rows.High, o[1])
			}
		})
	}
	return s, nil
}

// sameDomains reports whether all assignments that a value is made of have one domain: what
// they leave out is in memory as it was.
func (s *Stream) sameDomains(v *graph.Value) bool {
	for w := v; w != nil && w.Def != nil; w = w.Before {
		if !w.Def.Stmt.Domain.Equal(v.Def.Stmt.Domain) {
			return false
		}
	}
	return true
}

// Home returns the memory that has the cells which no assignment computes.
func (s *Stream) Home(v *graph.Value) *ir.Grid {
	for v.Def != nil {
		v = v.Before
	}
	return v.Memory
}

// whole reports whether an access has an index for each axis of the pipeline, in order.
func (s *Stream) whole(a *ir.Access) bool {
	if len(a.Index) != len(s.Axes) {
		return false
	}
	for d, ix := range a.Index {
		if ix.Axis != s.Axes[d] {
			return false
		}
	}
	return true
}

// pointwise reports whether an access reads the cell that it is evaluated at.
func pointwise(a *ir.Access) bool {
	return !slices.ContainsFunc(a.Index, func(ix ir.Index) bool { return ix.Axis < 0 || ix.Offset != 0 })
}

// reads calls f for every offset at which a stage may read a source, those that boundaries
// lead to included.
func (s *Stream) reads(st *Stage, f func(from *Source, offset []int64)) {
	_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
		if from := s.From(a, v); from != nil {
			s.Offsets(a, func(o []int64, _ []Face) { f(from, o) })
		}
		return nil
	})
}

// Face is where an access is on one axis: within the array if Distance is negative, or else
// at a cell that is so far from an end that it reads beyond it.
type Face struct {
	Distance int64
	High     bool // the upper end
	Constant bool // the boundary's value is read
	Negated  bool
}

// Offsets calls f for every place that an access may lead to, as offsets from its cell: the
// access's own, and where a boundary leads near the ends. A boundary that leads to the other end
// adds none: threads have cells beyond it as those that they stand for.
func (s *Stream) Offsets(a *ir.Access, f func(offset []int64, faces []Face)) {
	offset, faces := make([]int64, len(a.Index)), make([]Face, len(a.Index))
	var next func(d int)
	next = func(d int) {
		if d == len(a.Index) {
			f(slices.Clone(offset), slices.Clone(faces))
			return
		}
		for _, x := range Mapped(a, d) {
			offset[d], faces[d] = x.Offset, x.Face
			next(d + 1)
		}
	}
	next(0)
}

// MappedOffset is an offset on one axis with the cells that it is for.
type MappedOffset struct {
	Offset int64
	Face
}

// Mapped returns the offsets of an access on one axis: first its own, then those near the
// ends, for arrays that are long enough for a boundary to lead back inside.
func Mapped(a *ir.Access, d int) []MappedOffset {
	o, faces := a.Index[d].Offset, a.Array.Dims[d].Faces
	list := []MappedOffset{{o, Face{Distance: -1}}}
	kind, sign := faces.Low.Kind, int64(1)
	if o > 0 {
		kind, sign = faces.High.Kind, -1
	}
	if o == 0 || kind == ir.None || kind == ir.Periodic {
		return list
	}
	beyond := o * sign // as at the lower end: negative
	for e := range -beyond {
		x := MappedOffset{Face: Face{Distance: e, High: sign < 0}}
		at := e + beyond // relative to the end, negative
		switch kind {
		case ir.Constant:
			x.Constant = true
		case ir.Clamp:
			x.Offset = -e
		case ir.Mirror, ir.AntiMirror:
			x.Offset, x.Negated = -at-1-e, kind == ir.AntiMirror
		case ir.Reflect, ir.AntiReflect:
			x.Offset, x.Negated = -at-e, kind == ir.AntiReflect
		}
		x.Offset *= sign
		list = append(list, x)
	}
	return list
}

// Least returns how long arrays have to be on an axis for Mapped.
func (s *Stream) Least(k int) int64 {
	least := int64(1)
	for _, st := range s.Stages {
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			for d, ix := range a.Index {
				if ix.Axis == s.Axes[k] && s.From(a, v) != nil && len(Mapped(a, d)) > 1 {
					least = max(least, ix.Offset+1, -ix.Offset+1)
				}
			}
			return nil
		})
	}
	return least
}

// String returns the sources, one a line, after the number of planes that are kept.
//
// Example text:
//
//	3 planes
//	u, lag 0, halo 2:2 2:2 2:2, rows 1:1
//	next, lag 1, halo 1:1 1:1 1:1, rows 1:1
//	u, lag 2, halo 0:0 0:0 0:0
func (s *Stream) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d planes\n", s.Planes)
	for _, x := range s.Sources {
		fmt.Fprintf(&b, "%s, lag %d, halo", x.Value.Name(), x.Lag)
		for _, h := range x.Halo {
			fmt.Fprintf(&b, " %d:%d", h.Low, h.High)
		}
		if x.Rows != (Halo{}) {
			fmt.Fprintf(&b, ", rows %d:%d", x.Rows.Low, x.Rows.High)
		}
		b.WriteString("\n")
	}
	return b.String()
}

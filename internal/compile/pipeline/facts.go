package pipeline

import (
	"errors"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Facts is whether iterations of a loop may share a kernel, or the statements of one, for people and as JSON.
type Facts struct {
	Loop   string       `json:"loop"` // as plans name it
	Leaves int          `json:"leaves"`
	Once   bool         `json:"once,omitempty"`   // it is a sequence, no loop
	Depths []DepthFacts `json:"depths,omitempty"` // 1 where it has several statements, an even and an odd one
	// Forbidden is why there are none; Line and Column say where.
	Forbidden string     `json:"forbidden,omitempty"`
	Line      int        `json:"line,omitempty"`
	Column    int        `json:"column,omitempty"`
	At        diag.Range `json:"-"`
	// Notes are other places, and Hint is what to do about it.
	Notes []diag.Note `json:"-"`
	Hint  string      `json:"-"`
}

// DepthFacts is what a span of some iterations takes.
type DepthFacts struct {
	Depth int64    `json:"depth"`
	Axes  []string `json:"axes"`
	// Halo is how far beyond a tile memory is read, by axis: below and above.
	Halo   [][2]int64 `json:"halo"`
	Bytes  float64    `json:"bytes_per_iteration"` // of a cell: every grid that is read or stored once
	Stores []string   `json:"stores"`
	Spares []string   `json:"spares"`
	After  int64      `json:"after"` // iterations that have to follow
	// Drops are grids that are written and not stored, since nothing needs them afterwards.
	Drops []string `json:"drops,omitempty"`
}

// FactsOf returns the facts of all innermost loops, but for sequences of one statement: what those share a kernel with
// is themselves.
func FactsOf(p *ir.Program) []*Facts {
	var list []*Facts
	for _, l := range graph.Loops(p) {
		if l.Single() {
			continue
		}
		f := &Facts{Loop: l.Name, Leaves: l.Leaves()}
		list = append(list, f)
		first, last := int64(1), int64(3)
		switch {
		case l.Iterate.Sequence:
			f.Once, last = true, 1
		case l.Assignments() < 2:
			first = 2
		}
		for depth := first; depth <= last; depth++ {
			pipe, err := of(p, l, depth)
			if r, ok := errors.AsType[*graph.Refusal](err); ok {
				f.Depths, f.Forbidden, f.At, f.Notes, f.Hint = nil, r.Reason, r.At, r.Notes, r.Hint
				break
			}
			f.Depths = append(f.Depths, pipe.facts())
		}
	}
	return list
}

// Bytes returns how many bytes iterations move at a cell if they share a kernel: every grid that they read or leave is
// moved once.
func Bytes(p *ir.Program, l graph.Loop, depth int64) (float64, error) {
	pipe, err := of(p, l, depth)
	if err != nil {
		return 0, err
	}
	return pipe.facts().Bytes * float64(depth), nil
}

func of(p *ir.Program, l graph.Loop, depth int64) (*Pipeline, error) {
	s, err := graph.NewSpan(p, l, depth)
	if err != nil {
		return nil, err
	}
	return New(s)
}

func (p *Pipeline) facts() DepthFacts {
	f := DepthFacts{
		Depth: p.Span.Depth, After: p.Span.After, Halo: make([][2]int64, len(p.Axes)), Stores: []string{},
		Spares: []string{},
	}
	for k := range p.Axes {
		f.Axes = append(f.Axes, p.axis(k))
	}
	bytes := 0
	read := map[*ir.Grid]bool{}
	for _, st := range p.Stages {
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			if v.Def != nil {
				return nil
			}
			if !read[v.Memory] && len(v.Memory.Dims) >= len(p.Axes) {
				bytes += v.Memory.Type.Size()
			}
			read[v.Memory] = true
			for _, ix := range a.Index {
				if k := slices.Index(p.Axes, ix.Axis); k >= 0 {
					f.Halo[k][0] = max(f.Halo[k][0], st.Halo[k].Low-ix.Offset)
					f.Halo[k][1] = max(f.Halo[k][1], st.Halo[k].High+ix.Offset)
				}
			}
			return nil
		})
	}
	for _, o := range p.Span.Outputs {
		bytes += o.Value.Memory.Type.Size()
		f.Stores = append(f.Stores, o.Value.Memory.Name)
		if o.Spare {
			f.Spares = append(f.Spares, o.Value.Memory.Name)
		}
	}
	for _, g := range p.Span.Dropped {
		f.Drops = append(f.Drops, g.Name)
	}
	f.Bytes = float64(bytes) / float64(p.Span.Depth)
	return f
}

// insideOn returns what Stage.Inside has of an axis of the program.
func (st *Stage) insideOn(axis int) ir.Range {
	dim := st.Dim(axis)
	r := ir.Range{Lo: []ir.Affine{dim.Lo}, Hi: []ir.Affine{dim.Hi}}
	r.Clip(st.Stmt.Domain[axis])
	_ = st.Accesses(func(a *ir.Access, _ *graph.Value) error {
		for d, ix := range a.Index {
			if ix.Axis != axis {
				continue
			}
			in, faces := a.Array.Holds(d).Shift(-ix.Offset), a.Array.Dims[d].Faces
			if faces.Low.Kind == ir.None {
				in.Lo = nil
			}
			if faces.High.Kind == ir.None {
				in.Hi = nil
			}
			r.Clip(in)
		}
		return nil
	})
	return r
}

// CrossesNothing reports whether a stage's statement crosses no boundary where it assigns cells.
func (p *Pipeline) CrossesNothing(st *Stage) bool {
	for k, axis := range p.Axes {
		if !st.Inside[k].Equal(st.Stmt.Domain[axis]) {
			return false
		}
	}
	return true
}

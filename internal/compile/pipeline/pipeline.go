// Package pipeline is the plan of a kernel that computes several statements: stages, how
// far beyond a tile each is computed, and where its values live. It stands between a
// configuration and the kernel: building a kernel only carries it out.
package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Pipeline is a span of iterations as stages. Each stage is computed on a tile of cells
// and on a halo around it, as wide as what later stages read of it.
type Pipeline struct {
	Span   *graph.Span
	Axes   []int
	Stages []*Stage
	// Wraps says of each axis that a boundary leads from one end of the domain to the other.
	// Tiles go on beyond the ends there: a cell beyond is computed as the one that it stands for.
	Wraps []bool
}

// Stage is a statement in an iteration.
type Stage struct {
	*graph.Instance
	Halo []Halo // by axis of the pipeline
	// Corners says that cells are needed which are of the halos of two axes, beside the first. In a star's halo there
	// are none.
	Corners bool
	// Kept says that a later stage reads the values: they live on the chip. Others only go
	// to memory.
	Kept   bool
	Output *graph.Output // nil if the values do not outlive the kernel
	// Inside are the cells on each axis of the pipeline at which the statement assigns, no access crosses a boundary,
	// and places are positions.
	Inside []ir.Range
}

// Halo is how many cells beyond a tile are computed on either side of an axis.
type Halo struct{ Low, High int64 }

// New makes the pipeline of a span. It returns a Refusal where tiles cannot have what a
// boundary leads to.
func New(s *graph.Span) (*Pipeline, error) {
	p := &Pipeline{Span: s, Axes: s.Axes, Wraps: make([]bool, len(s.Axes))}
	for _, i := range s.Instances {
		st := &Stage{Instance: i, Halo: make([]Halo, len(p.Axes))}
		for _, axis := range p.Axes {
			st.Inside = append(st.Inside, st.insideOn(axis))
		}
		p.Stages = append(p.Stages, st)
	}
	for _, o := range s.Outputs {
		p.Stage(o.Value).Output = o
	}
	for _, st := range slices.Backward(p.Stages) { // all that read a stage come after it
		if err := p.require(st); err != nil {
			return nil, err
		}
	}
	return p, p.checkWraps()
}

// Stage returns the stage that makes a value; nil for what is in memory before.
func (p *Pipeline) Stage(v *graph.Value) *Stage {
	if v == nil || v.Def == nil {
		return nil
	}
	return p.Stages[v.Def.Number]
}

// require widens the halos of what a stage reads.
func (p *Pipeline) require(st *Stage) error {
	if before := p.Stage(st.Value.Before); before != nil && st.Fills() {
		before.Kept = true
		before.Corners = before.Corners || st.Corners
		for k := range p.Axes {
			before.Halo[k].widen(st.Halo[k], 0)
		}
	}
	return st.Accesses(func(a *ir.Access, v *graph.Value) error {
		from := p.Stage(v)
		if from == nil {
			return nil
		}
		from.Kept = true
		moves := make([]bool, len(p.Axes))
		for d, ix := range a.Index {
			k := slices.Index(p.Axes, ix.Axis)
			low, high, err := p.reach(st, a, d)
			if err != nil {
				return err
			}
			from.Halo[k].widen(st.Halo[k], low)
			from.Halo[k].widen(st.Halo[k], high)
			p.Wraps[k] = p.Wraps[k] || a.Array.Dims[d].Faces.Periodic()
			moves[k] = low != 0 || high != 0
		}
		from.Corners = from.Corners || st.Corners || st.readsCorners(moves)
		return nil
	})
}

// readsCorners reports whether an access that moves on some axes leads from the tile, or from a halo of the stage, to
// cells that are beyond a tile on two axes.
func (st *Stage) readsCorners(moves []bool) bool {
	for k := 1; k < len(moves); k++ {
		for other := 1; other < len(moves); other++ {
			if k != other && moves[k] && (moves[other] || st.Halo[other] != Halo{}) {
				return true
			}
		}
	}
	return false
}

func (h *Halo) widen(by Halo, offset int64) {
	h.Low, h.High = max(h.Low, by.Low-offset), max(h.High, by.High+offset)
}

// checkWraps refuses grids of different extents on an axis that leads from end to end.
func (p *Pipeline) checkWraps() error {
	for k, wraps := range p.Wraps {
		var first *ir.Dim
		for _, st := range p.Stages {
			if !wraps || !st.Kept {
				continue
			}
			dim := st.Dim(p.Axes[k])
			if first == nil {
				first = dim
			}
			if !dim.Lo.Equal(first.Lo) || !dim.Hi.Equal(first.Hi) {
				return p.refuse(st, "%s is periodic for some grids, and %s has other ends there", p.axis(k),
					st.Stmt.Array.Name)
			}
		}
	}
	return nil
}

func (p *Pipeline) axis(k int) string { return p.Span.Program.Axes[p.Axes[k]] }

func (p *Pipeline) refuse(st *Stage, format string, args ...any) error {
	return graph.NewRefusal(p.Span.Loop, p.Span.Depth, st.Stmt.Range, format, args...)
}

// Dim returns the dimension of the stage's array along an axis.
func (st *Stage) Dim(axis int) *ir.Dim {
	for d := range st.Stmt.Array.Dims {
		if dim := &st.Stmt.Array.Dims[d]; dim.Axis == axis {
			return dim
		}
	}
	return nil
}

// Accesses calls f for every access of the statement, those of its local scalars included,
// with the contents that it reads, until f fails.
func (st *Stage) Accesses(f func(a *ir.Access, v *graph.Value) error) error {
	var failed error
	look := func(e ir.Expr, in map[*ir.Array]*graph.Value) {
		ir.Walk(e, func(e ir.Expr) {
			if a, ok := e.(*ir.Access); ok && failed == nil {
				failed = f(a, in[a.Array])
			}
		})
	}
	look(st.Stmt.Value, st.Inputs[nil])
	for _, other := range st.Call.Body {
		if in, ok := st.Inputs[other.Temp]; ok && other.Temp != nil {
			look(other.Value, in)
		}
	}
	return failed
}

// String returns the stages, one a line.
//
// Example text:
//
//	0 heat[0]: out, halo 1:1 1:1 1:1, kept
//	1 heat[0]: out, halo 0:0 0:0 0:0, stored to a spare of u
func (p *Pipeline) String() string {
	var b strings.Builder
	for _, st := range p.Stages {
		fmt.Fprintf(&b, "%d %s[%d]: %s, halo", st.Step, st.Call.Name, slices.Index(st.Call.Body, st.Stmt),
			st.Stmt.Array.Name)
		for _, h := range st.Halo {
			fmt.Fprintf(&b, " %d:%d", h.Low, h.High)
		}
		if st.Kept {
			b.WriteString(", kept")
		}
		switch {
		case st.Output == nil:
		case st.Output.Spare:
			fmt.Fprintf(&b, ", stored to a spare of %s", st.Value.Memory.Name)
		default:
			fmt.Fprintf(&b, ", stored to %s", st.Value.Memory.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Reads returns the stages whose values a stage reads, each once.
func (p *Pipeline) Reads(st *Stage) []*Stage {
	var list []*Stage
	add := func(v *graph.Value) {
		if from := p.Stage(v); from != nil && !slices.Contains(list, from) {
			list = append(list, from)
		}
	}
	if st.Fills() {
		add(st.Value.Before)
	}
	_ = st.Accesses(func(_ *ir.Access, v *graph.Value) error { add(v); return nil })
	return list
}

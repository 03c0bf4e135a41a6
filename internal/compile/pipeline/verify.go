package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Verify checks what every pipeline promises to the kernel that carries it out: halos cover
// what is read, what is read is kept, what is to outlive the kernel is stored. An error is a
// mistake of the compiler.
func (p *Pipeline) Verify() error {
	if err := p.Span.Verify(); err != nil {
		return fmt.Errorf("the span: %w", err)
	}
	if len(p.Stages) != len(p.Span.Instances) || !slices.Equal(p.Axes, p.Span.Axes) || len(p.Wraps) != len(p.Axes) {
		return errors.New("the stages or axes are not those of the span")
	}
	read := map[*Stage]bool{}
	for n, st := range p.Stages {
		if st.Instance != p.Span.Instances[n] || len(st.Halo) != len(p.Axes) {
			return fmt.Errorf("stage %d is not that of v%d", n, n)
		}
		if err := p.verifyReads(st, read); err != nil {
			return fmt.Errorf("stage %d: %w", n, err)
		}
	}
	for n, st := range p.Stages {
		at := slices.IndexFunc(p.Span.Outputs, func(o *graph.Output) bool { return o.Value == st.Value })
		switch {
		case read[st] != st.Kept:
			return fmt.Errorf("stage %d: kept is %t, and read is %t", n, st.Kept, read[st])
		case at < 0 != (st.Output == nil) || at >= 0 && st.Output != p.Span.Outputs[at]:
			return fmt.Errorf("stage %d stores something else than the span", n)
		case !st.Kept && st.Output == nil:
			return fmt.Errorf("stage %d is computed for nothing", n)
		}
	}
	return nil
}

// verifyReads checks that the halos of what a stage reads cover it.
func (p *Pipeline) verifyReads(st *Stage, read map[*Stage]bool) error {
	for k, h := range st.Halo {
		if h.Low < 0 || h.High < 0 {
			return fmt.Errorf("a halo of %d:%d on %s", h.Low, h.High, p.axis(k))
		}
	}
	covers := func(from *Stage, k int, low, high int64) error {
		if have, at := from.Halo[k], st.Halo[k]; have.Low < at.Low-low || have.High < at.High+high {
			return fmt.Errorf("the halo of stage %d ends before what is read on %s", from.Number, p.axis(k))
		}
		return nil
	}
	if from := p.Stage(st.Value.Before); from != nil && st.Fills() {
		read[from] = true
		for k := range p.Axes {
			if err := covers(from, k, 0, 0); err != nil {
				return err
			}
		}
	}
	return st.Accesses(func(a *ir.Access, v *graph.Value) error {
		from := p.Stage(v)
		if from == nil {
			return nil
		}
		read[from] = true
		for d, ix := range a.Index {
			k := slices.Index(p.Axes, ix.Axis)
			if k < 0 {
				return fmt.Errorf("%s is read at one place, and computed on the chip", a.Array.Name)
			}
			low, high, err := p.reach(st, a, d)
			if err != nil {
				return err
			}
			if err := covers(from, k, low, high); err != nil {
				return err
			}
			if a.Array.Dims[d].Faces.Periodic() && !p.Wraps[k] {
				return fmt.Errorf("tiles do not go on beyond the ends of %s, and %s is periodic", p.axis(k),
					a.Array.Name)
			}
		}
		return nil
	})
}

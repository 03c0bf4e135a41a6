package pipeline

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Wavefront is a pipeline that one thread carries out plane by plane along the first axis.
// In step t each stage computes plane t - Lag, in the order of the program. So a stage
// finds the planes that it reads computed, in this step or in earlier ones.
type Wavefront struct {
	*Pipeline
	Lags []int64 // by stage
	// Planes is how many planes of a stage are needed at a time: that of its step and older
	// ones. It is 0 for stages that nothing reads.
	Planes []int64
}

// NewWavefront decides the lags of a pipeline.
func NewWavefront(p *Pipeline) *Wavefront {
	w := &Wavefront{Pipeline: p, Lags: make([]int64, len(p.Stages)), Planes: make([]int64, len(p.Stages))}
	for n, st := range p.Stages {
		w.reads(st, func(from *Stage, _, high int64) {
			w.Lags[n] = max(w.Lags[n], w.Lags[from.Number]+high)
		})
	}
	for n, st := range p.Stages {
		w.reads(st, func(from *Stage, low, _ int64) {
			oldest := w.Lags[n] - low - w.Lags[from.Number]
			w.Planes[from.Number] = max(w.Planes[from.Number], oldest+1)
		})
	}
	return w
}

// reads calls f for every read of another stage's values, with the lowest and the highest
// offset along the first axis that it may lead to.
func (w *Wavefront) reads(st *Stage, f func(from *Stage, low, high int64)) {
	if before := w.Stage(st.Value.Before); before != nil && st.Fills() {
		f(before, 0, 0)
	}
	_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
		from := w.Stage(v)
		if from == nil {
			return nil
		}
		for d, ix := range a.Index {
			if ix.Axis != w.Axes[0] {
				continue
			}
			low, high, err := w.reach(st, a, d) // New has refused what has none
			if err != nil {
				return err
			}
			f(from, low, high)
		}
		return nil
	})
}

// String returns the stages, one a line.
//
// Example text:
//
//	next, lag 0, 3 planes
//	u, lag 1
func (w *Wavefront) String() string {
	var b strings.Builder
	for n, st := range w.Stages {
		fmt.Fprintf(&b, "%s, lag %d", st.Value.Name(), w.Lags[n])
		if w.Planes[n] > 0 {
			fmt.Fprintf(&b, ", %d planes", w.Planes[n])
		}
		b.WriteString("\n")
	}
	return b.String()
}

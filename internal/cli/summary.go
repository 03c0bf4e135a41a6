package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

// summary is what a run prints at its end. The fields of an object are in the
// order of its declaration, and those of sizes sorted.
type summary struct {
	Program string               `json:"program"`
	Device  string               `json:"device"`
	FP      string               `json:"fp"`
	Plan    string               `json:"plan,omitempty"` // of all kernels
	Origin  string               `json:"plan_origin,omitempty"`
	Expects *engine.Prediction   `json:"prediction,omitempty"` // of a plan that a model has chosen
	Sizes   map[string]int64     `json:"sizes"`
	Kernels []engine.KernelUse   `json:"kernels,omitempty"`
	Check   *engine.Verification `json:"check,omitempty"`
	*outcome

	sizes []string // as text, in the program's order
}

// outcome is what a finished run has come to.
type outcome struct {
	Iterations int64          `json:"iterations"`
	Seconds    float64        `json:"seconds"`
	Points     int64          `json:"points"`
	Launches   int64          `json:"launches,omitempty"`
	Graphs     int64          `json:"graphs,omitempty"` // that started several at once
	GPoints    float64        `json:"gpoints_per_s"`
	Scalars    []scalarResult `json:"scalars"`
	Grids      []gridResult   `json:"grids"`
	Outputs    []string       `json:"outputs"`
}

type scalarResult struct {
	Name  string `json:"name"`
	Value any    `json:"value"`

	text string
}

func newSummary(j *job) *summary {
	s := &summary{Program: j.program.Name, Device: j.Device.ID, FP: j.FP, Sizes: map[string]int64{}}
	for i, q := range j.program.Params {
		s.Sizes[q.Name] = j.Bound.Params[i]
		s.sizes = append(s.sizes, fmt.Sprintf("%s=%d", q.Name, j.Bound.Params[i]))
	}
	return s
}

// finish adds what the run has come to.
func (s *summary) finish(j *job, r exec.Runner, p exec.Progress) error {
	s.outcome = &outcome{
		Iterations: p.Iterations, Seconds: p.Busy.Seconds(), Points: p.Points,
		Launches: p.Launches, Graphs: p.Graphs,
		Scalars: []scalarResult{}, Grids: []gridResult{}, Outputs: []string{},
	}
	if p.Busy > 0 {
		s.GPoints = float64(p.Points) / p.Busy.Seconds() / 1e9
	}
	for _, sc := range j.program.Scalars {
		if !sc.Reduced {
			continue
		}
		v, err := r.Scalar(sc.Name)
		if err != nil {
			return err
		}
		s.Scalars = append(s.Scalars, scalarResult{sc.Name, value(v), v.String()})
	}
	for _, g := range j.program.Grids {
		if !g.CopyOut {
			continue
		}
		cells, err := r.Grid(g.Name)
		if err != nil {
			return err
		}
		s.Grids = append(s.Grids, statistics(g, j.Bound.Shape(g.Dims), cells))
	}
	for _, w := range j.outs {
		s.Outputs = append(s.Outputs, w.written...)
	}
	return nil
}

func (s *summary) print(w io.Writer, outs []*writer) {
	fmt.Fprint(w, s.Program)
	if len(s.sizes) > 0 {
		fmt.Fprintf(w, " (%s)", strings.Join(s.sizes, " "))
	}
	fmt.Fprint(w, ":")
	if s.Iterations > 0 {
		fmt.Fprintf(w, " %s in", count(s.Iterations, "iteration"))
	}
	fmt.Fprintf(w, " %s on %s", quantity.Time(s.Seconds), s.Device)
	if s.GPoints > 0 {
		fmt.Fprintf(w, ", %s", rate(s.GPoints*1e9))
	}
	fmt.Fprintln(w)
	for _, x := range s.Scalars {
		fmt.Fprintf(w, "  %-8s %s\n", x.Name, x.text)
	}
	for _, g := range s.Grids {
		g.print(w)
	}
	for _, o := range outs {
		if n := len(o.written); n > 1 {
			fmt.Fprintf(w, "  wrote %s (%d files)\n", diag.Line(o.path), n)
			continue
		}
		fmt.Fprintf(w, "  wrote %s\n", diag.Line(strings.Join(o.written, "")))
	}
}

// value returns a scalar's value for JSON.
func value(v op.Value) any {
	switch {
	case v.T.IsFloat():
		return quantity.Number(v.F)
	case v.T == types.Bool:
		return v.True()
	}
	return v.I
}

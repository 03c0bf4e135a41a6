package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

// Pause is how often a run stops, and by which wish.
type Pause struct {
	Iterations int64 // 0 is never
	Wish       string
}

// SpanNotes says what the user should know of the kernels of several iterations that the plan names: those that are
// never carried out at these sizes, or with these pauses, and of a plan that the user has chosen those whose tiles are
// larger than the domain.
func (j *Job) SpanNotes(pauses ...Pause) ([]string, error) {
	if j.Device.Reference() || !j.hasSpans() {
		return nil, nil
	}
	m, err := j.Lower()
	if err != nil {
		return nil, err
	}
	often := shortest(pauses)
	idle, err := exec.IdleSpans(m, j.Bound, often.Iterations)
	if err != nil {
		return nil, err
	}
	var list []string
	at := map[*kernel.Span]bool{}
	for _, s := range idle {
		at[s.Span] = true
		list = append(list, fmt.Sprintf("%s is never carried out: %s",
			spanName(j.Bound.Program, s.Span), j.idleReason(s, often)))
	}
	for _, s := range m.Spans {
		if side := s.Wide(j.Bound.Params); side != nil && !at[s] && j.Origin == Chosen {
			list = append(list, spanName(j.Bound.Program, s)+": "+tooWide(side, j.Bound)+
				", so that many of its threads have nothing to do")
		}
	}
	return list, nil
}

// SpanNotes says which domains are too small for the kernels of several iterations that the plan names.
func (e *Emission) SpanNotes() []string {
	var list []string
	for _, s := range e.Module.Spans {
		var sides []string
		for _, x := range s.Domain {
			if x.Least > 1 {
				sides = append(sides, quantity.Count(x.Least, "cell")+" along "+x.Axis)
			}
		}
		if len(sides) > 0 {
			list = append(list, fmt.Sprintf("%s is for domains of at least %s: whoever launches it carries out "+
				"iterations one by one on smaller ones, as the library does", spanName(e.Module.Program, s),
				strings.Join(sides, " and ")))
		}
	}
	return list
}

func tooWide(side *kernel.Side, b *ir.Binding) string {
	return fmt.Sprintf("a tile stores %s along %s, and the domain has %d", quantity.Count(side.Tile, "cell"),
		side.Axis, side.Cells(b.Params))
}

// hasSpans reports whether the plan names kernels of whole iterations.
func (j *Job) hasSpans() bool {
	return slices.ContainsFunc(j.Plan.Kernels, j.ofLoop)
}

// ofLoop reports whether a kernel of a plan has whole iterations of a loop.
func (j *Job) ofLoop(k schedule.Kernel) bool {
	return lower.OfLoop(j.Bound.Program, k)
}

// leaving returns a plan without a kernel of several iterations.
func leaving(p schedule.Plan, name string, depth int) schedule.Plan {
	p.Kernels = slices.DeleteFunc(slices.Clone(p.Kernels), func(k schedule.Kernel) bool {
		return k.Name() == name && k.Depth == depth
	})
	return p
}

// fitSpans leaves out of a plan from the store the kernels of several iterations that the device cannot have at these
// sizes, and unless they were measured there those whose tiles are larger than the domain: their iterations are
// carried out one by one. It says why, and whether what is left of the plan fits.
func (j *Job) fitSpans(measured bool) (left []string, err error) {
	m, err := j.Lower()
	for _, k := range slices.Clone(j.Plan.Kernels) {
		if !j.ofLoop(k) {
			continue
		}
		name, reason := fmt.Sprintf("%s@%d", k.Name(), k.Depth), ""
		switch {
		case err != nil:
			alone := *j
			alone.Plan.Kernels = append(slices.DeleteFunc(slices.Clone(j.Plan.Kernels), j.ofLoop), k)
			if failed := alone.Fits(); failed != nil {
				reason = failed.Error()
			}
		case !measured:
			i := slices.IndexFunc(m.Spans, func(s *kernel.Span) bool { return spanName(j.Bound.Program, s) == name })
			if i < 0 {
				continue
			}
			if side := m.Spans[i].Wide(j.Bound.Params); side != nil {
				reason = tooWide(side, j.Bound)
			}
		}
		if reason != "" {
			j.Plan = leaving(j.Plan, k.Name(), k.Depth)
			left = append(left, fmt.Sprintf("%s of the stored plan is left out, and its iterations are carried out "+
				"one by one: %s", name, strings.TrimPrefix(reason, fmt.Sprintf("plan: plan for %s: ", name))))
		}
	}
	if len(left) == 0 {
		return nil, err
	}
	return left, j.Fits()
}

// idleReason says why a span is never carried out.
func (j *Job) idleReason(s exec.IdleSpan, often Pause) string {
	needs := quantity.Count(s.Depth, "iteration")
	if s.After > 0 {
		needs = fmt.Sprintf("%d iterations, of which %d have to follow one by one", s.Depth+s.After, s.After)
		if s.After == 1 {
			needs = fmt.Sprintf("%d iterations, of which 1 has to follow by itself", s.Depth+s.After)
		}
	}
	switch {
	case s.Short != nil:
		return fmt.Sprintf("it needs %d cells along %s for its boundaries, and the domain has %d", s.Short.Least,
			s.Short.Axis, s.Short.Cells(j.Bound.Params))
	case s.Paused:
		return fmt.Sprintf("it takes %s, and %s %d stops after every %d", needs, often.Wish, often.Iterations,
			often.Iterations)
	}
	return fmt.Sprintf("it takes %s, and the loop has %d", needs, s.Room)
}

// spanName returns what plans call a span's kernel.
func spanName(p *ir.Program, s *kernel.Span) string {
	for _, l := range graph.Loops(p) {
		if l.Iterate == s.Iterate {
			return fmt.Sprintf("%s[0:%d]@%d", l.Name, l.Leaves(), s.Depth)
		}
	}
	return fmt.Sprintf("%d iterations", s.Depth)
}

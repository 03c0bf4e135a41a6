package lower

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// arranged is iterations of a loop that are carried out in parts, on the way to a kernel.Span: its launches are those
// of the parts, one after the other.
type arranged struct {
	*module
	*graph.Arrangement
}

// arranged returns the arrangement that a kernel of the plan belongs to. All kernels of a loop that have as many
// iterations, and not all of its calls, are of one.
func (m *module) arranged(k schedule.Kernel, l graph.Loop) (*arranged, error) {
	for _, a := range m.parted {
		if a.Iterate == l.Iterate && a.Depth == int64(k.Depth) {
			return a, nil
		}
	}
	var sets [][]int
	for _, other := range m.chooser.plan.Kernels {
		if other.Call == k.Call && other.Depth == k.Depth {
			sets = append(sets, other.Members())
		}
	}
	x, err := graph.Arrange(l, int64(k.Depth), sets)
	if err != nil {
		return nil, err
	}
	if err := m.namesAll(x); err != nil {
		return nil, err
	}
	if err := m.after(arrangePass, l.Name, true, x.String, x.Verify); err != nil {
		return nil, err
	}
	a := &arranged{m, x}
	m.parted = append(m.parted, a)
	return a, nil
}

// namesAll refuses a plan that leaves out calls of a loop whose other calls are in sets.
func (m *module) namesAll(a *graph.Arrangement) error {
	for _, p := range a.Parts {
		run, isCall := a.Iterate.Body[p.Members[0]].(*ir.Run)
		if p.Shared || !isCall {
			continue
		}
		own := func(k schedule.Kernel) bool { return k.Call == run.Call.Name }
		if slices.ContainsFunc(m.chooser.plan.Kernels, own) {
			continue
		}
		return fmt.Errorf("the plan leaves out %d, the call %s: add it to a set of %s, or its own kernels, such as "+
			"%s[0:%d]@1{}", p.Members[0], run.Call.Name, a.Name, run.Call.Name, len(run.Call.Body))
	}
	return nil
}

// build adds the span, once its kernels and those of the calls are built.
func (a *arranged) build() {
	out := &kernel.Span{Iterate: a.Iterate, Depth: a.Depth}
	now := newWhereabouts(a.Program.Grids)
	for _, p := range a.Parts {
		body := a.Of(p).Body()
		if !p.Shared {
			if run, ok := body[0].(*ir.Run); ok {
				out.Launches = append(out.Launches, now.launches(a.Calls[run.Call])...)
			}
			now.rotate(body, 1)
			continue
		}
		s := a.spans[slices.IndexFunc(a.spans, func(s *spanKernel) bool {
			return s.of == a && slices.Equal(s.pipeline.Span.Set, p.Members)
		})]
		// Other parts may have written to the grids since the spares were prepared.
		out.Launches = append(out.Launches, now.launches(append(slices.Clone(s.prepares), s.launch))...)
		now.rotate(body, a.Depth)
		for _, x := range s.replaced {
			now.exchange(x)
		}
		out.Domain = append(out.Domain, s.domain...)
		out.Dropped = append(out.Dropped, s.pipeline.Span.Dropped...)
		if s.work != nil {
			if out.Work == nil {
				out.Work = &kernel.Work{}
			}
			out.Work.Needed += s.work.Needed
			out.Work.Done += s.work.Done
		}
	}
	whole := newWhereabouts(a.Program.Grids)
	whole.rotate(a.Iterate.Body, a.Depth)
	out.Exchanges = whole.exchangesTo(now)
	a.addSpan(out)
}

// whereabouts says which memory grids and spares have, as what was theirs when a span began.
type whereabouts struct {
	grids  []*ir.Grid
	spares []*kernel.Spare // that are not where they were
	of     map[any]kernel.Arg
}

func newWhereabouts(grids []*ir.Grid) *whereabouts {
	w := &whereabouts{grids: grids, of: map[any]kernel.Arg{}}
	for _, g := range grids {
		w.of[g] = kernel.GridArg{Grid: g}
	}
	return w
}

func (w *whereabouts) spare(s *kernel.Spare) kernel.Arg {
	if _, known := w.of[s]; !known {
		w.of[s] = kernel.SpareArg{Spare: s}
		w.spares = append(w.spares, s)
	}
	return w.of[s]
}

// launches returns launches that mean the memory that grids and spares have now.
func (w *whereabouts) launches(list []*kernel.Launch) []*kernel.Launch {
	var out []*kernel.Launch
	for _, l := range list {
		moved := *l
		moved.Args = slices.Clone(l.Args)
		for i, arg := range moved.Args {
			switch arg := arg.(type) {
			case kernel.GridArg:
				moved.Args[i] = w.of[arg.Grid]
			case kernel.SpareArg:
				moved.Args[i] = w.spare(arg.Spare)
			}
		}
		out = append(out, &moved)
	}
	return out
}

// rotate applies the rotations of calls and rotations so many times.
func (w *whereabouts) rotate(body []ir.Op, times int64) {
	for range times {
		for _, o := range body {
			if r, ok := o.(*ir.Rotate); ok {
				first := w.of[r.Grids[0]]
				for i, g := range r.Grids[1:] {
					w.of[r.Grids[i]] = w.of[g]
				}
				w.of[r.Grids[len(r.Grids)-1]] = first
			}
		}
	}
}

func (w *whereabouts) exchange(x kernel.Exchange) {
	spare := w.spare(x.Spare)
	w.of[x.Grid], w.of[x.Spare] = spare, w.of[x.Grid]
}

// exchangesTo returns exchanges that bring grids and spares to where others have them.
func (w *whereabouts) exchangesTo(to *whereabouts) []kernel.Exchange {
	var list []kernel.Exchange
	swap := func(g *ir.Grid, s *kernel.Spare) {
		x := kernel.Exchange{Grid: g, Spare: s}
		w.exchange(x)
		list = append(list, x)
	}
	for _, s := range to.spares {
		w.spare(s)
	}
	// A spare takes what a grid is to have there, so that the next exchange puts it right. Grids that have each other's
	// memory need a spare in between.
	for _, g := range w.grids {
		if w.of[g] == to.of[g] {
			continue
		}
		at := slices.IndexFunc(w.spares, func(s *kernel.Spare) bool { return w.of[s] == to.of[g] })
		if at >= 0 {
			swap(g, w.spares[at])
			continue
		}
		for _, other := range w.grids {
			if w.of[other] == to.of[g] {
				s := w.spares[slices.IndexFunc(w.spares, func(s *kernel.Spare) bool { return alike(s.Like, g) })]
				swap(other, s)
				swap(g, s)
				break
			}
		}
	}
	for _, s := range w.spares {
		for _, other := range w.spares {
			if w.of[s] != to.of[s] && w.of[other] == to.of[s] {
				g := w.grids[slices.IndexFunc(w.grids, func(g *ir.Grid) bool { return alike(s.Like, g) })]
				swap(g, s)
				swap(g, other)
				swap(g, s)
			}
		}
	}
	return list
}

// alike reports whether two grids have the same type and shape.
func alike(a, b *ir.Grid) bool {
	return a.Type == b.Type && slices.EqualFunc(a.Dims, b.Dims, func(x, y ir.Dim) bool {
		return x.Lo.Equal(y.Lo) && x.Hi.Equal(y.Hi)
	})
}

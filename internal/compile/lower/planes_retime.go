package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// With retime=yes the statements of a span are computed in parts, each when the plane has come that it reads last
// (transform.RetimeCall). A part is a stage of its own, whose values wait in registers. So a step reads one plane of
// what statements read, and no others are held. Under fast arithmetic sums may be put in the order of their planes
// before (retime=sums).

// offerParts lets the family compute statements in parts, where some have any.
func offerParts(program *ir.Program, p *pipeline.Pipeline, f *schedule.Family) {
	values := []schedule.Value{schedule.No}
	if len(inParts(program, p.Span.Loop, false)) > 0 {
		values = append(values, schedule.Yes)
	}
	if sortable(program, p) && len(inParts(program, p.Span.Loop, true)) > 0 {
		values = append(values, schedule.Word(retimedSums))
	}
	if len(values) == 1 {
		return
	}
	retime := retimeParam
	retime.Values, retime.Default = values, schedule.No
	f.Params = slices.Insert(f.Params, f.Index(schedule.StreamUnroll), retime)
}

// inOrderOfPlanes returns a call with its sums in the order of their planes; the call itself if its local scalars read
// what it assigns: a sum looks into those, and would read the new values.
func inOrderOfPlanes(program *ir.Program, call *ir.Call) *ir.Call {
	assigned := func(a *ir.Array) bool {
		return slices.ContainsFunc(call.Body, func(st *ir.Stmt) bool {
			return st.Array != nil && (st.Array == a || st.Array.Grid != nil && st.Array.Grid == a.Grid)
		})
	}
	sorted := *call
	sorted.Body = nil
	for _, st := range call.Body {
		stale := func(a *ir.Access) bool { return assigned(a.Array) }
		if st.Temp != nil && slices.ContainsFunc(accesses(st.Value), stale) {
			return call
		}
		if st.Array != nil {
			st = sumsInPlanes(program, call, st, st.Axes[0])
		}
		sorted.Body = append(sorted.Body, st)
	}
	return &sorted
}

// inParts returns those calls of a loop in parts that have some, with their sums in the order of planes if that is
// asked for.
func inParts(program *ir.Program, l graph.Loop, sums bool) map[*ir.Call]*ir.Call {
	parts := map[*ir.Call]*ir.Call{}
	for _, o := range l.Body() {
		run, ok := o.(*ir.Run)
		if !ok {
			continue
		}
		taken := map[string]bool{}
		for _, a := range run.Call.Arrays {
			taken[a.Name] = true
		}
		call := run.Call
		if sums {
			call = inOrderOfPlanes(program, call)
		}
		r, err := transform.RetimeCall(program, call, transform.ShareOptions{
			May: func(*ir.Stmt) bool { return true }, Taken: taken,
		})
		if err == nil { // it has some
			parts[run.Call] = r.Call
		}
	}
	return parts
}

// retimedPipeline returns the span's pipeline with statements in parts.
func (s *spanKernel) retimedPipeline() (*pipeline.Pipeline, error) {
	l := s.pipeline.Span.Loop
	parts := inParts(s.Program, l, s.set.Word(schedule.Retiming) == retimedSums)
	if len(parts) == 0 {
		return s.pipeline, nil
	}
	it := *l.Iterate
	it.Body = slices.Clone(it.Body)
	for i, o := range it.Body {
		run, ok := o.(*ir.Run)
		if !ok || parts[run.Call] == nil {
			continue
		}
		if s.opts.Guard {
			if err := s.verify(s.source(run.Call), parts[run.Call]); err != nil {
				return nil, err
			}
		}
		it.Body[i] = &ir.Run{Call: parts[run.Call]}
	}
	l.Iterate = &it
	span, err := graph.NewSpan(s.Program, l, s.pipeline.Span.Depth)
	if err != nil {
		return nil, err
	}
	return pipeline.New(span)
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// A group of statements that assign grids is a pipeline of its own, of one stage or of several. So families that carry
// out pipelines may build its kernel as they build those of spans.

// asPipeline returns the group as a pipeline; nil if it is none, or if other cells are read of what it updates: then a
// spare would have to take the place of the grid, which kernels of calls do not have.
func (n *nest) asPipeline() *pipeline.Pipeline {
	if len(n.group.Snapshot) > 0 {
		return nil
	}
	call := *n.call
	call.Body, call.Temps = nil, nil
	for _, s := range n.stmts {
		if s.src.Reduce != nil || s.src.Array != nil && s.src.Array.Grid == nil || s.src.Temp != nil && s.into != nil {
			return nil // others may read it, too
		}
		if !n.hasTemps(s.src) {
			return nil
		}
		if s.src.Temp != nil {
			call.Temps = append(call.Temps, s.src.Temp)
		}
		call.Body = append(call.Body, s.src)
	}
	n.sources[&call] = n.source(n.call)
	l := graph.Loop{Name: n.key, Iterate: ir.NewSequence([]ir.Op{&ir.Run{Call: &call}})}
	span, err := graph.NewSpan(n.Program, l, 1)
	if err != nil {
		return nil
	}
	p, err := pipeline.New(span)
	if err != nil {
		return nil
	}
	p.UpdateInPlace()
	if slices.ContainsFunc(span.Outputs, func(o *graph.Output) bool { return o.Spare }) {
		return nil
	}
	return p
}

// hasTemps reports whether the group computes all temps that a statement reads.
func (n *nest) hasTemps(st *ir.Stmt) bool {
	all := true
	ir.Walk(st.Value, func(e ir.Expr) {
		if r, ok := e.(ir.TempRef); ok {
			all = all && n.local[r.Temp] && slices.ContainsFunc(n.stmts, func(s *statement) bool {
				return s.src.Temp == r.Temp && s.into == nil
			})
		}
	})
	return all
}

// byPlanes reports whether the family "planes" can compute the group.
func (n *nest) byPlanes() bool {
	n.byPipeline = n.asPipeline()
	return n.byPipeline != nil && familyNamed(planesFamily).spans(n.byPipeline) == nil
}

// offerPipeline adds to the family what the group's pipeline makes possible.
func (n *nest) offerPipeline(f *schedule.Family) {
	familyNamed(f.Name).offersSpan(n.Program, n.byPipeline, f)
	f.Params = slices.Insert(f.Params, f.Index(schedule.StorePath), readOnlyParam)
}

// spanOf returns the group on its way to a kernel of a family that carries out pipelines; nil for other families.
func (n *nest) spanOf(p *pipeline.Pipeline) *spanKernel {
	if f := familyNamed(n.config.Family); f == nil || f.span == nil {
		return nil
	}
	return &spanKernel{nest: n, pipeline: p, updates: map[kernel.Stmt]bool{}}
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Under fast arithmetic the terms of sums may be put in the order of their planes. Then the family "pipe" carries one
// value for each plane to come, whatever order the text has.

// offerSums adds that choice to the family's space, if some sum has another order. Parts are always computed early.
func offerSums(program *ir.Program, p *pipeline.Pipeline, f *schedule.Family) {
	if sortable(program, p) {
		retime := retimeParam
		retime.Values, retime.Default = []schedule.Value{schedule.Yes, schedule.Word(retimedSums)}, schedule.Yes
		f.Params = append(f.Params, retime)
	}
}

// sortable reports whether some sum of a pipeline may be put in the order of its planes, and has another.
func sortable(program *ir.Program, p *pipeline.Pipeline) bool {
	return program.Arithmetic == arith.Fast && slices.ContainsFunc(p.Stages,
		func(st *pipeline.Stage) bool { return sumsByPlane(program, p, st) != nil })
}

// sumsByPlane returns a stage's statement with the terms of its sums in the order of their planes along the stream; nil
// if that is how it is, or if its local scalars read what was there before other statements.
func sumsByPlane(program *ir.Program, p *pipeline.Pipeline, st *pipeline.Stage) *ir.Stmt {
	for temp, in := range st.Inputs {
		for array, v := range in {
			if now, reads := st.Inputs[nil][array]; temp != nil && reads && now != v {
				return nil
			}
		}
	}
	sorted := sumsInPlanes(program, st.Call, st.Stmt, p.Axes[0])
	if sameValue(program, sorted, st.Stmt) {
		return nil
	}
	return sorted
}

// sortSums puts the sums of all stages in the order of their planes. What local scalars read, the statement itself
// reads then.
func (s *spanKernel) sortSums() {
	for _, st := range s.pipeline.Stages {
		sorted := sumsByPlane(s.Program, s.pipeline, st)
		if sorted == nil {
			continue
		}
		i := *st.Instance
		i.Stmt, i.Inputs = sorted, map[*ir.Temp]map[*ir.Array]*graph.Value{nil: {}}
		for temp, in := range st.Inputs {
			if temp != nil {
				i.Inputs[temp] = in
			}
			for array, v := range in {
				i.Inputs[nil][array] = v
			}
		}
		st.Instance = &i
	}
}

// InPlaneOrder returns the statements of a number of iterations of a loop with their sums in the order of their planes,
// as the source would have them, where they have another order; "pipe" takes fewer registers then.
func InPlaneOrder(program *ir.Program, l graph.Loop, depth int64) []string {
	span, err := graph.NewSpan(program, l, depth)
	if err != nil {
		return nil
	}
	p, err := pipeline.New(span)
	if err != nil {
		return nil
	}
	var list []string
	for _, st := range p.Stages {
		if sorted := sumsByPlane(program, p, st); sorted != nil {
			if text := program.Infix(sorted); !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
)

// Where blocks at the edges of a domain need no loop of their own.

// hasNoRims reports whether all cells that are stored, or read of another stage, are such as their statements assign
// without an access across a boundary, or that keep what is in memory.
func (p *planeBlock) hasNoRims() bool {
	for i, st := range p.pipeline.Stages {
		if p.plan.Shared[i] > 0 && p.pipeline.Overwrites(st) {
			return false
		}
		covered := st.Output == nil || p.pipeline.CrossesNothing(st)
		if st.Output != nil && st.Output.Spare { // that gets all cells
			p.keeps[st] = true
			covered = p.keepsMemory(st)
		}
		_ = st.Accesses(func(a *ir.Access, v *graph.Value) error {
			from := p.pipeline.Stage(v)
			for d, ix := range a.Index {
				k := slices.Index(p.axes, ix.Axis)
				if from == nil || k < 0 {
					continue
				}
				if from.Inside[k].Has(st.Inside[k].Shift(a.Index[d].Offset)) {
					continue
				}
				p.keeps[from] = true
				covered = covered && p.keepsMemory(from)
			}
			return nil
		})
		if !covered {
			return false
		}
	}
	return true
}

// keepsMemory reports whether the cells that a stage's statement does not assign are in memory while the kernel runs,
// and it crosses no boundary at those that it does.
func (p *planeBlock) keepsMemory(st *pipeline.Stage) bool {
	g := p.kept(st)
	if g == nil || !p.pipeline.CrossesNothing(st) {
		return false
	}
	for _, x := range p.pipeline.Stages {
		if x.Output != nil && !x.Output.Spare && x.Output.Value.Memory == g && !p.sameCells(st, x) {
			return false
		}
	}
	return true
}

// sameCells reports whether two statements assign the same cells.
func (p *planeBlock) sameCells(one, other *pipeline.Stage) bool {
	for _, axis := range p.axes {
		if !one.Stmt.Domain[axis].Equal(other.Stmt.Domain[axis]) {
			return false
		}
	}
	return true
}

// kept returns the grid in whose memory the cells are that a stage's statement does not assign; nil if that is not
// known. Stages that assign the same cells of an array, one after the other, keep the same.
func (p *planeBlock) kept(st *pipeline.Stage) *ir.Grid {
	v := st.Value.Before
	for v != nil && v.Def != nil {
		from := p.pipeline.Stage(v)
		if from == nil || !p.sameCells(from, st) {
			return nil
		}
		v = from.Value.Before
	}
	if v == nil {
		return nil
	}
	return v.Memory
}

package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Rows of grids are packed, padded or shifted (Zhang and Mueller 2013, section 3.1). Packed rows are as close to
// each other as vectors allow. Padded rows are whole lines of memory long, so that each begins a line. Shifted rows
// are padded, and the first cell that a kernel updates begins a line: so do the stores of all warps, and no vector
// of a thread has cells at the rim. All kernels of a program see the same rows: one that asks for padded or shifted
// rows decides for the others, and the grids of users stay as they are.

// memoryLine is the bytes that GPUs move together.
const memoryLine = 128

// rowsParam is a parameter of kernels whose rows may be placed.
var rowsParam = schedule.Param{
	Name: "layout", Role: schedule.RowLayout,
	Doc: "how rows of grids lie in memory: as close as vectors allow (packed), at multiples of 128 bytes (padded), " +
		"or those with the first updated cell at such a multiple (shifted)",
	Source: zhang,
}

// offerRows lets a family choose how rows lie in memory, where rows of some grid are known to begin at a constant.
// Rows are shifted only where that is another place than padded rows have.
func (n *nest) offerRows(f *schedule.Family) {
	if !slices.ContainsFunc(n.call.Arrays, func(a *ir.Array) bool { return n.touches(a) && n.vectors(a) }) {
		return
	}
	first, ok := n.firstUpdated()
	addRows(f, ok && first != 0)
}

// addRows gives a family the parameter; shifted says whether the first updated cell is at another place than the first.
func addRows(f *schedule.Family, shifted bool) {
	p := rowsParam
	p.Values = schedule.Words(schedule.PackedRows, schedule.PaddedRows)
	if shifted {
		p.Values = append(p.Values, schedule.Word(schedule.ShiftedRows))
	}
	p.Default = p.Values[0]
	f.Params = slices.Insert(f.Params, f.Index(schedule.Sizes), p)
}

// firstUpdated returns the first index on the inner axis that the group updates, if that is a constant. Groups that
// combine the segments of rows in order need their rows as they are.
func (n *nest) firstUpdated() (int64, bool) {
	if len(n.ordered()) > 0 {
		return 0, false
	}
	var los [][]ir.Affine
	for _, s := range n.stmts {
		if s.into == nil {
			continue
		}
		for _, cells := range s.where {
			los = append(los, cells.Box[n.inner()].Lo)
		}
	}
	if len(los) == 0 {
		return 0, false
	}
	lo := loosest(los, -1)
	if len(lo) != 1 || len(lo[0].Terms) > 0 {
		return 0, false
	}
	return lo[0].Const, true
}

// offerSpanRows does so for a family of several statements.
func offerSpanRows(_ *ir.Program, p *pipeline.Pipeline, f *schedule.Family) {
	from := rowsBegin(p)
	if from == nil {
		return
	}
	addRows(f, *from != 0)
	f.Constraints = append(f.Constraints, schedule.Constraint{
		Name:   "tensor copies of packed or padded rows",
		Doc:    "a tensor map begins with the grid's memory, and rows that are shifted do not",
		Params: []string{"copy", rowsParam.Name}, Holds: func(c schedule.Config) bool {
			return c.Word("copy") != copyTensor || c.Word(rowsParam.Name) != schedule.ShiftedRows
		},
	})
}

// rowsBegin returns the first index on the inner axis that a pipeline assigns in memory; nil if that, or where rows of
// what it stores begin, is no constant.
func rowsBegin(p *pipeline.Pipeline) *int64 {
	inner := p.Axes[len(p.Axes)-1]
	var los [][]ir.Affine
	for _, st := range p.Stages {
		if st.Output == nil {
			continue
		}
		if len(st.Dim(inner).Lo.Terms) > 0 {
			return nil
		}
		lo := st.Stmt.Domain[inner].Lo
		if len(lo) == 0 {
			lo = []ir.Affine{st.Dim(inner).Lo}
		}
		los = append(los, lo)
	}
	lo := loosest(los, -1)
	if len(lo) != 1 || len(lo[0].Terms) > 0 {
		return nil
	}
	return &lo[0].Const
}

// lines returns how many cells of a type a line of memory has, if a kernel's rows are to begin one; else 1.
func (n *nest) lines(t types.Type) int64 {
	switch n.set.Word(schedule.RowLayout) {
	case schedule.PaddedRows, schedule.ShiftedRows:
		return memoryLine / int64(t.Size())
	}
	return 1
}

// settleOrigin finds the index at which vectors begin in all rows: the first one that a kernel updates which asks for
// shifted rows, or 0. Kernels of sequences and loops do most of the work: where there are some, they decide. It is 0,
// too, where some kernel is built for that alone: one of several statements whose family does not place rows, or one
// that combines segments.
func (m *module) settleOrigin(nests []*nest) {
	m.origin = 0
	if m.opts.origin != nil {
		m.origin = *m.opts.origin
		return
	}
	if slices.ContainsFunc(nests, func(n *nest) bool { return len(n.ordered()) > 0 }) ||
		slices.ContainsFunc(m.spans, func(s *spanKernel) bool { return s.set.Word(schedule.RowLayout) == "" }) {
		return
	}
	for _, s := range m.spans {
		if first := rowsBegin(s.pipeline); first != nil && s.set.Word(schedule.RowLayout) == schedule.ShiftedRows {
			m.origin = *first
			return
		}
	}
	if len(m.spans) > 0 {
		return
	}
	for _, n := range nests {
		if first, ok := n.firstUpdated(); ok && n.set.Word(schedule.RowLayout) == schedule.ShiftedRows {
			m.origin = first
			return
		}
	}
}

// down returns the last index at or before x at which one of a row's vectors of n cells begins.
func (m *module) down(x kernel.Expr, n int64) kernel.Expr {
	return kernel.Sub(x, floorMod(kernel.Sub(x, kernel.I(mod(m.origin, n))), kernel.I(n)))
}

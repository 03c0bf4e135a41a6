package lower

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// retimeParam is a parameter of families that go along an axis.
var retimeParam = schedule.Param{
	Name: "retime", Role: schedule.Retiming,
	Doc: "whether parts of statements are computed as soon as their planes have come and wait in place of the " +
		"cells; sums: sums are put in the order of the planes for it",
	Source: "Rawat et al. 2019, section III-B2",
}

// retimedSums is the word for sums that are put in the order of their planes.
const retimedSums = "sums"

// mostSums is how many parts of a statement are tried, from the whole of it to
// its operands, until it is left as it is.
const mostSums = 64

// sumsInPlanes returns a statement of a call with the terms of its sums in the order of their planes.
func sumsInPlanes(program *ir.Program, call *ir.Call, st *ir.Stmt, axis int) *ir.Stmt {
	tries := mostSums
	var sorted func(e ir.Expr) ir.Expr
	sorted = func(e ir.Expr) ir.Expr {
		if tries--; tries < 0 {
			return e
		}
		part := *st
		part.Value = e
		planes, err := transform.Decompose(program, call, &part, axis)
		if err != nil {
			return ir.MapChildren(e, sorted)
		}
		if len(planes) < 2 {
			return e
		}
		return transform.Joined(planes, len(program.Axes), axis)
	}
	out := *st
	out.Value = sorted(st.Value)
	return &out
}

func sameValue(p *ir.Program, s, t *ir.Stmt) bool { return p.ExprText(s.Value) == p.ExprText(t.Value) }

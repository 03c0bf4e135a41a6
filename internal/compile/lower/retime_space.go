package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// offerRetiming lets a family that goes along an axis compute statements in pieces, along the axes where
// some of the group's statements have parts that are ready early. Fast
// arithmetic may put the terms of sums in the order of their planes first.
func (n *nest) offerRetiming(f *schedule.Family) {
	along := map[string][]schedule.Value{}
	values := []schedule.Value{schedule.No}
	for _, axis := range n.outer() {
		name := n.Program.Axes[axis]
		along[name] = n.retimings(axis)
		for _, v := range along[name] {
			if !slices.ContainsFunc(values, v.Equal) {
				values = append(values, v)
			}
		}
	}
	if len(values) == 1 {
		return
	}
	retime, stream := retimeParam, f.For(schedule.Stream).Name
	retime.Values, retime.Default = values, schedule.No
	f.Params = slices.Insert(f.Params, f.Index(schedule.Staging), retime)
	f.Constraints = append(f.Constraints, schedule.Constraint{
		Name:   "early parts",
		Doc:    "along this axis nothing is ready before the rest, or sums have the order of their planes",
		Params: []string{stream, retime.Name},
		Holds: func(c schedule.Config) bool {
			v, _ := c.Get(retime.Name)
			return v.Equal(schedule.No) || slices.ContainsFunc(along[c.Word(stream)], v.Equal)
		},
	})
}

// retimeParam is a parameter of families that go along an axis.
var retimeParam = schedule.Param{
	Name: "retime", Role: schedule.Retiming,
	Doc: "whether parts of statements are computed as soon as their planes have come and wait in place of the " +
		"cells; sums: sums are put in the order of the planes for it",
	Source: "Rawat et al. 2019, section III-B2",
}

// retimedSums is the word for sums that are put in the order of their planes.
const retimedSums = "sums"

// retimings returns the ways to compute the group's statements in pieces along
// an axis.
func (n *nest) retimings(axis int) []schedule.Value {
	var out []schedule.Value
	if r := n.retimed(axis, false); r != nil && r.Early() {
		out = append(out, schedule.Yes)
	}
	if n.Program.Arithmetic != arith.Fast {
		return out
	}
	sorted := slices.ContainsFunc(n.stmts, func(s *statement) bool {
		return s.src.Temp == nil && !sameValue(n.Program, n.inPlanes(s.src, axis), s.src)
	})
	if r := n.retimed(axis, true); sorted && r != nil && r.Early() {
		out = append(out, schedule.Word(retimedSums))
	}
	return out
}

func sameValue(p *ir.Program, s, t *ir.Stmt) bool { return p.ExprText(s.Value) == p.ExprText(t.Value) }

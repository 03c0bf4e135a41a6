package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// With rimless=own, blocks all of whose cells are to be updated take a loop of their own, in which stores ask nothing:
// one test for a block, the same for all of its threads, chooses the loop (Zhang and Mueller 2013, section 2.2, whose
// blocks divide the domain, and need no tests for that). The two loops are one, written twice: the tests of the second
// are true.

// rimlessParam is a parameter of kernels that store on a domain which no access leads out of.
var rimlessParam = schedule.Param{
	Name: "rimless", Role: schedule.RimlessLoop,
	Doc: "which loop blocks take that update all of their cells: the same, or one of their own, which has no " +
		"tests at stores, but is more code",
	Source: zhang25d, Values: schedule.Words(schedule.CommonLoop, schedule.OwnLoop),
	Default: schedule.Word(schedule.CommonLoop),
}

// offerRimless lets a family of one stage choose that loop, where no access of the stage crosses a boundary.
func offerRimless(p *pipeline.Pipeline, f *schedule.Family) {
	if len(p.Stages) == 1 && p.CrossesNothing(p.Stages[0]) {
		f.Params = slices.Insert(f.Params, f.Index(schedule.LoadOrder), rimlessParam)
	}
}

// rimlessLoop returns the loop along the stream, and if the configuration asks for it, instead of it in blocks inside
// one without tests at stores.
func (s *planeStep) rimlessLoop(loop *kernel.Loop) kernel.Stmt {
	if s.set.Word(schedule.RimlessLoop) != schedule.OwnLoop || len(s.tests) == 0 {
		return loop
	}
	var inside kernel.Expr
	for _, st := range s.pipeline.Stages {
		if st.Output != nil {
			inside = conj(inside, s.covers(st))
		}
	}
	own := kernel.Copied([]kernel.Stmt{loop}, s.tests)
	if inside == nil {
		return own[0]
	}
	inside = s.outer.let(s.env, "rimless", "rimless", inside)
	return &kernel.If{Cond: inside, Then: own, Else: []kernel.Stmt{loop}}
}

// tested notes that a condition, found before the loop, says of a cell whether it is one of the block's.
func (s *planeStep) tested(x kernel.Expr) {
	if ref, ok := x.(*kernel.Ref); ok {
		s.tests[ref.Var] = kernel.L(op.BoolOf(true))
	}
}

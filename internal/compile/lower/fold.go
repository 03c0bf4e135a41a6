package lower

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/compile/transform"
)

// offerFolding lets kernels of a family add the terms of sums that have one coefficient
// before they multiply, where that saves a multiplication and fast arithmetic
// allows it.
func (n *nest) offerFolding(f *schedule.Family) {
	saves := slices.ContainsFunc(n.stmts, func(s *statement) bool {
		_, saved := transform.Fold(n.Program, s.src.Value)
		return saved > 0
	})
	if n.Program.Arithmetic != arith.Fast || !saves {
		return
	}
	f.Params = append(slices.Clip(f.Params), foldParam)
}

// foldParam is a parameter of every family.
var foldParam = schedule.Param{
	Name: "fold", Role: schedule.Folding,
	Doc:    "whether terms of a sum that have one coefficient are added before they are multiplied by it",
	Source: "Rawat et al. 2019, section III-B4",
	Values: []schedule.Value{schedule.No, schedule.Yes}, Default: schedule.No,
}

// folds reports whether the configuration folds sums.
func (n *nest) folds() bool { return n.set.Is(schedule.Folding) }

// fold folds the group's statements, if the configuration says so.
func (n *nest) fold() (bool, error) {
	if !n.folds() {
		return false, nil
	}
	for _, s := range n.stmts {
		folded := *s.src
		folded.Value, _ = transform.Fold(n.Program, folded.Value)
		s.src = &folded
	}
	return true, nil
}

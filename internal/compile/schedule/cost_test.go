package schedule

import (
	"fmt"
	"testing"
)

func TestConstraintCosts(t *testing.T) {
	f := loops().Families[0]
	var got []string
	for _, cost := range f.ConstraintCosts() {
		got = append(got, fmt.Sprintf("%s %v", cost.Constraint.Name, cost.Out))
	}
	// Four threads with the block that feeds fewer: alone, and on two axes with none or one plane ahead.
	// Two planes ahead on two axes, for four threads and the two blocks that feed them.
	if fmt.Sprint(got) != "[blocks for all 5 registers 4]" || f.Count().Int64() != 52 {
		t.Errorf("%v of %v", got, f.Count())
	}
}

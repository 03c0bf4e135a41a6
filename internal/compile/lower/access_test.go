package lower

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// Names are numbered from 2 on, and a scope within another goes on where that one
// is, however many there are: to find the next takes no more work than the first.
func TestNumberedNames(t *testing.T) {
	e := &env{taken: map[string]bool{"value_3": true}}
	top := newScope(nil)
	var inner *scope
	work := func() float64 {
		return testing.AllocsPerRun(1, func() { inner.declare(e, "value", types.F64) })
	}
	inner = newScope(top)
	for _, want := range []string{"value", "value_2", "value_3_", "value_4"} {
		if got := top.declare(e, "value", types.F64).Name; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := inner.declare(e, "value", types.F64).Name; got != "value_5" {
		t.Errorf("%s within it", got)
	}
	few := work()
	for i := range 5000 {
		top.declare(e, "value", types.F64)
		if got := inner.declare(e, "value", types.F64).Name; i == 0 && got != "value_8" {
			t.Errorf("%s after others outside", got)
		}
	}
	if many := work(); many > few+10 {
		t.Errorf("%v allocations for one name after 5,000, and %v after 10", many, few)
	}
}

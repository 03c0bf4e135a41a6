package cli

import (
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// TestLikelyAgain checks that a search that is taken up plans with as many
// trials as when it began: strategies depend on it.
func TestLikelyAgain(t *testing.T) {
	for _, c := range []tuneCmd{
		{},
		{Budget: 20 * time.Second},
		{Budget: 90 * time.Second, Target: "95%"},
		{Trials: 1},
		{Trials: 300},
		{Budget: 2 * time.Minute, Trials: 45, Target: "200"},
	} {
		for _, about := range []measure.About{{}, {Shared: true}} {
			limit := c.Budget
			if limit == 0 && c.Trials == 0 {
				limit = usualBudget
			}
			if got, want := likely(c.budgetText(), about), tuner.Likely(about, limit, c.Trials); got != want {
				t.Errorf("%q, shared %v: %d, planned with %d", c.budgetText(), about.Shared, got, want)
			}
		}
	}
}

// What a search costs is kept as the strategy was told it.
func TestCostsAreKept(t *testing.T) {
	for n := range 1000 {
		cost := (time.Duration(n*n*37+n) * time.Microsecond).Seconds()
		if microseconds(cost).Seconds() != cost || microseconds(cost).Truncate(time.Microsecond) != microseconds(cost) {
			t.Fatalf("%v becomes %v", cost, microseconds(cost))
		}
	}
}

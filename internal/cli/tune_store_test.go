package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/store"
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

// What is condemned is not offered to the next search as right, nor are plans that
// have it; and a search that goes on knows what it took.
func TestCondemnedIsKept(t *testing.T) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var search store.Search
	search.Program.Hash = "6f1e"
	n := &notebook{ctx: t.Context(), store: s, about: search.Scenario}
	earlier, err := s.Begin(t.Context(), search)
	if err != nil {
		t.Fatal(err)
	}
	plans := []string{"heat[0:1]@1{family=cells}", "heat[0:1]@1{family=tile}", "heat[1:2]@1{family=cells}"}
	for i, plan := range plans {
		if err := earlier.Append(t.Context(), &store.Trial{Config: plan, Verdict: store.OK, Median: float64(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	if n.session, err = s.Begin(t.Context(), search); err != nil {
		t.Fatal(err)
	}
	o := tuner.Outcome{Kernel: "heat[0:1]", Config: "family=cells", Verdict: tuner.Good, Seconds: 0.5, Low: 0.5, High: 0.5, Times: []float64{0.5}}
	if err := n.Keep(o); err != nil {
		t.Fatal(err)
	}
	o.Verdict, o.Reason, o.Message = tuner.Wrong, "wrong", "it was right 4 times before: next[1][1]"
	if err := n.Condemn(o); err != nil {
		t.Fatal(err)
	}
	if n.known, err = s.Known(t.Context(), search.Scenario); err != nil {
		t.Fatal(err)
	}
	if x, ok := n.Known(o.Kernel, o.Config); !ok || x.Verdict != tuner.Wrong || x.Reason != "wrong" || x.Message != o.Message || x.Seconds != 0.5 {
		t.Errorf("%+v", x)
	}
	list, err := s.Plans(t.Context(), search.Scenario)
	if err != nil || len(list) != 2 || list[0].Config != plans[1] || list[1].Config != plans[2] {
		t.Errorf("%v, %+v", err, list)
	}
	o.Config = "family=tile"
	if err := n.Condemn(o); err == nil {
		t.Error("what was never tried is condemned")
	}
}

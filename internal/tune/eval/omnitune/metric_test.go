package omnitune

import (
	"math"
	"slices"
	"testing"
)

// Statistics of a few picks are what they are by hand.
func TestMetrics(t *testing.T) {
	picks := []Pick{
		// 4 and 2 times as fast as the bases, then 2 and 1, 0.5 and 2, and a scenario that did not run them
		{Scenario: timed(8, 4, 2), Group: "a", Size: 2, Open: true},
		{Scenario: timed(8, 4, 2), Group: "a", Size: 1, Open: true, Fallback: true},
		{Scenario: timed(1, 4, 2), Group: "b", Size: 2, Open: true, Runs: 3},
		{Scenario: &Scenario{Sizes: made[2:], Speeds: []float64{1, 0.25}, Best: 1}, Group: "b", Size: 1, Open: true},
	}
	groups := numbered(picks)
	for name, want := range map[string]float64{
		"speed": 0.5625, "speed, geometric mean": 0.5, "speed, median": 0.5, "speed, least": 0.25, "accuracy": 0.25,
		"validity": 0.75, "speed-up over 4x4": math.Cbrt(4), "speed-up over 4x4 where a fallback picked": 2,
		"speed-up over 32x4": math.Cbrt(4), "speed-up over 32x4, lower quartile": 1, "sizes run": 3,
	} {
		m := metrics[slices.IndexFunc(metrics, func(m metric) bool { return m.name == name })]
		if got := m.sampled(picks, groups).value([]float64{1, 1}); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("%s: %v, not %v", name, got, want)
		}
	}
	if got := metrics[0].sampled(picks, groups).value([]float64{2, 0}); got != 0.75 {
		t.Errorf("the first group alone has %v", got)
	}
}

// Where it is not known what is refused, who chose among the sizes that were run has no validity.
func TestNoValidity(t *testing.T) {
	known, open := Pick{Scenario: timed(8, 4)}, Pick{Scenario: timed(8, 4), Open: true}
	if v, ok := validity(known); ok {
		t.Errorf("a model that sees only what was run has validity %v", v)
	}
	if v, ok := validity(open); !ok || v != 1 {
		t.Errorf("a predicted size that was run has validity %v, %v", v, ok)
	}
	if v, ok := validity(Pick{Scenario: judged(nil, 8, 4)}); !ok || v != 1 {
		t.Errorf("where it is known what is refused, a legal size has validity %v, %v", v, ok)
	}
}

// The mean of picks at random lies among those of single lists: a share is not above 1 by rounding.
func TestRandomShares(t *testing.T) {
	var picks []Pick
	for range 7 {
		picks = append(picks, Pick{Scenario: judged(nil, 8, 4)})
	}
	m := metrics[slices.IndexFunc(metrics, func(m metric) bool { return m.name == validityMetric })]
	if got := random(m, picks); got != 1 {
		t.Errorf("legal sizes alone have validity %v", got)
	}
}

// Groups are drawn whole: of two, a draw has the first alone, both, or the second alone.
func TestInterval(t *testing.T) {
	seen := map[float64]bool{}
	low, high := interval(2, func(times []float64) float64 {
		seen[times[0]] = true
		return times[0]
	})
	if low != 0 || high != 2 || len(seen) != 3 {
		t.Errorf("%v to %v of %v", low, high, seen)
	}
}

// Ten shuffles have every scenario asked about ten times, never by a model that knows it; generated kernels are learned
// from alone.
func TestFolds(t *testing.T) {
	s, err := suiteOf(records(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Scenarios {
		s.Scenarios[i].Synthetic = i%2 == 0
	}
	for _, split := range Splits {
		folds, err := split.of(s)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[*Scenario]int{}
		for _, f := range folds {
			for _, x := range f.own {
				asked[x]++
				if slices.Contains(f.others, x) {
					t.Errorf("%s %s: %s is known", split.Name, f.name, x.Name)
				}
			}
			if len(f.own)+len(f.others) != len(s.Scenarios) {
				t.Errorf("%s %s: %d and %d scenarios", split.Name, f.name, len(f.own), len(f.others))
			}
		}
		for i := range s.Scenarios {
			x := &s.Scenarios[i]
			want := map[string]int{"10-fold": 10, "synthetic": i % 2}[split.Name]
			if split.Name != "10-fold" && split.Name != "synthetic" {
				want = 1
			}
			if asked[x] != want {
				t.Errorf("%s: %s is asked about %d times", split.Name, x.Name, asked[x])
			}
		}
	}
}

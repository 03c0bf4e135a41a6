package replay

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawRun is a search that is known by its distribution: each trial has a rank that
// is some way below the best so far, but for one search in ten, which is caught at a
// rank far from the best.
func drawRun(rng *rand.Rand, n, trials int) Run {
	var run Run
	rank := float64(n - 1)
	least := 0.0
	if rng.IntN(10) == 0 {
		least = float64(n) * 0.3 * rng.Float64()
	}
	for i := range trials {
		rank = max(least, rank*(1-0.6*rng.Float64()))
		run.Steps = append(run.Steps, Step{float64(i + 1), n - 1 - int(rank)})
	}
	return run
}

// TestIntervalsCover draws groups of searches from a known distribution: intervals
// of a nominal 95 % hold the score of the whole distribution in 90 to 99 % of the groups.
func TestIntervalsCover(t *testing.T) {
	const configurations, groups, whole = 120, 200, 8000
	times := make([]float64, configurations) // the slowest first
	for i := range times {
		times[i] = 1 + math.Pow(1.05, float64(configurations-1-i))
	}
	r := flat(times...)
	y, err := NewBaseline(r)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 9))
	trials := int(y.Budget())
	draw := func(n int) []Run {
		runs := make([]Run, n)
		for i := range runs {
			runs[i] = drawRun(rng, configurations, trials)
		}
		return runs
	}
	truth := mean(y.curve(y.pool(r, draw(whole)).fit(nil)))
	for _, size := range []int{6, 24} {
		covered, width := 0, 0.0
		for range groups {
			s := y.score(r, draw(size))
			if s.Low > s.Score || s.High < s.Score {
				t.Fatalf("%v is not between %v and %v", s.Score, s.Low, s.High)
			}
			if s.Low <= truth && truth <= s.High {
				covered++
			}
			width += (s.High - s.Low) / groups
		}
		t.Logf("the score is %.3f; of %d searches, %d of %d intervals hold it, their mean width is %.3f", truth, size,
			covered, groups, width)
		if covered < groups*90/100 || covered > groups*99/100 {
			t.Errorf("of %d searches, %d of %d intervals hold the score %.3f", size, covered, groups, truth)
		}
	}
}

// TestStudent compares quantiles with tables.
func TestStudent(t *testing.T) {
	for degrees, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 11: 2.201, 23: 2.069, 49: 2.010,
		1000: 1.962} {
		if got := student(degrees); math.Abs(got-want) > 0.03 {
			t.Errorf("%d degrees of freedom: %v, want %v", degrees, got, want)
		}
	}
}

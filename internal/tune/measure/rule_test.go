package measure

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

// scripted is a clock that says how long runs take: run i takes the i-th time,
// and the last one for good.
type scripted struct {
	each []float64
	runs []int // of each batch
}

func (s *scripted) batch(n int) (float64, error) {
	i := min(len(s.runs), len(s.each)-1)
	s.runs = append(s.runs, n)
	return float64(n) * s.each[i], nil
}

func take(t *testing.T, r Rule, first float64, each ...float64) (Sample, *scripted) {
	t.Helper()
	s := &scripted{each: each}
	sample, err := r.take(first, 1, s.batch)
	if err != nil {
		t.Fatal(err)
	}
	return sample, s
}

// Batches are so long that the timer tells them apart.
func TestBatchesAreLongEnough(t *testing.T) {
	r := Rule{Least: 10 * time.Millisecond, Batches: 5}
	s, _ := take(t, r, 1e-3, 1e-3)
	if len(s.Times) != 5 || s.Launches != 11 || s.Early {
		t.Errorf("%+v", s)
	}
	// The first run is cold and tells too much: the batch is repeated with more.
	s, clock := take(t, r, 4e-3, 1e-3)
	if len(s.Times) != 5 || float64(s.Launches)*1e-3 < 10e-3 || len(clock.runs) != 6 || clock.runs[0] != 3 {
		t.Errorf("%+v: %v", s, clock.runs)
	}
	// A run that is longer than a batch is a batch.
	if s, _ := take(t, r, 0.5, 0.4); s.Launches != 1 || s.Times[0] != 0.4 {
		t.Errorf("%+v", s)
	}
}

// A clear loser is dropped after one batch, a hopeless one before it, and a
// contender gets more batches until the intervals are apart.
func TestLosersAreDropped(t *testing.T) {
	r := Rule{Least: time.Millisecond, Batches: 7, Best: Interval{0.9e-3, 1.1e-3}}
	for _, test := range []struct {
		name    string
		first   float64
		each    []float64
		batches int
		early   bool
	}{
		{"hopeless", 500e-3, []float64{500e-3}, 0, true},
		{"hopeless, as another run says", 5e-3, []float64{5e-3}, 1, true},
		{"slow at first alone", 5e-3, []float64{1e-3, 1.0e-3, 1.25e-3, 1.05e-3, 1.2e-3, 1.0e-3, 1.2e-3, 1e-3}, 8,
			false},
		{"slower", 2e-3, []float64{2e-3}, 1, true},
		{"a little slower, and told apart", 1.2e-3, []float64{1.2e-3, 1.201e-3, 1.199e-3, 1.2e-3}, 3, true},
		{"a little slower, and not told apart", 1.2e-3, []float64{1.2e-3, 1.0e-3, 1.25e-3, 1.05e-3, 1.2e-3, 1.0e-3,
			1.2e-3}, 7, false},
		{"faster", 0.5e-3, []float64{0.5e-3}, 7, false},
	} {
		s, clock := take(t, r, test.first, test.each...)
		if len(clock.runs) != test.batches || s.Early != test.early {
			t.Errorf("%s: %d batches, early %v", test.name, len(clock.runs), s.Early)
		}
		if test.batches == 0 && s.Times[0] != test.first {
			t.Errorf("%s: %v", test.name, s.Times)
		}
	}
}

// What a short variant takes to begin does not make it hopeless: in a batch of several runs it counts less. A long
// batch tells that the variant is slow indeed.
func TestSlowBeginnings(t *testing.T) {
	r := Rule{Least: time.Millisecond, Batches: 7, Best: Interval{0.9e-5, 1.5e-5}}
	for _, test := range []struct {
		each    float64
		begin   float64 // of each batch
		early   bool
		batches []int
	}{
		{1.1e-5, 1e-4, false, []int{1, 2, 4}},
		{3.9e-4, 1e-4, true, []int{1, 2, 4}},
		{5e-3, 0, true, []int{1}},
	} {
		var runs []int
		s, err := r.take(3e-3+test.each, 1, func(n int) (float64, error) {
			runs = append(runs, n)
			return test.begin + float64(n)*test.each, nil
		})
		if err != nil || s.Early != test.early || len(runs) < len(test.batches) ||
			!slices.Equal(runs[:len(test.batches)], test.batches) || test.early && len(runs) != len(test.batches) {
			t.Errorf("%v a run and %v a batch: %+v of batches of %v, %v", test.each, test.begin, s, runs, err)
		}
	}
}

func TestNoBestYet(t *testing.T) {
	s, _ := take(t, Rule{Least: time.Millisecond, Batches: 4}, 1, 1)
	if len(s.Times) != 4 || math.Abs(Median(s.Times)-1) > 1e-12 {
		t.Errorf("%+v", s)
	}
}

func TestBatchesThatFail(t *testing.T) {
	why := errors.New("lost")
	_, err := Rule{Least: time.Millisecond, Batches: 4}.take(1, 1, func(int) (float64, error) { return 0, why })
	if err != why {
		t.Error(err)
	}
}

package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		x    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{8, 1, 3, 2}, 2.5}} {
		before := slices.Clone(test.x)
		if got := Median(test.x); got != test.want || !slices.Equal(test.x, before) {
			t.Errorf("%v: %v", test.x, got)
		}
	}
}

// The interval of the mean of 1, 2, 3, 4, 5 is 3 with 2.776 standard errors of
// the square root of a half on either side.
func TestMean(t *testing.T) {
	got := Mean([]float64{1, 2, 3, 4, 5})
	half := 2.776 * math.Sqrt(0.5)
	if math.Abs(got[0]-(3-half)) > 1e-12 || math.Abs(got[1]-(3+half)) > 1e-12 {
		t.Errorf("%v", got)
	}
	if got := Mean([]float64{7}); got != (Interval{7, 7}) {
		t.Errorf("%v", got)
	}
	// From 30 samples on the normal distribution takes its place.
	x := make([]float64, 30)
	for i := range x {
		x[i] = float64(i % 2)
	}
	if got, half := Mean(x), 1.96*math.Sqrt(0.25*30/29/30); math.Abs(got[1]-0.5-half) > 1e-12 {
		t.Errorf("%v, want %v on either side", got, half)
	}
}

// An interval of 95 % holds the true mean about 95 times out of 100.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 7, 29, 40} {
		inside := 0
		for range 4000 {
			x := make([]float64, n)
			for i := range x {
				x[i] = 10 + rng.NormFloat64()
			}
			if i := Mean(x); i[0] <= 10 && 10 <= i[1] {
				inside++
			}
		}
		if part := float64(inside) / 4000; math.Abs(part-0.95) > 0.015 {
			t.Errorf("%d samples: %.3f", n, part)
		}
	}
}

func TestUndisturbed(t *testing.T) {
	x := []float64{10, 10.1, 9.9, 35, 10.2, 9.8, 10}
	if got := Undisturbed(x); slices.Contains(got, 35) || len(got) != 6 {
		t.Errorf("%v", got)
	}
	// Two kinds of times are no disturbance.
	if x := []float64{1, 1, 1, 2, 2, 2, 2}; len(Undisturbed(x)) != len(x) {
		t.Errorf("%v", Undisturbed(x))
	}
	if x := []float64{1, 1, 100, 1}; len(Undisturbed(x)) != 4 {
		t.Error("four samples are too few to tell")
	}
}

func TestRatio(t *testing.T) {
	x, y := []float64{2, 4, 8}, []float64{1, 2, 4}
	if r, i := Ratio(x, y); math.Abs(r-2) > 1e-12 || math.Abs(i[0]-2) > 1e-9 || math.Abs(i[1]-2) > 1e-9 {
		t.Errorf("%v %v", r, i)
	}
	a, i := Ratio([]float64{1, 2, 3}, []float64{2, 2, 2})
	b, j := Ratio([]float64{2, 2, 2}, []float64{1, 2, 3})
	if math.Abs(a*b-1) > 1e-12 || math.Abs(i[0]*j[1]-1) > 1e-12 {
		t.Errorf("%v %v and %v %v", a, i, b, j)
	}
}

func TestApart(t *testing.T) {
	for _, test := range []struct {
		a, b Interval
		want bool
	}{
		{Interval{1, 2}, Interval{3, 4}, true}, {Interval{3, 4}, Interval{1, 2}, true},
		{Interval{1, 3}, Interval{3, 4}, false}, {Interval{1, 9}, Interval{3, 4}, false},
	} {
		if got := test.a.Apart(test.b); got != test.want {
			t.Errorf("%v and %v: %v", test.a, test.b, got)
		}
	}
}

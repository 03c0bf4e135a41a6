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

func TestWithoutOutliers(t *testing.T) {
	x := []float64{10, 10.1, 9.9, 35, 10.2, 9.8, 10}
	if got := WithoutOutliers(x); slices.Contains(got, 35) || len(got) != 6 {
		t.Errorf("%v", got)
	}
	// Two kinds of times are no disturbance.
	if x := []float64{1, 1, 1, 2, 2, 2, 2}; len(WithoutOutliers(x)) != len(x) {
		t.Errorf("%v", WithoutOutliers(x))
	}
	if x := []float64{1, 1, 100, 1}; len(WithoutOutliers(x)) != 4 {
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

// Typical's interval holds the true median about 95 times out of 100, also if one
// sample in four was disturbed: ratios of times are as likely to be too small as
// too large then.
func TestCoverageOfTypical(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, disturbed := range []float64{0, 0.1, 0.25} {
		for _, n := range []int{2, 3, 5, 7, 12, 25} {
			inside := 0
			for range 4000 {
				x := make([]float64, n)
				for i := range x {
					x[i] = 10 * math.Exp(0.05*rng.NormFloat64())
					if rng.Float64() < disturbed {
						x[i] *= math.Pow(1+2*rng.Float64(), float64(2*rng.IntN(2)-1))
					}
				}
				m, i := Typical(x)
				if !(0 < i[0] && i[0] <= m && m <= i[1]) {
					t.Fatalf("%v: %v, %v", x, m, i)
				}
				if i[0] <= 10 && 10 <= i[1] {
					inside++
				}
			}
			if part := float64(inside) / 4000; part < 0.93 {
				t.Errorf("%d samples, %g of them disturbed: %.3f", n, disturbed, part)
			}
		}
	}
}

// A median lies in its interval, and no interval begins at zero, however the
// samples scatter.
func TestTypical(t *testing.T) {
	for _, c := range []struct {
		x         []float64
		m, lo, hi float64 // 0: anything
	}{
		{[]float64{2}, 2, 2, 2},
		{[]float64{1, 4}, 2, 0, 0},
		{[]float64{1, 1, 100}, 1, 0, 0}, // the interval of the mean reaches far below zero
		{[]float64{1, 1, 1, 1, 1, 1, 9, 9, 9}, 1, 0, 0},
		{[]float64{3, 3, 3, 3, 3, 3, 50}, 3, 3, 3}, // one was disturbed
	} {
		m, i := Typical(c.x)
		if math.Abs(m-c.m) > 1e-12 || !(0 < i[0] && i[0] <= m*(1+1e-12) && m <= i[1]*(1+1e-12)) {
			t.Errorf("%v: %v, %v", c.x, m, i)
		}
		if c.lo > 0 && (math.Abs(i[0]-c.lo) > 1e-9 || math.Abs(i[1]-c.hi) > 1e-9) {
			t.Errorf("%v: %v", c.x, i)
		}
		if s := slices.Sorted(slices.Values(c.x)); len(s) > 5 && (i[0] < s[0] || i[1] > s[len(s)-1]) {
			t.Errorf("%v: %v goes beyond all samples", c.x, i)
		}
	}
	if m, i := Typical(nil); m == m || i[0] == i[0] {
		t.Errorf("%v %v of nothing", m, i)
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

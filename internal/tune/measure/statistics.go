package measure

import (
	"fmt"
	"math"
	"slices"
)

// Median returns the middle of a non-empty sample.
func Median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// student975 are the 97.5 % quantiles of Student's t distribution for 1, 2, 3
// and so on degrees of freedom (W. S. Gosset, "The Probable Error of a Mean",
// Biometrika 6 (1908) 1-25).
var student975 = []float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045,
}

// normal975 is that quantile of the normal distribution, which takes the place
// of Student's from 30 samples on (Cummins et al. 2018, section 2.6).
const normal975 = 1.960

// Interval is a range that holds a true value with 95 % confidence.
type Interval [2]float64

// Mean returns the interval of the mean of samples that scatter normally. A
// single sample tells nothing about its scatter: its interval is the sample
// alone.
func Mean(x []float64) Interval {
	n := float64(len(x))
	mean := 0.0
	for _, v := range x {
		mean += v / n
	}
	if len(x) < 2 {
		return Interval{mean, mean}
	}
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	t := normal975
	if len(x) < 30 {
		t = student975[len(x)-2]
	}
	half := t * math.Sqrt(squares/(n-1)/n)
	return Interval{mean - half, mean + half}
}

// Middle returns the middle of the interval.
func (a Interval) Middle() float64 { return (a[0] + a[1]) / 2 }

// Apart reports whether two intervals have no value in common.
func (a Interval) Apart(b Interval) bool { return a[0] > b[1] || b[0] > a[1] }

// String prints the ends.
func (a Interval) String() string { return fmt.Sprintf("%.4g to %.4g", a[0], a[1]) }

// Ratio returns x[i] / y[i], of samples that were taken side by side, with its
// interval, by logarithms: a ratio is as likely to be twice as half.
func Ratio(x, y []float64) (float64, Interval) {
	var logs []float64
	for i := range min(len(x), len(y)) {
		logs = append(logs, math.Log(x[i]/y[i]))
	}
	if len(logs) == 0 {
		return math.NaN(), Interval{math.NaN(), math.NaN()}
	}
	m := Mean(Undisturbed(logs))
	return math.Exp(m.Middle()), Interval{math.Exp(m[0]), math.Exp(m[1])}
}

// disturbed is how many median absolute deviations from the median a sample
// lies that something else has had a part in: five of them are more than three
// standard deviations of a normal distribution.
const disturbed = 5

// Undisturbed returns the samples but for those that lie far from the others:
// interrupts and other programs make a batch much longer now and then, and
// Student's t is for samples that scatter normally. No more than a third of
// them is left out.
func Undisturbed(x []float64) []float64 {
	if len(x) < 5 {
		return x
	}
	middle := Median(x)
	var apart []float64
	for _, v := range x {
		apart = append(apart, math.Abs(v-middle))
	}
	limit := disturbed * Median(apart)
	var kept []float64
	for _, v := range x {
		if math.Abs(v-middle) <= limit {
			kept = append(kept, v)
		}
	}
	if 3*len(kept) < 2*len(x) {
		return x
	}
	return kept
}

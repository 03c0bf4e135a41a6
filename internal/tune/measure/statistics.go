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

// Middle returns the geometric middle of an interval of positive numbers.
func (a Interval) Middle() float64 { return math.Sqrt(a[0] * a[1]) }

// Apart reports whether two intervals have no value in common.
func (a Interval) Apart(b Interval) bool { return a[0] > b[1] || b[0] > a[1] }

// String prints the ends.
func (a Interval) String() string { return fmt.Sprintf("%.4g to %.4g", a[0], a[1]) }

// Typical returns the median of positive samples, and its 95 % interval. The
// median is the geometric mean of the two middle samples if their number is even:
// a time is as likely to be twice as half.
//
// The interval is Student's, of the logarithms, around the median. From six
// samples on it goes no further than the samples do, which hold the true median
// between them 97 times out of 100 whatever the distribution is: where many are
// disturbed, Student's says next to nothing. It always holds the median, and never
// reaches zero. A single sample tells nothing about its scatter: its interval is
// the sample alone.
func Typical(x []float64) (float64, Interval) {
	n := len(x)
	if n == 0 {
		return math.NaN(), Interval{math.NaN(), math.NaN()}
	}
	logs := make([]float64, n)
	for i, v := range x {
		logs[i] = math.Log(v)
	}
	s := slices.Sorted(slices.Values(x))
	middle := s[n/2]
	if n%2 == 0 {
		middle = math.Sqrt(middle * s[n/2-1])
	}
	mean := Mean(WithoutOutliers(logs))
	factor := math.Exp(medianError * (mean[1] - mean[0]) / 2)
	i := Interval{middle / factor, middle * factor}
	if n >= 6 {
		i[0], i[1] = max(i[0], s[0]), min(i[1], s[n-1])
	}
	return middle, i
}

// medianError is the standard error of a median over that of a mean, for samples
// that scatter normally: the root of pi/2, and a little more, since WithoutOutliers
// also leaves out some that nothing has disturbed. With it 93 to 98 % of all
// intervals hold the true median.
const medianError = 1.35

// Ratio returns the median of x[i] / y[i], of samples that were taken side by
// side, with its interval.
func Ratio(x, y []float64) (float64, Interval) {
	ratios := make([]float64, min(len(x), len(y)))
	for i := range ratios {
		ratios[i] = x[i] / y[i]
	}
	return Typical(ratios)
}

// outlierFactor is the distance of outliers from the median, in median absolute deviations. Five of them are
// more than three standard deviations of a normal distribution.
const outlierFactor = 5

// WithoutOutliers returns the samples without outliers. Interrupts and other programs make a batch much
// longer now and then, and Student's t is for samples that scatter normally. At most a third is left out.
func WithoutOutliers(x []float64) []float64 {
	if len(x) < 5 {
		return x
	}
	middle := Median(x)
	var apart []float64
	for _, v := range x {
		apart = append(apart, math.Abs(v-middle))
	}
	limit := outlierFactor * Median(apart)
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

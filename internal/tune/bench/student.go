package bench

import (
	"fmt"
	"math"
)

// student975 are the 97.5 % quantiles of Student's t distribution for 1, 2, 3
// and so on degrees of freedom (W. S. Gosset, "The Probable Error of a Mean",
// Biometrika 6 (1908) 1-25).
var student975 = []float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
}

// Interval is a range that holds a true value with 95 % confidence.
type Interval [2]float64

// meanInterval returns the interval of the mean of samples that scatter
// normally. A single sample tells nothing about its scatter: its interval is
// the sample alone.
func meanInterval(x []float64) Interval {
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
	t := student975[min(len(x)-2, len(student975)-1)]
	half := t * math.Sqrt(squares/(n-1)/n)
	return Interval{mean - half, mean + half}
}

// String prints the ends.
func (a Interval) String() string { return fmt.Sprintf("%.1f to %.1f", a[0], a[1]) }

// apart reports whether two intervals have no value in common.
func (a Interval) apart(b Interval) bool { return a[0] > b[1] || b[0] > a[1] }

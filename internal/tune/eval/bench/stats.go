package bench

import (
	"math"
	"slices"
)

// median returns the middle of a non-empty sample.
func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// medianInterval returns a confidence interval of at least 95 % for the
// median, from order statistics: the binomial distribution of the number of
// samples below it needs no assumption on their shape.
func medianInterval(x []float64) (low, high float64) {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	// The largest k with P(B <= k-1) <= 0.025 for B ~ Bin(n, 1/2).
	k := 0
	tail := math.Pow(0.5, float64(n))
	term := tail
	for tail <= 0.025 && k < n/2 {
		k++
		term *= float64(n-k+1) / float64(k)
		tail += term
	}
	k = max(k-1, 0)
	return s[k], s[n-1-k]
}

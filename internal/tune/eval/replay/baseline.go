package replay

import (
	"fmt"
	"math"
	"slices"
)

// The constants of the methodology.
const (
	windowFrom = 0.01 // part of the way from median to best that random search has gone when the window begins
	windowTo   = 0.95 // and when it ends
	points     = 1000 // in the window
	margin     = 1.1  // of the budget over the end of the window
)

// Baseline is what random search is expected to find in a space, by time. Strategies are compared with it.
type Baseline struct {
	worstFirst []float64 // the times of the valid configurations
	mean       float64   // cost of an evaluation, in seconds
	median     float64   // likewise
	middle     float64   // the median of the times
	window     []float64 // the points in time
	random     []float64 // what random search is expected to have at each of them
}

// NewBaseline computes the baseline of a recording. It is an error if random search finds the best at once.
func NewBaseline(r *Recording) (*Baseline, error) {
	y := &Baseline{}
	var costs []float64
	for i := range r.Trials {
		t := &r.Trials[i]
		costs = append(costs, t.Cost.Total())
		if t.Failure == "" {
			y.worstFirst = append(y.worstFirst, t.Seconds)
		}
	}
	if n := len(y.worstFirst); n < 2 {
		return nil, fmt.Errorf("%d valid configuration: there is nothing to search", n)
	}
	slices.Sort(y.worstFirst)
	slices.Reverse(y.worstFirst)
	if y.Best() == y.Median() {
		return nil, fmt.Errorf(
			"at least half of the %d valid configurations are as fast as the best: there is nothing to search",
			len(y.worstFirst))
	}
	y.median, y.middle = middle(costs), y.Median()
	for _, c := range costs {
		y.mean += c / float64(len(costs))
	}
	if y.median <= 0 {
		return nil, fmt.Errorf(
			"the recording says nothing of what an evaluation takes (compile, run and other times are all 0)")
	}
	from, to := y.Time(windowFrom), y.Time(windowTo)
	if from >= to {
		return nil, fmt.Errorf(
			"random search finds the best of the %d valid configurations at once: there is nothing to search",
			len(y.worstFirst))
	}
	for i := range points {
		at := from + (to-from)*float64(i)/(points-1)
		y.window = append(y.window, at)
		y.random = append(y.random, y.Random(at))
	}
	return y, nil
}

// middle returns the median.
func middle(list []float64) float64 {
	s := slices.Sorted(slices.Values(list))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Best returns the least time.
func (y *Baseline) Best() float64 { return y.worstFirst[len(y.worstFirst)-1] }

// Median returns the median time.
func (y *Baseline) Median() float64 { return middle(y.worstFirst) }

// Evaluations returns how many evaluations random search needs, as expected, to
// go the share p of the way from the median to the best.
func (y *Baseline) Evaluations(p float64) int {
	n := len(y.worstFirst)
	v := y.Best() + (y.Median()-y.Best())*(1-p)
	i := slices.IndexFunc(y.worstFirst, func(x float64) bool { return x <= v })
	if y.worstFirst[i] == y.Best() && p < 1 && i > 0 {
		i--
	}
	return int(math.Ceil(float64(i) / float64(n+1-i)))
}

// Time returns when random search has gone the share p of the way.
func (y *Baseline) Time(p float64) float64 { return float64(y.Evaluations(p)) * y.median }

// Budget returns the time that a strategy gets.
func (y *Baseline) Budget() float64 { return margin * y.Time(windowTo) }

// Random returns the best that random search is expected to have at a time.
func (y *Baseline) Random(t float64) float64 {
	n := len(y.worstFirst)
	m := max(1, math.Round(t/y.mean))
	i := math.Round(m * float64(n+1) / (m + 1))
	return y.worstFirst[min(n-1, int(i))]
}

// rank returns how many valid configurations are faster.
func (y *Baseline) rank(seconds float64) int {
	n := len(y.worstFirst)
	at, _ := slices.BinarySearchFunc(y.worstFirst, seconds, func(x, t float64) int {
		if x >= t { // what is as fast stands on the left
			return -1
		}
		return 1
	})
	return n - at
}

// value returns the time of the configuration of a rank.
func (y *Baseline) value(rank float64) float64 {
	n := len(y.worstFirst)
	return y.worstFirst[n-1-min(n-1, max(0, int(math.RoundToEven(rank))))]
}

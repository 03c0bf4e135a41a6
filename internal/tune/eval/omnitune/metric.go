package omnitune

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// metric is a figure of picks: a statistic of a number that each has, or some.
type metric struct {
	name string
	of   func(Pick) (float64, bool)
	statistic
}

// The names of metrics that are asked for elsewhere.
const (
	speedMetric    = "speed"
	baselineMetric = "speed-up over 4x4"
	humanMetric    = "speed-up over 32x4"
	runsMetric     = "sizes run"
)

// metrics are those of section 7.4 of Cummins et al. Which sizes are refused is not among them: of these scenarios it
// is only known which were run.
var metrics = []metric{
	{speedMetric, speed, mean},
	{"speed, geometric mean", speed, geometricMean},
	{"speed, median", speed, quantile(0.5)},
	{"speed, least", speed, quantile(0)},
	{"accuracy", share(func(p Pick) bool { return p.Speed() == 1 }), mean},
	{"validity", share(func(p Pick) bool { return !p.Fallback }), mean},
	{baselineMetric, over(baseline), geometricMean},
	{"speed-up over 4x4 where a fallback picked", fallbackOver(baseline), geometricMean},
	{humanMetric, over(human), geometricMean},
	{"speed-up over 32x4, lower quartile", over(human), quantile(0.25)},
	{"speed-up over 32x4, median", over(human), quantile(0.5)},
	{"speed-up over 32x4, upper quartile", over(human), quantile(0.75)},
	{runsMetric, func(p Pick) (float64, bool) { return float64(p.Runs), p.Runs > 0 }, mean},
}

func speed(p Pick) (float64, bool) { return p.Speed(), true }

func share(is func(Pick) bool) func(Pick) (float64, bool) {
	return func(p Pick) (float64, bool) {
		if is(p) {
			return 1, true
		}
		return 0, true
	}
}

// over is how much faster a pick is than a size, where that was run.
func over(base Size) func(Pick) (float64, bool) {
	return func(p Pick) (float64, bool) { return p.Scenario.over(base, p.Size) }
}

func fallbackOver(base Size) func(Pick) (float64, bool) {
	return func(p Pick) (float64, bool) {
		v, ok := p.Scenario.over(base, p.Size)
		return v, ok && p.Fallback
	}
}

// statistic is a figure of numbers in ascending order that count so many times each.
type statistic func(numbers, times []float64) float64

func mean(numbers, times []float64) float64 {
	sum, n := 0.0, 0.0
	for i, x := range numbers {
		sum, n = sum+times[i]*x, n+times[i]
	}
	return sum / n
}

func geometricMean(numbers, times []float64) float64 {
	sum, n := 0.0, 0.0
	for i, x := range numbers {
		sum, n = sum+times[i]*math.Log(x), n+times[i]
	}
	return math.Exp(sum / n)
}

// quantile is the first number up to which there is such a part of all.
func quantile(part float64) statistic {
	return func(numbers, times []float64) float64 {
		all := 0.0
		for _, n := range times {
			all += n
		}
		n := 0.0
		for i, x := range numbers {
			if n += times[i]; n > 0 && n >= part*all {
				return x
			}
		}
		return math.NaN()
	}
}

// sample are the numbers that picks have, in order.
type sample struct {
	statistic
	numbers []float64
	groups  []int // of each number
}

// sampled returns the numbers of picks. Groups have numbers of their own.
func (m metric) sampled(picks []Pick, groups map[string]int) sample {
	s := sample{statistic: m.statistic}
	var places []int
	for i, p := range picks {
		if _, ok := m.of(p); ok {
			places = append(places, i)
		}
	}
	value := func(i int) float64 {
		v, _ := m.of(picks[i])
		return v
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
	for _, i := range places {
		s.numbers, s.groups = append(s.numbers, value(i)), append(s.groups, groups[picks[i].Group])
	}
	return s
}

// value is the statistic with each group counted so many times.
func (s sample) value(times []float64) float64 {
	each := make([]float64, len(s.numbers))
	for i, g := range s.groups {
		each[i] = times[g]
	}
	return s.statistic(s.numbers, each)
}

// numbered gives each group of picks a number.
func numbered(picks []Pick) map[string]int {
	groups := map[string]int{}
	for _, p := range picks {
		if _, known := groups[p.Group]; !known {
			groups[p.Group] = len(groups)
		}
	}
	return groups
}

const draws, drawSeed = 2000, 1

// interval is the 95 % interval of a figure, of groups drawn anew with replacement: scenarios of a group are no
// evidence of their own. Draws that have no figure do not count.
func interval(groups int, of func(times []float64) float64) (low, high float64) {
	r := rand.New(rand.NewPCG(drawSeed, 0))
	var list []float64
	for range draws {
		times := make([]float64, groups)
		for range groups {
			times[r.IntN(groups)]++
		}
		if v := of(times); !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(list)
	return list[len(list)*25/1000], list[len(list)*975/1000]
}

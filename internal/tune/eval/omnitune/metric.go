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
	validityMetric = "validity"
	refusedMetric  = "sizes refused"
	runsMetric     = "sizes run"
)

// metrics are those of section 7.4 of Cummins et al.
var metrics = metricsOver("4x4", baseline, "32x4", human)

// metricsOf are the metrics of a suite's scenarios.
func metricsOf(s *Suite) []metric {
	base, expert := s.references()
	if base == baseline && expert == human {
		return metrics
	}
	return metricsOver("the baseline", base, "the default", expert)
}

// metricNames are those of all suites, in order.
func metricNames() []string {
	var list []string
	for _, m := range slices.Concat(metrics, metricsOver("the baseline", baseline, "the default", human)) {
		if !slices.Contains(list, m.name) {
			list = append(list, m.name)
		}
	}
	return list
}

// metricsOver are the metrics with speed-ups over two sizes, by what they are called.
func metricsOver(base string, baseSize Size, expert string, expertSize Size) []metric {
	base, expert = "speed-up over "+base, "speed-up over "+expert
	return []metric{
		{speedMetric, speed, mean},
		{"speed, geometric mean", speed, geometricMean},
		{"speed, median", speed, quantile(0.5)},
		{"speed, least", speed, quantile(0)},
		{"accuracy", share(func(p Pick) bool { return p.Speed() == 1 }), mean},
		{validityMetric, validity, mean},
		{refusedMetric, func(p Pick) (float64, bool) { return float64(p.Refused), p.Scenario.Judged }, mean},
		{"speed where a fallback picked", fallbackSpeed, mean},
		{base, over(baseSize), geometricMean},
		{base + " where a fallback picked", fallbackOver(baseSize), geometricMean},
		{expert, over(expertSize), geometricMean},
		{expert + ", lower quartile", over(expertSize), quantile(0.25)},
		{expert + ", median", over(expertSize), quantile(0.5)},
		{expert + ", upper quartile", over(expertSize), quantile(0.75)},
		{runsMetric, func(p Pick) (float64, bool) { return float64(p.Runs), p.Runs > 0 }, mean},
	}
}

// validity is whether the first size that was asked for is legal. Where it is not known which sizes are refused, it is
// whether the size was run: models that choose among those alone have none.
func validity(p Pick) (float64, bool) {
	if p.Scenario.Judged {
		v, _ := share(func(p Pick) bool { return p.Refused == 0 })(p)
		return v, !p.Unknown
	}
	v, _ := share(func(p Pick) bool { return !p.Fallback })(p)
	return v, p.Open
}

// fallbackSpeed is the speed of what a fallback picked, where it is known what is refused.
func fallbackSpeed(p Pick) (float64, bool) { return p.Speed(), p.Scenario.Judged && p.Fallback }

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

package learning

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/measure"
)

// groups are kernels by what they have in common: their stencil. Means are over groups, of the means of their kernels.
type groups struct {
	names []string
	of    map[string][]int // kernels
}

// newGroups groups kernels by the names of their groups.
func newGroups(names []string) *groups {
	g := &groups{of: map[string][]int{}}
	for k, name := range names {
		if g.of[name] == nil {
			g.names = append(g.names, name)
		}
		g.of[name] = append(g.of[name], k)
	}
	return g
}

// mean is that of scaled values, each group counted so many times; nil is once.
func (g *groups) mean(values []float64, times []int) float64 {
	total, n := 0.0, 0.0
	for i, name := range g.names {
		own := 0.0
		for _, k := range g.of[name] {
			own += values[k] / float64(len(g.of[name]))
		}
		x := 1.0
		if times != nil {
			x = float64(times[i])
		}
		total, n = total+x*own, n+x
	}
	return total / n
}

// draws is how often groups are drawn anew for an interval.
const draws = 2000

// drawn calls with how often each group is drawn, as many groups as there are, again and again.
func (g *groups) drawn(call func(times []int)) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range draws {
		times := make([]int, len(g.names))
		for range g.names {
			times[draw.IntN(len(times))]++
		}
		call(times)
	}
}

// gain is how much larger the mean of some scaled values is than that of others, with its paired 95 % interval.
func (g *groups) gain(values, over []float64, geometric bool) (value, low, high float64) {
	more := func(times []int) float64 {
		return unscale(g.mean(values, times), geometric) - unscale(g.mean(over, times), geometric)
	}
	var list []float64
	g.drawn(func(times []int) { list = append(list, more(times)) })
	low, high = ends(list)
	return rounded(more(nil)), rounded(low), rounded(high)
}

// sumUp returns the figures of scaled values of kernels, of which fewer or more are better.
func sumUp(values []float64, names []string, geometric, fewer bool) Row {
	g := newGroups(names)
	var means []float64
	g.drawn(func(times []int) { means = append(means, unscale(g.mean(values, times), geometric)) })
	r := Row{Value: rounded(unscale(g.mean(values, nil), geometric)), Groups: len(g.names), Kernels: len(values)}
	low, high := ends(means)
	r.Low, r.High = rounded(low), rounded(high)
	r.Median, r.Worst = middle(values, geometric, fewer)
	return r
}

// middle returns the median of values that are given scaled, and the worst.
func middle(scaled []float64, geometric, fewer bool) (median, worst float64) {
	var list []float64
	for _, x := range scaled {
		list = append(list, unscale(x, geometric)) // else the mean of the two in the middle would be a geometric one
	}
	worst = slices.Min(list)
	if fewer {
		worst = slices.Max(list)
	}
	return rounded(measure.Median(list)), rounded(worst)
}

// ends returns the interval that 95 % of values lie in.
func ends(values []float64) (low, high float64) {
	slices.Sort(values)
	n := float64(len(values) - 1)
	return values[int(math.Round(0.025*n))], values[int(math.Round(0.975*n))]
}

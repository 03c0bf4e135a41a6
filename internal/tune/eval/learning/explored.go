package learning

import (
	"math"
	"slices"
	"strconv"
)

// partsOfBest are the parts of the best speed that the runs and the time of an exploration are counted to.
var partsOfBest = []float64{0.9, 0.95, 0.99}

// looks are after how many runs the best until then is looked at.
var looks = []int{1, 2, 3, 5, 10, 20, 50}

// Reached is what it takes until a variant has a part of the best speed. Random orders are of the same variants, none
// of which is drawn twice, and their figures are means over all orders.
type Reached struct {
	Part    float64 `json:"part"`           // of the best variant's speed
	Runs    float64 `json:"runs"`           // that one included
	Random  float64 `json:"random_runs"`    // in random orders
	Seconds float64 `json:"seconds"`        // that compiling them and running each once takes
	Slow    float64 `json:"random_seconds"` // in random orders

	// Of these seconds, what the kernels run.
	Kernels     float64 `json:"kernel_seconds"`
	SlowKernels float64 `json:"random_kernel_seconds"`
}

// Look is what the fastest of some first runs has of the best speed.
type Look struct {
	Runs   int     `json:"runs"`
	Share  float64 `json:"share"`
	Random float64 `json:"random_share"` // in random orders
}

// costs are what a kernel's candidates take in the order of a model: the times of compiling them, and of a run.
type costs struct{ compile, run []float64 }

// reached says what it takes to come to a part of the best.
func (j *judged) reached(c costs, part float64) Reached {
	near := make([]bool, len(j.fraction))
	ones, both := make([]float64, len(near)), make([]float64, len(near))
	for i, f := range j.fraction {
		near[i], ones[i], both[i] = f >= part*j.best, 1, c.compile[i]+c.run[i]
	}
	return Reached{
		Part: part, Runs: until(near, ones), Random: rounded(untilAtRandom(near, ones)),
		Seconds: digits(until(near, both)), Slow: digits(untilAtRandom(near, both)),
		Kernels: digits(until(near, c.run)), SlowKernels: digits(untilAtRandom(near, c.run)),
	}
}

// until adds up what candidates cost in their order, to the first near one.
func until(near []bool, costs []float64) float64 {
	total := 0.0
	for _, c := range costs[:1+slices.Index(near, true)] {
		total += c
	}
	return total
}

// untilAtRandom is the mean of that over all orders. The near one that comes first is any of them, and each other
// candidate comes before all near ones in one of so many orders as there are near ones, and it.
func untilAtRandom(near []bool, costs []float64) float64 {
	var good, of, others float64
	for i, c := range costs {
		if near[i] {
			good, of = good+1, of+c
		} else {
			others += c
		}
	}
	return of/good + others/(good+1)
}

// look says what the fastest of the first runs has of the best; where there are fewer, of all.
func (j *judged) look(runs int) Look {
	return Look{
		Runs: runs, Share: rounded(slices.Max(j.fraction[:min(runs, len(j.fraction))]) / j.best),
		Random: rounded(fastestAtRandom(j.fraction, runs) / j.best),
	}
}

// fastestAtRandom is the mean of the largest of some fractions that are drawn, none of them twice. The k-th largest is
// that if it is drawn and those before it are not.
func fastestAtRandom(fractions []float64, drawn int) float64 {
	falling := slices.Sorted(slices.Values(fractions))
	slices.Reverse(falling)
	n := len(falling)
	drawn = min(drawn, n)
	chance, mean := float64(drawn)/float64(n), 0.0
	for k, f := range falling[:n-drawn+1] {
		mean += chance * f
		chance *= float64(n-k-drawn) / max(1, float64(n-k-1))
	}
	return mean
}

// digits rounds a number to four digits.
func digits(x float64) float64 {
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64)
	return x
}

// ReachedMean sums up over programs what it takes until a variant has a part of the best speed. Means are over programs
// of the means over their types and sizes; intervals hold 95 % where programs are drawn anew.
type ReachedMean struct {
	Part    float64 `json:"part"`
	Runs    float64 `json:"runs"`
	Low     float64 `json:"runs_low"`
	High    float64 `json:"runs_high"`
	Median  float64 `json:"median_runs"` // of programs in each type and size, and the most
	Most    float64 `json:"most_runs"`
	Random  float64 `json:"random_runs"`
	Seconds float64 `json:"seconds"`
	Slow    float64 `json:"random_seconds"`

	Kernels     float64 `json:"kernel_seconds"`
	SlowKernels float64 `json:"random_kernel_seconds"`

	// By what random orders take more: geometric means.
	Fewer     Factor `json:"fewer_runs"`
	Sooner    Factor `json:"less_time"`
	LessToRun Factor `json:"less_kernel_time"`
}

// Factor is a geometric mean with its interval.
type Factor struct {
	By   float64 `json:"by"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// LookMean is the mean of what the fastest of some first runs has, with its interval.
type LookMean struct {
	Look
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// sumReached sums up one part of some programs, of the groups that names tell.
func sumReached(list []Reached, names []string) ReachedMean {
	var of [6][]float64
	var runs, seconds, kernels []float64 // logarithms of factors
	for _, r := range list {
		for i, x := range []float64{r.Runs, r.Random, r.Seconds, r.Slow, r.Kernels, r.SlowKernels} {
			of[i] = append(of[i], x)
		}
		runs = append(runs, math.Log(r.Random/r.Runs))
		seconds = append(seconds, math.Log(r.Slow/r.Seconds))
		kernels = append(kernels, math.Log(r.SlowKernels/r.Kernels))
	}
	g := newGroups(names)
	mean := func(i int) float64 { return digits(g.mean(of[i], nil)) }
	s := sumUp(of[0], names, false, true)
	return ReachedMean{
		Part: list[0].Part, Runs: s.Value, Low: s.Low, High: s.High, Median: s.Median, Most: s.Worst,
		Random: rounded(g.mean(of[1], nil)), Seconds: mean(2), Slow: mean(3), Kernels: mean(4), SlowKernels: mean(5),
		Fewer: factor(runs, names), Sooner: factor(seconds, names), LessToRun: factor(kernels, names),
	}
}

// factor is the geometric mean of factors by their logarithms.
func factor(logarithms []float64, names []string) Factor {
	r := sumUp(logarithms, names, true, false)
	return Factor{r.Value, r.Low, r.High}
}

// sumLooks sums up looks after the same number of runs.
func sumLooks(list []Look, names []string) LookMean {
	var share, random []float64
	for _, l := range list {
		share, random = append(share, l.Share), append(random, l.Random)
	}
	s := sumUp(share, names, false, false)
	return LookMean{
		Look: Look{list[0].Runs, s.Value, rounded(newGroups(names).mean(random, nil))}, Low: s.Low, High: s.High,
	}
}

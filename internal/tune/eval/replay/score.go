package replay

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// Score says how good a strategy is on a space: 0 is random search, 1 is having
// the optimum at once.
type Score struct {
	Score float64
	// Low and High bound the score with a confidence of 95 %, by bootstrap over
	// the runs.
	Low, High float64
	// Curve is the score at each point of the window.
	Curve []float64
	// Trials and Own are means over the runs: configurations tried, and the
	// strategy's own time in seconds.
	Trials, Own float64

	resampled []float64 // the scores of the bootstrap, in its order
	least     int       // runs, of the space that has the fewest
}

// Options of a scoring.
type Options struct {
	Seeds int
	// Clock starts a clock of the strategy's own time; nil lets none pass.
	Clock func() Clock
}

// resamples is the number of resamplings for the interval.
const resamples = 1000

// Evaluate runs a strategy on a recorded space with seeds 1 to o.Seeds and
// scores it.
func Evaluate(ctx context.Context, r *Recording, make Maker, o Options) (*Score, error) {
	if o.Seeds < 1 {
		return nil, fmt.Errorf("%d seeds; at least one is needed", o.Seeds)
	}
	y, err := NewBaseline(r)
	if err != nil {
		return nil, err
	}
	runs := slices.Repeat([]Run{{}}, o.Seeds)
	if err := searchAll(ctx, NewSpace(r), make, runs, y.Budget(), o.Clock); err != nil {
		return nil, err
	}
	return y.score(r, runs), nil
}

// score compares runs with random search.
func (y *Baseline) score(r *Recording, runs []Run) *Score {
	p := y.pool(r, runs)
	s := &Score{Curve: y.curve(p.fit(nil))}
	s.Score = mean(s.Curve)
	for _, run := range runs {
		s.Trials += float64(len(run.Steps)) / float64(len(runs))
		s.Own += run.Own / float64(len(runs))
	}
	// Spaces are resampled apart: their runs have seeds in common and nothing else.
	rng := rand.New(rand.NewPCG(1, seedOf(r.Name)))
	for range resamples {
		weights := slices.Repeat([]float64{0}, len(runs))
		for range runs {
			weights[rng.IntN(len(runs))]++
		}
		s.resampled = append(s.resampled, mean(y.curve(p.fit(weights))))
	}
	s.least = len(runs)
	s.Low, s.High = interval(s.Score, s.resampled, len(runs))
	return s
}

// seedOf is a number that a name has.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// interval returns the bounds of a score of n runs with a confidence of 95 %.
//
// The middle 95 % of the bootstrap are too narrow (Hesterberg 2015): resamples of n
// runs vary by (n-1)/n of what samples do, and the variance that they show is itself
// a guess, which for a mean makes Student's t of the normal distribution. Wider
// quantiles make up for both. The score is no mean, but steeper towards what is
// bad: a run of many that is caught costs more than others gain. So samples without
// one such run lie too high, and their bootstrap cannot know. What is symmetric
// around the score holds for that: each bound is the farther of the bootstrap's and of
// its mirror image.
func interval(score float64, resampled []float64, n int) (low, high float64) {
	s := slices.Sorted(slices.Values(resampled))
	tail := 0.025
	if n > 1 {
		wide := student(n-1) * math.Sqrt(float64(n)/float64(n-1))
		tail = math.Erfc(wide/math.Sqrt2) / 2
	}
	last := float64(len(s) - 1)
	low, high = s[int(math.Round(tail*last))], s[int(math.Round((1-tail)*last))]
	return min(low, 2*score-high), max(high, 2*score-low)
}

// student returns the 0.975 quantile of Student's t distribution, by the series of
// Cornish and Fisher, which is right to a hundredth part from three degrees of freedom on.
func student(degrees int) float64 {
	const z = 1.959964
	z3, z5, z7 := z*z*z, z*z*z*z*z, z*z*z*z*z*z*z
	d := float64(degrees)
	switch degrees {
	case 1:
		return 12.706
	case 2:
		return 4.303
	}
	return z + (z3+z)/(4*d) + (5*z5+16*z3+3*z)/(96*d*d) + (3*z7+19*z5+17*z3-15*z)/(384*d*d*d)
}

func mean(list []float64) float64 {
	total := 0.0
	for _, x := range list {
		total += x
	}
	return total / float64(len(list))
}

// Mean returns the score over several spaces: the mean over spaces at each
// point of their windows, then over the points. The bootstrap resamples the runs
// of each space.
func Mean(scores []*Score) *Score {
	m := &Score{Curve: slices.Repeat([]float64{0}, points), resampled: slices.Repeat([]float64{0}, resamples)}
	n := float64(len(scores))
	m.least = math.MaxInt
	for _, s := range scores {
		m.least = min(m.least, s.least)
		for i, x := range s.Curve {
			m.Curve[i] += x / n
		}
		for i, x := range s.resampled {
			m.resampled[i] += x / n
		}
		m.Trials += s.Trials / n
		m.Own += s.Own / n
	}
	m.Score = mean(m.Curve)
	m.Low, m.High = interval(m.Score, m.resampled, m.least)
	return m
}

// pool is what all runs had at what time, in the order of time.
type pool []sample

// sample is a moment of a run and the rank of the best that it had.
type sample struct {
	time, rank float64
	run        int
}

// pool collects the runs' moments. A run that ended before its budget keeps what
// it had.
func (y *Baseline) pool(r *Recording, runs []Run) pool {
	var p pool
	for i, run := range runs {
		best := math.Inf(1)
		for _, step := range run.Steps {
			if t := &r.Trials[step.Trial]; t.Failure == "" {
				best = min(best, t.Seconds)
			}
			if !math.IsInf(best, 1) {
				p = append(p, sample{step.Time, float64(y.rank(best)), i})
			}
		}
		if math.IsInf(best, 1) {
			best = y.worstFirst[0] // nothing was found
		}
		if n := len(run.Steps); n == 0 || run.Steps[n-1].Time < y.Budget() {
			p = append(p, sample{y.Budget(), float64(y.rank(best)), i})
		}
	}
	slices.SortStableFunc(p, func(a, b sample) int {
		switch {
		case a.time < b.time:
			return -1
		case a.time > b.time:
			return 1
		}
		return 0
	})
	return p
}

// block is a stretch of time with one rank.
type block struct {
	from, to     float64
	rank, weight float64
}

// fit returns the isotonic regression of ranks on time: the ranks that never
// grow with time and are nearest to the samples. Weights are by run; nil
// weighs all alike.
func (p pool) fit(weights []float64) []block {
	var out []block
	for _, s := range p {
		w := 1.0
		if weights != nil {
			w = weights[s.run]
		}
		if w == 0 {
			continue
		}
		b := block{s.time, s.time, s.rank, w}
		for n := len(out); n > 0 && (out[n-1].rank <= b.rank || out[n-1].to == b.from); n = len(out) {
			a := out[n-1]
			total := a.weight + b.weight
			b = block{a.from, b.to, (a.rank*a.weight + b.rank*b.weight) / total, total}
			out = out[:n-1]
		}
		out = append(out, b)
	}
	return out
}

// curve returns how much better than random search the fitted ranks are at each
// point of the window. Between two blocks ranks are interpolated.
func (y *Baseline) curve(fit []block) []float64 {
	out := slices.Repeat([]float64{0}, len(y.window))
	at := 0
	for i, t := range y.window {
		for at+1 < len(fit) && fit[at+1].from <= t {
			at++
		}
		rank := fit[at].rank
		if t > fit[at].to && at+1 < len(fit) {
			next := fit[at+1]
			rank += (next.rank - rank) * (t - fit[at].to) / (next.from - fit[at].to)
		}
		out[i] = y.better(y.value(rank), y.random[i])
	}
	return out
}

// better compares a found time with what random search is expected to have.
func (y *Baseline) better(found, random float64) float64 {
	if random == y.Best() {
		// Random search has the optimum: nothing is better, and what is worse is
		// measured on the way from the median.
		return (random - found) / (y.middle - random)
	}
	return (found - random) / (y.Best() - random)
}

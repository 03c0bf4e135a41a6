package replay

import (
	"context"
	"fmt"
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
	y, err := NewYardstick(r)
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
func (y *Yardstick) score(r *Recording, runs []Run) *Score {
	p := y.pool(r, runs)
	s := &Score{Curve: y.curve(p.fit(nil))}
	s.Score = mean(s.Curve)
	for _, run := range runs {
		s.Trials += float64(len(run.Steps)) / float64(len(runs))
		s.Own += run.Own / float64(len(runs))
	}
	rng := rand.New(rand.NewPCG(1, 0))
	for range resamples {
		weights := slices.Repeat([]float64{0}, len(runs))
		for range runs {
			weights[rng.IntN(len(runs))]++
		}
		s.resampled = append(s.resampled, mean(y.curve(p.fit(weights))))
	}
	s.Low, s.High = interval(s.resampled)
	return s
}

// interval returns the middle 95 % of a list.
func interval(list []float64) (low, high float64) {
	s := slices.Sorted(slices.Values(list))
	n := float64(len(s) - 1)
	return s[int(math.Round(0.025*n))], s[int(math.Round(0.975*n))]
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
	for _, s := range scores {
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
	m.Low, m.High = interval(m.resampled)
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
func (y *Yardstick) pool(r *Recording, runs []Run) pool {
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
func (y *Yardstick) curve(fit []block) []float64 {
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
		out[i] = y.better(y.value(rank), t)
	}
	return out
}

// better compares a found time with what random search is expected to have.
func (y *Yardstick) better(found, t float64) float64 {
	random := y.Random(t)
	if random == y.Best() {
		// Random search has the optimum: nothing is better, and what is worse is
		// measured on the way from the median.
		return (random - found) / (y.Median() - random)
	}
	return (found - random) / (y.Best() - random)
}

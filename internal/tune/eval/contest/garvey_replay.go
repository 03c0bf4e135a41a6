package contest

import (
	"context"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// effort is what a search on a recording has come to, and what it took.
type effort struct {
	Best           float64 // seconds of the fastest configuration; infinite if none worked
	Configurations float64 // that were compiled
	Compile        float64 // seconds
	Run            float64 // seconds on the device, checks included
	when           []moment
}

// moment is when a best was found.
type moment struct{ at, best float64 }

func (e *effort) total() float64 { return e.Compile + e.Run }

// first returns when a search had something as fast; false if it never had.
func (e *effort) first(best float64) (float64, bool) {
	for _, m := range e.when {
		if m.best <= best {
			return m.at, true
		}
	}
	return 0, false
}

// sum adds up the efforts of searches that come one after the other.
func sum(list []effort) effort {
	all := effort{Best: math.Inf(1)}
	for _, e := range list {
		all.Best = min(all.Best, e.Best)
		all.Configurations += e.Configurations
		all.Compile += e.Compile
		all.Run += e.Run
	}
	return all
}

// try lets a strategy search a recording, for so many configurations at most and
// so many seconds of a clock on which configurations are compiled and run one
// after the other.
func try(ctx context.Context, r *replay.Recording, strategy string, seed uint64, most int, seconds float64) (effort, error) {
	e := effort{Best: math.Inf(1)}
	run, err := replay.Search(ctx, replay.NewSpace(r), func(p search.Problem) (search.Strategy, error) {
		s, err := search.New(strategy, p)
		return &counted{s, most}, err
	}, seed, seconds, nil)
	if err != nil {
		return e, err
	}
	for _, s := range run.Steps {
		t := &r.Trials[s.Trial]
		if t.Cost.Compile > 0 {
			e.Configurations++
		}
		e.Compile += t.Cost.Compile
		e.Run += t.Cost.Runs
		if t.Failure == "" && t.Seconds < e.Best {
			e.Best = t.Seconds
			e.when = append(e.when, moment{e.total(), e.Best})
		}
	}
	return e, nil
}

// counted ends a strategy after so many configurations.
type counted struct {
	search.Strategy
	left int
}

func (c *counted) Ask(n int) []search.Point {
	points := c.Strategy.Ask(min(n, c.left))
	c.left -= len(points)
	return points
}

// samples are searches at random, by seed.
func samples(ctx context.Context, r *replay.Recording, seeds, most int, seconds float64) ([]effort, error) {
	list := make([]effort, seeds)
	err := parallel(ctx, seeds, nil, func(i int, _ replay.Clock) (err error) {
		list[i], err = try(ctx, r, baseline, uint64(i)+1, most, seconds)
		return err
	})
	return list, err
}

// typical is the mean of samples; of what they found it is the geometric mean.
func typical(list []effort) effort {
	var m effort
	n := float64(len(list))
	for _, e := range list {
		m.Best += math.Log(e.Best) / n
		m.Configurations += e.Configurations / n
		m.Compile += e.Compile / n
		m.Run += e.Run / n
	}
	m.Best = math.Exp(m.Best)
	return m
}

// fastest returns the least time that any of them found.
func fastest(list []effort) float64 {
	return slices.MinFunc(list, func(a, b effort) int {
		switch {
		case a.Best < b.Best:
			return -1
		case a.Best > b.Best:
			return 1
		}
		return 0
	}).Best
}

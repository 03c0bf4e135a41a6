package contest

import (
	"context"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// searchCost is the result of a search on a recording, with its cost.
type searchCost struct {
	Best           float64 // seconds of the fastest configuration; infinite if none worked
	Configurations float64 // that were compiled
	Compile        float64 // seconds
	Run            float64 // seconds on the device, checks included
	when           []improvement
}

// improvement is a new best and its time.
type improvement struct{ at, best float64 }

func (e *searchCost) total() float64 { return e.Compile + e.Run }

// first returns the time at which a search had something as fast; false if never.
func (e *searchCost) first(best float64) (float64, bool) {
	for _, m := range e.when {
		if m.best <= best {
			return m.at, true
		}
	}
	return 0, false
}

// sum adds up the costs of consecutive searches.
func sum(list []searchCost) searchCost {
	all := searchCost{Best: math.Inf(1)}
	for _, e := range list {
		all.Best = min(all.Best, e.Best)
		all.Configurations += e.Configurations
		all.Compile += e.Compile
		all.Run += e.Run
	}
	return all
}

// try runs a strategy on a recording, for at most so many configurations and seconds. Configurations are compiled
// and run one after the other.
func try(ctx context.Context, r *replay.Recording, strategy string, seed uint64, most int,
	seconds float64) (searchCost, error) {
	e := searchCost{Best: math.Inf(1)}
	run, err := replay.Search(ctx, replay.NewSpace(r), func(p search.Problem) (search.Strategy, error) {
		s, err := search.New(strategy, p)
		return &limited{s, most}, err
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
			e.when = append(e.when, improvement{e.total(), e.Best})
		}
	}
	return e, nil
}

// limited ends a strategy after so many configurations.
type limited struct {
	search.Strategy
	left int
}

func (c *limited) Ask(n int) []search.Point {
	points := c.Strategy.Ask(min(n, c.left))
	c.left -= len(points)
	return points
}

// samples runs random searches, one for each seed.
func samples(ctx context.Context, r *replay.Recording, seeds, most int, seconds float64) ([]searchCost, error) {
	list := make([]searchCost, seeds)
	err := parallel(ctx, seeds, nil, func(i int, _ replay.Clock) (err error) {
		list[i], err = try(ctx, r, baseline, uint64(i)+1, most, seconds)
		return err
	})
	return list, err
}

// typicalCost is the mean of searches; their best times have the geometric mean.
func typicalCost(list []searchCost) searchCost {
	var m searchCost
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
func fastest(list []searchCost) float64 {
	return slices.MinFunc(list, func(a, b searchCost) int {
		switch {
		case a.Best < b.Best:
			return -1
		case a.Best > b.Best:
			return 1
		}
		return 0
	}).Best
}

package omnitune

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Pick is what a model picked for a scenario.
type Pick struct {
	Scenario *Scenario
	Group    string // of the scenario, in the split's intervals
	Size     int    // of the scenario's sizes
	Open     bool   // a size was predicted without knowing which were run
	Fallback bool   // it was not run
	Unknown  bool   // and nor is it known to be refused
	Refused  int    // sizes that were asked for before, and are refused
	Runs     int    // that were measured before
}

// Speed is that of the picked size, of the fastest.
func (p Pick) Speed() float64 { return p.Scenario.Speeds[p.Size] }

// Validate lets the models of a family learn from the examples of each fold, and pick for the scenarios that were left
// out. It returns the picks of each model.
func Validate(ctx context.Context, s *Suite, f Family, split Split) ([][]Pick, error) {
	lists, _, err := timedPicks(ctx, s, f, split)
	return lists, err
}

// timedPicks are the picks of each model, and the median time from the features of a scenario to its size. Times are
// not among the picks, since they differ from run to run.
func timedPicks(ctx context.Context, s *Suite, f Family, split Split) ([][]Pick, []time.Duration, error) {
	folds, err := split.of(s)
	if err != nil {
		return nil, nil, err
	}
	lists, errs := make([][][]Pick, len(folds)), make([]error, len(folds))
	took := make([][][]time.Duration, len(folds))
	var running sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for i, fold := range folds {
		free <- true
		running.Go(func() {
			defer func() { <-free }()
			if ctx.Err() != nil {
				errs[i] = context.Cause(ctx)
				return
			}
			var err error
			if lists[i], took[i], err = picks(ctx, s, f, fold, split); err != nil {
				errs[i] = fmt.Errorf("%s, %s %s: %w", f.Models[0].Name, split.Name, fold.name, err)
			}
		})
	}
	running.Wait()
	all, times := make([][]Pick, len(f.Models)), make([][]time.Duration, len(f.Models))
	for i, err := range errs {
		if err != nil {
			return nil, nil, err
		}
		for k := range all {
			all[k], times[k] = append(all[k], lists[i][k]...), append(times[k], took[i][k]...)
		}
	}
	medians := make([]time.Duration, len(times))
	for k, list := range times {
		slices.Sort(list)
		medians[k] = list[len(list)/2]
	}
	return all, medians, nil
}

// picks are those of each model for a fold, and the time that each took.
func picks(ctx context.Context, s *Suite, f Family, fold fold, split Split) ([][]Pick, [][]time.Duration, error) {
	rankers, err := f.learn(ctx, s, fold.others, split.inner)
	if err != nil {
		return nil, nil, err
	}
	lists, times := make([][]Pick, len(rankers)), make([][]time.Duration, len(rankers))
	for k, r := range rankers {
		for _, x := range fold.own {
			start := time.Now()
			c := choose(r, x)
			times[k] = append(times[k], time.Since(start))
			lists[k] = append(lists[k], Pick{Scenario: x, Group: split.unit(x), Size: c.size, Open: c.open,
				Fallback: c.fallback, Unknown: c.unknown, Refused: c.refused, Runs: c.runs})
		}
	}
	return lists, times, nil
}

// atRandom picks sizes at random, as often as a model picked. What is refused is not drawn again.
func atRandom(picks []Pick, draw func(n int) int) []Pick {
	list := slices.Clone(picks)
	for i := range list {
		x := picks[i].Scenario
		p := Pick{Scenario: x, Group: picks[i].Group}
		for p.Size = len(x.Sizes); p.Size >= len(x.Sizes); {
			if p.Size = draw(len(x.Sizes) + len(x.Illegal) - p.Refused); p.Size >= len(x.Sizes) {
				p.Refused++
			}
		}
		list[i] = p
	}
	return list
}

package omnitune

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
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
	folds, err := split.of(s)
	if err != nil {
		return nil, err
	}
	lists, errs := make([][][]Pick, len(folds)), make([]error, len(folds))
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
			list, err := picks(ctx, s, f, fold, split)
			if err != nil {
				errs[i] = fmt.Errorf("%s, %s %s: %w", f.Models[0].Name, split.Name, fold.name, err)
			}
			lists[i] = list
		})
	}
	running.Wait()
	all := make([][]Pick, len(f.Models))
	for i, err := range errs {
		if err != nil {
			return nil, err
		}
		for k := range all {
			all[k] = append(all[k], lists[i][k]...)
		}
	}
	return all, nil
}

// picks are those of each model for a fold.
func picks(ctx context.Context, s *Suite, f Family, fold fold, split Split) ([][]Pick, error) {
	rankers, err := f.learn(ctx, s, fold.others, split.inner)
	if err != nil {
		return nil, err
	}
	lists := make([][]Pick, len(rankers))
	for k, r := range rankers {
		for _, x := range fold.own {
			c := choose(r, x)
			lists[k] = append(lists[k], Pick{Scenario: x, Group: split.unit(x), Size: c.size, Open: c.open,
				Fallback: c.fallback, Unknown: c.unknown, Refused: c.refused, Runs: c.runs})
		}
	}
	return lists, nil
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

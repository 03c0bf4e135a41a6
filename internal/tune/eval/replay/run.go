package replay

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// Maker makes a strategy for a problem.
type Maker func(search.Problem) (search.Strategy, error)

// Step is a moment of a run at which a configuration had been tried.
type Step struct {
	Time  float64 // on the run's clock, in seconds
	Trial int     // its number in the recording
}

// Run is one search on a recording.
type Run struct {
	Steps []Step
	// Own is the time that the strategy itself took, in seconds.
	Own float64
}

// Clock is a strategy's own time, as far as it is known.
type Clock func() time.Duration

// maxRepeats is how often in a row a strategy may ask for what it knows before
// it is taken to have ended: a repeat costs nothing, so that it could go on for
// ever.
const maxRepeats = 1000

// Search lets a strategy search a recorded space until the simulated clock
// passes budget seconds, or it asks for nothing more. Each configuration takes
// what it took when it was recorded; one that was tried before takes nothing. The
// strategy's own time passes as clock tells, not at all if that is nil. It ends with
// the context's error before the next trial once the context has ended.
func Search(ctx context.Context, s *Space, make Maker, seed uint64, budget float64, clock Clock) (Run, error) {
	if clock == nil {
		clock = func() time.Duration { return 0 }
	}
	var run Run
	now := 0.0
	began := clock()
	// own lets the time pass that the strategy has taken since it began.
	own := func() {
		d := (clock() - began).Seconds()
		run.Own += d
		now += d
	}
	strategy, err := make(search.Problem{Context: ctx, Space: s, Seed: seed})
	own()
	if err != nil {
		return run, err
	}
	tried := map[int]bool{}
	for repeats := 0; now < budget && repeats < maxRepeats; {
		if err := ctx.Err(); err != nil {
			return run, err
		}
		began = clock()
		asked := strategy.Ask(1)
		own()
		if len(asked) == 0 {
			return run, ctx.Err()
		}
		for _, p := range asked {
			i, ok := s.Trial(p)
			if !ok {
				return run, fmt.Errorf("the strategy asked for %s, which is not in the space", s.Text(p))
			}
			t := &s.rec.Trials[i]
			told := search.Trial{Point: p, Seconds: t.Seconds, Cost: t.Cost.Total()}
			if t.Failure != "" {
				told.Verdict, told.Seconds = verdict.Launch, 0
			}
			if tried[i] {
				repeats++
				told.Cost = 0
			} else {
				repeats = 0
				tried[i] = true
				now += told.Cost
				run.Steps = append(run.Steps, Step{now, i})
			}
			began = clock()
			strategy.Tell(told)
			own()
		}
	}
	return run, nil
}

// searchAll runs seeds 1 to n, as many at once as there are processors. A clock,
// if there is one, is started on the thread that it is to tell of.
func searchAll(ctx context.Context, s *Space, make Maker, runs []Run, budget float64, clock func() Clock) error {
	workers := min(runtime.GOMAXPROCS(0), len(runs))
	errs := slices.Repeat([]error{nil}, workers)
	var next atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var own Clock
			if clock != nil {
				own = clock()
			}
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(runs) {
					return
				}
				if errs[w] = ctx.Err(); errs[w] == nil {
					runs[i], errs[w] = Search(ctx, s, make, uint64(i)+1, budget, own)
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

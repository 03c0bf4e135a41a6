package contest

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/search"
)

const (
	defaultStrategy = "auto"
	baseline        = "random"
	// near is the part of the best speed that counts as reached.
	near = 0.97
)

// moments are the times at which replays are compared, in seconds.
var moments = []float64{10, 30, 60}

// Replay is the result of a strategy on a recording, with many seeds.
type Replay struct {
	Strategy string `json:"strategy"`
	Seeds    int    `json:"seeds"`
	// The score of Willemsen et al. 2024, with the interval of 95 %: every
	// configuration costs what it took to compile and run, one after the other.
	Score float64 `json:"score"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Reached says how far searches have come after some times, if compilers work ahead as they do live: a
	// configuration costs its share of their time.
	Reached []Reached `json:"reached"`
}

// Reached is the best of the recording over the best of the searches.
type Reached struct {
	Seconds  float64 `json:"seconds"`
	Fraction float64 `json:"fraction_of_best_known"` // the mean over the seeds
	Least    float64 `json:"least"`
	Near     float64 `json:"share_at_0.97"` // of the seeds
}

// replays runs strategies on a recording.
func replays(ctx context.Context, b *recordingFile, seeds int, clock func() replay.Clock) ([]Replay, error) {
	r, err := b.replayable()
	if err != nil {
		return nil, err
	}
	ahead := *r
	ahead.Trials = slices.Clone(r.Trials)
	for i := range ahead.Trials {
		ahead.Trials[i].Cost.Compile /= float64(max(1, b.about.Workers))
	}
	var list []Replay
	for _, name := range []string{defaultStrategy, baseline} {
		make := func(p search.Problem) (search.Strategy, error) { return search.New(name, p) }
		s, err := replay.Evaluate(ctx, r, make, replay.Options{Seeds: seeds, Clock: clock})
		if err != nil {
			return nil, err
		}
		row := Replay{Strategy: name, Seeds: seeds, Score: thousandths(s.Score), Low: thousandths(s.Low),
			High: thousandths(s.High)}
		if row.Reached, err = reached(ctx, &ahead, make, seeds, clock); err != nil {
			return nil, err
		}
		list = append(list, row)
	}
	return list, nil
}

func thousandths(x float64) float64 { return math.Round(1000*x) / 1000 }

// reached compares searches of a recording at each moment.
func reached(ctx context.Context, r *replay.Recording, make replay.Maker, seeds int,
	clock func() replay.Clock) ([]Reached, error) {
	best := math.Inf(1)
	for i := range r.Trials {
		if t := &r.Trials[i]; t.Failure == "" {
			best = min(best, t.Seconds)
		}
	}
	make = stoppingAt(best, make)
	last := moments[len(moments)-1]
	parts := slices.Repeat([][]float64{nil}, seeds) // by seed and moment
	err := parallel(ctx, seeds, clock, func(i int, own replay.Clock) error {
		run, err := replay.Search(ctx, replay.NewSpace(r), make, uint64(i)+1, last, own)
		if err != nil {
			return err
		}
		for _, at := range moments {
			found := math.Inf(1)
			for _, s := range run.Steps {
				if t := &r.Trials[s.Trial]; s.Time <= at && t.Failure == "" {
					found = min(found, t.Seconds)
				}
			}
			parts[i] = append(parts[i], best/found)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []Reached
	for m, at := range moments {
		x := Reached{Seconds: at, Least: 1}
		for _, p := range parts {
			x.Fraction += p[m] / float64(seeds)
			x.Least = min(x.Least, p[m])
			if p[m] >= near {
				x.Near += 1 / float64(seeds)
			}
		}
		x.Fraction, x.Least, x.Near = thousandths(x.Fraction), thousandths(x.Least), thousandths(x.Near)
		list = append(list, x)
	}
	return list, nil
}

// stoppingAt makes strategies that end once they are told the best time, since later trials change nothing.
func stoppingAt(best float64, make replay.Maker) replay.Maker {
	return func(p search.Problem) (search.Strategy, error) {
		s, err := make(p)
		return &stopAtBest{Strategy: s, best: best}, err
	}
}

type stopAtBest struct {
	search.Strategy
	best float64
	over bool
}

func (c *stopAtBest) Ask(n int) []search.Point {
	if c.over {
		return nil
	}
	return c.Strategy.Ask(n)
}

func (c *stopAtBest) Tell(t search.Trial) {
	c.over = c.over || t.Verdict == verdict.OK && t.Seconds <= c.best
	c.Strategy.Tell(t)
}

// parallel calls f for 0 to n-1, on as many threads as there are processors. Each thread has a clock of its own,
// which measures the time of its strategy.
func parallel(ctx context.Context, n int, clock func() replay.Clock, f func(i int, own replay.Clock) error) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	errs := make([]error, workers)
	var next atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var own replay.Clock
			if clock != nil {
				own = clock()
			}
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[w] = ctx.Err(); errs[w] == nil {
					errs[w] = f(i, own)
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

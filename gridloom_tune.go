package gridloom

import (
	"context"
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// TuneOptions says what to tune a program for. The zero value searches for a
// minute, for the processor and the program's own sizes.
type TuneOptions struct {
	// Set gives sizes and scalars their values, as texts: {"N": "256"}.
	Set    map[string]string
	Device string // "cpu" (the default), "cuda:0", "opencl:0" and so on
	FP     string // "contract" (the default), "strict" or "fast"
	Plan   string // settings that stay as they are, such as "local=fused"

	Strategy string // how to search: "auto" (the default), "random" and others
	Seed     uint64 // makes other random choices
	// The search ends with the first of these that is reached. Budget is a minute
	// if neither is given; 0 is no limit otherwise.
	Budget time.Duration
	Trials int

	// Progress, if it is not nil, is told of every configuration that was tried.
	Progress func(TuneProgress)
}

// TuneProgress is how far a search is.
type TuneProgress struct {
	Trials, Refused, Wrong int
	Best                   string  // configuration of the kernel that is searched for
	GStencils              float64 // 1e9 updates of cells a second
	Left                   time.Duration
}

// Tuning is what a search has found.
type Tuning struct {
	Plan        string // the fastest, for RunOptions
	LibraryPlan string // the fastest that takes sizes as arguments, for EmitOptions
	Plans       []TunedPlan
	Trials      int
	Interrupted bool
	// Bound is the copy bound: the speed at which every cell would move once, as
	// fast as a copy of the same grids moves. It is 0 where grids stay in a cache.
	Bound float64
}

// TunedPlan is a plan that was timed side by side with others at the end of a
// search; the fastest is first.
type TunedPlan struct {
	Name      string // "default", "expert", "plain", "found 1" and so on
	Plan      string
	Time      time.Duration // of an update of the program
	GStencils float64       // 1e9 updates of cells a second
}

// Tune searches for the fastest kernels of a program. Whatever is timed is
// compared, at every cell, with plain kernels that are themselves compared with
// the reference executor. Nothing is kept: unlike the command, Tune neither
// looks in the store of measurements nor writes there, and Run takes the plan
// that it is given.
//
// Cancelling ctx ends the search; what was found until then is the result.
func (p *Program) Tune(ctx context.Context, o TuneOptions) (*Tuning, error) {
	b, err := p.bind(o.Set, o.FP)
	if err != nil {
		return nil, err
	}
	to := tuner.Options{
		Bound: b, Set: o.Set, Strategy: o.Strategy, Seed: o.Seed, Budget: o.Budget, Trials: o.Trials,
	}
	if to.Budget < 0 || to.Trials < 0 {
		return nil, fmt.Errorf("gridloom: a budget of %v and %d trials: neither can be negative", o.Budget, o.Trials)
	}
	if to.Budget == 0 && to.Trials == 0 {
		to.Budget = time.Minute
	}
	if to.Strategy == "" {
		to.Strategy = "auto"
	}
	if to.Plan, err = schedule.ParsePlan(o.Plan); err != nil {
		return nil, err
	}
	if o.Device == "" {
		o.Device = "cpu"
	}
	d, err := engine.Open(engine.DeviceRequest{ID: o.Device, Arithmetic: b.Program.Arithmetic, Purpose: engine.ToTune})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if to.Lab, err = measure.Open(ctx, d.Target); err != nil {
		return nil, err
	}
	defer to.Lab.Close()
	if o.Progress != nil {
		to.Events = func(e tuner.Event) {
			if e.Kind == tuner.EventTrial {
				o.Progress(progress(e.Status))
			}
		}
	}
	r, err := tuner.Run(ctx, to)
	if err != nil {
		return nil, err
	}
	return tuning(r), nil
}

func progress(s *tuner.Status) TuneProgress {
	refused := 0
	for _, n := range s.Refused {
		refused += n
	}
	return TuneProgress{
		Trials: s.Trials, Refused: refused - s.Wrong, Wrong: s.Wrong, Best: s.Config, GStencils: s.GStencils,
		Left: time.Duration(s.Left * float64(time.Second)),
	}
}

func tuning(r *tuner.Result) *Tuning {
	t := &Tuning{Plan: r.Best, Trials: r.Trials, Interrupted: r.Interrupted, Bound: r.Bound.GStencils}
	for _, c := range r.Contenders {
		t.Plans = append(t.Plans, TunedPlan{c.Name, c.Plan, time.Duration(c.Seconds * float64(time.Second)), c.GStencils})
	}
	if list := r.LibraryPlans(); len(list) > 0 {
		t.LibraryPlan = list[0].Plan
	}
	return t
}

package gridloom

import (
	"context"
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// TuneOptions says how to search. The zero value searches for a minute.
type TuneOptions struct {
	// Strategy says how to search: "auto" (the default), "random" and others. With auto a search begins with what a
	// model of the device expects to be fast, if one comes with Gridloom.
	Strategy string
	Seed     uint64 // makes other random choices
	// The search ends with the first of these that is reached. Budget is a minute
	// if neither is given; 0 is no limit otherwise.
	Budget time.Duration
	Trials int
	// NoHints has nothing profiled within the search, and no hints followed.
	NoHints bool

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
	Plan        Plan // the fastest, for Options
	LibraryPlan Plan // the fastest that takes sizes as arguments, for EmitOptions; the zero value if there is none
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
	Name      string // "default", "expert", "plain", "found 1", "spans 1" and so on
	Plan      Plan
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
func (p *Program) Tune(ctx context.Context, o Options, t TuneOptions) (*Tuning, error) {
	p, version, err := p.versionOf(&o.Plan)
	if err != nil {
		return nil, err
	}
	b, err := p.bind(&o)
	if err != nil {
		return nil, err
	}
	to := tuner.Options{
		Bound: b, Set: o.set(p.ir), Plan: o.Plan.plan, Version: version,
		Strategy: t.Strategy, Seed: t.Seed, Budget: t.Budget, Trials: t.Trials,
	}
	if to.Budget < 0 || to.Trials < 0 {
		return nil, fmt.Errorf("gridloom: a budget of %v and %d trials: neither can be negative", t.Budget, t.Trials)
	}
	if to.Budget == 0 && to.Trials == 0 {
		to.Budget = time.Minute
	}
	if to.Strategy == "" {
		to.Strategy = "auto"
	}
	d, err := o.open(engine.ToTune)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if t.Progress != nil {
		to.Events = func(e tuner.Event) {
			if e.Kind == tuner.EventTrial {
				t.Progress(progress(e.Status))
			}
		}
	}
	r, err := engine.Tune(ctx, engine.TuneRequest{
		Options: to, Device: d, Source: p.source.Text, File: p.source.Name, NoHints: t.NoHints,
		Prior: engine.UsualPrior(to.Strategy),
	})
	if err != nil {
		return nil, worded(err)
	}
	return tuning(r.Result)
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

func tuning(r *tuner.Result) (*Tuning, error) {
	t := &Tuning{Trials: r.Trials, Interrupted: r.Interrupted, Bound: r.Bound.GStencils}
	var err error
	if t.Plan, err = ParsePlan(r.Best); err != nil {
		return nil, err
	}
	for _, c := range r.Contenders {
		plan, err := ParsePlan(c.Plan)
		if err != nil {
			return nil, err
		}
		t.Plans = append(t.Plans, TunedPlan{c.Name, plan, time.Duration(c.Seconds * float64(time.Second)), c.GStencils})
	}
	if list := r.LibraryPlans(); len(list) > 0 {
		t.LibraryPlan, err = ParsePlan(list[0].Plan)
	}
	return t, err
}

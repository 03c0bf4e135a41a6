package engine

import (
	"context"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// GuardRequest asks for measurements of what a model expects to be fast, before a job takes its word for it.
type GuardRequest struct {
	Job    *Job              // after Job.Model
	Device *Device           // the job's, opened ToTune
	Store  store.Store       // keeps what is measured; nil keeps nothing
	Source string            // the program's text
	Set    map[string]string // the values that the job is bound to
	Model  string            // its file, as for Job.Model
	Most   int               // predictions of each kernel, MostGuarded at most
	Commit string            // of this Gridloom
}

// MostGuarded is how many predictions of a kernel are measured at most before a run.
const MostGuarded = 5

// LeastGuarded is how many bytes a run moves at least for predictions to be measured on processors before it, unless a
// user wants that: a compiler and a check of all cells take a second for each, and two cores move as much in some.
const LeastGuarded = 100e9

// IsWorthGuard reports whether a run takes as long as measurements of what a model is unsure about. What runs on a GPU
// is taken for that.
func (j *Job) IsWorthGuard() bool {
	return j.Device.Target.Kind() == lower.GPU || tuner.Moved(j.Bound) >= LeastGuarded
}

// Guard measures the first predictions of each kernel, and the usual plan beside the best of them. The job has the
// fastest plan then. Every cell that is computed meanwhile is checked, as Tune does.
func Guard(ctx context.Context, r GuardRequest) (*Tuned, error) {
	j := r.Job
	o := tuner.Options{
		Bound: j.Bound, Set: r.Set, Strategy: "auto", Seed: 1, Version: j.Version, MaxDepth: 1, Free: j.Free,
		Trials: min(r.Most, MostGuarded) * kernels(j.Bound.Program),
	}
	t, err := Tune(ctx, TuneRequest{
		Options: o, Device: r.Device, Store: r.Store, Source: r.Source, NoHints: true, Own: true,
		Prior: min(r.Most, MostGuarded), Model: r.Model, Commit: r.Commit,
	})
	if err != nil {
		return t, err
	}
	if t.Interrupted {
		return t, context.Cause(ctx)
	}
	plan, err := schedule.ParsePlan(t.Best)
	if err != nil {
		return t, err
	}
	one := *j
	_, one.Plan = plan.Fission() // the program is that version
	one.Origin = Modelled
	if err := one.Fits(); err != nil {
		return t, err
	}
	*j = one
	return t, nil
}

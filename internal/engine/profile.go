package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// ProfileRequest asks what binds the kernels of a job.
type ProfileRequest struct {
	Job
	Source *diag.Source  // of the program
	Budget time.Duration // for timing one kernel with its variants; 0 is what is usual
	// NoCounters asks no profiler of NVIDIA's.
	NoCounters bool
	Follow     bool              // time the plans that hints suggest beside the job's
	Progress   func(text string) // may be nil
}

// Profile measures what binds the kernels of a job. The device is one that was opened ToTune.
func Profile(ctx context.Context, r ProfileRequest) (*profile.Profile, error) {
	if r.Device.Reference() {
		return nil, requestf("device "+r.Device.ID, "nothing can be profiled on the reference executor")
	}
	if err := r.Fits(); err != nil {
		return nil, err
	}
	if _, err := r.Device.compiler(ctx); err != nil {
		return nil, err
	}
	lab, err := measure.Open(ctx, r.Device.Target)
	if err != nil {
		return nil, &Fault{Cause: Environment, Option: "device " + r.Device.ID, Err: err}
	}
	defer lab.Close()
	o := profile.Options{Lab: lab, Bound: r.Bound, Lowering: r.Lowering(), Budget: r.Budget, Progress: r.Progress}
	if _, ok := cuda.Kind.ParseID(r.Device.ID); ok && !r.NoCounters {
		count := profile.Nsight(r.Device.Target)
		o.Count = func(ctx context.Context, s measure.Setting, list []measure.Code, warm bool) ([]*counters.Counters,
			error) {
			lab.Close() // two workers would need memory for the grids twice
			return count(ctx, s, list, warm)
		}
	}
	p, err := profile.Run(ctx, o)
	if err == nil && r.NoCounters {
		p.NoCounters = "no profiler was asked"
	}
	switch {
	case errors.Is(err, profile.ErrNothing):
		return nil, &Fault{Cause: Source, Err: err}
	case err != nil:
		return nil, err
	}
	if err := r.advise(p); err != nil || !r.Follow {
		return p, err
	}
	return p, profile.Follow(ctx, o, p)
}

// adviser profiles kernels of a version of the program within a search; nil if that is not wanted. Hardware is not
// asked to count: its profiler would start the program once more.
func (r *TuneRequest) adviser(v tuner.Version) tuner.Adviser {
	if r.NoHints {
		return nil
	}
	var roof *profile.Roof // of the device, once it was measured
	return func(ctx context.Context, q tuner.Question) (*profile.Kernel, error) {
		p := ProfileRequest{
			Job:    Job{Bound: v.Bound, Device: r.Device, Plan: q.Plan, Origin: Chosen, Free: r.Free},
			Source: v.Source,
		}
		found, err := profile.Run(ctx, profile.Options{
			Lab: q.Lab, Bound: v.Bound, Lowering: p.Lowering(), Budget: q.Budget, Part: q.Kernel, Roof: roof,
		})
		if err != nil {
			return nil, err
		}
		roof = &found.Roof
		return found.Kernels[0], p.advise(found)
	}
}

// advise adds the hints to a profile.
func (r *ProfileRequest) advise(p *profile.Profile) error {
	plan, err := schedule.ParsePlan(p.Plan)
	if err != nil {
		return err
	}
	free := r.Lowering()
	free.Free, free.Plan = true, plan
	choices, err := lower.Choices(r.Bound.Program, free)
	if err != nil {
		return err
	}
	split := versionsOf(r.Source, r.Device.Arithmetic)
	facts := analysis.Analyze(r.Bound.Program, r.Bound)
	for _, k := range p.Kernels {
		i := slices.IndexFunc(choices, func(c lower.Choice) bool { return c.ID() == k.Part })
		if i < 0 {
			continue
		}
		c := &choices[i]
		f := &profile.Facts{
			Kernel: k, File: r.Source.Name, Plan: plan, Config: c.Config, Space: c.Space,
			GPU: r.Device.Kind() == lower.GPU, Fast: r.Device.Arithmetic == arith.Fast, Split: split,
		}
		if call := r.Bound.Program.CallNamed(c.Call); call != nil {
			inform(f, facts, facts.Call(call))
		} else {
			f.LoopIn = loopOf(r.Bound.Program, c.Call)
			if l, ok := graph.LoopNamed(r.Bound.Program, c.Call); ok && c.Config.Family == "pipe" {
				f.Sorted = lower.InPlaneOrder(r.Bound.Program, l, max(1, k.Depth))
			}
		}
		if f.Grids = k.Grids; r.Free {
			f.Fixed = nil
		}
		k.Config = c.Config.String()
		k.Hints = profile.Advise(f, r.check)
	}
	return nil
}

// check tells whether a plan can be had for the job, and if not, whether it is the source that forbids it.
func (r *ProfileRequest) check(text string) (fits bool, forbidden string) {
	plan, err := schedule.ParsePlan(text)
	if err != nil {
		return false, ""
	}
	j := r.Job
	j.Plan = plan
	m, err := j.Lower()
	if err == nil {
		idle, err := exec.IdleSpans(m, j.Bound, 0)
		return err == nil && len(idle) == 0, ""
	}
	j.Free = true
	if j.Fits() == nil {
		return false, err.Error()
	}
	return false, ""
}

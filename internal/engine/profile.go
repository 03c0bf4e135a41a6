package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/fission"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
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
	split := r.versions()
	for _, k := range p.Kernels {
		i := slices.IndexFunc(choices, func(c lower.Choice) bool { return c.ID() == k.Part })
		if i < 0 {
			continue
		}
		f := &profile.Facts{
			Kernel: k, File: r.Source.Name, Plan: plan, Config: choices[i].Config, Space: choices[i].Space,
			GPU: r.Device.Kind() == lower.GPU, Fast: r.Device.Arithmetic == arith.Fast, Split: split,
		}
		f.LoopIn = r.loopOf(k.Part, choices[i].Call)
		k.Config = choices[i].Config.String()
		k.Hints = profile.Advise(f, r.check)
	}
	return nil
}

// loopOf returns what plans call a kernel of whole iterations of the loop that a kernel is of; "" if none can be.
func (r *ProfileRequest) loopOf(part, call string) string {
	for _, l := range graph.Loops(r.Bound.Program) {
		inside := l.Name == call || slices.ContainsFunc(l.Iterate.Body, func(o ir.Op) bool {
			run, ok := o.(*ir.Run)
			return ok && run.Call.Name == call
		})
		if !inside || l.Iterate.Sequence {
			continue
		}
		if _, err := graph.NewSpan(r.Bound.Program, l, 2); err == nil {
			return schedule.Kernel{Call: l.Name, To: l.Leaves(), Depth: 1}.ID()
		}
	}
	return ""
}

// versions lists what gridloom fission makes of the program.
func (r *ProfileRequest) versions() []string {
	f, wrong := lang.Parse(r.Source)
	if wrong.HasErrors() {
		return nil
	}
	var list []string
	if len(fission.MaxFuse(f)) > 0 {
		list = append(list, "maxfuse")
	}
	if len(fission.Trivial(f)) > 0 {
		list = append(list, "trivial")
	}
	if len(fission.Recompute(f, r.Bound.Program)) > 0 {
		list = append(list, "recompute")
	}
	return list
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

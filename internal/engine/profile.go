package engine

import (
	"context"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// ProfileRequest asks what binds the kernels of a job.
type ProfileRequest struct {
	Job
	// Again are the arguments by which this program carries out the job once more, for the profiler of NVIDIA to watch;
	// without any, nothing is counted.
	Again    []string
	Progress func(text string) // may be nil
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
	o := profile.Options{Lab: lab, Bound: r.Bound, Lowering: r.Lowering(), Progress: r.Progress}
	if _, ok := cuda.Kind.ParseID(r.Device.ID); ok && len(r.Again) > 0 {
		o.Count = func(ctx context.Context, kernel string) (*counters.Counters, error) {
			c, err := counters.Count(ctx, emit.CUDA.Symbol(kernel), 0, true, r.Again)
			if err != nil {
				return nil, fmt.Errorf("no counters: %w", err)
			}
			return c, nil
		}
	}
	return profile.Run(ctx, o)
}

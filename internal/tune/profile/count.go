package profile

import (
	"context"
	"fmt"

	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Count has the hardware count the timed launch of each code, in memory of a setting's, and returns what it has counted
// in their order. Caches are warm if launches that are timed find their grids in the last one.
type Count func(ctx context.Context, s measure.Setting, list []measure.Code, warm bool) ([]*counters.Counters, error)

// Nsight returns what counts on one of NVIDIA's GPUs by its profiler. That starts the worker of a laboratory, which
// launches the very code that differencing times.
func Nsight(t *target.Target) Count {
	return func(ctx context.Context, s measure.Setting, list []measure.Code, warm bool) ([]*counters.Counters, error) {
		launches, err := counters.Watch(counters.Launches{Warm: warm}, func(command []string) error {
			lab, err := measure.OpenProfiled(ctx, t, command)
			if err != nil {
				return err
			}
			defer lab.Close() // the profiler writes down what it has counted
			if err := lab.Arrange(ctx, s); err != nil {
				return err
			}
			for _, c := range list {
				if err := lab.Profile(ctx, c); err != nil {
					return fmt.Errorf("%s: %w", c.Name, err)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(launches) != len(list) {
			return nil, fmt.Errorf("the profiler has counted %d launches, and not %d", len(launches), len(list))
		}
		var counted []*counters.Counters
		for i, c := range list {
			symbol := t.Dialect.Symbol(c.Kernels[c.Launches[c.From].Kernel])
			if launches[i].Kernel != symbol {
				return nil, fmt.Errorf("the profiler has counted %s, and not %s", launches[i].Kernel, symbol)
			}
			counted = append(counted, launches[i].PerRound(c.Rounds))
		}
		return counted, nil
	}
}

// countable is a kernel as the hardware counts it.
type countable struct {
	code    measure.Code
	inCache bool // the last cache keeps its grids from launch to launch
}

// count has the hardware count each kernel. What it tells of bytes takes the place of what was counted on the kernel.
// If it counts nothing, the profile says why. The error is the end of ctx.
func (r *runner) count(ctx context.Context, s measure.Setting) error {
	if r.Count == nil {
		r.profile.NoCounters = "only NVIDIA's GPUs have a profiler that Gridloom asks"
		return nil
	}
	for _, warm := range []bool{false, true} {
		var kernels []*Kernel
		var list []measure.Code
		for i, c := range r.counts {
			if c.inCache == warm {
				kernels, list = append(kernels, r.profile.Kernels[i]), append(list, c.code)
			}
		}
		if len(list) == 0 {
			continue
		}
		r.tell("counting")
		counted, err := r.Count(ctx, s, list, warm)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			r.profile.NoCounters = "no counters: " + err.Error()
			return nil
		}
		for i, k := range kernels {
			k.counted(counted[i], &r.profile.Roof)
		}
	}
	return nil
}

// counted sets what counters tell of a kernel.
func (k *Kernel) counted(c *counters.Counters, roof *Roof) {
	k.Counters = &Hardware{Counters: *c}
	const from = "counted by the hardware"
	levels := []Level{{Level: DRAM, Bytes: c.DRAMBytes, From: from}, {Level: L2, Bytes: c.L2Bytes, From: from},
		{Level: L1, Bytes: c.L1Bytes, From: from}}
	if c.SharedWavefronts > 0 {
		levels = append(levels, Level{Level: Shared, Bytes: wavefrontBytes * c.SharedWavefronts, From: from})
	}
	for i := range levels {
		levels[i].place(k, roof.Peak(k.Type), roof.Bandwidth(levels[i].Level))
	}
	k.Levels = levels
	k.Counters.Class = k.byCounters()
	k.Issue = c.Issue / 100
	k.Resources.Occupancy = max(k.Resources.Occupancy, c.Occupancy/100)
}

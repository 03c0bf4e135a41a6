package profile

import (
	"context"
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

const (
	// A copy moves so many bytes, or four times the last cache if that is more; fewer where memory is the host's.
	copiedBytes, copiedOnHost = 512 << 20, 128 << 20
	roofMeasured              = 3 // times; the fastest counts
)

// roof measures the device: a copy in its memory, one that its last cache keeps, and multiply-adds. What cannot be
// measured is noted.
func (r *runner) roof(ctx context.Context) error {
	roof := &r.profile.Roof
	cache := r.about.CacheBytes
	note := func(what string, err error) error {
		if err != nil && ctx.Err() == nil {
			r.profile.Notes = append(r.profile.Notes, fmt.Sprintf("%s could not be measured: %v", what, err))
			err = nil
		}
		return err
	}
	speed := func(level, from string, bytes int64) error {
		best := 0.0
		for range roofMeasured {
			s, err := r.Lab.Copy(ctx, bytes, r.about.Least)
			if err != nil {
				return err
			}
			best = max(best, 2*float64(bytes)/s/1e9)
		}
		roof.Levels = append(roof.Levels, Speed{level, best, from})
		return nil
	}
	bytes := int64(copiedBytes)
	if r.about.Shared {
		bytes = copiedOnHost
	}
	err := note("the bandwidth of the memory", speed(DRAM, "measured: a copy", max(bytes, 4*cache)/2))
	if err == nil && cache > 0 {
		err = note("the bandwidth of the last cache", speed(L2, "measured: a copy that the last cache keeps", cache/4))
	}
	if err != nil {
		return err
	}
	if d := machine.Described(r.about.Target.Machine); d != nil && d.GPU != nil {
		const from = "the description of the device"
		if len(d.Caches) > 0 && d.Caches[0].PerUnit && d.Caches[0].Bandwidth > 0 {
			roof.Levels = append(roof.Levels, Speed{L1, d.Caches[0].Bandwidth, from})
		}
		if d.GPU.SharedBandwidth > 0 {
			roof.Levels = append(roof.Levels, Speed{Shared, d.GPU.SharedBandwidth, from})
		}
	}
	for _, elem := range []types.Type{types.F32, types.F64} {
		if slices.ContainsFunc(r.profile.Kernels, func(k *Kernel) bool { return k.Type == elem.String() }) {
			p, err := r.peak(ctx, elem)
			if err := note("the arithmetic", err); err != nil {
				return err
			}
			if err == nil {
				roof.Peaks = append(roof.Peaks, p)
			}
		}
	}
	return nil
}

// peak times a kernel of multiply-adds of a type.
func (r *runner) peak(ctx context.Context, elem types.Type) (Peak, error) {
	k, elements, flops := peakKernel(elem, r.about.Target.Kind() == lower.GPU, r.about.Target.Units)
	geometry, err := kernel.LaunchGeometry(k, nil)
	if err != nil {
		return Peak{}, err
	}
	d := r.about.Target.Dialect
	m := &kernel.Module{Program: r.Bound.Program, Kernels: []*kernel.Kernel{k}}
	made, err := r.Lab.Compile(ctx, measure.Text{Name: k.Name, Source: emit.Source(d, m)})
	if err != nil {
		return Peak{}, err
	}
	grids := len(r.Bound.Program.Grids)
	c := measure.Code{Name: k.Name, Image: made.Image, Kernels: []string{k.Name}, To: 1,
		Use:      measure.Use{Reads: make([]bool, grids), Writes: make([]bool, grids)},
		Scratch:  []int64{elements * int64(elem.Size())},
		Launches: []exec.Launch{{Args: []exec.Arg{{Kind: exec.ScratchArg}}, Geometry: geometry}}}
	best := 0.0
	for range roofMeasured {
		s, err := r.Lab.Batch(ctx, c, r.about.Least)
		if err != nil {
			return Peak{}, err
		}
		best = max(best, flops/s/1e9)
	}
	return Peak{elem.String(), best, "measured: fused multiply-adds"}, nil
}

// issued sets which share of the issue slots a kernel fills, of GPUs that a description tells of. The cost model counts
// kernels of several iterations alone.
func (r *runner) issued(k *Kernel, s subject) {
	m := machine.Described(r.about.Target.Machine)
	if s.span == nil || m == nil || m.GPU == nil || m.Peak.F32 == 0 || k.Seconds == 0 {
		return
	}
	if w, err := costmodel.WorkOf(s.launch, r.Bound); err == nil {
		rounds := 1.0
		if s.launch.Repeats() {
			rounds = costmodel.CountedRounds
		}
		k.Issue = w.IssueSeconds(m) / rounds / k.Seconds
	}
}

// place sets where a kernel lies on the roofline of each level.
func (r *runner) place(k *Kernel) {
	peak := r.profile.Roof.Peak(k.Type)
	if peak > 0 && k.Seconds > 0 {
		k.Peak = k.Flops / k.Seconds / peak
	}
	for i := range k.Levels {
		k.Levels[i].place(k, peak, r.profile.Roof.Bandwidth(k.Levels[i].Level))
	}
}

// place sets what follows from a level's bytes.
func (l *Level) place(k *Kernel, peak, bandwidth float64) {
	if l.Bytes > 0 {
		l.Intensity = k.Flops / l.Bytes
	}
	if bandwidth == 0 {
		return
	}
	l.Share = l.Bytes / k.Seconds / bandwidth
	if peak > 0 {
		l.Ridge = peak / bandwidth
		l.Place = PlaceOf(l.Intensity, l.Ridge)
	}
}

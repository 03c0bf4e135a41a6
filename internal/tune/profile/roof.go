package profile

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
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
	note := func(what string, err error) error {
		if err != nil && ctx.Err() == nil {
			r.profile.Notes = append(r.profile.Notes, fmt.Sprintf("%s could not be measured: %v", what, err))
			err = nil
		}
		return err
	}
	speed := func(what string, s Speed, err error) error {
		if err == nil {
			roof.Levels = append(roof.Levels, s)
		}
		return note(what, err)
	}
	bytes := int64(copiedBytes)
	if r.about.Shared {
		bytes = copiedOnHost
	}
	s, err := r.copied(ctx, DRAM, "measured: a copy", max(bytes, 4*r.about.CacheBytes)/2)
	if err := speed("the bandwidth of the memory", s, err); err != nil {
		return err
	}
	if r.about.CacheBytes > 0 {
		s, err := r.cached(ctx)
		if err := speed("the bandwidth of the last cache", s, err); err != nil {
			return err
		}
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

// copied returns the bandwidth of a level by copies of so many bytes.
func (r *runner) copied(ctx context.Context, level, from string, bytes int64) (Speed, error) {
	s, err := fastest(func() (float64, error) { return r.Lab.Copy(ctx, bytes, r.about.Least) })
	return Speed{level, 2 * float64(bytes) / s / 1e9, from}, err
}

// cached returns the bandwidth of the last cache. On processors, where a launch starts at once, it times a launch for
// each copy.
func (r *runner) cached(ctx context.Context) (Speed, error) {
	if r.about.Target.Kind() == lower.GPU && !r.about.Shared {
		if k, moved := cachedCopy(r.about.CacheBytes, r.about.Target.Units, copyRounds); k != nil {
			s, err := r.own(ctx, k)
			return Speed{L2, moved / s / 1e9, "measured: copies that the last cache keeps, in one launch"}, err
		}
	}
	return r.copied(ctx, L2, "measured: a copy that the last cache keeps", r.about.CacheBytes/4)
}

// peak times a kernel of multiply-adds of a type.
func (r *runner) peak(ctx context.Context, elem types.Type) (Peak, error) {
	k, flops := peakKernel(elem, r.about.Target.Kind() == lower.GPU, r.about.Target.Units)
	s, err := r.own(ctx, k)
	return Peak{elem.String(), flops / s / 1e9, "measured: fused multiply-adds"}, err
}

// own returns the seconds of a kernel on memory of its own, all of whose scalars are 1 as integers.
func (r *runner) own(ctx context.Context, k *kernel.Kernel) (float64, error) {
	l := exec.Launch{}
	values := map[*kernel.Var]op.Value{}
	var scratch []int64
	for i, b := range k.Buffers {
		cells, _ := b.Fixed()
		scratch = append(scratch, cells*int64(b.Elem.Size()))
		l.Args = append(l.Args, exec.Arg{Kind: exec.ScratchArg, Index: i})
	}
	for _, v := range k.Scalars {
		values[v] = op.Int(v.Type, 1)
		one := exec.Arg{Kind: exec.ValueArg}
		device.Encode(one.Bits[:], values[v])
		l.Args = append(l.Args, one)
	}
	var err error
	if l.Geometry, err = kernel.LaunchGeometry(k, values); err != nil {
		return 0, err
	}
	m := &kernel.Module{Program: r.Bound.Program, Kernels: []*kernel.Kernel{k}}
	made, err := r.Lab.Compile(ctx, measure.Text{Name: k.Name, Source: emit.Source(r.about.Target.Dialect, m)})
	if err != nil {
		return 0, err
	}
	grids := len(r.Bound.Program.Grids)
	c := measure.Code{Name: k.Name, Image: made.Image, Kernels: []string{k.Name}, To: 1, Scratch: scratch,
		Use:      measure.Use{Reads: make([]bool, grids), Writes: make([]bool, grids)},
		Launches: []exec.Launch{l}}
	return fastest(func() (float64, error) { return r.Lab.Batch(ctx, c, r.about.Least) })
}

// fastest returns the least of several times.
func fastest(once func() (float64, error)) (float64, error) {
	best := math.Inf(1)
	for range roofMeasured {
		s, err := once()
		if err != nil {
			return 0, err
		}
		best = min(best, s)
	}
	return best, nil
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

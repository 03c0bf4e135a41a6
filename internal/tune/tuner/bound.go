package tuner

import (
	"context"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Bound is the copy bound: the speed at which the program would run if every
// cell moved once, as fast as a copy of the same grids moves.
type Bound struct {
	CopyGBs       float64 `json:"copy_gb_per_s,omitempty"` // read and written, measured here
	BytesPerPoint float64 `json:"bytes_per_point"`
	GStencils     float64 `json:"gstencils,omitempty"` // 0 if there is no bound
	Bytes         int64   `json:"copied_bytes,omitempty"`
	// None says why there is no bound.
	None string `json:"none,omitempty"`
}

// mostCopied is the most bytes that a copy moves: enough to measure the memory's bandwidth.
const mostCopied = 2 << 30

// copyBound measures the speed of a copy. There is no bound where the grids stay in a cache from one update
// to the next.
func (t *tuning) copyBound(ctx context.Context) error {
	b := &t.result.Bound
	b.BytesPerPoint = t.traffic() / t.updates()
	if set := t.workingSet(t.calls); t.about.CacheBytes >= set {
		b.None = fmt.Sprintf("the grids of a kernel (%s) fit in the caches (%s)", memory.Size(set),
			memory.Size(t.about.CacheBytes))
		if t.opts.Target.Fraction > 0 {
			t.note("--target in %% counts for nothing, since there is no copy bound: %s; give a speed in GStencil/s",
				b.None)
		}
		return nil
	}
	most := 0.0
	for _, call := range t.calls {
		most = max(most, float64(call.points)*call.bytes)
	}
	b.Bytes = min(mostCopied, max(1<<12, int64(most/2)))
	best := 0.0
	for range 3 {
		s, err := t.lab.Copy(ctx, b.Bytes, t.about.Least)
		if err != nil {
			return err
		}
		best = max(best, 2*float64(b.Bytes)/s/1e9)
	}
	b.CopyGBs, b.GStencils = best, best/b.BytesPerPoint
	t.bound = b.GStencils
	return nil
}

// workingSet returns the bytes of the grids that a call touches: the largest of some calls, since calls
// are timed one by one.
func (s *subject) workingSet(calls []*tunedCall) int64 {
	facts := analysis.Analyze(s.bound.Program, s.bound)
	var most int64
	for _, call := range calls {
		most = max(most, facts.Call(call.ir).WorkingSet)
	}
	return most
}

// Copied says how much was copied to find the bound.
func (b *Bound) Copied() string { return memory.Size(b.Bytes) }

// passed is the factor by which plans may pass the copy bound, since times of copies scatter, too.
const passed = 1.05

// limit derives the part of the copy bound that each contender reaches. A bound that one of them passes is
// dropped, unless its kernels move a cell once for several updates.
func (r *Result) limit() {
	b := &r.Bound
	top := 0.0
	for _, c := range r.Contenders {
		if !r.HasSpans(&c) {
			top = max(top, c.GStencils)
		}
	}
	if b.GStencils > 0 && top > passed*b.GStencils {
		b.None = fmt.Sprintf(
			"%.4g GStencil/s, more than the %.4g that a copy of %s allows: grids stay in a cache in part", top,
			b.GStencils, memory.Size(b.Bytes))
		b.GStencils = 0
	}
	for i := range r.Contenders {
		c := &r.Contenders[i]
		c.Fraction = 0
		if b.GStencils > 0 {
			c.Fraction = c.GStencils / b.GStencils
		}
	}
}

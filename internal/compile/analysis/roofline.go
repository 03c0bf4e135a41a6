package analysis

import (
	"math"

	"github.com/gridloom/gridloom/internal/compile/machine"
)

// Bound is the roofline bound on a machine (Rawat, section IV, after Williams
// and others): no schedule that computes one step after the other, its grids
// coming from memory, is faster. Temporal blocking goes beyond the memory part,
// and so does a loop whose grids stay in a cache.
type Bound struct {
	Machine string `json:"machine"`
	// Memory and Arithmetic are nanoseconds for each point and step: the
	// compulsory bytes at the bandwidth of a copy, and the operations at the
	// peak rate. A peak counts a fused multiply-add as two, so that operations
	// that cannot be fused take as long as one that is.
	Memory     float64 `json:"memory_ns"`
	Arithmetic float64 `json:"arithmetic_ns"`
	Limit      string  `json:"limit"` // memory or arithmetic: the larger one
	GStencils  float64 `json:"gstencils"`
	GFlops     float64 `json:"gflops"`
	// Balance is the number of flops a byte, of this program's mix, at which
	// the two would take equally long.
	Balance float64 `json:"balance"`
	// ByGroup is the bound with the bytes of Traffic.ByGroup.
	ByGroup float64 `json:"by_group_gstencils"`
	// Cache is the rate at which the innermost cache whose bandwidth is known
	// can serve every load and store as written; 0 if there is none.
	Cache     float64 `json:"cache_gstencils,omitempty"`
	CacheName string  `json:"cache,omitempty"`
	// FitsIn is the nearest cache that holds the whole working set, all its
	// instances taken together, if there is one; with sizes.
	FitsIn string `json:"fits_in,omitempty"`
	// Seconds is the time of a call, or of an iteration of a loop; with sizes.
	Seconds float64 `json:"seconds,omitempty"`
}

// On adds the bounds on a machine to the calls and loops of f.
func (f *Facts) On(m *machine.Machine) {
	for _, s := range f.Calls {
		s.Bound = roofline(m, s.Ops, s.Single, s.Traffic, float64(s.Points), s.WorkingSet)
	}
	for _, l := range f.Loops {
		l.Bound = roofline(m, l.Ops, l.Single, l.Traffic, float64(l.Points*l.Steps), l.WorkingSet)
	}
}

// roofline bounds work given for one point; points is how many there are, set the
// bytes of the grids.
func roofline(m *machine.Machine, ops, single Ops, t Traffic, points float64, set int64) *Bound {
	b := &Bound{Machine: m.Name}
	double := ops.plus(single.times(-1))
	b.Memory = t.Compulsory / m.Memory.Bandwidth
	b.Arithmetic = 2*double.Fused()/m.Peak.F64 + 2*single.Fused()/m.Peak.F32
	longest := math.Max(b.Memory, b.Arithmetic)
	b.Limit = "memory"
	if b.Arithmetic > b.Memory {
		b.Limit = "arithmetic"
	}
	b.GStencils = rate(longest)
	b.GFlops = ops.Flops() * b.GStencils
	if b.Arithmetic > 0 {
		b.Balance = ops.Flops() / b.Arithmetic / m.Memory.Bandwidth
	}
	b.ByGroup = rate(math.Max(t.ByGroup/m.Memory.Bandwidth, b.Arithmetic))
	if c := m.Inner(); c != nil {
		b.Cache, b.CacheName = rate(t.AsWritten/c.Bandwidth), c.Name
	}
	if c := m.Holding(set); c != nil && set > 0 {
		b.FitsIn = c.Name
	}
	b.Seconds = longest * points * 1e-9
	return b
}

// rate turns nanoseconds a point into billions of points a second; 0 for work
// that takes no time.
func rate(ns float64) float64 {
	if ns == 0 {
		return 0
	}
	return 1 / ns
}

// Package promising says what a search need not try, by what binds a kernel: the rules of Rawat et al. 2019, sections
// IV to VI, as data. Searches that follow them keep what the rules leave, and go on to deeper kernels as long as a rule
// says that these may gain.
package promising

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// Class is what binds a kernel: what a profile has measured, or what theory says, which knows no level of memory.
type Class = profile.Class

// The classes besides those of profiles that tell a level of memory.
const (
	Bandwidth Class = "bandwidth-bound" // at some level of memory
	Compute         = profile.ComputeBound
	Latency         = profile.LatencyBound // by neither: it waits
	Unknown   Class = "unknown"
)

// Staging is which kernels are promising: those that copy cells to shared memory, or those that do not.
type Staging string

// The values of Staging.
const (
	Either Staging = ""
	Staged Staging = "staged"
	Direct Staging = "direct"
)

// Rule is what is promising for kernels of a class.
type Rule struct {
	Class Class
	// Unroll is the most cells of a thread along an axis; 0 for any number.
	Unroll int64
	// Deeper says whether more iterations in a kernel than it has may gain anything.
	Deeper bool
	// Staging is what a class that was measured says of copies to shared memory; theory does not know what they cost.
	Staging Staging
	Why     string
}

// Rules are those of the classes, each once.
var Rules = []Rule{
	{Bandwidth, 8, true, Either, "more cells of a thread, and more iterations of a kernel, share what they load " +
		"(sections V and VI-A)"},
	{profile.BoundByDRAM, 8, true, Either, "more iterations of a kernel share what is loaded; whether it is copied " +
		"to shared memory on its way does not change how much that is (section IV-A)"},
	{profile.BoundByL2, 8, true, Either, "likewise: cells that are shared in a block move once from there " +
		"(section IV-A)"},
	{profile.BoundByL1, 8, true, Staged, "neighbours take cells from shared memory, which the first cache would give " +
		"again and again (section IV-A)"},
	{profile.BoundByShared, 8, true, Either, "more cells of a thread share in registers what they load (section IV-A)"},
	{Compute, 4, false, Direct, "registers bind before reuse pays, arithmetic stays the same in deeper kernels, and " +
		"copies to shared memory cost instructions (sections IV-A, V and VI-A)"},
	{Latency, 8, false, Either, "deeper kernels wait more often (section VI-A goes on only while bandwidth binds)"},
	{Unknown, 0, true, Either, "nothing is known that speaks against a try"},
}

// For returns the rule of a class; that of Unknown for any other word, such as that of a kernel that was not measured.
func For(c Class) Rule {
	for _, r := range Rules {
		if r.Class == c {
			return r
		}
	}
	return For(Unknown)
}

// InTheory returns the class of a call on a machine that its facts were bound to (analysis.Facts.On): compute-bound if
// its operations take longer than its compulsory bytes.
func InTheory(f *analysis.CallFacts) Class {
	b := f.Bound
	switch {
	case b == nil || !(b.Memory > 0) || !(b.GStencils > 0):
		return Unknown
	case b.Arithmetic >= b.Memory:
		return Compute
	}
	return Bandwidth
}

// OfModel returns the class of what the cost model says binds a kernel. Shared memory is a level of memory, too; that
// something but the device's memory binds a kernel says too little.
func OfModel(c costmodel.Class) Class {
	switch c {
	case costmodel.Memory, costmodel.Shared:
		return Bandwidth
	case costmodel.Arithmetic, costmodel.Issue:
		return Compute
	case costmodel.Waiting, costmodel.Launching:
		return Latency
	}
	return Unknown
}

// Keep returns what a rule leaves of a kernel's space whose axes have some names; all of it where nothing would be
// left, and for processors, whose loops have no threads to give cells to. The paper also has blocks of 4 to 256 threads
// along an axis: that is left out (docs/rationale/tuning.md).
func (r Rule) Keep(s schedule.Space, axes []string) schedule.Space {
	if r.Unroll == 0 || !s.On(schedule.Threads).Any() {
		return s
	}
	less, err := s.Each(func(f *schedule.Family) *schedule.Constraint {
		names := f.Names(schedule.Vector, schedule.BlockedUnroll, schedule.CyclicUnroll)
		if len(names) == 0 || f.For(schedule.Threads) == nil {
			return nil
		}
		roles := f.Roles()
		return &schedule.Constraint{
			Name: "promising", Doc: fmt.Sprintf("for %s kernels at most %d cells of a thread along an axis are "+
				"promising", r.Class, r.Unroll),
			Params: names,
			Holds: func(c schedule.Config) bool {
				return !slices.ContainsFunc(roles.Of(c).Shape(axes).On,
					func(x schedule.Share) bool { return x.Cells() > r.Unroll })
			},
		}
	})
	if err != nil {
		return s
	}
	return less
}

// KeepMeasured returns what the rule of a class that was measured leaves of a kernel's space: what Keep leaves, and of
// that the kernels that are staged as the rule says, where there are any. A kernel of several iterations copies its
// cells once for all of them: it may do so in any way.
func (r Rule) KeepMeasured(s schedule.Space, axes []string, depth int64) schedule.Space {
	less := r.Keep(s, axes)
	if depth > 1 {
		return less
	}
	staged, err := less, error(nil)
	switch r.Staging {
	case Staged:
		staged, err = less.On(schedule.Staging).Choose("1 or more", func(v schedule.Value) bool {
			return !v.Equal(schedule.Int(0))
		})
	case Direct:
		staged, err = less.On(schedule.Staging).Keep(schedule.Int(0))
	}
	if err != nil {
		return less
	}
	return staged
}

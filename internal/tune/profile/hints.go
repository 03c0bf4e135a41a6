package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Hint is what to change about a kernel, with the evidence and with what the change may gain.
type Hint struct {
	Code     string  `json:"code"`     // "H02": docs/profile.md lists them
	Text     string  `json:"text"`     // what to do
	Evidence string  `json:"evidence"` // why
	Gain     float64 `json:"gain,omitempty"`
	// Predicted says how the gain is known; without a gain, why it is not.
	Predicted string `json:"predicted"`
	Change    Change `json:"change"`
	// Measured is how many times as fast the plan with the change is, where Follow has timed both side by side.
	Measured *Gain  `json:"measured,omitempty"`
	Failed   string `json:"failed,omitempty"` // why it could not be measured
	// Forbidden says what of the source does not allow the change.
	Forbidden string `json:"forbidden,omitempty"`
}

// Gain is how many times as fast something is.
type Gain struct {
	Ratio    float64          `json:"ratio"`
	Interval measure.Interval `json:"interval"`
}

// Change is what carries out a hint: one of its texts is set.
type Change struct {
	Plan    string `json:"plan,omitempty"`    // for --plan
	Option  string `json:"option,omitempty"`  // of the command line
	Command string `json:"command,omitempty"` // to run
	Edit    string `json:"edit,omitempty"`    // of the source
	// What a plan is to have in the place of the kernel: another configuration, or more iterations in a kernel.
	config   *schedule.Config
	deeper   int64
	together bool
	family   string // of the kernel of iterations; "" is the usual one, or that of the kernel that there is
}

// Facts are what rules need to know beside a kernel's profile. Where no kernel was measured (InTheory), there is no
// plan, no configuration and no space: rules that need these give nothing.
type Facts struct {
	*Kernel
	Theory bool // nothing was measured
	File   string
	Plan   schedule.Plan   // in full
	Config schedule.Config // of the kernel
	Space  schedule.Space  // that it may have, whatever the source fixes
	GPU    bool
	Fast   bool // arithmetic may be rearranged
	// the kernel of an iteration of its loop in plans, as in body[0:2]; "" where iterations cannot share a kernel
	LoopIn string
	Split  []string // versions that gridloom fission makes of the program
	Grids  []string // that the kernel reads and writes, the largest first

	Together   *Together          // the statements of an iteration in one kernel, where that is possible
	Products   []analysis.Product // grids that the call reads as products alone
	Fixed      []string           // what the source says about the kernels of the call: "block 32x16"
	Sorted     []string           // statements of pipe kernels with sums in the order of planes, if they have another
	Statements int                // of the call
	Values     float64            // that it loads at a point
}

// Together is all statements of an iteration, or of a sequence, in one kernel.
type Together struct {
	Kernel        string  // as plans name it: "body[0:3]"
	Calls         int     // whose statements these are
	Before, After float64 // bytes of a point: call by call, and together
}

// roles returns the kernel's configuration by roles.
func (f *Facts) roles() schedule.ByRole { return f.Space.ByRole(f.Config) }

// staged reports whether cells are copied to shared memory.
func (f *Facts) staged() bool { return f.roles().Int(schedule.Staging, 0) > 0 }

// rule is one rule: under which condition which changes may help, the best first.
type rule struct {
	code, text string
	when       func(f *Facts) bool
	changes    func(f *Facts) []Change
	gain       func(f *Facts, c Change) float64 // 0 if it is not known
	why        func(f *Facts) string            // the evidence; nil is that of the class
	bound      string                           // what the gain is at the most; "" is the variant without the cost
	unknown    string                           // why the gain is not known
}

const (
	// mostDepth is how many iterations a kernel has at the most that more are suggested for.
	mostDepth = 32
	// registersOfThread are those that a thread of NVIDIA's can have.
	registersOfThread = 255
	// fewThreads is the occupancy below which more threads may hide latency.
	fewThreads = 0.5
)

// rules are those of Rawat et al. 2019 (section IV-A), and more. Their order is that of the output.
var rules = []rule{
	{
		code: "H01", text: "carry out more iterations in a kernel",
		when: func(f *Facts) bool {
			return f.Loop && f.LoopIn != "" && f.Depth < mostDepth &&
				(f.Class == BoundByDRAM || f.Class == BoundByL2 || f.Class == BoundByL1)
		},
		changes: func(f *Facts) []Change {
			return slices.Concat(f.iterations(2*f.Depth), f.iterations(f.Depth+1))
		},
		gain: func(f *Facts, c Change) float64 {
			return 1 / (1 - f.shareBefore()*(1-float64(f.Depth)/float64(c.deeper)))
		},
		bound: "the memory's part of the time once for all iterations of a kernel",
	},
	{
		code: "H02", text: "copy cells to shared memory, from where neighbours take them",
		when: func(f *Facts) bool {
			return f.GPU && (f.Class == BoundByL1 || f.Class == BoundByL2) && !f.staged() && f.has(schedule.Staging)
		},
		changes: func(f *Facts) []Change {
			return f.set(setting{schedule.Staging, schedule.Int(2)}, setting{schedule.StagedPart,
				schedule.Word(schedule.AllCells)}).
				or(f.set(setting{schedule.Staging, schedule.Int(1)}))
		},
		gain: without(kernel.WithoutL1, kernel.WithoutL2),
	},
	{
		code: "H03", text: "load cells directly: shared memory only adds to what moves",
		when:    func(f *Facts) bool { return f.Class == BoundByDRAM && f.staged() && f.Depth == 1 },
		changes: func(f *Facts) []Change { return f.set(setting{schedule.Staging, schedule.Int(0)}) },
		gain:    without(kernel.WithoutShared), unknown: "the kernel is no faster without its loads of shared memory",
	},
	{
		code: "H04", text: "move fewer bytes: a lower order, another algorithm, or float where it is enough",
		when:    func(f *Facts) bool { return f.Class == BoundByDRAM && (!f.Loop || f.LoopIn == "") },
		changes: func(f *Facts) []Change { return []Change{{Edit: f.fewerBytes()}} },
		gain:    without(kernel.WithoutDRAM),
	},
	{
		code: "H05", text: "join calls, so that grids move once for all of them",
		when: func(f *Facts) bool { return f.Class == BoundByDRAM && f.splits("maxfuse") },
		changes: func(f *Facts) []Change {
			return []Change{{Command: "gridloom fission " + f.File + " --only maxfuse"}}
		},
		gain: func(f *Facts, c Change) float64 {
			if f.Together != nil {
				return f.lessBytes(1 - f.Together.After/f.Together.Before)
			}
			return without(kernel.WithoutDRAM)(f, c)
		},
	},
	{
		code: "H06", text: "compute more cells a thread, which share what is loaded in registers",
		when: func(f *Facts) bool { return f.Class == BoundByShared },
		changes: func(f *Facts) []Change {
			return f.scaled(schedule.BlockedUnroll, 2).or(f.scaled(schedule.Vector, 2)).or(
				f.set(setting{schedule.LaneExchange, schedule.Word("yes")}))
		},
		gain: without(kernel.WithoutShared),
	},
	{
		code: "H07", text: "leave out what costs instructions: copies to shared memory, unrolled loops",
		when: func(f *Facts) bool {
			return f.Class == ComputeBound && f.GPU && (f.staged() && f.Depth == 1 || f.unrolled())
		},
		changes: func(f *Facts) []Change {
			return f.set(setting{schedule.Staging, schedule.Int(0)}, setting{schedule.StreamUnroll,
				schedule.Int(0)}).or(f.set(setting{schedule.StreamUnroll, schedule.Int(0)}))
		},
		gain: without(kernel.WithoutShared), unknown: "no variant is without these instructions alone",
	},
	{
		code: "H08", text: "compute less: let sums be rearranged",
		when:    func(f *Facts) bool { return f.Class == ComputeBound && !f.Fast },
		changes: func(*Facts) []Change { return []Change{{Option: "--fp fast"}} },
		gain:    without(kernel.WithoutArithmetic),
	},
	{
		code: "H09", text: "compute indices from each other, with sizes as literals",
		when: func(f *Facts) bool {
			r := f.roles()
			return f.Class == ComputeBound && f.GPU && (f.has(schedule.Indexing) && !r.Is(schedule.Indexing) ||
				f.has(schedule.Sizes) && r.Word(schedule.Sizes) != schedule.SizeLiterals)
		},
		changes: func(f *Facts) []Change {
			return f.set(setting{schedule.Indexing, schedule.Word("yes")}, setting{schedule.Sizes,
				schedule.Word(schedule.SizeLiterals)}).or(f.set(setting{schedule.Indexing, schedule.Word("yes")}))
		},
		gain: func(*Facts, Change) float64 { return 0 }, unknown: "index arithmetic is in every variant",
	},
	{
		code: "H10", text: "need fewer registers: no unrolled loop, fewer cells a thread",
		when: func(f *Facts) bool { return f.Resources.Spills > 0 && (f.unrolled() || f.cells() > 1) },
		changes: func(f *Facts) []Change {
			return f.set(setting{schedule.StreamUnroll, schedule.Int(0)}).or(f.scaled(schedule.CyclicUnroll, 0)).or(
				f.scaled(schedule.BlockedUnroll, 0)).or(f.scaled(schedule.Vector, 0))
		},
		gain: func(*Facts, Change) float64 { return 0 }, unknown: "spilled registers are in every variant",
	},
	{
		code: "H11", text: "split the stencil: each part needs fewer registers",
		when: func(f *Facts) bool {
			return (f.Resources.Spills > 0 || f.Resources.Registers >= registersOfThread) && f.split() != ""
		},
		changes: func(f *Facts) []Change {
			return []Change{{Command: "gridloom fission " + f.File + " --only " + f.split()}}
		},
		gain: func(*Facts, Change) float64 { return 0 }, unknown: "spilled registers are in every variant",
		why: func(f *Facts) string {
			switch {
			case f.Theory:
				return fmt.Sprintf("%s read %s a point, which are %d registers of a thread; it has %d",
					quantity.Count(f.Statements, "statement"), quantity.Count(int64(f.Values), "value"),
					f.Resources.Registers, registersOfThread)
			case f.Resources.Spills > 0:
				return fmt.Sprintf("a thread spills %d bytes", f.Resources.Spills)
			}
			return fmt.Sprintf("a thread has all %d registers that there are", f.Resources.Registers)
		},
	},
	{
		code: "H12", text: "have more under way: more threads at once, loads that are early, more cells a thread",
		when: func(f *Facts) bool { return f.Class == LatencyBound && f.GPU },
		changes: func(f *Facts) []Change {
			var list changes
			if o := f.Resources.Occupancy; o > 0 && o < fewThreads {
				list = f.limited(f.Resources.Registers)
			}
			if f.roles().Int(schedule.Prefetch, 0) == 0 {
				list = list.or(f.set(setting{schedule.Prefetch, schedule.Int(1)}))
			}
			return list.or(f.scaled(schedule.BlockedUnroll, 2))
		},
		gain:  func(f *Facts, _ Change) float64 { return f.toRoof() },
		bound: "the nearest roof",
	},
	{
		code: "H13", text: "cut the loops into blocks that a cache keeps",
		when: func(f *Facts) bool {
			return !f.GPU && (f.Class == BoundByL2 || f.Class == BoundByL1) && f.has(schedule.CacheBlock)
		},
		changes: func(f *Facts) []Change { return f.blocked(64).or(f.blocked(16)) },
		gain:    without(kernel.WithoutL2),
	},
	{
		code: "H14", text: "store the product of two grids in the place of one of them",
		when: func(f *Facts) bool { return f.Class == BoundByDRAM && len(f.Products) > 0 },
		changes: func(f *Facts) []Change {
			p := f.Products[0]
			return []Change{{Edit: fmt.Sprintf("compute %s*%s once into a grid of its own, and read that: the call "+
				"reads both as this product alone", p.A, p.B)}}
		},
		gain:  func(f *Facts, _ Change) float64 { return f.lessBytes(f.Products[0].Part) },
		bound: "the bytes of one grid less",
		why: func(f *Facts) string {
			p := f.Products[0]
			return fmt.Sprintf("%s and %s are read at one point, as factors of a product, and nothing stores to them",
				p.A, p.B)
		},
	},
	{
		code: "H15", text: "carry out all statements of an iteration in one kernel",
		when: func(f *Facts) bool {
			return f.Class == BoundByDRAM && f.Depth <= 1 && f.Together != nil &&
				f.Together.After < f.Together.Before && f.Part != f.Together.Kernel
		},
		changes: func(f *Facts) []Change { return f.iterations(1) },
		gain:    func(f *Facts, _ Change) float64 { return f.lessBytes(1 - f.Together.After/f.Together.Before) },
		bound:   "grids move once for all calls",
		why: func(f *Facts) string {
			return fmt.Sprintf("%s move %s bytes a point, and their statements together %s",
				quantity.Count(f.Together.Calls, "call"), quantity.Digits(f.Together.Before, 3),
				quantity.Digits(f.Together.After, 3))
		},
	},
	{
		code: "H16", text: "let the search have what the source excludes",
		when:    func(f *Facts) bool { return f.GPU && len(f.Fixed) > 0 },
		changes: func(f *Facts) []Change { return []Change{{Command: "gridloom tune " + f.File + " --free"}} },
		gain:    func(*Facts, Change) float64 { return 0 }, unknown: "what is excluded was not measured",
		why: func(f *Facts) string { return "the source fixes " + strings.Join(f.Fixed, ", ") },
	},
	{
		code: "H17",
		text: "write the terms of sums in the order of their planes: threads keep one value for each plane then",
		when: func(f *Facts) bool {
			return (f.Resources.Spills > 0 || f.Resources.Registers >= registersOfThread) && len(f.Sorted) > 0
		},
		changes: func(f *Facts) []Change {
			list := f.set(setting{schedule.Retiming, schedule.Word("sums")}) // that fast arithmetic allows
			return list.or([]Change{{Edit: strings.Join(f.Sorted, "; ")}})
		},
		gain: func(*Facts, Change) float64 { return 0 }, unknown: "spilled registers are in every variant",
		why: func(f *Facts) string {
			return fmt.Sprintf("a thread has %d registers and spills %d bytes, and parts of sums wait for planes to "+
				"come", f.Resources.Registers, f.Resources.Spills)
		},
	},
	{
		code: "H18", text: "compute values once that statements compute at several cells",
		when: func(f *Facts) bool {
			return (f.Class == ComputeBound || f.Class == BoundByL1 || f.Class == BoundByShared) && f.splits("cire")
		},
		changes: func(f *Facts) []Change {
			return []Change{{Command: "gridloom fission " + f.File + " --only cire"}}
		},
		gain: without(kernel.WithoutArithmetic, kernel.WithoutL1, kernel.WithoutShared),
	},
	{
		code: "H19", text: "compute anew what calls before leave at other cells: threads wait for no neighbours then",
		when: func(f *Facts) bool {
			full := f.Class == BoundByDRAM // by theory nothing is known of waiting
			if l := f.Level(DRAM); l != nil && l.Share > 0 {
				full = l.Share >= nearlyFull
			}
			return f.Class != NotTold && !full && f.splits("inline")
		},
		changes: func(f *Facts) []Change {
			return []Change{{Command: "gridloom fission " + f.File + " --only inline"}}
		},
		gain: func(*Facts, Change) float64 { return 0 }, unknown: "threads wait for neighbours in every variant",
	},
}

// nearlyFull is the share of the memory's bandwidth from which on more operations gain nothing.
const nearlyFull = 0.80

// Check tells whether a plan can be had; if not, what of the source forbids it, or "" if something else does.
type Check func(plan string) (fits bool, forbidden string)

// Advise returns the hints for a kernel. Changes of the plan that cannot be had are left out, but for those that the
// source forbids: with them the hint says so.
func Advise(f *Facts, check Check) []Hint {
	var list []Hint
	for i := range rules {
		r := &rules[i]
		if !r.when(f) {
			continue
		}
		if h, ok := r.hint(f, check); ok {
			list = append(list, h)
		}
	}
	return list
}

// hint returns the hint of a rule with the first of its changes that can be had, or else the first that the source
// forbids.
func (r *rule) hint(f *Facts, check Check) (Hint, bool) {
	var refused *Hint
	for _, c := range r.changes(f) {
		h := Hint{Code: r.code, Text: r.text, Evidence: f.evidence(), Change: c}
		if r.why != nil {
			h.Evidence = r.why(f)
		}
		h.Gain = r.gain(f, c)
		switch {
		case h.Gain > 1:
			h.Predicted = "at the most: " + cmp.Or(r.bound, "the time of the kernel without that cost")
			if f.Theory {
				h.Predicted += "; in theory, nothing was measured"
			}
		case r.unknown != "":
			h.Gain, h.Predicted = 0, "not known: "+r.unknown
		default:
			h.Gain, h.Predicted = 0, "not known: there is no such variant"
		}
		if !f.planned(&h.Change) {
			return h, true
		}
		if h.Change.Plan == "" {
			continue
		}
		fits, forbidden := check(h.Change.Plan)
		if fits {
			return h, true
		}
		if forbidden != "" && refused == nil {
			h.Forbidden = forbidden
			refused = &h
		}
	}
	if refused == nil {
		return Hint{}, false
	}
	return *refused, true
}

// evidence is what a kernel's class was told by, in a sentence.
func (f *Facts) evidence() string {
	if len(f.Evidence) == 0 {
		return string(f.Class)
	}
	return fmt.Sprintf("%s: %s", f.Class, f.Evidence[0])
}

// without is the gain of the first of some variants that there is, if it is one.
func without(names ...string) func(*Facts, Change) float64 {
	return func(f *Facts, _ Change) float64 {
		for _, name := range names {
			if v := f.Variant(name); v != nil && v.Interval[0] > 1 {
				return v.Gain
			}
		}
		return 0
	}
}

// Package profile says what binds the kernels of a plan. It runs each kernel, and variants of it in which one cost
// vanishes, side by side (code differencing: Rawat et al. 2019, section IV), counts what the kernel does, measures what
// the device can do, and tells a class by rules that are data. It changes none of the user's grids: all runs are on
// memory of the laboratory's own.
package profile

import (
	"github.com/gridloom/gridloom/internal/tune/counters"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Profile is what was found of a program's kernels.
type Profile struct {
	Program    string           `json:"program"`
	Plan       string           `json:"plan"`
	Sizes      map[string]int64 `json:"sizes"`
	Device     measure.About    `json:"device"`
	Roof       Roof             `json:"roof"`
	Kernels    []*Kernel        `json:"kernels"`
	Notes      []string         `json:"notes,omitempty"`
	NoCounters string           `json:"no_counters,omitempty"` // why the hardware has counted nothing
}

// Roof is what the device can do, measured unless it says otherwise.
type Roof struct {
	Peaks  []Peak  `json:"peaks"`
	Levels []Speed `json:"levels"` // the farthest from the arithmetic first
}

// Peak is the arithmetic of one type, a fused multiply-add counted as two operations.
type Peak struct {
	Type   string  `json:"type"` // "f64"
	GFlops float64 `json:"gflops"`
	From   string  `json:"from"`
}

// Speed is the bandwidth of a level of memory.
type Speed struct {
	Level string  `json:"level"`
	GBs   float64 `json:"gb_per_s"`
	From  string  `json:"from"`
}

// Bandwidth returns that of a level in bytes a second; 0 if it is not known.
func (r *Roof) Bandwidth(level string) float64 {
	for _, s := range r.Levels {
		if s.Level == level {
			return 1e9 * s.GBs
		}
	}
	return 0
}

// Peak returns the arithmetic of a type in operations a second; 0 if it is not known.
func (r *Roof) Peak(elem string) float64 {
	for _, p := range r.Peaks {
		if p.Type == elem {
			return 1e9 * p.GFlops
		}
	}
	return 0
}

// The levels of memory, as the differences of kernels call them.
const (
	DRAM   = "dram"
	L2     = "l2"
	L1     = "l1"
	Shared = "shared"
)

// Kernel is one launch of a plan.
type Kernel struct {
	Name     string           `json:"name"`           // in the generated code
	Part     string           `json:"part,omitempty"` // of the plan: "heat[0:1]"
	Config   string           `json:"config,omitempty"`
	Depth    int64            `json:"depth,omitempty"` // iterations that it carries out
	Loop     bool             `json:"in_loop"`         // it is carried out again and again
	Grids    []string         `json:"grids"`           // that it reads and writes, the largest first
	Type     string           `json:"type"`            // of most of its arithmetic
	Seconds  float64          `json:"seconds"`         // median of the rounds
	Interval measure.Interval `json:"interval"`
	Rounds   int              `json:"rounds"`

	Flops     float64   `json:"flops"`                 // counted on the kernel; those that are done twice count twice
	Peak      float64   `json:"peak_share"`            // of the device's arithmetic; 0 if not known
	Issue     float64   `json:"issue_share,omitempty"` // of the issue slots, by the cost model or counters; 0 if not known
	Levels    []Level   `json:"levels"`                // the farthest from the arithmetic first
	Variants  []Variant `json:"variants"`              // by code differencing
	Uncounted string    `json:"uncounted,omitempty"`   // why nothing was counted on the kernel
	Resources Resources `json:"resources"`
	Counters  *Hardware `json:"counters,omitempty"`
	Class     Class     `json:"class"`
	Evidence  []string  `json:"evidence"`
	Hints     []Hint    `json:"hints,omitempty"`
}

// Resources are what a kernel takes of a GPU.
type Resources struct {
	Threads   int64   `json:"threads_per_block,omitempty"`
	Registers int     `json:"registers,omitempty"`
	Spills    int     `json:"spill_bytes,omitempty"`
	Shared    int64   `json:"shared_bytes,omitempty"`
	Occupancy float64 `json:"occupancy,omitempty"` // of the threads that a multiprocessor can hold
}

// Hardware is what counters of the hardware say.
type Hardware struct {
	counters.Counters
	Class Class `json:"class"` // that the counters alone tell
}

// Level is the traffic at one level of memory.
type Level struct {
	Level     string  `json:"level"`
	Bytes     float64 `json:"bytes"`
	From      string  `json:"from"`      // who has counted them
	Intensity float64 `json:"intensity"` // flops a byte
	Ridge     float64 `json:"ridge,omitempty"`
	Share     float64 `json:"share,omitempty"` // of the level's bandwidth
	Place     Place   `json:"place,omitempty"`
	// AtLeast says that the bytes are those that have to move, and more may.
	AtLeast bool `json:"at_least,omitempty"`
}

// atLeast says so in words.
func (l *Level) atLeast() string {
	if l.AtLeast {
		return "at the least "
	}
	return ""
}

// Variant is a kernel without one of its costs, timed side by side with the kernel.
type Variant struct {
	Without  string           `json:"without"`
	Removes  string           `json:"removes"`
	Seconds  float64          `json:"seconds,omitempty"`
	Gain     float64          `json:"gain,omitempty"` // how many times as fast as the kernel it is
	Interval measure.Interval `json:"interval"`       // of the gain
	// Share is the part of the kernel's time that goes with the cost, beyond what goes with those before it.
	Share  float64 `json:"share"`
	Absent string  `json:"absent,omitempty"` // why there is no such variant
}

// Level returns the traffic at a level, or nil.
func (k *Kernel) Level(name string) *Level {
	for i := range k.Levels {
		if k.Levels[i].Level == name {
			return &k.Levels[i]
		}
	}
	return nil
}

// Variant returns the one without a cost, or nil if there is none.
func (k *Kernel) Variant(without string) *Variant {
	for i := range k.Variants {
		if v := &k.Variants[i]; v.Without == without && v.Absent == "" {
			return v
		}
	}
	return nil
}

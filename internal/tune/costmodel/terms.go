package costmodel

import (
	"fmt"
	"math"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/machine"
)

// Class is what binds a kernel.
type Class string

// The classes.
const (
	Memory     Class = "memory"        // the device's memory, or the way from its cache
	Issue      Class = "issue slots"   // instructions that a multiprocessor starts
	Arithmetic Class = "arithmetic"    // the units for double precision
	Shared     Class = "shared memory" // with shuffles and spilled registers
	Waiting    Class = "waiting"       // for the warps of a block, and for other blocks
	Launching  Class = "launch"        // what a launch takes without any work
	Execution  Class = "execution"     // anything but memory: no more is known
)

// Terms is how long each resource of the device is busy for one execution of a span, or of one of its rounds within
// many, in seconds, as if it was
// the only one.
type Terms struct {
	Memory     float64 `json:"memory"`
	Issue      float64 `json:"issue_slots"`
	Arithmetic float64 `json:"arithmetic,omitempty"`
	Shared     float64 `json:"shared_memory,omitempty"`
	Waiting    float64 `json:"waiting,omitempty"`
	Launching  float64 `json:"launch"`
	// Waves is by how much the last blocks prolong the kernel: blocks that run at a time, rounded up, over the
	// blocks that there are. 1 is none.
	Waves float64 `json:"waves"`
	// Pressure is by how much registers prolong the kernel that are likely to spill. It is 0 where the compiler has
	// told what it spills, which Shared has then, and 1 where none are likely to.
	Pressure float64 `json:"register_pressure,omitempty"`
}

// Which part of what the device can do its kernels reach, and what waiting takes. These are the only numbers that
// are fitted: to kernels of an NVIDIA H200 in bench/results that TestAgainstMeasurements and TestTiles read. Arithmetic
// in double reaches less, since the clock falls at the limit of power.
const (
	memoryReached     = 0.90
	issueReached      = 0.85
	arithmeticReached = 0.75
	sharedReached     = 0.90
	barrierSeconds    = 50e-9  // that a barrier of a block adds to a step
	exchangeSeconds   = 3.5e-6 // from a store to the flag that another block sees, and back
	launchSeconds     = 2e-6
	// pressed is how many times what a thread can have of registers the estimate is from where on kernels get slower
	// for what they spill. Compilers need half of the estimate: it holds all values that are alive at once in the
	// order of the text.
	pressed = 1.9
	// together is the exponent of the norm by which terms that overlap add: 1 would be their sum, and infinity
	// the largest.
	together = 4
)

// Known is what a compiler has told of a kernel; zeros where that is not known.
type Known struct {
	Registers int // of a thread
	Spills    int // bytes of a thread
}

// NewTerms turns the work of a launch into seconds. The stored bytes count by the useful share: the others are
// behind predicates.
func NewTerms(w *Work, useful float64, m *machine.Machine, known Known) Terms {
	gpu := m.GPU
	units := float64(m.Units)
	doubles := m.Peak.F64 * 1e9 / 2 / float64(gpu.Warp)
	t := Terms{
		Memory:     (w.Loaded + w.Stored*useful) / (m.Memory.Bandwidth * 1e9 * memoryReached),
		Issue:      w.IssueSeconds(m) / issueReached,
		Arithmetic: w.Double / (doubles * arithmeticReached),
		Shared:     (w.Shared + w.spilled(known)) / (gpu.SharedBandwidth * 1e9 * sharedReached),
		Launching:  launchSeconds,
	}
	taken := w.Taken
	if known.Registers > 0 {
		taken.Registers = int64(known.Registers)
	} else {
		t.Pressure = max(1, float64(taken.Registers)/(pressed*float64(taken.Available(gpu))))
	}
	blocks := max(1, float64(taken.BlocksPerMultiprocessor(gpu)))
	waves := float64(w.Blocks) / (blocks * units)
	t.Waves = math.Ceil(waves) / waves
	t.Waiting = w.Barriers/(units*blocks)*barrierSeconds + w.Waits*exchangeSeconds
	return t
}

// Seconds is the predicted time.
func (t Terms) Seconds() float64 {
	sum := 0.0
	for _, s := range []float64{t.Memory, t.Issue, t.Arithmetic, t.Shared} {
		sum += math.Pow(s, together)
	}
	return t.Waves*max(1, t.Pressure)*math.Pow(sum, 1./together) + t.Waiting + t.Launching
}

// part returns the terms of one of so many equal parts of a launch.
func (t Terms) part(of float64) Terms {
	for _, s := range []*float64{&t.Memory, &t.Issue, &t.Arithmetic, &t.Shared, &t.Waiting, &t.Launching} {
		*s /= of
	}
	return t
}

// Largest returns the class of the term that is largest, and that term.
func (t Terms) Largest() (Class, float64) {
	class, most := Memory, t.Memory
	for _, x := range t.list()[1:] {
		if x.seconds > most {
			class, most = x.class, x.seconds
		}
	}
	return class, most
}

type term struct {
	class   Class
	seconds float64
}

func (t Terms) list() []term {
	return []term{
		{Memory, t.Memory}, {Issue, t.Issue}, {Arithmetic, t.Arithmetic}, {Shared, t.Shared}, {Waiting, t.Waiting},
		{Launching, t.Launching},
	}
}

// String returns the terms in a line, the share of the predicted time each.
//
// Example text:
//
//	863 us: memory 0.81, issue slots 0.38, arithmetic 0.38, shared memory 0.56, waiting 0.03
func (t Terms) String() string {
	all := t.Seconds()
	var b strings.Builder
	fmt.Fprintf(&b, "%.4g us: ", all*1e6)
	first := true
	for _, x := range t.list() {
		if share := x.seconds / all; share >= 0.005 {
			if !first {
				b.WriteString(", ")
			}
			first = false
			fmt.Fprintf(&b, "%s %.2f", x.class, share)
		}
	}
	if t.Waves >= 1.005 {
		fmt.Fprintf(&b, ", last wave %.2f", t.Waves)
	}
	if t.Pressure >= 1.005 {
		fmt.Fprintf(&b, ", register pressure %.2f", t.Pressure)
	}
	return b.String()
}

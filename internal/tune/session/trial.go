package session

import (
	"fmt"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// Trial is one variant that was tried. Times are in seconds.
type Trial struct {
	Index   int             `json:"index"`            // in its session, from 0
	Kernel  string          `json:"kernel,omitempty"` // the group of statements, as in "heat[0:1]"; "" is the whole program
	Config  string          `json:"config"`           // canonical text of a configuration or a whole plan
	Code    Code            `json:"code,omitzero"`    // of the text that was compiled, if that is known
	Verdict verdict.Verdict `json:"verdict"`
	Note    string          `json:"note,omitempty"`   // why it was refused
	Reused  bool            `json:"reused,omitempty"` // nothing was measured: the values were known

	Median  float64   `json:"median,omitempty"`
	Low     float64   `json:"low,omitempty"` // the confidence interval, and the
	High    float64   `json:"high,omitempty"`
	Samples []float64 `json:"samples,omitempty"` // samples: six digits are kept

	Resources Resources `json:"resources,omitzero"`
	Condition Condition `json:"condition,omitzero"`
	Error     float64   `json:"error,omitempty"` // the largest that verification found

	// What it took, kept to the microsecond.
	Compile  time.Duration `json:"compile_ns,omitempty"`
	Measure  time.Duration `json:"measure_ns,omitempty"` // all runs, warm-up included
	Validate time.Duration `json:"validate_ns,omitempty"`
	Search   time.Duration `json:"search_ns,omitempty"` // of the strategy
	Other    time.Duration `json:"other_ns,omitempty"`

	At time.Time `json:"at"` // kept to the millisecond
}

// Transient reports whether a variant was refused for the state of the machine: a
// disk was full, or something was killed when memory ran out. Earlier versions have
// stored such trials. They stay in the history and count for nothing.
func (t *Trial) Transient() bool {
	return t.Verdict.Refused() && verdict.Passing(t.Note)
}

// Resources are what the compiled kernel takes.
type Resources struct {
	Registers int     `json:"registers,omitempty"` // a thread
	Spills    int     `json:"spills,omitempty"`    // bytes a thread
	Shared    int     `json:"shared,omitempty"`    // bytes a block
	Blocks    int     `json:"blocks,omitempty"`    // that a multiprocessor holds at once
	Occupancy float32 `json:"occupancy,omitempty"` // fraction of the resident threads that there could be
}

// Condition is the state that a device was in after a trial, where it tells.
type Condition struct {
	Clock       int `json:"clock_mhz,omitempty"`
	MemoryClock int `json:"memory_mhz,omitempty"`
	Temperature int `json:"temperature_c,omitempty"`
	Power       int `json:"power_w,omitempty"`
	PowerLimit  int `json:"power_limit_w,omitempty"` // above which clocks are lowered
}

// MostTrials is how many trials a session has room for.
const MostTrials = 1 << 24

// Check refuses trials that no measurement gives.
func (t *Trial) Check() error {
	bad := func(format string, args ...any) error {
		return &gridio.Error{Text: fmt.Sprintf("trial %d: ", t.Index) + fmt.Sprintf(format, args...)}
	}
	number := func(v float64) bool { return v >= 0 && !math.IsInf(v, 0) }
	switch {
	case t.Index < 0 || t.Index >= MostTrials:
		return bad("a session has at most %d trials", MostTrials)
	case t.Config == "":
		return bad("it has no configuration")
	case t.Verdict >= verdict.Transient:
		return bad("there is no verdict %d", t.Verdict)
	case t.Verdict == verdict.OK && !(t.Median > 0):
		return bad("a variant that ran took %v s", t.Median)
	case !number(t.Median), !number(t.Low), !number(t.High), t.Low > t.High:
		return bad("a time of %v s (%v to %v)", t.Median, t.Low, t.High)
	case t.Resources.negative():
		return bad("negative resources")
	case !number(float64(t.Resources.Occupancy)):
		return bad("an occupancy of %v", t.Resources.Occupancy)
	}
	for _, v := range t.Samples {
		if !number(v) {
			return bad("a sample of %v s", v)
		}
	}
	for _, d := range t.times() {
		if *d < 0 {
			return bad("it took %v", *d)
		}
	}
	for _, n := range t.Condition.parts() {
		if *n < 0 {
			return bad("a condition of %d", *n)
		}
	}
	return nil
}

func (r *Resources) negative() bool {
	return r.Registers < 0 || r.Spills < 0 || r.Shared < 0 || r.Blocks < 0
}

func (c *Condition) parts() [5]*int {
	return [...]*int{&c.Clock, &c.MemoryClock, &c.Temperature, &c.Power, &c.PowerLimit}
}

func (t *Trial) times() [5]*time.Duration {
	return [...]*time.Duration{&t.Compile, &t.Measure, &t.Validate, &t.Search, &t.Other}
}

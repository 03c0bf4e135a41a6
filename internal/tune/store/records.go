package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/run/refusal"
)

// Scenario is everything that a runtime depends on but the configuration.
type Scenario struct {
	Program  Program  `json:"program"`
	Device   Device   `json:"device"`
	Compiler Compiler `json:"compiler"`
	Host     string   `json:"host,omitempty"`
	Sizes    string   `json:"sizes"` // as in "L=512,M=512,N=512"
	DType    string   `json:"dtype"` // of the grids: double, float, ...
	FP       string   `json:"fp"`    // arithmetic: strict, contract or fast
	Versions
}

// Program is a stencil program.
type Program struct {
	Hash   string `json:"hash"` // of the content, whatever the name
	Name   string `json:"name"`
	Source string `json:"source,omitempty"`
	Features
}

// Features say what programs have in common.
type Features struct {
	Rank   int `json:"rank,omitempty"`   // axes of the grids
	Radius int `json:"radius,omitempty"` // the farthest offset that is read
	Points int `json:"points,omitempty"` // cells that are read for one cell
	Arrays int `json:"arrays,omitempty"` // grids that are read or written
	Flops  int `json:"flops,omitempty"`  // operations a cell
}

// Device is what kernels run on, in the state in which it was.
type Device struct {
	API    string `json:"api"` // cuda, opencl, cpu
	Name   string `json:"name"`
	UUID   string `json:"uuid,omitempty"`
	Driver string `json:"driver,omitempty"`
	Clocks string `json:"clocks,omitempty"` // as in "sm=1980,memory=3201"
	Units  int    `json:"units,omitempty"`  // multiprocessors, or threads of a processor
}

// Compiler is what made machine code.
type Compiler struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Options string `json:"options,omitempty"`
}

// Search is what a session is about.
type Search struct {
	Scenario
	Strategy string    `json:"strategy"`
	Seed     uint64    `json:"seed"`
	Budget   string    `json:"budget,omitempty"`
	Space    string    `json:"space,omitempty"`  // the space's fingerprint
	Commit   string    `json:"commit,omitempty"` // of gridloom
	Started  time.Time `json:"started"`
}

// Info is a session as the store knows it.
type Info struct {
	ID string `json:"id"`
	Search
	Runs     []Run     `json:"runs,omitempty"`
	Finished time.Time `json:"finished,omitzero"`
	Outcome  string    `json:"outcome,omitempty"`

	row int64 // sessions.id
}

// Run is a process that added to a session from one trial on.
type Run struct {
	Trial   int       `json:"trial"`
	Started time.Time `json:"started"`
	Commit  string    `json:"commit"`
}

// commitOf returns the commit of the Gridloom that measured a trial.
func (i *Info) commitOf(trial int) string {
	commit := i.Commit
	for _, r := range i.Runs {
		if r.Trial <= trial {
			commit = r.Commit
		}
	}
	return commit
}

// Trial is one variant that was tried. Times are in seconds.
type Trial struct {
	Index   int     `json:"index"`            // in its session, from 0
	Kernel  string  `json:"kernel,omitempty"` // the group of statements, as in "heat[0:1]"; "" is the whole program
	Config  string  `json:"config"`           // canonical text of a configuration or a whole plan
	Verdict Verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"`   // why it was refused
	Reused  bool    `json:"reused,omitempty"` // nothing was measured: the values were known

	Median  float64   `json:"median,omitempty"`
	Low     float64   `json:"low,omitempty"` // the confidence interval, and the
	High    float64   `json:"high,omitempty"`
	Samples []float64 `json:"samples,omitempty"` // samples: six digits are kept

	Resources Resources `json:"resources,omitzero"`
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
	return t.Verdict != OK && t.Verdict != Wrong && refusal.Passing(t.Note)
}

// Resources are what the compiled kernel takes.
type Resources struct {
	Registers int     `json:"registers,omitempty"` // a thread
	Spills    int     `json:"spills,omitempty"`    // bytes a thread
	Shared    int     `json:"shared,omitempty"`    // bytes a block
	Occupancy float32 `json:"occupancy,omitempty"` // fraction of the resident threads that there could be
}

// Verdict says what became of a variant: right, or refused for a reason.
type Verdict uint8

const (
	OK         Verdict = iota
	Constraint         // the configuration is no member of the space
	TooMuch            // it needs more than the device has, as the text alone tells
	Compiling          // the compiler refused it, hung on it or died of it
	Launch             // the driver refused the compiled code, or its launch
	Timeout            // it ran longer than its limit
	Crash              // it faulted, or took its process down
	Wrong              // it computed something else
)

var verdicts = [...]string{"ok", "constraint", "resources", "compiler", "launch", "timeout", "crash", "wrong"}

// String returns the verdict's name, as it is recorded.
func (v Verdict) String() string { return verdicts[v] }

// Verdicts returns all names.
func Verdicts() []string { return slices.Clone(verdicts[:]) }

// ParseVerdict reads a name.
func ParseVerdict(name string) (Verdict, error) {
	i := slices.Index(verdicts[:], name)
	if i < 0 {
		return 0, fmt.Errorf("there is no verdict %q", name)
	}
	return Verdict(i), nil
}

// MarshalText writes the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads it.
func (v *Verdict) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVerdict(string(text))
	return err
}

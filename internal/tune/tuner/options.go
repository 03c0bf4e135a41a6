package tuner

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Prior is what is known of a kernel's configurations before any of them is tried.
type Prior struct {
	First      []schedule.Config // are tried before a strategy chooses any
	Expected   *Expected         // some of these follow; nil if none do
	Candidates []schedule.Config // are expected to be fast: a strategy chooses from them, too
	// Predict returns what a configuration is expected to have of the fastest speed. It takes the place of estimates.
	// Several goroutines may call it. Nil if nothing is expected.
	Predict func(schedule.Config) float64
}

// trials is how many trials a search makes of a prior, before a strategy chooses any.
func (p *Prior) trials() int {
	n := len(p.First)
	if p.Expected != nil {
		n += p.Expected.Most
	}
	return n
}

// Expected are configurations that a model expects to be fast, as search.Expected has them as points.
type Expected struct {
	Configs   []schedule.Config
	Fractions []float64              // of the fastest speed
	Alike     func(i, j int) float64 // how much of an error about one is an error about another
	Most      int                    // so many are tried
	// Nearby ranks configurations next to the fastest, and returns what is to be chosen from, too, with its fractions
	// and the place of the first; the others follow it. It returns nothing once its search is over. Nil if nothing is
	// nearby.
	Nearby func(list []schedule.Config) (place int, configs []schedule.Config, fractions []float64)
}

// PriorOf returns what is known of the kernel of a call with some space.
type PriorOf func(ctx context.Context, call *ir.Call, s schedule.Space) (Prior, error)

// Try makes so many trials of a kernel: those that its prior begins with, and then what a search chooses. It tells
// their outcomes, and how many there were, and ends where that is enough.
type Try func(trials int, prior PriorOf, told func(o *Outcome, n int) (enough bool)) error

// Options says what to tune, and for how long.
type Options struct {
	Bound *ir.Binding       // of a program in the arithmetic that Lab compiles for
	Set   map[string]string // the values that Bound was made with
	Lab   measure.Lab
	Plan  schedule.Plan // settings that stay: such as local=fused
	// Restrict restricts the kernels' spaces to what the user wants searched, and returns notes for the user;
	// nil restricts nothing.
	Restrict    func(kernels []string, spaces []schedule.Space) ([]schedule.Space, []string, error)
	Free        bool // search also what the source excludes
	AnyIntegers bool // and values between powers of two
	// Others are plans that are timed beside the best at the end, such as those
	// that are best at other sizes. OthersNeeded has them timed however short the time is.
	Others       []schedule.Plan
	OthersNeeded bool

	// Good are configurations that were good for this program at other sizes, or
	// for similar ones, the best first.
	Good []schedule.Config

	PriorOf  PriorOf // nil knows nothing
	Strategy string  // a name that search.New knows
	Seed     uint64
	// The search ends with the first of these that is reached; 0 is no limit. The budget includes the finalists
	// and a library that is written.
	Budget time.Duration
	// Started is when the user began to wait; the zero time is now.
	Started time.Time
	Library bool // is written of the result
	// Version names the version of its source that the program is; "" is the source as it is. Plans that RunVersions
	// finds name it.
	Version string
	// Adviser profiles kernels within the search, whose hints are then followed; nil has none.
	Adviser Adviser
	// Advice is what profiles have said in the session that is resumed.
	Advice []Advice
	// yield is the part of the budget after which the search ends if the best kernels spill; 0 is never. If there is a
	// version for kernels that do not spill, it also ends where memory does not bind them.
	yield     float64
	unspilled bool
	// from has the fastest configurations of the kernels of loops, by name, where the program is a version of one that
	// was searched before.
	from   map[string][]schedule.Config
	Trials int
	Target Target
	// MaxDepth is the most iterations of a loop that are tried in one kernel: 1 for no kernels of loops but those of
	// a plan, 0 as many as gain something.
	MaxDepth int
	// Likely is the number of trials that a strategy plans for; 0 derives it from the limits. A session that is
	// resumed keeps the number of its beginning.
	Likely int

	Log    Log         // keeps what is measured; nil keeps nothing
	Resume []Outcome   // the outcomes of the session that is resumed
	Events func(Event) // receives events, from one goroutine; may be nil
	Clock  func() time.Time
}

// Target is a speed that is good enough.
type Target struct {
	GStencils float64 // 1e9 updates of cells a second
	Fraction  float64 // of the copy bound
}

// reached reports whether a speed is good enough.
func (t Target) reached(gstencils, bound float64) bool {
	return t.GStencils > 0 && gstencils >= t.GStencils || t.Fraction > 0 && bound > 0 && gstencils >= t.Fraction*bound
}

// Log stores each outcome before the next is measured, and knows those of earlier searches on the same
// device, program and sizes.
type Log interface {
	Keep(Outcome) error
	Known(kernel, config string) (Outcome, bool)
	// Condemn replaces the outcome of a configuration that was right and has failed since.
	Condemn(Outcome) error
}

// Event is something that happened. Kind says which fields have a meaning.
type Event struct {
	Kind    string   `json:"event"`
	At      float64  `json:"at"` // seconds since the start
	Text    string   `json:"text,omitempty"`
	Kernel  string   `json:"kernel,omitempty"`
	Trial   *Outcome `json:"trial,omitempty"`
	Status  *Status  `json:"status,omitempty"`
	Result  *Result  `json:"result,omitempty"`
	Space   string   `json:"configurations,omitempty"`
	Share   float64  `json:"share,omitempty"`
	Seconds float64  `json:"seconds,omitempty"`

	Depth  *DepthResult `json:"depth,omitempty"`
	Advice *Advice      `json:"advice,omitempty"`
}

// The kinds of events.
const (
	EventStart  = "start"  // Text: the device
	EventCheck  = "check"  // Text: what was compared with the reference
	EventKernel = "kernel" // Kernel, Space, Share, Seconds of its default: its search begins
	EventTrial  = "trial"  // Trial, Status
	EventDepth  = "depth"  // Kernel: the loop; Depth: what came of so many iterations in a kernel
	EventAdvice = "advice" // Advice: what the profile of a kernel says, before its hints are followed
	EventFinal  = "final"  // Text: what is measured side by side
	EventNote   = "note"   // Text: what the user should know
	EventWait   = "wait"   // Text: what nothing is measured for, and Seconds how long already
	EventResult = "result" // Result

	// Trial that was right and has failed since, Status; Text once for all with the same code
	EventCondemned = "condemned"
)

// Status is how far a search is.
type Status struct {
	Kernel    string         `json:"kernel"`
	Trials    int            `json:"trials"`
	Good      int            `json:"good"`
	Refused   map[string]int `json:"refused,omitempty"` // by reason
	Wrong     int            `json:"wrong"`
	Best      float64        `json:"best_seconds"` // of the kernel; 0 if there is none
	GStencils float64        `json:"best_gstencils"`
	Config    string         `json:"best"`
	Rate      float64        `json:"trials_per_s"`
	Left      float64        `json:"seconds_left,omitempty"`
	Idle      float64        `json:"device_idle"`
	Rechecked float64        `json:"device_rechecking"`
}

// Outcome is a configuration of a kernel and what became of it.
type Outcome struct {
	Kernel  string          `json:"kernel"`
	Config  string          `json:"config"`
	Number  int             `json:"number"` // in which order it was asked for
	At      float64         `json:"at"`     // seconds since the start, when it was known
	Verdict verdict.Verdict `json:"-"`      // MarshalJSON writes it in two parts
	Message string          `json:"message,omitempty"`
	Seconds float64         `json:"seconds,omitempty"` // of one run: the median
	Low     float64         `json:"low,omitempty"`     // the mean's interval
	High    float64         `json:"high,omitempty"`
	Times   []float64       `json:"times,omitempty"` // by batch
	Runs    int             `json:"runs,omitempty"`  // in a batch
	Early   bool            `json:"early,omitempty"` // it was given up as a clear loser
	Compile float64         `json:"compile_seconds,omitempty"`
	Cost    float64         `json:"cost_seconds"`

	measure.Resources
	Cells      int64             `json:"cells_compared,omitempty"`
	Checks     int               `json:"checks,omitempty"` // how often all cells were compared in this search, and right
	Difference float64           `json:"largest_difference,omitempty"`
	Condition  session.Condition `json:"condition,omitzero"`
	Same       string            `json:"same_code_as,omitempty"` // a configuration
	Code       session.Code      `json:"code,omitzero"`          // of what was compiled; 0 if it never came to that
	Known      bool              `json:"known,omitempty"`        // it was measured in an earlier search
	// Hinted says of an outcome of the session that is resumed that it is later than its first profile.
	Hinted bool `json:"-"`
}

// outcomeJSON is an Outcome in JSON. A verdict is "good", "wrong" or "refused", and then the reason says why.
type outcomeJSON struct {
	*plainOutcome
	Class  string `json:"verdict"`
	Reason string `json:"reason,omitempty"`
}

// plainOutcome is an Outcome without its methods.
type plainOutcome Outcome

const (
	classGood    = "good"
	classRefused = "refused"
	classWrong   = "wrong"
)

// MarshalJSON implements json.Marshaler.
func (o Outcome) MarshalJSON() ([]byte, error) {
	x := outcomeJSON{plainOutcome: (*plainOutcome)(&o), Class: classGood}
	switch {
	case o.Verdict == verdict.Wrong:
		x.Class, x.Reason = classWrong, o.Verdict.String()
	case o.Verdict.Refused():
		x.Class, x.Reason = classRefused, o.Verdict.String()
	}
	return json.Marshal(x)
}

// UnmarshalJSON implements json.Unmarshaler. A refusal without a reason, as early versions wrote them, is one
// of a launch.
func (o *Outcome) UnmarshalJSON(text []byte) error {
	x := outcomeJSON{plainOutcome: (*plainOutcome)(o)}
	if err := json.Unmarshal(text, &x); err != nil {
		return err
	}
	switch {
	case x.Class == classGood || x.Class == "":
		o.Verdict = verdict.OK
	case x.Class == classWrong:
		o.Verdict = verdict.Wrong
	case x.Reason == "":
		o.Verdict = verdict.Launch
	default:
		var err error
		o.Verdict, err = verdict.Parse(x.Reason)
		return err
	}
	return nil
}

package tuner

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/importance"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Result is the complete record of a search, as tuning.json holds it.
type Result struct {
	Program     string         `json:"program"`
	Device      measure.About  `json:"device"`
	Sizes       []Size         `json:"sizes"`
	Strategy    string         `json:"strategy"`
	Seed        uint64         `json:"seed"`
	Started     string         `json:"started"`
	Seconds     float64        `json:"seconds"`
	Interrupted bool           `json:"interrupted,omitempty"`
	Checks      []string       `json:"checks"` // what was compared with the reference executor
	Notes       []string       `json:"notes,omitempty"`
	Kernels     []KernelResult `json:"kernels"`
	Loops       []LoopResult   `json:"loops,omitempty"`
	Advice      []Advice       `json:"advice,omitempty"` // of profiles within the search, and what came of it
	Contenders  []Contender    `json:"contenders"`       // timed side by side at the end, the fastest first
	LeftOut     []LeftOut      `json:"left_out,omitempty"`
	Best        string         `json:"best"` // the plan
	// Version is the version of the program that all this is of, if it is not the program as it is; Versions is what
	// came of those that were tuned, the program as it is first.
	Version  string          `json:"version,omitempty"`
	Versions []VersionResult `json:"versions,omitempty"`
	Spills   int             `json:"spills,omitempty"` // bytes of a thread: the most of the best plan's kernels
	Verdict  *Verdict        `json:"verdict,omitempty"`
	Bound    Bound           `json:"bound"`
	Trials   int             `json:"trials"`
	Rate     float64         `json:"trials_per_s"`
	Idle     float64         `json:"device_idle"` // part of the search in which the device waited for a variant
	// part in which it re-timed or re-checked known variants meanwhile
	Rechecked float64        `json:"device_rechecking"`
	Waits     Waits          `json:"waits"`
	Compilers Compilation    `json:"compilers"`
	Refusals  []Refusal      `json:"refusals"`
	Drift     []DriftPoint   `json:"drift,omitempty"` // the default's time, from time to time
	Totals    map[string]int `json:"totals"`

	unfit   bool // no kernel of all statements of an iteration works
	atBound bool // memory binds the best plan
}

// LeftOut is a plan that was to be timed beside the contenders, and why it was not.
type LeftOut struct {
	Name   string `json:"name"`
	Plan   string `json:"plan"`
	Reason string `json:"reason"`
}

// Idleness says in which part of the search the device had no variant to measure.
func (r *Result) Idleness() string {
	text := fmt.Sprintf("idle %.0f %% of the time", 100*r.Idle)
	if w := r.Waits; w.Compilers+w.Strategy > 0.01*r.Seconds {
		text += fmt.Sprintf(" (%.1f s for compilers, %.1f s for the strategy)", w.Compilers, w.Strategy)
	}
	if r.Rechecked > 0 {
		text += fmt.Sprintf(", checking again %.0f %%", 100*r.Rechecked)
	}
	return text
}

// Size is the value of a parameter.
type Size struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// KernelResult is the search for one kernel.
type KernelResult struct {
	Kernel         string   `json:"kernel"`
	Configurations string   `json:"configurations"`
	Share          float64  `json:"share"`           // of the program's time, with defaults
	Points         int64    `json:"points"`          // that a run updates
	Bytes          float64  `json:"bytes_per_point"` // that it cannot do without
	Default        string   `json:"default"`
	Best           string   `json:"best"`
	Params         []string `json:"parameters"`
	// Importance is of the parameters that had more than one value in the trials.
	Importance []importance.Parameter `json:"importance,omitempty"`
	Trials     []Outcome              `json:"trials"`
}

// Refusal counts the configurations that were refused for a reason.
type Refusal struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
	Config string `json:"example"`
	Text   string `json:"message"`
}

// DriftPoint is the time of a reference variant at some time.
type DriftPoint struct {
	At      float64 `json:"at"`
	Kernel  string  `json:"kernel"`
	Seconds float64 `json:"seconds"`
}

// counts are those of a whole search.
type counts struct {
	trials, good, wrong int
	refused             map[string]int
	examples            map[string]Outcome
}

func (c *counts) add(o *Outcome) {
	if c.refused == nil {
		c.refused, c.examples = map[string]int{}, map[string]Outcome{}
	}
	c.trials++
	if o.Verdict == verdict.OK {
		c.good++
		return
	}
	c.bad(o)
}

// condemn counts an outcome as bad that was counted as good.
func (c *counts) condemn(o *Outcome) {
	c.good--
	c.bad(o)
}

func (c *counts) bad(o *Outcome) {
	if o.Verdict == verdict.Wrong {
		c.wrong++
	}
	reason := o.Verdict.String()
	c.refused[reason]++
	if c.refused[reason] == 1 {
		c.examples[reason] = *o
	}
}

// refusals lists the reasons, the most frequent first.
func (c *counts) refusals() []Refusal {
	list := []Refusal{}
	for reason, n := range c.refused {
		e := c.examples[reason]
		list = append(list, Refusal{reason, n, e.Config, e.Message})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Count != list[j].Count {
			return list[i].Count > list[j].Count
		}
		return list[i].Reason < list[j].Reason
	})
	return list
}

// Contender returns the contender of a name; nil if there is none.
func (r *Result) Contender(name string) *Contender {
	i := slices.IndexFunc(r.Contenders, func(c Contender) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &r.Contenders[i]
}

// Outcome returns what came of a kernel of a plan in the search; nil if it is not known.
func (r *Result) Outcome(k schedule.Kernel) *Outcome {
	for i := range r.Kernels {
		for j := range r.Kernels[i].Trials {
			if o := &r.Kernels[i].Trials[j]; o.Kernel == k.ID() && o.Config == k.Config.String() && o.Seconds > 0 {
				return o
			}
		}
	}
	return nil
}

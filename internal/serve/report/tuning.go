package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Tuning is what tuning.json holds: the whole story of a search, the program,
// and what its library was made of.
type Tuning struct {
	tuner.Result
	File    string    `json:"file"`
	Source  string    `json:"source"`
	Session string    `json:"session,omitempty"` // in the store
	Limits  string    `json:"limits,omitempty"`  // what ends the search: 1m0s, 30 trials
	Space   string    `json:"space,omitempty"`   // what the spaces are restricted to; empty: all that the source leaves
	Commit  string    `json:"commit,omitempty"`  // of Gridloom
	Library []Variant `json:"library"`           // for larger and larger sizes
}

// Variant is a plan of a library, with the sizes that it was tuned at.
type Variant struct {
	Plan    string  `json:"plan"`
	Sizes   string  `json:"sizes"`
	Cells   int64   `json:"cells"`             // of the largest grid there
	From    int64   `json:"from"`              // such cells on it is picked
	Seconds float64 `json:"seconds,omitempty"` // of an update of the program at its sizes
	Low     float64 `json:"low,omitempty"`
	High    float64 `json:"high,omitempty"`
}

// Read reads what tuning.json holds.
func Read(r io.Reader) (*Tuning, error) {
	var t Tuning
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return nil, fmt.Errorf("it is no tuning.json: %w", err)
	}
	if t.Program == "" || t.Started == "" || len(t.Contenders) == 0 {
		return nil, errors.New("it is no tuning.json, which gridloom tune --out writes: it has no program or no plans that were timed")
	}
	return &t, nil
}

// Story returns what a report tells of a search.
func (t *Tuning) Story() *Story {
	s := &Story{
		Program: t.File, Source: t.Source, Facts: t.facts(), Finished: !t.Interrupted, Wall: t.Seconds, Idle: t.Idle, Again: t.Rechecked,
	}
	if s.Program == "" {
		s.Program = t.Program
	}
	s.Started, _ = time.Parse(time.RFC3339, t.Started)
	first := t.Contenders[0]
	s.Points = first.Seconds * first.GStencils * 1e9
	if t.Bound.GStencils > 0 {
		s.Bound = s.Points / t.Bound.GStencils / 1e9
	}
	s.Plans = t.plans()
	for i := range t.Kernels {
		s.Kernels = append(s.Kernels, t.kernel(&t.Kernels[i]))
	}
	return s
}

func (t *Tuning) facts() []Fact {
	var sizes []string
	for _, z := range t.Sizes {
		sizes = append(sizes, fmt.Sprintf("%s=%d", z.Name, z.Value))
	}
	d := &t.Device
	list := []Fact{
		{"device", d.ID + " (" + d.Name + ")"}, {"driver", d.Driver}, {"compiler", d.Compiler}, {"arithmetic", d.Arithmetic},
		{"sizes", strings.Join(sizes, " ")}, {"search", fmt.Sprintf("%s, seed %d: %d configurations, %.1f a second", t.Strategy, t.Seed, t.Trials, t.Rate)},
		{"until", t.Limits}, {"only", t.Space},
		{"memory", fmt.Sprintf("a copy moves %.4g GB/s, and a point needs %.4g bytes", t.Bound.CopyGBs, t.Bound.BytesPerPoint)},
	}
	for _, c := range t.Checks {
		list = append(list, Fact{"checked", c})
	}
	for _, n := range t.Notes {
		list = append(list, Fact{"note", n})
	}
	for _, v := range t.Library {
		text := "from " + fmt.Sprint(v.From) + " cells on: " + v.Plan
		if len(t.Library) == 1 {
			text = "for all sizes: " + v.Plan
		}
		if v.Seconds > 0 {
			text += fmt.Sprintf(" (%s at %s)", duration(v.Seconds), v.Sizes)
		}
		list = append(list, Fact{"library", text})
	}
	if t.Session != "" {
		list = append(list, Fact{"session", t.Session + " of the store, by Gridloom " + t.Commit})
	}
	return slices.DeleteFunc(list, func(f Fact) bool { return f.Text == "" })
}

// orderOfPlans is that of a reader: what there was before, then what was found.
var orderOfPlans = []string{"default", "expert", "plain", "best"}

// plans lists the contenders. Each is compared with the first by samples that
// were taken side by side.
func (t *Tuning) plans() []Plan {
	place := func(name string) int {
		name = strings.TrimSuffix(name, " (best)")
		if i := slices.Index(orderOfPlans, name); i >= 0 {
			return i
		}
		return len(orderOfPlans)
	}
	list := slices.Clone(t.Contenders)
	for i, c := range list {
		if found := strings.HasPrefix(c.Name, "found ") || place(c.Name) == len(orderOfPlans); found && c.Plan == t.Best {
			list[i].Name = "best"
		}
	}
	if i := slices.IndexFunc(list, func(c tuner.Contender) bool { return c.Plan == t.Best && c.Name != "plain" }); i >= 0 && list[i].Name != "best" {
		list[i].Name += " (best)"
	}
	slices.SortStableFunc(list, func(a, b tuner.Contender) int { return place(a.Name) - place(b.Name) })
	var out []Plan
	for _, c := range list {
		p := Plan{Name: c.Name, Text: c.Plan, Seconds: c.Seconds}
		if c.Name == "plain" {
			p.Text += " (compiled without what Gridloom asks of the compiler)"
		}
		p.Low, p.High = around(c.Seconds, c.Interval, c.Times)
		if ratio, i := measure.Ratio(list[0].Times, c.Times); ratio > 0 {
			p.Gain, p.GainLow, p.GainHigh = ratio, i[0], i[1]
		}
		out = append(out, p)
	}
	return out
}

// around returns an interval that holds a median: that of a mean need not.
func around(middle float64, i measure.Interval, times []float64) (low, high float64) {
	low, high = min(i[0], middle), max(i[1], middle)
	if low <= 0 {
		low = middle
		for _, s := range times {
			low = min(low, s)
		}
	}
	return low, high
}

func (t *Tuning) kernel(r *tuner.KernelResult) Kernel {
	k := Kernel{Name: r.Kernel, Points: float64(r.Points), Space: r.Configurations + " configurations"}
	if t.Bound.CopyGBs > 0 {
		k.Bound = k.Points * r.Bytes / t.Bound.CopyGBs / 1e9
	}
	for _, o := range r.Trials {
		x := Trial{At: o.At, Config: o.Config, Registers: o.Registers, Spills: o.Spills}
		if c, err := schedule.ParseConfig(o.Config); err == nil {
			if c.Family != "" {
				x.Settings = append(x.Settings, Setting{"family", c.Family})
			}
			for _, v := range c.Values {
				x.Settings = append(x.Settings, Setting{v.Name, v.Value.String()})
			}
		}
		if o.Verdict == tuner.Good {
			x.Seconds, x.Low, x.High = o.Seconds, o.Low, o.High
		} else {
			x.Refused, x.Reason = o.Reason, strings.Join(strings.Fields(o.Message), " ")
			if x.Refused == "" {
				x.Refused = o.Verdict
			}
		}
		k.Trials = append(k.Trials, x)
	}
	slices.SortStableFunc(k.Trials, func(a, b Trial) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return k
}

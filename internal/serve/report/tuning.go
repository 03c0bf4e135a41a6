package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/deep"
	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Tuning is what tuning.json holds: the whole story of a search, the program,
// and what its library was made of.
type Tuning struct {
	tuner.Result
	File    string `json:"file"`
	Source  string `json:"source"`
	Session string `json:"session,omitempty"` // in the store
	Limits  string `json:"limits,omitempty"`  // what ends the search: 1m0s, 30 trials
	Space   string `json:"space,omitempty"`   // what the spaces are restricted to; empty: all that the source leaves
	// Set is what sizes and scalars were given.
	Set     map[string]string `json:"set,omitempty"`
	Version string            `json:"version,omitempty"` // of Gridloom
	Commit  string            `json:"commit,omitempty"`
	Library []Variant         `json:"library"` // for larger and larger sizes
	// Predicted is what the model of the device says of the trials.
	Predicted []engine.PredictedTrials `json:"predicted,omitempty"`
	// Prior says which model chose what the search began with; nil if none did.
	Prior *engine.PriorUse `json:"prior,omitempty"`
	// Profile says what binds the best plan's kernels; nil where nobody has asked.
	Profile *profile.Profile `json:"profile,omitempty"`
}

// Variant is a plan of a library, with the sizes that it was tuned at.
type Variant = engine.LibraryVariant

// Read reads what tuning.json holds.
func Read(r io.Reader) (*Tuning, error) {
	var t Tuning
	if err := json.NewDecoder(r).Decode(&t); err != nil {
		return nil, fmt.Errorf("it is no tuning.json: %w", err)
	}
	if t.Program == "" || t.Started == "" || len(t.Contenders) == 0 {
		return nil, errors.New(
			"it is no tuning.json, which gridloom tune --out writes: it has no program or no plans that were timed")
	}
	t.Complete()
	for i := range t.Library {
		t.Library[i].Plan = schedule.RespellText(t.Library[i].Plan)
	}
	return &t, nil
}

// Story returns what a report tells of a search.
func (t *Tuning) Story() *Story {
	s := &Story{
		Program: t.File, Source: t.Source, Facts: t.facts(), Finished: !t.Interrupted, Wall: t.Seconds, Idle: t.Idle,
		Again: t.Rechecked,
		Table: PlansTable(&t.Result), Bars: barsOf(&t.Result), Bound: BoundText(&t.Result), Uses: t.Uses(),
		Maker: t.Maker(), Profile: t.Profile, Advice: t.Advice,
	}
	if s.Program == "" {
		s.Program = t.Program
	}
	s.Started, _ = time.Parse(time.RFC3339, t.Started)
	if t.Verdict != nil {
		s.Headline = t.Verdict.Text
		if c := t.Contender(t.Verdict.Name); c != nil {
			s.Summary = t.summary(c)
		}
	}
	for i := range t.Contenders {
		c := &t.Contenders[i]
		text := c.Plan
		if c.Name == "plain" {
			text += " (compiled without what Gridloom asks of the compiler)"
		}
		s.Plans = append(s.Plans, Fact{t.Label(c), text})
	}
	for i := range t.Kernels {
		s.Kernels = append(s.Kernels, t.kernel(&t.Kernels[i]))
	}
	return s
}

// summary says how fast the best plan is, where.
func (t *Tuning) summary(best *tuner.Contender) string {
	text := fmt.Sprintf("%s at %s on %s: %s GStencil/s (billions of updated cells a second), %s a step", t.Program,
		t.sizes(), t.Device.Name, quantity.Digits(best.GStencils, 4), quantity.Time(best.Seconds))
	if best.Fraction > 0 {
		text += ", " + quantity.Percent(best.Fraction) + " of the copy bound"
	}
	return text + "."
}

func (t *Tuning) sizes() string {
	var sizes []string
	for _, z := range t.Sizes {
		sizes = append(sizes, fmt.Sprintf("%s=%d", z.Name, z.Value))
	}
	return strings.Join(sizes, " ")
}

func (t *Tuning) facts() []Fact {
	d := &t.Device
	list := []Fact{
		{"device", d.ID + " (" + d.Name + ")"}, {"driver", d.Driver}, {"compiler", d.Compiler},
		{"arithmetic", d.Arithmetic},
		{"sizes", t.sizes()}, {"search", fmt.Sprintf("%s, seed %d: %s, %.1f a second", t.Strategy, t.Seed,
			quantity.Count(t.Trials, "configuration"), t.Rate)},
		{"until", t.Limits}, {"only", t.Space},
	}
	for _, c := range t.Checks {
		list = append(list, Fact{"checked", c})
	}
	if t.Prior != nil {
		list = append(list, Fact{"model", t.Prior.String()})
	}
	for _, n := range t.Notes {
		list = append(list, Fact{"note", n})
	}
	for i := range t.Loops {
		if l := &t.Loops[i]; len(l.Depths) > 1 {
			list = append(list, Fact{"iterations in a kernel", depthsText(l)})
		}
	}
	for _, v := range t.Library {
		text := "from " + quantity.Count(v.From, "cell") + " on: " + v.Plan
		if len(t.Library) == 1 {
			text = "for all sizes: " + v.Plan
		}
		if v.Seconds > 0 {
			text += fmt.Sprintf(" (%s at %s)", quantity.Time(v.Seconds), v.Sizes)
		}
		list = append(list, Fact{"library", text})
	}
	if t.Session != "" {
		list = append(list, Fact{"session", t.Session + " of the store"})
	}
	return slices.DeleteFunc(list, func(f Fact) bool { return f.Text == "" })
}

// depthsText is "body[0:2]: depth 2 is 1.900 times as fast as depth 1, depth 4 (in the plan) 3.100 times; no
// other: the last 2 depths were not faster".
func depthsText(l *tuner.LoopResult) string {
	var list []string
	for _, d := range l.Depths {
		text := "depth " + deep.DepthText(d.Depth, !d.Plain())
		if d.InPlan {
			text += " (in the plan)"
		}
		switch {
		case d.Plain():
			continue
		case d.Seconds == 0:
			text += " has nothing that works"
		case len(list) == 0:
			text += " is " + ratio(d.Gain) + " times as fast as depth 1"
		default:
			text += " " + ratio(d.Gain) + " times"
		}
		list = append(list, text)
	}
	return l.Loop + ": " + strings.Join(list, ", ") + "; no other: " + l.Stopped
}

func (t *Tuning) kernel(r *tuner.KernelResult) Kernel {
	k := Kernel{Name: r.Kernel, Points: float64(r.Points), Space: r.Configurations, Importance: r.Importance}
	if t.Bound.GStencils > 0 {
		k.Bound = k.Points * r.Bytes / t.Bound.CopyGBs / 1e9
	}
	var predicted []float64
	for _, p := range t.Predicted {
		if p.Kernel == r.Kernel && len(p.Fractions) == len(r.Trials) {
			predicted = p.Fractions
		}
	}
	for i, o := range r.Trials {
		x := Trial{At: o.At, Config: o.Config, Settings: tuner.Settings(o.Config)}
		if predicted != nil {
			x.Predicted = &predicted[i]
		}
		if o.Verdict == verdict.OK {
			x.Seconds = o.Seconds
		} else {
			x.Refused, x.Reason = o.Verdict.String(), strings.Join(strings.Fields(o.Message), " ")
		}
		k.Trials = append(k.Trials, x)
	}
	slices.SortStableFunc(k.Trials, func(a, b Trial) int { return cmp.Compare(a.At, b.At) })
	return k
}

package tuner

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/measure"
)

// Contender is a plan that was timed side by side with others.
type Contender struct {
	Name  string    `json:"name"` // default, expert, plain, found 1, spans 1, all sizes, other 1
	Plan  string    `json:"plan"`
	Times []float64 `json:"times"` // seconds of an update of the program, by round
	// Gain is how many times as fast as the base it is.
	Gain Gain `json:"gain"`
	// Seconds is the median time of the base. Another contender's is the base's over its gain: its time in a
	// round in which the base takes its median. What slows a round down for all does not count.
	Seconds float64 `json:"seconds"`
	// Interval is that of the base's median, or of the gain in seconds.
	Interval  measure.Interval `json:"interval"`
	GStencils float64          `json:"gstencils"` // 1e9 updates of cells a second
	Fraction  float64          `json:"fraction_of_copy_bound,omitempty"`
	// how often all cells were compared, by the search and at the end
	Checks int `json:"checks,omitempty"`
	// Resources are the most that one of its kernels takes, and Cells were compared before it was timed here.
	Resources measure.Resources `json:"resources,omitzero"`
	Cells     int64             `json:"cells_compared,omitempty"`
}

// Gain is a ratio of speeds: the median over the rounds, with its 95 % interval.
type Gain struct {
	Ratio    float64          `json:"ratio"`
	Interval measure.Interval `json:"interval"`
	// Apart says that the two are told apart: they were timed side by side more
	// than once, and the interval leaves out 1.
	Apart bool `json:"told_apart"`
}

// Verdict is the result of a search in one sentence.
type Verdict struct {
	Name string `json:"name"` // of the best contender
	Over string `json:"over"` // what it is compared with: the base
	Gain
	Text string `json:"text"`
}

// defaultName is the name of the default plan.
const defaultName = "default"

// Base returns the contender that the others are compared with: the default, or
// else the first.
func (r *Result) Base() *Contender {
	if c := r.Contender(defaultName); c != nil || len(r.Contenders) == 0 {
		return c
	}
	return &r.Contenders[0]
}

// compare derives all figures of the contenders from their times and puts the
// fastest first. Points are updated in the time of one step.
func (r *Result) compare(points float64) {
	base := r.Base()
	if base == nil {
		return
	}
	first := *base
	first.Seconds, first.Interval = measure.Typical(first.Times)
	for i := range r.Contenders {
		c := &r.Contenders[i]
		if c.Name == first.Name {
			c.Gain = Gain{Ratio: 1, Interval: measure.Interval{1, 1}}
			c.Seconds, c.Interval = first.Seconds, first.Interval
		} else {
			c.Gain.Ratio, c.Gain.Interval = measure.Ratio(first.Times, c.Times)
			g := c.Gain.Interval
			c.Gain.Apart = min(len(first.Times), len(c.Times)) > 1 && g.Apart(measure.Interval{1, 1})
			c.Seconds = first.Seconds / c.Gain.Ratio
			c.Interval = measure.Interval{first.Seconds / g[1], first.Seconds / g[0]}
		}
		c.GStencils = points / c.Seconds / 1e9
	}
	slices.SortStableFunc(r.Contenders, func(a, b Contender) int { return compare(b.Gain.Ratio, a.Gain.Ratio) })
	r.limit()
}

// decide names the fastest contender that is allowed the best, and says how it
// compares with the base.
func (r *Result) decide(allowed func(plan string) bool) {
	i := slices.IndexFunc(r.Contenders, func(c Contender) bool { return c.Name != plainName && allowed(c.Plan) })
	if i < 0 {
		return
	}
	c := r.Contenders[i]
	r.Best = c.Plan
	v := &Verdict{Name: c.Name, Over: r.Base().Name, Gain: c.Gain}
	times := fmt.Sprintf("%.3f times as fast as the %s plan (95 %% interval %.3f to %.3f)", c.Gain.Ratio, v.Over,
		c.Gain.Interval[0], c.Gain.Interval[1])
	switch {
	case v.Over != defaultName:
		v.Text = fmt.Sprintf("The best plan is %s; the default plan does not run.", c.Name)
	case c.Name == defaultName:
		v.Text = "The default plan is the best: nothing that was found is faster."
	case !c.Gain.Apart:
		v.Text = fmt.Sprintf("The best plan, %s, is not told apart from the default: it is %s.", c.Name, times)
	case c.Gain.Ratio < 1:
		v.Text = fmt.Sprintf("The best plan that is allowed, %s, is slower than the default: it is %s.", c.Name, times)
	default:
		v.Text = fmt.Sprintf("The best plan, %s, is %s.", c.Name, times)
	}
	r.Verdict = v
}

// Complete derives the figures of a result that was written without them, and brings
// former spellings of parameters into those of today.
func (r *Result) Complete() {
	r.respell()
	if len(r.Contenders) > 0 && r.Contenders[0].Gain.Ratio == 0 {
		c, best := &r.Contenders[0], r.Best
		r.compare(c.Seconds * c.GStencils * 1e9)
		r.decide(func(plan string) bool { return plan == best })
	}
	for i := range r.Kernels {
		if r.Kernels[i].Importance == nil {
			r.Kernels[i].computeImportance()
		}
	}
}

// plainName is the name of plain code as a user compiles it.
const plainName = "plain"

// Label is the name of a contender, with what a reader has to know of it.
func (r *Result) Label(c *Contender) string {
	if c.Plan == r.Best && c.Name != plainName {
		return c.Name + " (best)"
	}
	return c.Name
}

// setContenders makes the contenders of the result from the finalists that ran.
func (t *tuning) setContenders(finalists []*finalist) {
	r := t.result
	r.Contenders = []Contender{}
	for _, x := range finalists {
		if x.err != nil || len(x.times) == 0 {
			continue
		}
		r.Contenders = append(r.Contenders, Contender{Name: x.name, Plan: x.plan.String(), Times: x.times,
			Checks: checksOfTry + t.checks(x), Resources: x.resources, Cells: x.cells})
	}
	r.compare(t.updates())
	r.decide(t.allowed)
}

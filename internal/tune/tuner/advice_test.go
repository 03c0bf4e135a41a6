package tuner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

// adviser is an Adviser that says what a test wants.
type adviser struct {
	t     *testing.T
	s     *scripted
	takes float64 // seconds
	says  func(n int, q Question) (*profile.Kernel, error)
	asked []Question
	tried []int // trials before each question
}

func (a *adviser) advise(_ context.Context, q Question) (*profile.Kernel, error) {
	a.asked = append(a.asked, q)
	a.tried = append(a.tried, len(a.s.tried))
	if err := q.Lab.Arrange(context.Background(), measure.NewSetting("profile", a.s.bound)); err != nil {
		a.t.Error(err)
	}
	a.s.pass(a.takes)
	return a.says(len(a.asked), q)
}

// nothing is a profile without hints.
func nothing(q Question) *profile.Kernel {
	return &profile.Kernel{Part: q.Kernel, Class: profile.NotTold}
}

// instead returns the plan of a question with other settings of its kernel.
func instead(t *testing.T, q Question, config string) string {
	t.Helper()
	c, err := schedule.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p := q.Plan
	p.Kernels = slices.Clone(p.Kernels)
	for i := range p.Kernels {
		if p.Kernels[i].ID() == q.Kernel {
			p.Kernels[i].Config = c
			return p.String()
		}
	}
	t.Fatalf("%s is not in %s", q.Kernel, q.Plan)
	return ""
}

// needle is slow but for one configuration, which a search finds by chance alone.
func needle(text string) (float64, error) {
	v, err := smooth(text)
	if setting(text, "block") == 32 && setting(text, "threads") == 2 && strings.Contains(text, "block=32x0") {
		return v / 2, err
	}
	return v + 1e-4*float64(setting(text, "threads")), err
}

// A search follows hints: configurations are tried as all others are, and counted and kept; what is measured stands
// beside what is predicted. The best is profiled once more if it has changed. Other hints are left to the user.
func TestAdvice(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, needle)
	log := &memoryLog{}
	a := &adviser{t: t, s: s, takes: 2}
	a.says = func(n int, q Question) (*profile.Kernel, error) {
		if n > 1 {
			return nothing(q), nil
		}
		return &profile.Kernel{Part: q.Kernel, Class: profile.BoundByL2, Hints: []profile.Hint{
			{Code: "H13", Gain: 1.8, Change: profile.Change{Plan: instead(t, q, "family=loops,block=32x0,threads=2")}},
			{Code: "H08", Gain: 1.2, Change: profile.Change{Option: "--fp fast"}},
			{Code: "H02", Change: profile.Change{Plan: instead(t, q, "family=loops,block=32x0,threads=1")},
				Forbidden: "a pragma"},
			{Code: "H06", Change: profile.Change{Plan: instead(t, q, "family=loops,block=3x3,threads=1")}},
			{Code: "H03", Change: profile.Change{Plan: q.Plan.String()}},
		}}, nil
	}
	o := options(s, b, 60)
	o.Adviser, o.Log = a.advise, log
	var told []string
	o.Events = func(e Event) {
		if e.Kind == EventAdvice {
			told = append(told, e.Advice.Kernel+": "+string(e.Advice.Profile.Class))
		}
	}
	r := tune(t, o)
	if len(r.Advice) == 0 || len(a.asked) != len(r.Advice) || r.Trials > 60 || len(log.list) != r.Trials ||
		len(told) != len(a.asked) || told[0] != "five[0:1]: bandwidth-bound at l2" {
		t.Fatalf("%d advices of %d, %d trials, %d kept, %q", len(r.Advice), len(a.asked), r.Trials, len(log.list), told)
	}
	first := r.Advice[0]
	if first.Kernel != "five[0:1]" || first.Took != 2 || first.Trials == 0 || a.asked[0].Kernel != "five[0:1]" ||
		!strings.Contains(a.asked[0].Plan.String(), first.Config) {
		t.Errorf("%+v of %+v", first, a.asked[0])
	}
	if n := a.tried[0]; n < 42 || n > 46 { // seven tenths, and what is tried besides
		t.Errorf("the profile comes after %d trials", n)
	}
	h := first.Profile.Hints
	before, _ := needle(first.Config)
	after, _ := needle("family=loops,block=32x0,threads=2")
	if m := h[0].Measured; m == nil || math.Abs(m.Ratio-before/after) > 1e-9 || m.Interval[0] > m.Ratio {
		t.Errorf("%+v, and %g is right", m, before/after)
	}
	if h[0].Gain > 1 != (h[0].Measured.Ratio > 1) { // here the prediction is right
		t.Errorf("predicted %g, measured %g", h[0].Gain, h[0].Measured.Ratio)
	}
	if h[1].Measured != nil || h[1].Failed != "" || h[2].Measured != nil || h[2].Failed != "" {
		t.Errorf("hints for the user: %+v", h[1:3])
	}
	if !strings.HasPrefix(h[3].Failed, "it is none of the configurations that are searched") ||
		h[4].Failed != "the plan has it already" {
		t.Errorf("%q, %q", h[3].Failed, h[4].Failed)
	}
	if !strings.Contains(r.Best, "block=32x0,threads=2") {
		t.Errorf("the best is %s", r.Best)
	}
	if first.Config != r.Kernels[0].Best && (len(r.Advice) != 2 || r.Advice[1].Config != r.Kernels[0].Best ||
		first.Gain < 1.1) {
		t.Errorf("%+v", r.Advice)
	}
}

// A hint whose kernel computes wrong numbers, or none, says so, and is no result.
func TestAdviceThatFails(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, faulty)
	a := &adviser{t: t, s: s}
	a.says = func(n int, q Question) (*profile.Kernel, error) {
		return &profile.Kernel{Part: q.Kernel, Hints: []profile.Hint{
			{Change: profile.Change{Plan: instead(t, q, "family=loops,block=8x0,threads=1")}},
			{Change: profile.Change{Plan: instead(t, q, "family=loops,block=2x0,threads=1")}},
		}}, nil
	}
	o := options(s, b, 60)
	o.Adviser = a.advise
	r := tune(t, o)
	h := r.Advice[0].Profile.Hints
	if h[0].Measured != nil || !strings.Contains(h[0].Failed, "next[1][1]") || h[1].Measured != nil ||
		!strings.Contains(h[1].Failed, "SIGSEGV") {
		t.Errorf("%+v", h)
	}
	// A profile that fails costs the hints, and nothing else.
	s = newScripted(t, b, smooth)
	a = &adviser{t: t, s: s}
	a.says = func(int, Question) (*profile.Kernel, error) { return nil, errors.New("no compiler") }
	o = options(s, b, 60)
	o.Adviser = a.advise
	r = tune(t, o)
	if len(a.asked) != 1 || r.Trials != 60 || r.Advice[0].Failed != "no compiler" || r.Best == "" ||
		!slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "no compiler") }) {
		t.Errorf("%d questions, %d trials: %+v, %q", len(a.asked), r.Trials, r.Advice, r.Notes)
	}
}

// Nothing is profiled where the budget or the trials are few, or nobody is there to ask. A profile has a tenth of the
// budget at the most, and the budget is kept.
func TestAdviceWithinTheBudget(t *testing.T) {
	b := program(t, plane)
	for _, c := range []struct {
		budget time.Duration
		trials int
		asked  bool
	}{
		{40 * time.Second, 0, true}, {39 * time.Second, 0, false}, {0, 39, false}, {0, 60, true},
		{20 * time.Second, 60, false}, {time.Hour, 80, true},
	} {
		slow := func(text string) (float64, error) { // so that the space lasts for longer than the search
			v, err := smooth(text)
			return 0.13 + min(v, 0.01), err
		}
		s := newScripted(t, b, slow)
		a := &adviser{t: t, s: s, takes: 3}
		a.says = func(_ int, q Question) (*profile.Kernel, error) { return nothing(q), nil }
		o := options(s, b, c.trials)
		o.Budget, o.Adviser = c.budget, a.advise
		r := tune(t, o)
		if (len(a.asked) > 0) != c.asked || len(r.Advice) != len(a.asked) {
			t.Errorf("%+v: %d questions", c, len(a.asked))
		}
		if c.budget > 0 && r.Seconds > c.budget.Seconds() || c.trials > 0 && r.Trials > c.trials {
			t.Errorf("%+v: %d trials in %g s", c, r.Trials, r.Seconds)
		}
		for i, q := range a.asked {
			if c.budget > 0 && q.Budget.Seconds() > 0.1*c.budget.Seconds()/timingPart+1e-6 ||
				i == 0 && c.trials == 0 && (r.Advice[0].At < 0.3*c.budget.Seconds() ||
					r.Advice[0].At > 0.75*c.budget.Seconds()) {
				t.Errorf("%+v: %v at %g", c, q.Budget, r.Advice[0].At)
			}
		}
	}
}

// A search that was interrupted after its profile goes on without another one, and tries the same.
func TestAdviceIsResumed(t *testing.T) {
	for _, strategy := range []string{"random", "auto"} {
		b := program(t, plane)
		says := func(n int, q Question) (*profile.Kernel, error) {
			k := nothing(q)
			if n == 1 {
				k.Hints = []profile.Hint{{Code: "H13",
					Change: profile.Change{Plan: instead(t, q, "family=loops,block=32x0,threads=2")}}}
			}
			return k, nil
		}
		s, log := newScripted(t, b, needle), &memoryLog{}
		a := &adviser{t: t, s: s, says: says}
		o := options(s, b, 60)
		kept := 0 // trials before the first profile
		o.Adviser, o.Log, o.Strategy = func(ctx context.Context, q Question) (*profile.Kernel, error) {
			if len(a.asked) == 0 {
				kept = len(log.list)
			}
			return a.advise(ctx, q)
		}, log, strategy
		whole := tune(t, o)
		var advice []Advice
		for _, x := range whole.Advice {
			x.plan = schedule.Plan{}
			advice = append(advice, x)
		}
		for _, n := range []int{kept - 3, kept + 1, kept + 9, len(log.list)} {
			again := newScripted(t, b, needle)
			more := &memoryLog{}
			a := &adviser{t: t, s: again, says: says}
			o := options(again, b, 60)
			o.Adviser, o.Log, o.Strategy = a.advise, more, strategy
			for i, x := range log.list[:n] {
				x.Hinted = i >= kept
				o.Resume = append(o.Resume, x)
			}
			if n > kept {
				o.Advice = advice[:1]
			}
			r := tune(t, o)
			want := len(whole.Advice)
			if n > kept {
				want--
			}
			if len(a.asked) != want || len(r.Advice) != len(whole.Advice) {
				t.Errorf("%s, after %d of %d: %d questions, not %d", strategy, n, kept, len(a.asked), want)
			}
			got, was := r.Kernels[0].Trials, whole.Kernels[0].Trials
			if len(got) != len(was) || r.Trials != whole.Trials || len(more.list) != len(log.list)-n {
				t.Errorf("%s, after %d: %d trials, %d of them new, of %d", strategy, n, len(got), len(more.list),
					len(was))
				continue
			}
			for i := range got {
				if got[i].Config != was[i].Config {
					t.Errorf("%s, after %d: trial %d is %s, and was %s", strategy, n, i, got[i].Config, was[i].Config)
					break
				}
			}
			if r.Best != whole.Best || len(r.Notes) != len(whole.Notes) {
				t.Errorf("%s, after %d: %s, %q", strategy, n, r.Best, r.Notes)
			}
		}
	}
}

// Ctrl-C while a kernel is profiled ends the search with what it has found.
func TestAdviceIsInterrupted(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	ctx, cancel := context.WithCancel(t.Context())
	o := options(s, b, 60)
	o.Adviser = func(ctx context.Context, q Question) (*profile.Kernel, error) {
		if err := q.Lab.Arrange(ctx, measure.NewSetting("profile", b)); err != nil {
			t.Error(err)
		}
		cancel()
		return nil, context.Cause(ctx)
	}
	r, err := Run(ctx, o)
	if err != nil || !r.Interrupted || r.Best == "" || len(r.Advice) != 0 || r.Trials < 42 || r.Totals["wrong"] > 0 ||
		len(r.Refusals) > 0 || len(r.Contenders) < 2 {
		t.Errorf("%v: %+v", err, r)
	}
}

// Of a loop the kernel that carries it out is profiled. A hint that wants more iterations in a kernel has that depth
// searched if it was not, and is measured by the iteration.
func TestAdviceOnDepths(t *testing.T) {
	decides(t)
	b := program(t, iterated(101))
	// The search ends at depth 8, since 6 and 8 gain nothing.
	parts := map[int]float64{2: 0.6, 4: 0.5, 6: 0.55, 8: 0.52, 12: 0.25}
	s := newScripted(t, b, byDepth(parts))
	a := &adviser{t: t, s: s}
	a.says = func(n int, q Question) (*profile.Kernel, error) {
		k := nothing(q)
		k.Class = profile.BoundByDRAM
		if n == 1 {
			for _, depth := range []int{12, 8} {
				k.Hints = append(k.Hints, profile.Hint{Code: "H01", Gain: 1.5,
					Change: profile.Change{
						Plan: strings.Replace(q.Plan.String(), "@4{", fmt.Sprintf("@%d{", depth), 1)}})
			}
		}
		return k, nil
	}
	o := deepOptions(t, s, b, 140)
	o.Adviser = a.advise
	r := tune(t, o)
	if len(a.asked) != 2 || a.asked[0].Kernel != "body[0:2]@4" || a.asked[1].Kernel != "body[0:2]@12" {
		t.Fatalf("%+v", a.asked)
	}
	h := r.Advice[0].Profile.Hints
	if m := h[0].Measured; m == nil || m.Ratio < 1.9 || m.Ratio > 2.1 {
		t.Errorf("depth 12: %+v, %s", m, h[0].Failed)
	}
	if m := h[1].Measured; m == nil || m.Ratio < 0.9 || m.Ratio > 1 {
		t.Errorf("depth 8: %+v, %s", m, h[1].Failed)
	}
	if !strings.Contains(r.Best, "body[0:2]@12{") || r.Trials > 140 || r.Advice[0].Gain < 1.5 {
		t.Errorf("%s after %d trials, %+v", r.Best, r.Trials, r.Advice[0])
	}
	// A search that is limited to fewer iterations stays so.
	s = newScripted(t, b, byDepth(parts))
	a.s, a.asked = s, nil
	o = deepOptions(t, s, b, 140)
	o.Adviser, o.MaxDepth = a.advise, 8
	if h := tune(t, o).Advice[0].Profile.Hints; h[0].Measured != nil || h[0].Failed != "body[0:2]@12 is not searched" {
		t.Errorf("%+v", h[0])
	}
}

// After a profile the search keeps to what is promising for the class, unless the best is not.
func TestAdviceRestrictsTheSearch(t *testing.T) {
	decides(t)
	var few schedule.Restrictions
	for _, text := range []string{"family=tile", "stages=0", "sizes=literals", "cse=no", "shuffle=no", "registers=0"} {
		few = append(few, schedule.LimitTo("", text))
	}
	cells := func(text string) int64 {
		p, err := schedule.ParsePlan(text)
		if err != nil || len(p.Kernels) == 0 || !p.Kernels[0].Config.Has("rows") {
			return 0
		}
		c, most := p.Kernels[0].Config, int64(0)
		vec, repeat, rows := c.Int("vec"), []int64{1, 1}, c.Ints("rows")
		if c.Has("repeat") {
			repeat = c.Ints("repeat")
		}
		return max(most, vec*repeat[len(repeat)-1], rows[len(rows)-1]*repeat[len(repeat)-2])
	}
	for _, fewest := range []bool{true, false} {
		b := program(t, worked(2))
		s := newScripted(t, b, func(text string) (float64, error) {
			n := float64(max(1, cells(text)))
			if fewest {
				return 1e-3 * n, nil
			}
			return 1e-3 / n, nil
		})
		a := &adviser{t: t, s: s}
		a.says = func(_ int, q Question) (*profile.Kernel, error) {
			k := nothing(q)
			k.Class = profile.ComputeBound
			return k, nil
		}
		o := options(s, b, 60)
		o.Lab, o.Restrict, o.Adviser = gpu(t, s), few.Apply, a.advise
		r := tune(t, o)
		many := 0
		for _, x := range r.Kernels[0].Trials[42:] {
			if cells("worked[0:1]@1{"+x.Config+"}") > 4 {
				many++
			}
		}
		said := r.Advice[0].SearchedOn
		if fewest && (many > 0 || !strings.Contains(said, "configurations are promising for compute-bound kernels")) ||
			!fewest && (many == 0 || !strings.HasPrefix(said, "all ")) {
			t.Errorf("the fewest cells are best: %v; %d trials have many: %s", fewest, many, said)
		}
	}
}

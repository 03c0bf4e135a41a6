package tuner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// options are those of a search on a scripted device.
func options(s *scripted, b *ir.Binding, trials int) Options {
	return Options{
		Bound: b, Lab: s, Strategy: "random", Seed: 1, Trials: trials, Clock: s.clock, MaxDepth: 1,
	}
}

func tune(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBestIsFound(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	r := tune(t, options(s, b, 60))
	if r.Trials != 60 || r.Totals["good"] != 60 || len(r.Kernels) != 1 || len(r.Kernels[0].Trials) != 60 {
		t.Fatalf("%d trials: %v", r.Trials, r.Totals)
	}
	least, config := 1.0, ""
	for i, o := range r.Kernels[0].Trials {
		if o.Number != i {
			t.Errorf("trial %d was told as number %d", o.Number, i)
		}
		if o.Seconds < least {
			least, config = o.Seconds, o.Config
		}
	}
	if r.Kernels[0].Best != config || math.Abs(r.Contenders[0].Seconds/least-1) > 1e-12 ||
		!strings.Contains(r.Best, config) {
		t.Errorf("best %s, %s; %s is as fast as %g", r.Kernels[0].Best, r.Best, config, least)
	}
	for _, name := range []string{"default", "expert", "plain"} {
		if r.Contender(name) == nil {
			t.Errorf("the best is not compared with %s", name)
		}
	}
	if v := r.Verdict; v == nil || !v.Apart || v.Over != "default" || v.Ratio != r.Contenders[0].Gain.Ratio ||
		v.Ratio < 1 || !strings.Contains(v.Text, v.Name) {
		t.Errorf("%+v", v)
	}
	// 16 bytes a point and 100 GB/s: a little more for what is read around.
	if r.Bound.CopyGBs < 99 || r.Bound.GStencils < 6 || r.Bound.GStencils > 6.3 {
		t.Errorf("%+v", r.Bound)
	}
	if len(r.Checks) != 1 || !strings.Contains(r.Checks[0], "agree with the reference executor at M=41 N=37") &&
		!strings.Contains(r.Checks[0], "agree with the reference") {
		t.Errorf("%q", r.Checks)
	}
}

// Whatever a variant does, the search goes on and says why it was refused.
func TestRefusals(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, faulty)
	s.compile = func(plan string) error {
		if setting(plan, "block") == 16 {
			return verdict.For(verdict.Compiler, errors.New("virtual memory exhausted"))
		}
		return nil
	}
	var wrong, told int
	o := options(s, b, 100)
	o.Events = func(e Event) {
		if e.Kind == EventTrial {
			told++
			if e.Trial.Verdict == verdict.Wrong {
				wrong++
			}
		}
	}
	r := tune(t, o)
	seen := map[string]int{}
	for _, x := range r.Kernels[0].Trials {
		want := map[int]verdict.Verdict{1: verdict.Timeout, 2: verdict.Crash, 4: verdict.Launch, 8: verdict.Wrong,
			16: verdict.Compiler}[setting(x.Config, "block")]
		if x.Verdict != want {
			t.Errorf("%s: %s, want %s", x.Config, x.Verdict, want)
		}
		seen[x.Verdict.String()]++
	}
	if told != 100 || wrong != seen["wrong"] {
		t.Errorf("%d events, %d of them wrong", told, wrong)
	}
	for _, x := range r.Refusals {
		if x.Count != seen[x.Reason] || x.Count == 0 || x.Text == "" || x.Config == "" {
			t.Errorf("%+v, and %d seen", x, seen[x.Reason])
		}
	}
	if len(r.Refusals) != 5 {
		t.Errorf("%+v", r.Refusals)
	}
}

// memoryLog is a Log in memory.
type memoryLog struct {
	list  []Outcome
	known map[string]Outcome
}

func (k *memoryLog) Keep(o Outcome) error {
	k.list = append(k.list, o)
	return nil
}

// Condemn keeps what the store keeps.
func (k *memoryLog) Condemn(o Outcome) error {
	i := slices.IndexFunc(k.list,
		func(x Outcome) bool { return x.Kernel == o.Kernel && x.Config == o.Config && x.Verdict == verdict.OK })
	if i < 0 {
		return fmt.Errorf("%s was not kept as good", o.Config)
	}
	k.list[i].Verdict, k.list[i].Message = o.Verdict, o.Message
	return nil
}

func (k *memoryLog) Known(kernel, config string) (Outcome, bool) {
	o, ok := k.known[config]
	return o, ok
}

// The reference variant, which tells drift, and the contenders are tried besides.
//
// A search that goes on from any point of its log asks for the same as one that
// was never interrupted, and measures nothing twice.
func TestResume(t *testing.T) {
	for _, strategy := range []string{"random", "local", "auto"} {
		b := program(t, plane)
		log := &memoryLog{}
		o := options(newScripted(t, b, smooth), b, 50)
		o.Log, o.Strategy = log, strategy
		whole := tune(t, o)
		for _, n := range []int{1, 7, 36, 50} {
			s := newScripted(t, b, smooth)
			more := &memoryLog{}
			o := options(s, b, 50)
			o.Log, o.Resume, o.Strategy = more, log.list[:n], strategy
			r := tune(t, o)
			for i, x := range r.Kernels[0].Trials {
				if x.Config != whole.Kernels[0].Trials[i].Config {
					t.Fatalf("%s, after %d: trial %d is %s, and was %s", strategy, n, i, x.Config,
						whole.Kernels[0].Trials[i].Config)
				}
			}
			if len(more.list) != 50-n || len(s.tried) != 50-n+len(r.Contenders)+1 || r.Trials != 50 ||
				r.Kernels[0].Best != whole.Kernels[0].Best || len(r.Notes) > 0 {
				t.Errorf("%s, after %d: %d more, %d in all, %q", strategy, n, len(more.list), r.Trials, r.Notes)
			}
		}
	}
	// The result of another search is not mistaken for this one's.
	b := program(t, plane)
	o := options(newScripted(t, b, smooth), b, 10)
	o.Resume = []Outcome{
		{Kernel: "five[0:1]", Config: "family=loops,block=3x3,threads=1", Verdict: verdict.OK, Seconds: 1},
	}
	if r := tune(t, o); len(r.Notes) != 1 ||
		!strings.HasPrefix(r.Notes[0], "1 trials of five[0:1] were not asked for again") || r.Trials < 10 {
		t.Errorf("%q", r.Notes)
	}
}

// What an earlier search has measured is not measured again.
func TestKnown(t *testing.T) {
	b := program(t, plane)
	first := &memoryLog{}
	o := options(newScripted(t, b, smooth), b, 20)
	o.Log = first
	tune(t, o)
	again := &memoryLog{known: map[string]Outcome{}}
	for _, x := range first.list {
		again.known[x.Config] = x
	}
	s := newScripted(t, b, smooth)
	o = options(s, b, 20)
	o.Log = again
	r := tune(t, o)
	for _, x := range again.list {
		if !x.Known || x.Cost != 0 {
			t.Errorf("%s was measured again", x.Config)
		}
	}
	if len(s.tried) != len(r.Contenders)+1 || r.Trials != 20 {
		t.Errorf("%d of %d were measured again", len(s.tried), r.Trials)
	}
}

// Where compilers and kernels take turns, no trial is lost either.
func TestTurns(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	s.shared = true
	o := options(s, b, 20)
	if r := tune(t, o); r.Trials != 20 || len(r.Kernels[0].Trials) != 20 {
		t.Errorf("%d trials", r.Trials)
	}
	o = options(s, b, 0)
	o.Strategy = "exhaustive"
	r := tune(t, o)
	if n := r.Kernels[0].Configurations; n != fmt.Sprint(r.Trials) {
		t.Errorf("%d trials of %s", r.Trials, n)
	}
}

// When the user interrupts, the best so far is the result.
func TestInterrupt(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	ctx, cancel := context.WithCancel(t.Context())
	s.ended = func(tried int) {
		if tried == 8 {
			cancel()
		}
	}
	log := &memoryLog{}
	o := options(s, b, 100)
	o.Log = log
	r, err := Run(ctx, o)
	if err != nil || !r.Interrupted || r.Best == "" || len(log.list) == 0 || len(log.list) > 8 {
		t.Errorf("%v: %+v", err, r)
	}
}

// The time is kept: a search does not begin what it has no time for.
func TestBudget(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	o := options(s, b, 0)
	o.Budget = 2e9
	r := tune(t, o)
	if r.Seconds > 2.5 || r.Trials < 20 {
		t.Errorf("%d trials in %g s", r.Trials, r.Seconds)
	}
}

func TestTarget(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	o := options(s, b, 5000)
	o.Target.GStencils = float64(510*510) / 1.2e-3 / 1e9
	r := tune(t, o)
	if last := r.Contenders[0]; last.GStencils < o.Target.GStencils || r.Trials == 5000 {
		t.Errorf("%g of %g after %d", last.GStencils, o.Target.GStencils, r.Trials)
	}
}

// The kernel that takes most of the time is first, and gets most of the trials.
func TestTwoKernels(t *testing.T) {
	b := program(t, two)
	s := newScripted(t, b, func(plan string) (float64, error) {
		v, err := smooth(plan)
		if strings.Contains(plan, "dear") {
			v *= 3
		}
		return v, err
	})
	r := tune(t, options(s, b, 40))
	if len(r.Kernels) != 2 || r.Kernels[0].Kernel != "dear[0:1]" ||
		len(r.Kernels[0].Trials) < 2*len(r.Kernels[1].Trials) || len(r.Kernels[1].Trials) < 5 {
		t.Fatalf("%+v", r.Kernels)
	}
	for _, k := range r.Kernels {
		if !strings.Contains(r.Best, k.Kernel+"@1{"+k.Best+"}") {
			t.Errorf("%s is not in %s", k.Best, r.Best)
		}
	}
}

// only applies a restriction to every kernel.
func only(restrict func(schedule.Space) (schedule.Space,
	error)) func([]string, []schedule.Space) ([]schedule.Space, []string, error) {
	return func(_ []string, spaces []schedule.Space) ([]schedule.Space, []string, error) {
		var left []schedule.Space
		for _, s := range spaces {
			less, err := restrict(s)
			if err != nil {
				return nil, nil, err
			}
			left = append(left, less)
		}
		return left, nil, nil
	}
}

// No more configurations are tried than the user has asked for, however many kernels
// there are, and as long as there are enough each gets one.
func TestTrialsAreNotExceeded(t *testing.T) {
	source := two + "stencil third (out, in) { out[j][i] = in[j][i] + 1; }\nthird (v, w);\n"
	for _, n := range []int{1, 2, 3, 4, 7, 20} {
		b := program(t, source)
		s := newScripted(t, b, func(plan string) (float64, error) {
			v, err := smooth(plan)
			if strings.Contains(plan, "dear") {
				v *= 100 // all trials would be its share
			}
			return v, err
		})
		r := tune(t, options(s, b, n))
		kernels := 0
		for _, k := range r.Kernels {
			if len(k.Trials) > 0 {
				kernels++
			}
		}
		if r.Trials != n || kernels != min(n, 3) {
			t.Errorf("%d trials of %d kernels, %d were asked for", r.Trials, kernels, n)
		}
	}
}

// What the user has restricted the space to is what comes out of it, though the
// default may be faster.
func TestRestriction(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	o := options(s, b, 20)
	o.Restrict = only(func(s schedule.Space) (schedule.Space, error) {
		return s.Fix("block", schedule.Int(256, 0), schedule.Int(256, 64))
	})
	r := tune(t, o)
	if !strings.Contains(r.Best, "block=256x") || len(r.Kernels[0].Trials) == 0 {
		t.Errorf("%s", r.Best)
	}
	for _, x := range r.Kernels[0].Trials {
		if setting(x.Config, "block") != 256 || setting(x.Config, "threads") > runtime.GOMAXPROCS(0) {
			t.Errorf("%s", x.Config)
		}
	}
}

// The settings of a plan stay as they are in every trial.
func TestPlanStays(t *testing.T) {
	b := program(t, plane)
	o := options(newScripted(t, b, smooth), b, 10)
	o.Plan = plan(t, "threads=1")
	for _, x := range tune(t, o).Kernels[0].Trials {
		if setting(x.Config, "threads") != 1 {
			t.Errorf("%s", x.Config)
		}
	}
	o.Plan = plan(t, "five[0:1]@1{block=256x64}")
	for _, x := range tune(t, o).Kernels[0].Trials {
		if !strings.Contains(x.Config, "block=256x64,") {
			t.Errorf("%s", x.Config)
		}
	}
}

// A restriction that leaves nothing of any kernel ends the search before it begins,
// and one that leaves nothing of some kernel is told.
func TestRestrictionsThatLeaveNothing(t *testing.T) {
	b := program(t, plane)
	o := options(newScripted(t, b, smooth), b, 5)
	fix := func(text string) schedule.Restriction {
		r, err := schedule.FixTo("--fix", text)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	o.Restrict = schedule.Restrictions{fix("threads=3")}.Apply
	_, err := Run(t.Context(), o)
	if _, ok := errors.AsType[*schedule.Misfit](err); !ok ||
		!strings.HasPrefix(err.Error(), "--fix threads=3: threads takes no value 3; it takes 1, 2, 4, ") {
		t.Errorf("%v", err)
	}
	o.Restrict, o.Plan = nil, plan(t, "threads=1")
	o.Restrict = schedule.Restrictions{fix("threads=2")}.Apply
	if _, err := Run(t.Context(), o); err == nil ||
		err.Error() != "--fix threads=2: threads takes no value 2; it takes 1" {
		t.Errorf("%v", err)
	}
}

func plan(t *testing.T, text string) schedule.Plan {
	t.Helper()
	p, err := schedule.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A space in which nothing works is an error, which says why.
func TestNoConfigurationRuns(t *testing.T) {
	b := program(t, plane)
	o := options(newScripted(t, b, faulty), b, 5)
	o.Restrict = only(func(s schedule.Space) (schedule.Space, error) {
		return s.Fix("block", schedule.Int(2, 0), schedule.Int(2, 64))
	})
	_, err := Run(t.Context(), o)
	if err == nil || !strings.HasPrefix(err.Error(), "none of ") || !strings.Contains(err.Error(), "(crash)") ||
		!strings.Contains(err.Error(), "SIGSEGV") {
		t.Errorf("%v", err)
	}
}

// A device that is lost for good ends the search.
func TestDeviceIsGone(t *testing.T) {
	b := program(t, plane)
	tried := 0
	s := newScripted(t, b, func(plan string) (float64, error) {
		if tried++; tried > 5 {
			return 0, &measure.Gone{Device: "scripted", Err: errors.New("it fell off the bus")}
		}
		return smooth(plan)
	})
	r, err := Run(t.Context(), options(s, b, 50))
	if err == nil || !strings.Contains(err.Error(), "it fell off the bus") || r == nil {
		t.Errorf("%v", err)
	}
}

// Plain kernels that disagree with the reference executor are found before
// anything is compared with them.
func TestPlainKernelsAreChecked(t *testing.T) {
	b := program(t, plane)
	wrong := program(t, strings.Replace(plane, "0.25*", "0.26*", 1))
	s := newScripted(t, wrong, smooth)
	if _, err := Run(t.Context(), options(s, b, 5)); err == nil ||
		!strings.Contains(err.Error(), "disagree with the reference executor") ||
		!strings.Contains(err.Error(), "should be") {
		t.Errorf("%v", err)
	}
}

// What the source asks for restricts what is searched, not the plain kernels that
// everything is compared with.
func TestPragma(t *testing.T) {
	b := program(t, strings.Replace(cube, "stencil seven", "#pragma stream k block (32,16)\nstencil seven", 1))
	s := newScripted(t, b, smooth)
	o := options(s, b, 10)
	o.Lab = gpu(t, s)
	r := tune(t, o)
	if len(r.Kernels[0].Trials) != 10 {
		t.Errorf("%d trials", len(r.Kernels[0].Trials))
	}
	for _, x := range r.Kernels[0].Trials {
		if !strings.Contains(x.Config, ",stream=k,") || !strings.Contains(x.Config, ",block=16x32,") {
			t.Errorf("%s", x.Config)
		}
	}
}

// What the user asks for is searched though it is not sensible.
func TestRestrictionsGoFirst(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	o := options(s, b, 5)
	o.Restrict = only(func(s schedule.Space) (schedule.Space, error) {
		return s.Fix("threads", schedule.Int(int64(4*runtime.GOMAXPROCS(0))))
	})
	r := tune(t, o)
	for _, x := range r.Kernels[0].Trials {
		if setting(x.Config, "threads") != 4*runtime.GOMAXPROCS(0) {
			t.Errorf("%s", x.Config)
		}
	}
}

// Outcomes have the form in JSON that scripts know, and come back from it.
func TestOutcomesInJSON(t *testing.T) {
	for v, want := range map[verdict.Verdict]string{
		verdict.OK: `"verdict":"good"`, verdict.Wrong: `"verdict":"wrong","reason":"wrong"`,
		verdict.Compiler: `"verdict":"refused","reason":"compiler"`,
		verdict.Timeout:  `"verdict":"refused","reason":"timeout"`,
	} {
		o := Outcome{Kernel: "k", Config: "c", Verdict: v, Cost: 2, Resources: measure.Resources{Registers: 40}}
		text, err := json.Marshal(o)
		if err != nil || !strings.Contains(string(text), want) || !strings.Contains(string(text), `"registers":40`) {
			t.Errorf("%s is %s, %v", v, text, err)
		}
		var back Outcome
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, o) {
			t.Errorf("%s comes back as %+v, %v", text, back, err)
		}
	}
	var old Outcome
	if err := json.Unmarshal([]byte(`{"config":"c","verdict":"refused"}`), &old); err != nil ||
		old.Verdict != verdict.Launch {
		t.Errorf("%+v %v", old, err)
	}
}

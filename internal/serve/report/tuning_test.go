package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// found is what a small search has come to.
func found() *Tuning {
	contender := func(name, plan string, seconds ...float64) tuner.Contender {
		m := measure.Median(seconds)
		return tuner.Contender{Name: name, Plan: plan, Times: seconds, Seconds: m, Interval: measure.Mean(seconds), GStencils: 1e6 / m / 1e9}
	}
	trial := func(at float64, config, verdict, reason string, seconds float64) tuner.Outcome {
		return tuner.Outcome{At: at, Config: config, Verdict: verdict, Reason: reason, Message: "it\n  failed", Seconds: seconds, Low: seconds * 0.9, High: seconds * 1.1}
	}
	return &Tuning{
		Result: tuner.Result{
			Program: "heat", Device: measure.About{ID: "cpu", Name: "a processor", Compiler: "cc", Arithmetic: "contract"},
			Sizes: []tuner.Size{{Name: "N", Value: 1000}, {Name: "M", Value: 1000}}, Strategy: "auto", Seed: 3, Started: "2026-11-20T09:30:00Z",
			Seconds: 12, Interrupted: true, Checks: []string{"heat: as it should be"}, Trials: 4, Rate: 2, Idle: 0.25,
			Bound: tuner.Bound{CopyGBs: 100, BytesPerPoint: 16, GStencils: 6.25},
			Kernels: []tuner.KernelResult{{Kernel: "heat[0:1]", Configurations: "7", Points: 1e6, Bytes: 16, Trials: []tuner.Outcome{
				trial(3, "family=loops,block=8x0", tuner.Good, "", 3e-4),
				trial(1, "family=loops,block=4x0", tuner.Refused, "compiler", 0),
				trial(2, "family=loops,block=2x0", tuner.Wrong, "wrong", 0),
				trial(4, "no configuration", tuner.Refused, "", 0),
			}}},
			Contenders: []tuner.Contender{
				contender("found 1", "heat[0:1]@1{block=8x0}", 2e-4, 2.2e-4, 2.1e-4),
				contender("other 1", "heat[0:1]@1{block=9x0}", 3e-4, 3.2e-4, 3.1e-4),
				contender("plain", "heat[0:1]@1{block=0x0}", 8e-4, 8.8e-4, 8.4e-4),
				contender("default", "heat[0:1]@1{block=0x0}", 4e-4, 4.4e-4, 4.2e-4),
			},
			Best: "heat[0:1]@1{block=8x0}",
		},
		File: "heat.loom", Source: "double u[N,M];", Session: "0f3c5a7b9d1e", Limits: "20s, 30 trials", Space: "limit threads<=2", Commit: "abc",
		Library: []Variant{{Plan: "threads=1", Sizes: "N=10,M=10", Cells: 100}, {Plan: "threads=2", Sizes: "N=1000,M=1000", Cells: 1e6, From: 1e4, Seconds: 2e-4}},
	}
}

func TestStoryOfSearch(t *testing.T) {
	s := found().Story()
	if s.Program != "heat.loom" || s.Finished || s.Wall != 12 || s.Idle != 0.25 || s.Points < 999999 || s.Points > 1000001 || s.Started.Hour() != 9 {
		t.Errorf("%+v", s)
	}
	if s.Bound < 1.59e-4 || s.Bound > 1.61e-4 || s.Kernels[0].Bound < 1.59e-4 || s.Kernels[0].Bound > 1.61e-4 {
		t.Errorf("the bounds are %g and %g s", s.Bound, s.Kernels[0].Bound)
	}
	var plans, facts, trials []string
	for _, r := range s.Rows() {
		plans = append(plans, fmt.Sprintf("%s %.3f", r.Name, r.Gain))
		if !(r.GainLow <= r.Gain && r.Gain <= r.GainHigh) {
			t.Errorf("%+v", r)
		}
	}
	// Rounds are compared one by one, so that their scatter does not matter.
	if got, want := strings.Join(plans, ", "), "default 1.000, plain 0.500, best 2.000, other 1 1.354"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, f := range s.Facts {
		facts = append(facts, f.Name+": "+f.Text)
	}
	for _, want := range []string{
		"device: cpu (a processor)", "sizes: N=1000 M=1000", "search: auto, seed 3: 4 configurations, 2.0 a second", "until: 20s, 30 trials", "only: limit threads<=2",
		"session: 0f3c5a7b9d1e of the store, by Gridloom abc", "checked: heat: as it should be",
		"library: from 0 cells on: threads=1", "library: from 10000 cells on: threads=2 (200 µs at N=1000,M=1000)",
	} {
		if !strings.Contains(strings.Join(facts, "\n")+"\n", want+"\n") {
			t.Errorf("no %q in %q", want, facts)
		}
	}
	for _, x := range s.Kernels[0].Trials {
		trials = append(trials, fmt.Sprintf("%g %s %s %v %g", x.At, x.Refused, x.Reason, x.Settings, x.Seconds))
	}
	if got, want := strings.Join(trials, "\n"), `1 compiler it failed [{family loops} {block 4x0}] 0
2 wrong it failed [{family loops} {block 2x0}] 0
3   [{family loops} {block 8x0}] 0.0003
4 refused it failed [] 0`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// What was written is read again, and draws the same page.
func TestReadTuning(t *testing.T) {
	text, err := json.Marshal(found())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var pages [2]bytes.Buffer
	for i, x := range []*Tuning{found(), again} {
		if err := Write(&pages[i], x.Story()); err != nil {
			t.Fatal(err)
		}
	}
	if pages[0].String() != pages[1].String() {
		t.Error("the pages differ")
	}
	for text, want := range map[string]string{
		"": "EOF", "{}": "no program or no plans", "[1]": "no tuning.json", `{"program":"x","started":"y"}`: "no plans that were timed", string(text[:len(text)/2]): "no tuning.json",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// A single sample, or one that scatters widely, still has an interval around it.
func TestAround(t *testing.T) {
	for _, c := range []struct {
		middle    float64
		i         measure.Interval
		times     []float64
		low, high float64
	}{
		{2, measure.Interval{1, 3}, []float64{2}, 1, 3},
		{2, measure.Interval{2.5, 3}, []float64{2, 3, 3}, 2, 3},
		{2, measure.Interval{0, 1.5}, []float64{1, 2, 9}, 1, 2},
		{2, measure.Interval{2, 2}, []float64{2}, 2, 2},
	} {
		if low, high := around(c.middle, c.i, c.times); low != c.low || high != c.high {
			t.Errorf("%+v: %g to %g", c, low, high)
		}
	}
}

package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/importance"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// found is the result of a small search.
func found() *Tuning {
	contender := func(name, plan string, seconds ...float64) tuner.Contender {
		m := measure.Median(seconds)
		// the rest follows
		return tuner.Contender{Name: name, Plan: plan, Times: seconds, Seconds: m, GStencils: 1e6 / m / 1e9}
	}
	trial := func(at float64, config string, v verdict.Verdict, seconds float64) tuner.Outcome {
		return tuner.Outcome{At: at, Config: config, Verdict: v, Message: "it\n  failed",
			Seconds: seconds, Low: seconds * 0.9, High: seconds * 1.1}
	}
	t := &Tuning{
		Result: tuner.Result{
			Program: "heat", Device: measure.About{ID: "cpu", Name: "a processor", Compiler: "cc",
				Arithmetic: "contract"},
			Sizes: []tuner.Size{{Name: "N", Value: 1000}, {Name: "M", Value: 1000}}, Strategy: "auto", Seed: 3,
			Started: "2026-11-20T09:30:00Z",
			Seconds: 12, Interrupted: true, Checks: []string{"heat: as it should be"}, Trials: 4, Rate: 2, Idle: 0.25,
			Bound: tuner.Bound{CopyGBs: 100, BytesPerPoint: 16, GStencils: 6.25},
			Kernels: []tuner.KernelResult{{Kernel: "heat[0:1]", Configurations: "7", Points: 1e6, Bytes: 16,
				Trials: []tuner.Outcome{
					trial(3, "family=loops,block=8x0", verdict.OK, 3e-4),
					trial(1, "family=loops,block=4x0", verdict.Compiler, 0),
					trial(2, "family=loops,block=2x0", verdict.Wrong, 0),
					trial(4, "no configuration", verdict.Launch, 0),
				}}},
			Contenders: []tuner.Contender{
				contender("found 1", "heat[0:1]@1{block=8x0}", 2e-4, 2.2e-4, 2.1e-4),
				contender("other 1", "heat[0:1]@1{block=9x0}", 3e-4, 3.2e-4, 3.1e-4),
				contender("plain", "heat[0:1]@1{block=0x0}", 8e-4, 8.8e-4, 8.4e-4),
				contender("default", "heat[0:1]@1{block=0x0}", 4e-4, 4.4e-4, 4.2e-4),
			},
			Best: "heat[0:1]@1{block=8x0}",
		},
		File: "heat.loom", Source: "double u[N,M];", Session: "0f3c5a7b9d1e", Limits: "20s, 30 trials",
		Space: "limit threads<=2", Version: "1.2.3", Commit: "abc",
		Set: map[string]string{"N": "1000", "M": "1000"},
		Library: []Variant{{Plan: "threads=1", Sizes: session.ParseSizes("N=10,M=10"), Cells: 100},
			{Plan: "threads=2", Sizes: session.ParseSizes("N=1000,M=1000"), Cells: 1e6, From: 1e4, Seconds: 2e-4}},
	}
	t.Complete()
	return t
}

func TestStoryOfSearch(t *testing.T) {
	s := found().Story()
	if s.Program != "heat.loom" || s.Finished || s.Wall != 12 || s.Idle != 0.25 || s.Started.Hour() != 9 {
		t.Errorf("%+v", s)
	}
	if b := s.Kernels[0].Bound; b < 1.59e-4 || b > 1.61e-4 {
		t.Errorf("the bound is %g s", b)
	}
	var facts, trials []string
	// Rounds are compared one by one, so that their scatter does not matter.
	want := Table{Best: 0, Head: []string{"plan", "GStencil/s", "time of a step", "times the default", "95 % interval",
		"of the copy bound"}, Rows: [][]string{
		{"found 1 (best)", "4.762", "210.0 µs", "2.000", "2.000 to 2.000", "76.2 %"},
		{"other 1", "3.226", "310.0 µs", "1.355", "1.287 to 1.427", "51.6 %"},
		{"default", "2.381", "420.0 µs", "1.000", "–", "38.1 %"},
		{"plain", "1.190", "840.0 µs", "0.500", "0.500 to 0.500", "19.0 %"},
		{"copy bound", "6.250", "160.0 µs", "2.625", "–", "100.0 %"},
	}}
	if !reflect.DeepEqual(s.Table, want) {
		t.Errorf("%v\nwant\n%v", s.Table, want)
	}
	for _, f := range s.Facts {
		facts = append(facts, f.Name+": "+f.Text)
	}
	for _, want := range []string{
		"device: cpu (a processor)", "sizes: N=1000 M=1000", "search: auto, seed 3: 4 configurations, 2.0 a second",
		"until: 20s, 30 trials", "only: limit threads<=2",
		"session: 0f3c5a7b9d1e of the store", "checked: heat: as it should be",
		"library: from 0 cells on: threads=1", "library: from 10,000 cells on: threads=2 (200.0 µs at N=1000,M=1000)",
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
4 launch it failed [] 0`; got != want {
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

// Bars and their intervals stay within the drawing, whatever the intervals are.
func TestBars(t *testing.T) {
	x := found()
	x.Contenders = append(x.Contenders, tuner.Contender{Name: "found 9",
		Gain: tuner.Gain{Ratio: 0.9, Interval: measure.Interval{0.01, 90}}})
	b := barsOf(&x.Result)
	if len(b.List) != 5 || !(0 < b.One && b.One < 100) {
		t.Fatalf("%+v", b)
	}
	for _, c := range b.List {
		if c.Length <= 0 || c.Length > 100 || c.Low < 0 || c.Gap < 0 || c.Low+c.Gap > 100.01 {
			t.Errorf("%+v", c)
		}
		if c.Base && (c.Length != b.One || c.Gap != 0) || c.Best != (c.Name == "found 1 (best)") {
			t.Errorf("%+v", c)
		}
	}
	if got := string(b.List[0].Whisker() + b.Style()); !strings.HasPrefix(got, "left:") ||
		!strings.Contains(got, "%;width:") {
		t.Error(got)
	}
}

// Commands are what a shell takes for the words that are meant.
func TestCommands(t *testing.T) {
	x := found()
	x.File, x.Set, x.Device.ID, x.Device.Arithmetic, x.Library, x.Session = "it's; rm -rf.loom",
		map[string]string{"a": "2 * 3"}, "cuda:0", "fast", nil, ""
	list := x.Uses()
	want := `gridloom run 'it'\''s; rm -rf.loom' --set 'a=2 * 3' --device cuda:0 --fp fast --plan @best.plan`
	if len(list) != 1 || list[0].Commands[0] != want {
		t.Errorf("%q, want %s", list, want)
	}
}

// Figures of stories that were written without them are derived from the times.
func TestStoryWithoutFigures(t *testing.T) {
	x := found()
	want := x.Contenders[0]
	for i := range x.Contenders {
		x.Contenders[i].Gain = tuner.Gain{}
	}
	x.Verdict = nil
	x.Complete()
	if got := x.Contenders[0]; got.Gain != want.Gain || x.Verdict == nil || x.Verdict.Name != "found 1" {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A tuning.json that was written in a former spelling tells the same in that of today.
func TestFormerSpellings(t *testing.T) {
	for _, x := range scheduletest.Spellings() {
		text := func(setting, parameter, value string) string {
			r := found()
			config := "family=planes," + setting
			plan := "heat[0:1]@1{" + config + "}"
			r.Best = plan
			for i := range r.Contenders {
				r.Contenders[i].Plan = plan
			}
			k := &r.Kernels[0]
			k.Default, k.Best, k.Params = config, config, []string{"family", parameter}
			values := []importance.Value{{Value: value, Runs: 3}}
			k.Importance = []importance.Parameter{{Name: parameter, Values: values}}
			for i := range k.Trials {
				k.Trials[i].Config, k.Trials[i].Same = config, config
			}
			r.Refusals = []tuner.Refusal{{Reason: "compiler", Count: 1, Config: config}}
			r.Library = []Variant{{Plan: plan}}
			var b bytes.Buffer
			if err := json.NewEncoder(&b).Encode(r); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		now := text(x.Now, x.Parameter, x.NowValue)
		former, err := Read(strings.NewReader(text(x.Former, x.Name, x.FormerValue)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Read(strings.NewReader(now))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(former, want) || !strings.Contains(want.Best, x.Now) {
			t.Errorf("%s is %+v, want %+v", x.Former, former, want)
		}
	}
}

// What came of several iterations in a kernel is told, if they were tried.
func TestDepths(t *testing.T) {
	f := found()
	f.Loops = []tuner.LoopResult{
		{Loop: "body[0:2]", Iterations: 9, Points: 100, Stopped: "the last 2 depths were not faster",
			Depths: []tuner.DepthResult{
				{Depth: 1, Seconds: 1e-3, GStencils: 0.5, Gain: 1},
				{Kernel: "body[0:2]@2", Depth: 2, Seconds: 1e-3, GStencils: 1, Gain: 2, Trials: 7, InPlan: true},
				{Kernel: "body[0:2]@4", Depth: 4, Seconds: 3e-3, GStencils: 0.75, Gain: 1.333, Trials: 5},
				{Kernel: "body[0:2]@6", Depth: 6, Trials: 4},
			}},
		{Loop: "body.2[0:1]", Iterations: 3, Stopped: "s is reduced in every iteration"},
	}
	var got []Fact
	for _, x := range f.Story().Facts {
		if x.Name == "iterations in a kernel" {
			got = append(got, x)
		}
	}
	want := []Fact{{"iterations in a kernel", "body[0:2]: depth 2 (in the plan) is 2.000 times as fast as depth 1, " +
		"depth 4 1.333 times, depth 6 has nothing that works; no other: the last 2 depths were not faster"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	rows := [][]string{
		{"1", "1.000 ms", "1.000 ms", "0.5000", "1.000", "0"},
		{"2 (in the plan)", "1.000 ms", "500.0 µs", "1.000", "2.000", "7"},
		{"4", "3.000 ms", "750.0 µs", "0.7500", "1.333", "5"},
		{"6", "–", "–", "–", "–", "4"},
	}
	if x := DepthsTable(&f.Loops[0]); !reflect.DeepEqual(x.Rows, rows) {
		t.Errorf("%q\nwant %q", x.Rows, rows)
	}
}

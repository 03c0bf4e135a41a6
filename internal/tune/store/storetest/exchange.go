package storetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

//go:embed testdata/former*
var formers embed.FS

// sample fills a store with two sessions of one scenario and one of another.
func sample(t *testing.T, open Open) store.Store {
	t.Helper()
	s := open.fresh(t)
	for n, sizes := range []string{"L=512,M=512,N=512", "L=512,M=512,N=512", "L=64,M=64,N=64"} {
		i := session.Session{ID: strings.Repeat(string(rune('a'+n)), 12), Search: Search()}
		i.Set = session.Current()
		i.Sizes = session.ParseSizes(sizes)
		i.Started = Noon.Add(time.Duration(n) * time.Hour)
		i.Runs = []session.Run{{Started: i.Started, Commit: i.Commit}}
		if n == 1 {
			i.Finished, i.Outcome = Noon.Add(5*time.Hour), "done"
		}
		first := Trial()
		first.Config = "heat[0:1]@1{family=planes,block=4x64,vec=2}"
		first.At = i.Started.Add(time.Second)
		second := session.Trial{Config: "heat[0:1]@1{family=cells}", Verdict: verdict.Verdict(1 + n),
			Note: "it is \"no\",\nmember", At: i.Started.Add(2 * time.Second), Compile: time.Second}
		third := first
		third.Median, third.Samples, third.Config = 0.001, []float64{0.001}, "family=loops,block=0x64x0"
		reused := third
		reused.Reused = true
		put(t, s, i, first, second, third, reused)
		if n > 0 {
			continue
		}
		err := s.Merge(t.Context(), func(b store.Batch) error {
			if _, err := b.Session(&i); err != nil {
				return err
			}
			_, err := b.Event(i.ID, &session.Event{Kind: session.Kernel, Kernel: "heat[0:1]", Space: "1,234", Share: 1,
				Seconds: 0.002, At: i.Started})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func lines(t *testing.T, s store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := store.ExportLines(t.Context(), s, &b, store.Filter{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func testLines(t *testing.T, open Open) {
	ctx := t.Context()
	s := sample(t, open)
	text := lines(t, s)
	to := open.fresh(t)
	for i, want := range []store.Imported{{Sessions: 3, Trials: 12}, {Already: 12}} {
		if got, err := store.Import(ctx, to, bytes.NewReader(text), store.Source{}); got != want || err != nil {
			t.Errorf("import %d: %+v, %v", i, got, err)
		}
		if again := lines(t, to); !bytes.Equal(again, text) {
			t.Errorf("import %d: came back as\n%s", i, again)
		}
	}
	sound(t, to)

	// A session that has gone on since is brought up to date.
	x, err := s.Resume(ctx, "cccccccccccc", "later")
	if err != nil {
		t.Fatal(err)
	}
	next := Trial()
	add(t, x, next)
	if got, err := store.Import(ctx, to, bytes.NewReader(lines(t, s)),
		store.Source{}); got != (store.Imported{Sessions: 0, Trials: 1, Already: 12}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if !bytes.Equal(lines(t, to), lines(t, s)) {
		t.Error("the stores differ")
	}
}

// testT4OfSearch exports what a search of one kernel leaves: its trials, and at
// the end times of plans, which are not of another kernel.
func testT4OfSearch(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	x := begin(t, s, Search())
	of := func(kernel, config string) session.Trial {
		r := Trial()
		r.Kernel, r.Config = kernel, config
		return r
	}
	add(t, x, of("heat[0:1]", "family=cells,block=4x32"), of("heat[0:1]", "family=cells,block=8x32"),
		of("", "heat[0:1]@1{family=cells,block=8x32}"))
	var b bytes.Buffer
	if err := store.ExportT4(ctx, s, &b, store.Filter{}); err != nil {
		t.Fatal(err)
	}
	var file struct{ Results []json.RawMessage }
	if err := json.Unmarshal(b.Bytes(), &file); err != nil || len(file.Results) != 2 {
		t.Errorf("%d results, %v:\n%s", len(file.Results), err, b.Bytes())
	}
	add(t, x, of("norm[0:1]", "family=cells,block=4x32"))
	if err := store.ExportT4(ctx, s, &b, store.Filter{}); err == nil ||
		!strings.Contains(err.Error(), "these are of several: kernels ") {
		t.Error(err)
	}
}

func testT4(t *testing.T, open Open) {
	ctx := t.Context()
	s := sample(t, open)
	var b bytes.Buffer
	err := store.ExportT4(ctx, s, &b, store.Filter{})
	if want := `a T4 file holds trials of one kernel in one scenario, and these are of several: sizes "L=512,M=512,N=512" and "L=64,M=64,N=64" (choose with --program, --device, --sizes, --dtype, --kernel, --arithmetic or --session)`; err == nil || err.Error() != want {
		t.Error(err)
	}
	if b.Len() > 0 {
		t.Error("half a file was written")
	}
	if err := store.ExportT4(ctx, s, &b, store.Filter{Sizes: "L=512,M=512,N=512"}); err != nil {
		t.Fatal(err)
	}
	checkT4(t, b.Bytes())

	// In a store that knows the sessions there is nothing new, in another one all
	// that was written comes back, but for the last digits of times.
	if got, err := store.Import(ctx, s, bytes.NewReader(b.Bytes()),
		store.Source{}); got != (store.Imported{Sessions: 0, Trials: 0, Already: 3}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	to := open.fresh(t)
	if got, err := store.Import(ctx, to, bytes.NewReader(b.Bytes()),
		store.Source{}); got != (store.Imported{Sessions: 1, Trials: 3, Already: 0}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	was, is := log(t, s, "bbbb"), log(t, to, "bbbb")
	for i, got := range is {
		want := was[i]
		for k, v := range got.Samples {
			if math.Abs(v-want.Samples[k]) > 4e-6*v {
				t.Errorf("trial %d, sample %v, was %v", i, v, want.Samples[k])
			}
		}
		if math.Abs(got.Median-want.Median) > 1e-12 || math.Abs(got.Low-want.Low) > 1e-8 ||
			math.Abs(got.High-want.High) > 1e-8 {
			t.Errorf("trial %d: %+v, was %+v", i, got, want)
		}
		got.Samples, got.Median, got.Low, got.High = want.Samples, want.Median, want.Low, want.High
		if !reflect.DeepEqual(got, want) {
			t.Errorf("trial %d: %+v, was %+v", i, got, want)
		}
	}

	b.Reset()
	if err := store.ExportT4(ctx, s, &b, store.Filter{Session: "zz"}); err != nil ||
		b.String() != "{\"schema_version\":\"1.0.0\",\"results\":[\n]}\n" {
		t.Errorf("nothing is %q, %v", b.String(), err)
	}
}

// checkT4 holds a text to what the schema requires.
func checkT4(t *testing.T, text []byte) {
	t.Helper()
	var file struct {
		Version string `json:"schema_version"`
		Results []map[string]any
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if file.Version != "1.0.0" || len(file.Results) == 0 {
		t.Errorf("version %q, %d results", file.Version, len(file.Results))
	}
	invalidity := map[any]bool{"timeout": true, "compile": true, "runtime": true, "correctness": true,
		"constraints": true, "correct": true}
	for i, r := range file.Results {
		times, _ := r["times"].(map[string]any)
		_, isObject := r["configuration"].(map[string]any)
		_, isNumber := r["correctness"].(float64)
		_, compile := times["compilation_time"].(float64)
		_, runtimes := times["runtimes"].([]any)
		if !isObject || !isNumber || !compile || !runtimes || !invalidity[r["invalidity"]] {
			t.Errorf("result %d is %v", i, r)
		}
		for _, m := range r["measurements"].([]any) {
			m := m.(map[string]any)
			_, name := m["name"].(string)
			_, unit := m["unit"].(string)
			if !name || !unit || m["value"] == nil {
				t.Errorf("result %d measures %v", i, m)
			}
		}
	}
}

const foreignT4 = `{"results": [
{"timestamp": "2023-12-21 10:44:42.236642+00:00", "configuration": {"bx": 16, "fast": true, "mode": "a"},
 "times": {"compilation": 661.5, "benchmark": 393.9, "framework": 53.1, "search_algorithm": 0, "validation": 0, "runtimes": [12.5, 12, 13]},
 "invalidity": "correct", "correctness": 1, "measurements": [{"name": "time", "value": 12.6, "unit": "ms"}], "objectives": ["time"]},
{"configuration": {"bx": 32, "fast": false, "mode": "a"}, "times": {"compilation_time": 1}, "invalidity": "compile", "correctness": 1, "measurements": []}
], "schema_version": "1.0.0"}`

const kernelTuner = `{"device_name": "A4000", "kernel_name": "conv", "problem_size": [4096, 4096], "tune_params_keys": ["bx", "by"],
"tune_params": {"bx": [16, 32], "by": [1]}, "objective": "time", "cache": {
"16,1": {"bx": 16, "by": 1, "time": 6, "times": [5, 6, 8], "compile_time": 892.9, "verification_time": 1, "benchmark_time": 190.5, "GFLOP/s": 1279, "strategy_time": 0, "framework_time": 81.5, "timestamp": "2023-12-22 09:53:48.691683+00:00"},
"32,1": {"by": 1, "bx": 32, "time": "RuntimeFailedConfig", "compile_time": 2143, "verification_time": 0, "benchmark_time": 0.4, "strategy_time": 0, "framework_time": 1.6, "timestamp": "2023-12-22 09:53:50.691683+00:00"}}}`

func testForeign(t *testing.T, open Open) {
	ctx := t.Context()
	for _, c := range []struct {
		name, text, program, sizes string
		from                       store.Source
		want                       []session.Trial
	}{
		{"t4", foreignT4, "p", "", store.Source{Program: "p", Device: "d"}, []session.Trial{
			{Config: "bx=16,fast=true,mode=a", Median: 0.0125, Samples: []float64{0.0125, 0.012, 0.013},
				Compile: 661500 * time.Microsecond,
				Measure: 393900 * time.Microsecond, Other: 53100 * time.Microsecond,
				At: time.Date(2023, 12, 21, 10, 44, 42, 236e6, time.UTC)},
			{Index: 1, Config: "bx=32,fast=false,mode=a", Verdict: verdict.Compiler, Compile: time.Millisecond,
				At: time.Date(2023, 12, 21, 10, 44, 42, 236e6, time.UTC)},
		}},
		{"cache", kernelTuner, "conv", "4096x4096", store.Source{}, []session.Trial{
			{Config: "bx=16,by=1", Median: 0.006, Samples: []float64{0.005, 0.006, 0.008},
				Compile: 892900 * time.Microsecond, Validate: time.Millisecond,
				Measure: 190500 * time.Microsecond, Other: 81500 * time.Microsecond,
				At: time.Date(2023, 12, 22, 9, 53, 48, 691e6, time.UTC)},
			{Index: 1, Config: "bx=32,by=1", Verdict: verdict.Crash, Note: "RuntimeFailedConfig",
				Compile: 2143 * time.Millisecond,
				Measure: 400 * time.Microsecond, Other: 1600 * time.Microsecond,
				At: time.Date(2023, 12, 22, 9, 53, 50, 691e6, time.UTC)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open.fresh(t)
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			z.Write([]byte(c.text))
			z.Close()
			if got, err := store.Import(ctx, s, &packed, c.from); got != (store.Imported{Sessions: 1, Trials: 2,
				Already: 0}) || err != nil {
				t.Fatalf("%+v, %v", got, err)
			}
			if got, err := store.Import(ctx, s, strings.NewReader(c.text),
				c.from); got != (store.Imported{Sessions: 0, Trials: 0, Already: 2}) || err != nil {
				t.Errorf("once more: %+v, %v", got, err)
			}
			n := 0
			for r, err := range s.Records(ctx, store.Filter{Program: c.program}) {
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range r.Samples {
					r.Samples[k] = math.Round(v*1e6) / 1e6
				}
				if n < len(c.want) && !reflect.DeepEqual(r.Trial, c.want[n]) {
					t.Errorf("trial %d\n got %+v\nwant %+v", n, r.Trial, c.want[n])
				}
				if r.Session.Sizes.String() != c.sizes || r.Session.Strategy != "imported" || len(r.Session.ID) != 12 {
					t.Errorf("%+v", r.Session)
				}
				n++
			}
			if n != len(c.want) {
				t.Errorf("%d trials", n)
			}
			sound(t, s)
		})
	}
}

// A bad file is named with its place, and nothing of it is imported.
func testBadFiles(t *testing.T, open Open) {
	const none = "this is neither what gridloom results export writes (jsonl, t4) nor a cache of Kernel Tuner"
	good := string(lines(t, sample(t, open)))
	parts := strings.SplitAfter(good, "\n")
	for _, c := range []struct{ text, want string }{
		{"", none},
		{"hello", none},
		{"[]", none},
		{"{}", none},
		{"\x1f\x8bxx", "unexpected EOF"},
		{`{"a":1}`, none},
		{good + "{\"trial\":", "line 18: the file ends too early"},
		{`{"gridloom":"results","version":9}`, "line 1: version 9 of the form is not known"},
		{parts[0] + parts[3], `line 2: a trial of session "aaaaaaaaaaaa", of which the file has not spoken`},
		{parts[0] + parts[2], `line 2: an event of session "aaaaaaaaaaaa", of which the file has not spoken`},
		{parts[0] + "{}\n", "line 2: there is neither a session nor a trial nor an event"},
		{parts[0] + parts[1] + strings.Replace(parts[2], `"event":"kernel"`, `"event":"party"`, 1),
			`line 3: event 0: there is no kind "party"`},
		{parts[0] + parts[1] + strings.Replace(parts[3], `"ok"`, `"fine"`, 1), `line 3: there is no verdict "fine"`},
		{parts[0] + strings.Replace(parts[1], `"name":"M"`, `"name":"L"`, 1), "line 2: two sizes are called L"},
		{parts[0] + parts[1] + parts[3] + strings.Replace(parts[3], `"median":`, `"median":-`, 1),
			"line 4: trial 0: a variant that ran took -0.00123456789 s"},
		{foreignT4, "result 1: the file does not say what was measured, or on what (give --program NAME and --device " +
			"NAME)"},
		{strings.Replace(foreignT4, `"compile"`, `"odd"`, 1), `result 2: there is no invalidity "odd"`},
		{strings.Replace(foreignT4, `16,`, `[16],`, 1),
			`result 1: the parameter "bx" has the value "[", which has no text as a setting`},
		{strings.Replace(kernelTuner, `"tune_params_keys": ["bx", "by"],`, ``, 1),
			`result 1: "tune_params_keys" should come before "cache"`},
		{strings.Replace(kernelTuner, `RuntimeFailedConfig`, `Gremlins`, 1),
			`result 2: there is no failure "Gremlins"`},
		{kernelTuner[:len(kernelTuner)-40], "result 2: the file ends too early"},
	} {
		s := open.fresh(t)
		from := store.Source{Program: "p", Device: "d"}
		if strings.Contains(c.want, "--program") {
			from = store.Source{}
		}
		_, err := store.Import(t.Context(), s, strings.NewReader(c.text), from)
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60q...\n got %v\nwant %s", c.text, err, c.want)
		}
		if report := sound(t, s); report.Sessions+report.Trials > 0 {
			t.Errorf("%.60q...: %+v", c.text, report)
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Import(stopped, open.fresh(t), strings.NewReader(good),
		store.Source{}); err != context.Canceled {
		t.Error(err)
	}
}

// What a later Gridloom has measured is refused, whole.
func testNewFiles(t *testing.T, open Open) {
	ctx := t.Context()
	s := sample(t, open)
	text := string(lines(t, s))
	var b bytes.Buffer
	if err := store.ExportT4(ctx, s, &b, store.Filter{Sizes: "L=64,M=64,N=64"}); err != nil {
		t.Fatal(err)
	}
	now := fmt.Sprintf(`"arithmetic":%d,"ir":%d`, arith.Version, ir.Version)
	const hint = " (use the Gridloom that wrote the file, or a later one)"
	for _, c := range []struct{ text, versions, want string }{
		{text, `"arithmetic":99,"ir":1`,
			fmt.Sprintf("line 2: session aaaaaaaaaaaa was measured under arithmetic 99, and this Gridloom knows %d",
				arith.Version) + hint},
		{text, `"arithmetic":1,"ir":99`,
			fmt.Sprintf("line 2: session aaaaaaaaaaaa was measured under program IR 99, and this Gridloom knows %d",
				ir.Version) + hint},
		{text, `"arithmetic":-1,"ir":1`,
			fmt.Sprintf("line 2: session aaaaaaaaaaaa was measured under arithmetic -1, and this Gridloom knows %d",
				arith.Version) + hint},
		{b.String(), `"arithmetic":99,"ir":1`,
			fmt.Sprintf("result 1: session cccccccccccc was measured under arithmetic 99, and this Gridloom knows %d",
				arith.Version) + hint},
	} {
		changed := strings.ReplaceAll(c.text, now, c.versions)
		if changed == c.text {
			t.Fatalf("the file has no versions: %.300s", c.text)
		}
		to := open.fresh(t)
		if _, err := store.Import(ctx, to, strings.NewReader(changed), store.Source{}); err == nil ||
			err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
		if report := sound(t, to); report.Sessions+report.Trials > 0 {
			t.Errorf("%+v", report)
		}
	}
	// A session keeps the versions that it began under.
	_, err := store.Import(ctx, s, strings.NewReader(strings.ReplaceAll(text, now, `"arithmetic":1,"ir":1`)),
		store.Source{})
	if want := "line 2: session aaaaaaaaaaaa is of arithmetic 1 and program IR 1 here, and of " +
		session.Current().Definitions() + " in the store"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Files of former versions of the form say what they said: those of the time before
// versions of the definitions are of the first ones, and so are those of others.
func testFormerFiles(t *testing.T, open Open) {
	texts := map[string]string{"foreign t4": foreignT4, "Kernel Tuner": kernelTuner}
	for _, name := range []string{"former1.jsonl", "former1.t4.json", "former2.jsonl", "former2.t4.json"} {
		text, err := formers.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		s := open.fresh(t)
		n, err := store.Import(t.Context(), s, strings.NewReader(text), store.Source{Program: "p", Device: "d"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := old
		if strings.HasPrefix(name, "former2") {
			want.Arithmetic, want.IR = 2, 2
		}
		sessions := 0
		for i, err := range s.Sessions(t.Context(), store.Filter{}) {
			if err != nil || i.Set != want {
				t.Errorf("%s: %+v, %v", name, i, err)
			}
			if sessions++; !strings.HasPrefix(name, "former") {
				continue
			}
			if i.Sizes[0].Name != "L" || i.Budget != (session.Budget{Time: time.Minute}) || i.Space.Former != "f00d" ||
				i.Device.Clocks != (session.Clocks{Compute: 1980, Memory: 3201}) || i.Host.Name != "node7" {
				t.Errorf("%s: %+v", name, i)
			}
		}
		if report := sound(t, s); sessions == 0 || report.Sessions != n.Sessions || report.Trials != n.Trials ||
			n.Trials < 2 {
			t.Errorf("%s: %+v, %+v", name, n, report)
		}
	}
}

// What is there already stays as it is, and a session is brought up to date.
func testMerge(t *testing.T, open Open) {
	s := open.fresh(t)
	x := with(t, s, nil, Tried("a", verdict.OK, 1, 1))
	i := x.Info()
	i.Outcome, i.Finished = "finished", Noon.Add(time.Hour)
	i.Runs = append(i.Runs, session.Run{Trial: 1, Started: Noon.Add(time.Minute), Commit: "later"})
	for _, want := range [][2]bool{{false, true}, {false, false}} {
		err := s.Merge(t.Context(), func(b store.Batch) error {
			if fresh, err := b.Session(&i); err != nil || fresh {
				t.Errorf("the session is new: %v, %v", fresh, err)
			}
			for index, config := range []string{"b", "c"} {
				trial := Tried(config, verdict.OK, 2, 1)
				trial.Index = index
				if fresh, err := b.Trial(i.ID, &trial); err != nil || fresh != want[index] {
					t.Errorf("trial %d is new: %v, %v", index, fresh, err)
				}
			}
			if _, err := b.Trial("nobody", &session.Trial{Config: "a", Verdict: verdict.Crash}); err == nil {
				t.Error("a trial of no session was taken in")
			}
			if done, err := b.Rename(i.ID, i.ID); done || err != nil {
				t.Errorf("there is one of that name: %v, %v", done, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if list := log(t, s, i.ID); len(list) != 2 || list[0].Config != "a" || list[1].Config != "c" {
		t.Errorf("%+v", list)
	}
	if got := sessionOf(t, s, i.ID); !reflect.DeepEqual(got, i) {
		t.Errorf("got %+v\nwant %+v", got, i)
	}
}

// A batch that fails leaves nothing, wherever it does.
func testPartialMerge(t *testing.T, open Open) {
	place := t.TempDir()
	s := open(t, place)
	x := with(t, s, nil, Tried("a", verdict.OK, 1, 1))
	before := lines(t, s)
	stop := errors.New("stop")
	for after := range 6 {
		known := x.Info()
		err := s.Merge(t.Context(), func(b store.Batch) error {
			fresh := session.Session{ID: "ffffffffffff", Search: Search()}
			known.Finished, known.Outcome = Noon.Add(time.Hour), "finished"
			trial := Tried("b", verdict.Wrong, 0, 0)
			trial.Index = 1
			steps := []func() (bool, error){
				func() (bool, error) { return b.Session(&known) },
				func() (bool, error) { return b.Session(&fresh) },
				func() (bool, error) { return b.Trial(known.ID, &trial) },
				func() (bool, error) { return b.Event(fresh.ID, &session.Event{Kind: session.Note, At: Noon}) },
				func() (bool, error) { return b.Rename(fresh.ID, "eeeeeeeeeeee") },
			}
			for _, step := range steps[:min(after, len(steps))] {
				if _, err := step(); err != nil {
					t.Error(err)
				}
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("%v", err)
		}
		for _, s := range []store.Store{s, open(t, place)} {
			if after := lines(t, s); !bytes.Equal(after, before) {
				t.Errorf("left behind\n%s", after)
			}
		}
	}
	add(t, x, Tried("c", verdict.OK, 1, 1)) // the session goes on
}

// A little gzip unpacks to any amount of text. What has to be held whole has a
// limit, whatever part of a file it is in.
func testBombs(t *testing.T, open Open) {
	const huge = 16<<20 + 1<<20
	long := strings.Repeat("x", huge)
	for name, text := range map[string]string{
		"passed over": `{"else": [` + strings.Repeat("1,", huge/2) + `1]}`,
		"a trial":     `{"tune_params_keys": ["a"], "cache": {"1": {"a": 1, "time": 1}, "2": {"a": "` + long + `"}}}`,
		"a line":      `{"gridloom":"results","version":1}` + "\n" + `{"session":{"id":"` + long + `"}}`,
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		io.WriteString(z, text)
		z.Close()
		s := open.fresh(t)
		_, err := store.Import(t.Context(), s, &packed, store.Source{Program: "p", Device: "d"})
		if bad := (*store.BadFile)(nil); !errors.As(err, &bad) ||
			!strings.HasSuffix(bad.Text, "takes more than 16 MiB") {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(lines(t, s)); n > 100 {
			t.Errorf("%s: %d bytes are in the store", name, n)
		}
	}
}

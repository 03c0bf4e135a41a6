package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// sample fills a store with two sessions of one scenario and one of another.
func sample(t *testing.T) *Store {
	t.Helper()
	ctx := context.Background()
	s := fresh(t)
	for n, sizes := range []string{"L=512,M=512,N=512", "L=512,M=512,N=512", "L=64,M=64,N=64"} {
		search := search1()
		search.Sizes = sizes
		search.Started = noon.Add(time.Duration(n) * time.Hour)
		// The name of a session holds the moment and the process: here it must be fixed.
		x := begin(t, s, search)
		id := strings.Repeat(string(rune('a'+n)), 12)
		if _, err := s.write.Exec("UPDATE sessions SET uid = ? WHERE id = ?", id, n+1); err != nil {
			t.Fatal(err)
		}
		first := trial1()
		first.Config = "heat[0:1]@1{family=stream,block=4x64,vec=2}"
		first.At = search.Started.Add(time.Second)
		second := Trial{Config: "heat[0:1]@1{family=cells}", Verdict: Verdict(1 + n), Note: "it is \"no\",\nmember", At: search.Started.Add(2 * time.Second), Compile: time.Second}
		third := first
		third.Median, third.Samples, third.Config = 0.001, []float64{0.001}, "family=loops,block=0x64x0"
		reused := third
		reused.Reused = true
		add(t, x, first, second, third, reused)
		if n == 1 {
			if err := x.Finish(ctx, "done"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.write.Exec("UPDATE sessions SET finished = ? WHERE id = ?", noon.Add(5*time.Hour).UnixMilli(), n+1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

func lines(t *testing.T, s *Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.ExportLines(context.Background(), &b, Filter{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLines(t *testing.T) {
	ctx := context.Background()
	s := sample(t)
	text := lines(t, s)
	golden(t, "results.jsonl", text)
	to := fresh(t)
	for i, want := range []Imported{{3, 12, 0}, {0, 0, 12}} {
		if got, err := to.Import(ctx, bytes.NewReader(text), Source{}); got != want || err != nil {
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
	next := trial1()
	add(t, x, next)
	if got, err := to.Import(ctx, bytes.NewReader(lines(t, s)), Source{}); got != (Imported{0, 1, 12}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if !bytes.Equal(lines(t, to), lines(t, s)) {
		t.Error("the stores differ")
	}
}

func TestCSV(t *testing.T) {
	s := sample(t)
	var b bytes.Buffer
	if err := s.ExportCSV(context.Background(), &b, Filter{Session: "b"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "results.csv", b.Bytes())
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// What a spreadsheet would run is a text.
func TestHarmless(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "heat3d": "heat3d", "-1.5e-3": "-1.5e-3", "+2": "+2", "a=1": "a=1", "family=cells,block=4x32": "family=cells,block=4x32",
		"=1+1": "'=1+1", "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0", "@SUM(A1)": "'@SUM(A1)", "-O3 -march=native": "-O3 -march=native", "--fmad=false": "--fmad=false",
		"-HYPERLINK(1)": "'-HYPERLINK(1)", "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "\t=1": "'\t=1", "\r=1": "'\r=1", "\n=1": "'\n=1",
	} {
		if got := harmless(cell); got != want {
			t.Errorf("%q becomes %q, want %q", cell, got, want)
		}
	}
	s := fresh(t)
	about := search1()
	about.Program.Name = `=HYPERLINK("x")`
	add(t, begin(t, s, about), trial1())
	var b bytes.Buffer
	if err := s.ExportCSV(context.Background(), &b, Filter{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][4] != `'=HYPERLINK("x")` {
		t.Errorf("%v: %q", err, rows)
	}
}

// TestT4OfSearch exports what a search of one kernel leaves: its trials, and at
// the end times of plans, which are not of another kernel.
func TestT4OfSearch(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	x := begin(t, s, search1())
	of := func(kernel, config string) Trial {
		r := trial1()
		r.Kernel, r.Config = kernel, config
		return r
	}
	add(t, x, of("heat[0:1]", "family=cells,block=4x32"), of("heat[0:1]", "family=cells,block=8x32"), of("", "heat[0:1]@1{family=cells,block=8x32}"))
	var b bytes.Buffer
	if err := s.ExportT4(ctx, &b, Filter{}); err != nil {
		t.Fatal(err)
	}
	var file struct{ Results []json.RawMessage }
	if err := json.Unmarshal(b.Bytes(), &file); err != nil || len(file.Results) != 2 {
		t.Errorf("%d results, %v:\n%s", len(file.Results), err, b.Bytes())
	}
	add(t, x, of("norm[0:1]", "family=cells,block=4x32"))
	if err := s.ExportT4(ctx, &b, Filter{}); err == nil || !strings.Contains(err.Error(), "these are of several: kernels ") {
		t.Error(err)
	}
}

func TestT4(t *testing.T) {
	ctx := context.Background()
	s := sample(t)
	var b bytes.Buffer
	err := s.ExportT4(ctx, &b, Filter{})
	if want := `a T4 file holds trials of one kernel in one scenario, and these are of several: sizes "L=512,M=512,N=512" and "L=64,M=64,N=64" (choose with --program, --device, --sizes, --dtype, --kernel, --arithmetic or --session)`; err == nil || err.Error() != want {
		t.Error(err)
	}
	if b.Len() > 0 {
		t.Error("half a file was written")
	}
	if err := s.ExportT4(ctx, &b, Filter{Sizes: "L=512,M=512,N=512"}); err != nil {
		t.Fatal(err)
	}
	golden(t, "results.t4.json", b.Bytes())
	checkT4(t, b.Bytes())

	// In a store that knows the sessions there is nothing new, in another one all
	// that was written comes back, but for the last digits of times.
	if got, err := s.Import(ctx, bytes.NewReader(b.Bytes()), Source{}); got != (Imported{0, 0, 3}) || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	to := fresh(t)
	if got, err := to.Import(ctx, bytes.NewReader(b.Bytes()), Source{}); got != (Imported{1, 3, 0}) || err != nil {
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
		if math.Abs(got.Median-want.Median) > 1e-12 || math.Abs(got.Low-want.Low) > 1e-8 || math.Abs(got.High-want.High) > 1e-8 {
			t.Errorf("trial %d: %+v, was %+v", i, got, want)
		}
		got.Samples, got.Median, got.Low, got.High = want.Samples, want.Median, want.Low, want.High
		if !reflect.DeepEqual(got, want) {
			t.Errorf("trial %d: %+v, was %+v", i, got, want)
		}
	}

	b.Reset()
	if err := s.ExportT4(ctx, &b, Filter{Session: "zz"}); err != nil || b.String() != "{\"schema_version\":\"1.0.0\",\"results\":[\n]}\n" {
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
	invalidity := map[any]bool{"timeout": true, "compile": true, "runtime": true, "correctness": true, "constraints": true, "correct": true}
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

func TestSettings(t *testing.T) {
	for _, c := range []struct{ text, head, json string }{
		{"family=loops,block=0x64x0,threads=2", "", `{"family":"loops","block":"0x64x0","threads":2}`},
		{"heat[0:1]@1{family=cells,vec=2}", "heat[0:1]@1", `{"family":"cells","vec":2}`},
		{"a[0:1]@1{x=1,y=2};b[0:1]@1{x=1}", "", `{"a[0:1]@1/x":1,"a[0:1]@1/y":2,"b[0:1]@1/x":1}`},
		{"threads=2;a[0:1]@1{x=1};b[0:1]@1{x=1}", "", `{"threads":2,"a[0:1]@1/x":1,"b[0:1]@1/x":1}`},
		{"x=-1.5,y=007,z=-", "", `{"x":-1.5,"y":"007","z":"-"}`},
	} {
		list, head := split(c.text)
		text, err := json.Marshal(list)
		if err != nil || string(text) != c.json || head != c.head {
			t.Errorf("%s is %s of %q, %v", c.text, text, head, err)
		}
		var back settings
		if err := json.Unmarshal(text, &back); err != nil || back.join(head) != c.text {
			t.Errorf("%s came back as %s, %v", c.text, back.join(head), err)
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

func TestForeign(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, text, program, sizes string
		from                       Source
		want                       []Trial
	}{
		{"t4", foreignT4, "p", "", Source{"p", "d"}, []Trial{
			{Config: "bx=16,fast=true,mode=a", Median: 0.0125, Samples: []float64{0.0125, 0.012, 0.013}, Compile: 661500 * time.Microsecond,
				Measure: 393900 * time.Microsecond, Other: 53100 * time.Microsecond, At: time.Date(2023, 12, 21, 10, 44, 42, 236e6, time.UTC)},
			{Index: 1, Config: "bx=32,fast=false,mode=a", Verdict: Compiling, Compile: time.Millisecond, At: time.Date(2023, 12, 21, 10, 44, 42, 236e6, time.UTC)},
		}},
		{"cache", kernelTuner, "conv", "4096x4096", Source{}, []Trial{
			{Config: "bx=16,by=1", Median: 0.006, Samples: []float64{0.005, 0.006, 0.008}, Compile: 892900 * time.Microsecond, Validate: time.Millisecond,
				Measure: 190500 * time.Microsecond, Other: 81500 * time.Microsecond, At: time.Date(2023, 12, 22, 9, 53, 48, 691e6, time.UTC)},
			{Index: 1, Config: "bx=32,by=1", Verdict: Crash, Note: "RuntimeFailedConfig", Compile: 2143 * time.Millisecond,
				Measure: 400 * time.Microsecond, Other: 1600 * time.Microsecond, At: time.Date(2023, 12, 22, 9, 53, 50, 691e6, time.UTC)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := fresh(t)
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			z.Write([]byte(c.text))
			z.Close()
			if got, err := s.Import(ctx, &packed, c.from); got != (Imported{1, 2, 0}) || err != nil {
				t.Fatalf("%+v, %v", got, err)
			}
			if got, err := s.Import(ctx, strings.NewReader(c.text), c.from); got != (Imported{0, 0, 2}) || err != nil {
				t.Errorf("once more: %+v, %v", got, err)
			}
			n := 0
			for r, err := range s.Records(ctx, Filter{Program: c.program}) {
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range r.Samples {
					r.Samples[k] = math.Round(v*1e6) / 1e6
				}
				if n < len(c.want) && !reflect.DeepEqual(r.Trial, c.want[n]) {
					t.Errorf("trial %d\n got %+v\nwant %+v", n, r.Trial, c.want[n])
				}
				if r.Session.Sizes != c.sizes || r.Session.Strategy != "imported" || len(r.Session.ID) != 12 {
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
func TestBadFiles(t *testing.T) {
	const none = "this is neither what gridloom results export writes (jsonl, t4) nor a cache of Kernel Tuner"
	good := string(lines(t, sample(t)))
	parts := strings.SplitAfter(good, "\n")
	for _, c := range []struct{ text, want string }{
		{"", none},
		{"hello", none},
		{"[]", none},
		{"{}", none},
		{"\x1f\x8bxx", "unexpected EOF"},
		{`{"a":1}`, none},
		{good + "{\"trial\":", "line 17: the file ends too early"},
		{`{"gridloom":"results","version":9}`, "line 1: version 9 of the form is not known"},
		{parts[0] + parts[2], `line 2: a trial of session "aaaaaaaaaaaa", of which the file has not spoken`},
		{parts[0] + "{}\n", "line 2: there is neither a session nor a trial"},
		{parts[0] + parts[1] + strings.Replace(parts[2], `"ok"`, `"fine"`, 1), `line 3: there is no verdict "fine"`},
		{parts[0] + parts[1] + parts[2] + strings.Replace(parts[2], `"median":`, `"median":-`, 1), "line 4: trial 0: a variant that ran took -0.00123456789 s"},
		{foreignT4, "result 1: the file does not say what was measured, or on what (give --program NAME and --device NAME)"},
		{strings.Replace(foreignT4, `"compile"`, `"odd"`, 1), `result 2: there is no invalidity "odd"`},
		{strings.Replace(foreignT4, `16,`, `[16],`, 1), `result 1: the parameter "bx" has the value "[", which has no text as a setting`},
		{strings.Replace(kernelTuner, `"tune_params_keys": ["bx", "by"],`, ``, 1), `result 1: "tune_params_keys" should come before "cache"`},
		{strings.Replace(kernelTuner, `RuntimeFailedConfig`, `Gremlins`, 1), `result 2: there is no failure "Gremlins"`},
		{kernelTuner[:len(kernelTuner)-40], "result 2: the file ends too early"},
	} {
		s := fresh(t)
		from := Source{"p", "d"}
		if strings.Contains(c.want, "--program") {
			from = Source{}
		}
		_, err := s.Import(context.Background(), strings.NewReader(c.text), from)
		if err == nil || err.Error() != c.want {
			t.Errorf("%.60q...\n got %v\nwant %s", c.text, err, c.want)
		}
		if report := sound(t, s); report.Sessions+report.Trials > 0 {
			t.Errorf("%.60q...: %+v", c.text, report)
		}
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := fresh(t).Import(stopped, strings.NewReader(good), Source{}); err != context.Canceled {
		t.Error(err)
	}
}

// An export does not hold what it writes.
func TestStreams(t *testing.T) {
	s := fresh(t)
	x := begin(t, s, search1())
	rng := rand.New(rand.NewPCG(2, 0))
	appendAll(t, s, x, 3000, func() Trial { return measured(rng, plan(rng)) })
	var held int
	stop := &stopper{limit: 10000, held: &held}
	if err := s.ExportLines(context.Background(), stop, Filter{}); err != errStop {
		t.Error(err)
	}
	if held > 20000 {
		t.Errorf("%d bytes were written before the first error was seen", held)
	}
	// The reader that was left in the middle keeps nobody from writing.
	next := trial1()
	add(t, x, next)
}

var errStop = &BadFile{Text: "stop"}

type stopper struct {
	limit int
	held  *int
}

func (w *stopper) Write(p []byte) (int, error) {
	*w.held += len(p)
	if *w.held > w.limit {
		return 0, errStop
	}
	return len(p), nil
}

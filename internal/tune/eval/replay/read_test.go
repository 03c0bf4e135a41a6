package replay

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/tune/session"
)

const cacheHead = `{"device_name": "D", "kernel_name": "K", "problem_size": [4096, {"a": []}],
"tune_params_keys": ["b", "mode"], "tune_params": {"b": [64, 16, 32, 999], "mode": ["slow", "fast"]},
"objective": "time", "cache": {
`

const cacheBody = `"16,slow": {"b": 16, "mode": "slow", "time": 4.0, "times": [3.0, 5.0], "compile_time": 800.0, "verification_time": 1, "benchmark_time": 9, "strategy_time": 2, "framework_time": 3, "timestamp": "t"},
"32,slow": {"b": 32, "mode": "slow", "time": "CompilationFailedConfig", "compile_time": 100.0, "verification_time": 0, "strategy_time": 0, "framework_time": NaN},
"64,fast": {"b": 64, "mode": "fast", "time": 1e20, "times": [], "compile_time": 50, "GFLOP/s": Infinity},
"16,fast": {"b": 16, "mode": "fast", "time": 2.5, "benchmark_time": 80.0, "note": "a \"NaN\" in a text"}`

func readText(text string) (*Recording, error) { return Read(strings.NewReader(text), nil) }

// summary is a recording on a few lines.
func summary(r *Recording) string {
	var b strings.Builder
	for _, t := range r.Trials {
		fmt.Fprintf(&b, "%s: ", r.Text(t.Config))
		if t.Failure != "" {
			fmt.Fprint(&b, t.Failure)
		} else {
			fmt.Fprintf(&b, "%.6g", t.Seconds)
		}
		fmt.Fprintf(&b, ", %.6g\n", t.Cost.Total())
	}
	for _, n := range r.Notes {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

const cacheSummary = `b=16,mode=slow: 0.004, 0.814
b=32,mode=slow: CompilationFailedConfig, 0.1
b=64,mode=fast: no time, 0.05
b=16,mode=fast: 0.0025, 0.08
`

func TestReadCache(t *testing.T) {
	r, err := readText(cacheHead + cacheBody + "}}")
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(r); got != cacheSummary {
		t.Errorf("%s", got)
	}
	if r.Kernel != "K" || r.Device != "D" || fmt.Sprint(r.Params) != "[{b [16 32 64] -1} {mode [slow fast] -1}]" {
		t.Errorf("%q %q %v", r.Kernel, r.Device, r.Params)
	}
	if want := (Cost{Compile: 0.8, Runs: 0.008, Framework: 0.003, Search: 0.002,
		Validation: 0.001}); r.Trials[0].Cost != want {
		t.Errorf("cost %+v", r.Trials[0].Cost)
	}
}

// A cache that is still being written has no closing braces. It may break off
// anywhere.
func TestReadStub(t *testing.T) {
	const note = "the file breaks off without its closing braces, as Kernel Tuner leaves it while it works; %d " +
		"configurations were read\n"
	lines := strings.SplitAfter(cacheSummary, "\n")
	whole := 0
	for end := range len(cacheBody) + 1 {
		if end == len(cacheBody) || strings.HasPrefix(cacheBody[end:], ",\n\"") {
			whole++
		}
		for _, tail := range []string{"", "\n"} {
			if before := cacheBody[:end]; tail != "" && !strings.HasSuffix(before, "}") &&
				!strings.HasSuffix(before, "},") {
				continue // lines end there only
			}
			r, err := readText(cacheHead + cacheBody[:end] + tail)
			if whole == 0 {
				if err == nil {
					t.Fatalf("%d bytes were taken for a recording", end)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%d bytes: %v", end, err)
			}
			if got, want := summary(r), strings.Join(lines[:whole], "")+fmt.Sprintf(note, whole); got != want {
				t.Fatalf("%d bytes: got %s, want %s", end, got, want)
			}
		}
	}
	if whole != 4 {
		t.Fatalf("%d configurations", whole)
	}
}

const t4Text = `{"schema_version": "1.0.0", "results": [
{"timestamp": "x", "configuration": {"family": "a", "block": "8x32", "vec": 2}, "times": {"compilation_time": 500, "framework": 1, "search_algorithm": 2, "validation": 3, "runtimes": [4, 5]}, "invalidity": "correct", "correctness": 1, "measurements": [{"name": "power", "value": 3, "unit": "W"}, {"name": "time", "value": 4.5, "unit": "ms"}], "objectives": ["time"]},
{"configuration": {"family": "b", "block": "4x4x16", "depth": 3}, "times": {"compilation": 300, "benchmark": 7, "runtimes": null}, "invalidity": "correct", "measurements": [{"name": "time", "value": 2, "unit": "s"}], "objectives": ["time"]},
{"configuration": {"family": "b", "block": "4x4x16", "depth": 4}, "times": {"compilation": 300}, "invalidity": "runtime", "measurements": []},
{"configuration": {"family": "b", "block": "4x4x32", "depth": 4}, "times": {}, "invalidity": "correct", "correctness": 0, "measurements": []},
{"configuration": {"depth": 4, "block": "4x4x16", "family": "b"}, "times": {}, "invalidity": "correct", "measurements": [{"name": "time", "value": 9}]}
]}`

func TestReadT4(t *testing.T) {
	r, err := readText(t4Text)
	if err != nil {
		t.Fatal(err)
	}
	want := `family=a,block=8x32,vec=2: 0.0045, 0.515
family=b,block=4x4x16,depth=3: 2, 0.307
family=b,block=4x4x16,depth=4: runtime, 0.3
family=b,block=4x4x32,depth=4: correctness, 0
1 configurations are recorded again; what came first counts
`
	if got := summary(r); got != want {
		t.Errorf("%s", got)
	}
}

func TestReadCSV(t *testing.T) {
	r, err := readText(
		"b,mode,time_ms,times_sum_ms,compile_ms,verification_ms,status\n16,slow,4,8,100,1,ok\n8,slow,,0,50,0,CompilationFailedConfig\n16,fast,0.5,3,20,,ok\n")
	if err != nil {
		t.Fatal(err)
	}
	want := `b=16,mode=slow: 0.004, 0.109
b=8,mode=slow: CompilationFailedConfig, 0.05
b=16,mode=fast: 0.0005, 0.023
`
	if got := summary(r); got != want {
		t.Errorf("%s", got)
	}
}

func TestReadErrors(t *testing.T) {
	head := `{"tune_params_keys": ["b"], "cache": {`
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"spaces", " \n\t", "the file is empty"},
		{"text", "hello", "neither JSON nor a table: no column is called time_ms, with the parameters before it"},
		{"list", "[1, 2]", `a JSON list; recordings are an object with "cache" (Kernel Tuner) or "results" (T4)`},
		{"nothing of ours", `{"a": 1}`, `neither "cache" (Kernel Tuner) nor "results" (T4) is in the file`},
		{"definition", `{"ConfigurationSpace": {}}`,
			`byte 22: this is a definition of a space (T1); a recording has "cache" or "results"`},
		{"syntax", head + `"1": {"b": 1 "time": 2}}}`, `byte 43: invalid character '"' after object key:value pair`},
		{"not an object", `{"tune_params_keys": ["b"], "cache": 3}`, `byte 39: 3 stands where "{" is expected`},
		{"no keys", `{"cache": {}}`,
			`byte 9: "cache" without "tune_params_keys" before it: nothing says what the parameters are`},
		{"keys twice", `{"tune_params_keys": ["b", "b"], "cache": {}}`, `byte 41: two parameters are called "b"`},
		{"a key lacks", head + `"1": {"c": 1}}}`, `byte 52: configuration "1" has no b`},
		{"a list", head + `"1": {"b": [1]}}}`,
			`byte 54: configuration "1": b: a value is a number, a text, true or false`},
		{"none", head + `}}`, "no configuration is recorded"},
		{"none valid", head + `"1": {"b": 1, "time": "X"}, "2": {"b": 2, "time": "X"}, "3": {"b": 3}}}`,
			"none of the 3 configurations is valid: 2 X, 1 no time"},
		{"breaks off early", `{"tune_params_keys": ["b"]`, "byte 27: the text breaks off"},
		{"two texts", head + `"1": {"b": 1, "time": 2}}} []`, "byte 67: [ follows after the end"},
		{"too much in one", head + `"1": {"b": "` + strings.Repeat("x", maxPart+1<<20),
			"byte 43: one configuration takes more than 16 MiB"},
		{"T4 without configuration", `{"results": [{"times": {}}]}`, "byte 27: result 1: it has no configuration"},
		{"T4 empty configuration", `{"results": [{"configuration": {}}]}`,
			"byte 35: result 1: its configuration is empty"},
		{"T4 twice", `{"results": [{"configuration": {"a": 1, "a": 2}}]}`, "byte 49: result 1: a stands twice"},
		{"T4 unit",
			`{"results": [{"configuration": {"a": 1}, "measurements": [{"name": "time", "value": 1, "unit": "J"}]}]}`,
			`byte 102: result 1: time is in "J"; a time in s, ms, us or ns is expected`},
		{"T4 type", `{"results": [{"configuration": {"a": 1}, "times": 3}]}`,
			"byte 53: json: cannot unmarshal number into Go struct field result.times of type struct"},
		{"CSV number", "b,time_ms\n1,x\n", `line 2: time_ms is "x", which is no number`},
		{"CSV columns", "b,time_ms\n1\n", "neither JSON nor a table: line 2, column 1: wrong number of fields"},
		{"CSV no parameters", "time_ms\n1\n",
			"neither JSON nor a table: no column is called time_ms, with the parameters before it"},
	} {
		_, err := readText(c.text)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
	}
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGzip cuts a compressed recording off at every byte: none of the parts is
// taken for a stub.
func TestGzip(t *testing.T) {
	z := compressed(t, cacheHead+cacheBody+"}}")
	r, err := Read(bytes.NewReader(z), nil)
	if err != nil || summary(r) != cacheSummary {
		t.Fatalf("%v", err)
	}
	for n := 2; n < len(z); n++ {
		_, err := Read(bytes.NewReader(z[:n]), nil)
		if err == nil || !strings.Contains(err.Error(),
			"the gzip data is broken: it is cut off; fetch or copy the file again") {
			t.Fatalf("%d of %d bytes: %v", n, len(z), err)
		}
	}
	z[len(z)-6] ^= 0x10 // of the checksum
	if _, err := Read(bytes.NewReader(z), nil); err == nil ||
		!strings.Contains(err.Error(), "the gzip data is broken: gzip: invalid checksum") {
		t.Errorf("%v", err)
	}
}

// TestWrite draws recordings: what is written reads back as the same.
func TestWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Recording{Kernel: rapid.SampledFrom([]string{"", "a \"kernel\""}).Draw(t, "kernel"), Device: "gpu",
			Sizes: session.ParseSizes(rapid.SampledFrom([]string{"", "L=512,M=64", "4096x4096"}).Draw(t, "sizes"))}
		n := rapid.IntRange(1, 4).Draw(t, "params")
		for i := range n {
			p := Param{Name: fmt.Sprintf("p%d", i), Default: -1}
			for v := range rapid.IntRange(1, 4).Draw(t, "values") {
				switch i % 3 {
				case 0:
					p.Values = append(p.Values, Whole(int64(v*v)))
				case 1:
					p.Values = append(p.Values, Text(fmt.Sprintf("%dx%d", v, v+1)))
				default:
					p.Values = append(p.Values, Decimal(float64(v)+0.5))
				}
			}
			r.Params = append(r.Params, p)
		}
		seen := map[string]bool{}
		number := rapid.Float64Range(0, 1e3)
		for range rapid.IntRange(1, 20).Draw(t, "trials") {
			trial := Trial{Cost: Cost{number.Draw(t, "c"), number.Draw(t, "r"), number.Draw(t, "f"),
				number.Draw(t, "s"), number.Draw(t, "v")}}
			for i := range n {
				v := rapid.IntRange(-1, len(r.Params[i].Values)-1).Draw(t, "value")
				if v < 0 && i > 0 {
					v = Missing
				}
				trial.Config = append(trial.Config, uint16(max(v, 0)))
			}
			if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
				trial.Failure = "runtime"
			} else {
				trial.Seconds = rapid.Float64Range(1e-6, 10).Draw(t, "seconds")
			}
			whole := rapid.IntRange(0, 1<<20)
			trial.Resources = session.Resources{Registers: whole.Draw(t, "registers"), Spills: whole.Draw(t, "spills"),
				Shared: whole.Draw(t, "shared"), Blocks: whole.Draw(t, "blocks"),
				Occupancy: rapid.Float32Range(0, 1).Draw(t, "occupancy")}
			if !seen[key(trial.Config)] {
				seen[key(trial.Config)] = true
				r.Trials = append(r.Trials, trial)
			}
		}
		var b bytes.Buffer
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
		back, err := Read(bytes.NewReader(b.Bytes()), nil)
		if r.Valid() == 0 {
			if err == nil || !strings.HasPrefix(err.Error(), "none of the ") {
				t.Fatal(err)
			}
			return
		}
		if err != nil {
			t.Fatalf("%v: %s", err, b.String())
		}
		if !back.Sizes.Equal(r.Sizes) {
			t.Fatalf("sizes %v, were %v", back.Sizes, r.Sizes)
		}
		if back.Kernel != r.Kernel || back.Device != r.Device || len(back.Trials) != len(r.Trials) {
			t.Fatalf("%q %q %d", back.Kernel, back.Device, len(back.Trials))
		}
		for i, was := range r.Trials {
			is := back.Trials[i]
			if sorted(r.Text(was.Config)) != sorted(back.Text(is.Config)) || was.Failure != is.Failure ||
				was.Resources != is.Resources ||
				!near(was.Seconds, is.Seconds) || !near(was.Cost.Total(), is.Cost.Total()) ||
				!near(was.Cost.Runs, is.Cost.Runs) {
				t.Fatalf("%s %+v came back as %s %+v", r.Text(was.Config), was, back.Text(is.Config), is)
			}
		}
	})
}

// sorted puts the settings of a configuration in order: parameters that the
// first configuration lacks come back later.
func sorted(config string) string {
	parts := strings.Split(config, ",")
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(a) }

// What other programs say of sizes and resources is taken if it makes sense, and else
// passed over.
func TestOddSizesAndResources(t *testing.T) {
	for _, c := range []struct{ head, measured, sizes, resources string }{
		{`"problem_size": [4096, 64], `, `{"name": "registers", "value": 32, "unit": ""}`, "4096x64", "{32 0 0 0 0}"},
		{`"problem_size": 7, `, `{"name": "shared", "value": -1, "unit": "B"}`, "7", "{0 0 0 0 0}"},
		{`"problem_size": ["n", 2], `, `{"name": "spills", "value": "many", "unit": "B"}`, "", "{0 0 0 0 0}"},
		{`"sizes": [{"name": "N", "value": 8}], `, `{"name": "occupancy", "value": 0.5, "unit": ""}`, "N=8",
			"{0 0 0 0 0.5}"},
		{`"sizes": {"big": true}, `, `{"name": "blocks", "value": 1e300, "unit": ""}`, "", "{0 0 0 0 0}"},
	} {
		text := `{` + c.head + `"results": [{"configuration": {"a": 1}, "invalidity": "correct",
			"measurements": [{"name": "time", "value": 1, "unit": "ms"}, ` + c.measured + `], "objectives": ["time"]}]}`
		r, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := fmt.Sprint(r.Trials[0].Resources); r.Sizes.String() != c.sizes || got != c.resources {
			t.Errorf("%s: %v %s, want %s %s", text, r.Sizes, got, c.sizes, c.resources)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	values := []Value{Whole(1), Whole(2)}
	good := Trial{Config: []uint16{0}, Seconds: 1}
	for want, r := range map[string]*Recording{
		"no parameters":               {},
		"no configurations":           {Params: []Param{{Name: "a", Values: values}}},
		"a=1 is recorded twice":       {Params: []Param{{Name: "a", Values: values}}, Trials: []Trial{good, good}},
		"two parameters are called a": {Params: []Param{{Name: "a", Values: values}, {Name: "a", Values: values}}},
		"configuration 1: a has no value": {Params: []Param{{Name: "a", Values: values}},
			Trials: []Trial{{Config: []uint16{7}, Seconds: 1}}},
		"configuration 1 has 2 values": {Params: []Param{{Name: "a", Values: values}},
			Trials: []Trial{{Config: []uint16{0, 0}, Seconds: 1}}},
		"a=2 has the time NaN": {Params: []Param{{Name: "a", Values: values}},
			Trials: []Trial{{Config: []uint16{1}, Seconds: math.NaN()}}},
		"a=2 cost -1 seconds": {Params: []Param{{Name: "a", Values: values}},
			Trials: []Trial{{Config: []uint16{1}, Seconds: 1, Cost: Cost{Runs: -1}}}},
		"parameter a has 0 values": {Params: []Param{{Name: "a"}}},
	} {
		var b bytes.Buffer
		if err := Write(&b, r); err == nil || !strings.HasPrefix(err.Error(), want) || b.Len() > 0 {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// FuzzRead: no text makes the reader panic, and what it takes for a recording is
// one.
func FuzzRead(f *testing.F) {
	for _, s := range []string{cacheHead + cacheBody + "}}", t4Text, "b,time_ms\n1,2\n",
		`{"results": [{"configuration": {"a": NaN}}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if r, err := Read(bytes.NewReader(text), nil); err == nil {
			if err := Write(io.Discard, r); err != nil {
				t.Error(err)
			}
			NewSpace(r)
		}
	})
}

func TestReadFile(t *testing.T) {
	name := t.TempDir() + "/some_space.json.gz"
	if err := os.WriteFile(name, compressed(t, t4Text), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := ReadFile(name, nil)
	if err != nil || r.Name != "some_space" {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(name, nil); err == nil || err.Error() != name+": the file is empty" {
		t.Errorf("%v", err)
	}
}

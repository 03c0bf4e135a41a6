package contest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/tuner"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// whole returns the space of a subject on an H200.
func whole(t *testing.T, x *Subject) schedule.Space {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	choices, err := lower.Choices(x.bound.Program, lower.Options{Target: lower.GPU, Bound: x.bound, NoInitial: true,
		Sized: true, Machine: m})
	if err != nil {
		t.Fatal(err)
	}
	if len(choices) != 1 {
		t.Fatalf("%s has %d kernels", x.Name(), len(choices))
	}
	return choices[0].Space
}

// The parts that are recorded are small enough, and have the plans that sweeps had
// found for each program and type. Searches have found better ones since, in the
// whole spaces: the best seen.
func TestRecordedParts(t *testing.T) {
	text, err := os.ReadFile("testdata/swept.json")
	if err != nil {
		t.Fatal(err)
	}
	swept, err := bench.ParsePlans(text)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Subjects(nil, nil)
	if err != nil || len(list) != 8 {
		t.Fatalf("%d subjects, %v", len(list), err)
	}
	for _, x := range list {
		all := whole(t, x)
		part, err := x.restrict(all)
		if err != nil {
			t.Fatal(err)
		}
		n := part.Count().Int64()
		if n < 1000 || n > 3000 {
			t.Errorf("%s: %d configurations; 1000 to 3000 are recorded", x.Name(), n)
		}
		for _, text := range swept[x.Program][x.DType] {
			c, err := schedule.ParseConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			if c, err = all.Complete(c); err != nil {
				t.Errorf("%s: %s: %v", x.Name(), text, err)
			} else if !part.Has(c) {
				t.Errorf("%s: %s is not recorded", x.Name(), c)
			}
		}
	}
}

// small is the 7-point star with a part of 40 configurations.
func small(t *testing.T) *Subject {
	t.Helper()
	p, err := bench.SpatialProgram("star7", "double")
	if err != nil {
		t.Fatal(err)
	}
	x := &Subject{Program: "star7", DType: "double", Sizes: []int64{16, 16, 64}}
	if err := x.bind(p); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/small.space")
	if err != nil {
		t.Fatal(err)
	}
	if x.Limits, err = schedule.ParseRestrictions("small.space", string(text)); err != nil {
		t.Fatal(err)
	}
	return x
}

func tunerOptions(t *testing.T, s *scripted, x *Subject, folder string) TunerOptions {
	return TunerOptions{Folder: folder, Subjects: []*Subject{x}, Open: s.open, Clock: s.clock, Commit: "abc",
		Log: testWriter{t}}
}

// recordOptions are those of recording what others search.
func recordOptions(o TunerOptions, budget time.Duration) RecordOptions {
	return RecordOptions{Folder: o.Folder, Subjects: o.Subjects, Budget: budget, Open: o.Open, Clock: o.Clock,
		Commit: o.Commit, Log: o.Log}
}

// recordAll records what others search as a whole.
func recordAll(t *testing.T, o TunerOptions) {
	t.Helper()
	if n, err := Record(t.Context(), recordOptions(o, time.Minute)); err != nil || n != len(o.Subjects) {
		t.Fatalf("%d of %d are recorded: %v", n, len(o.Subjects), err)
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// recorded reads a recording.
func recorded(t *testing.T, file string) *replay.Recording {
	t.Helper()
	r, err := replay.ReadFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// late takes longer to arrange memory than there is time, and then nothing works in time.
type late struct{ *scripted }

func (l late) Arrange(ctx context.Context, setting measure.Setting) error {
	l.pass(60)
	return l.scripted.Arrange(ctx, setting)
}

func (l late) Try(context.Context, measure.Code, measure.Margins, measure.Rule, time.Duration) (measure.Trial, error) {
	return measure.Trial{}, errors.New("too late")
}

// Who records goes on later where there was no time for anything, and an error before is told.
func TestNoTimeToRecord(t *testing.T) {
	x := small(t)
	s := newScripted(t, x)
	o := recordOptions(tunerOptions(t, s, x, t.TempDir()), 30*time.Second)
	o.Open = func(context.Context) (measure.Lab, error) { return late{s}, nil }
	if complete, err := Record(t.Context(), o); err != nil || complete != 0 {
		t.Errorf("%d complete, %v", complete, err)
	}
	o.Budget = time.Hour
	if _, err := Record(t.Context(), o); err == nil || !strings.Contains(err.Error(), "star7") {
		t.Errorf("%v", err)
	}
}

// A recording goes on where the call before had to stop, and what it has is not
// measured again.
func TestRecordingGoesOn(t *testing.T) {
	x := small(t)
	s := newScripted(t, x)
	o := tunerOptions(t, s, x, t.TempDir())
	file := filepath.Join(o.Folder, "star7-double.t4.json.gz")
	before := map[string]replay.Trial{}
	calls := 0
	for ; calls < 10; calls++ {
		complete, err := Record(t.Context(), recordOptions(o, 1500*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := Tuner(t.Context(), o); err != nil || len(rows) != 0 {
			t.Fatalf("%v, %v", rows, err)
		}
		r := recorded(t, file)
		if is := len(r.Trials) == 40; is != (complete == 1) {
			t.Errorf("%d configurations, %d complete", len(r.Trials), complete)
		}
		again := map[string]replay.Trial{}
		for i := range r.Trials {
			again[r.Text(r.Trials[i].Config)] = r.Trials[i]
		}
		for text, was := range before {
			if is := again[text]; is.Seconds != was.Seconds || is.Cost != was.Cost || is.Resources != was.Resources ||
				is.Failure != was.Failure {
				t.Errorf("%s was %+v and is %+v", text, was, is)
			}
		}
		if len(again) <= len(before) && len(before) < 40 {
			t.Fatalf("%d configurations after call %d", len(again), calls+1)
		}
		if before = again; len(before) == 40 {
			break
		}
	}
	if calls < 1 || len(before) != 40 {
		t.Fatalf("%d configurations after %d calls", len(before), calls+1)
	}
	r := recorded(t, file)
	if r.Valid() != 32 || r.Kernel != "star7" || r.Device != "Pretended" {
		t.Errorf("%d valid configurations of %s on %s", r.Valid(), r.Kernel, r.Device)
	}
	if got := r.Sizes.String(); got != "L=16,M=16,N=64" {
		t.Errorf("its sizes are %s", got)
	}
	for i := range r.Trials {
		z := &r.Trials[i]
		if got := z.Resources; z.Failure == "" && got != (session.Resources{Registers: 40, Shared: 1 << 10,
			Blocks: 3}) {
			t.Errorf("%s takes %+v", r.Text(z.Config), got)
		}
		want, err := speed(r.Text(z.Config))
		if (err != nil) != (z.Failure == "launch") || err == nil && math.Abs(z.Seconds-want) > 1e-9 {
			t.Errorf("%s took %g (%s); %g, %v", r.Text(z.Config), z.Seconds, z.Failure, want, err)
		}
		if c := z.Cost; math.Abs(c.Compile-0.1) > 1e-9 || c.Runs < 0.039 || c.Runs > 0.5 {
			t.Errorf("%s cost %+v", r.Text(z.Config), z.Cost)
		}
	}
	// There is nothing left to record.
	tried := len(s.tried)
	recordAll(t, o)
	if len(s.tried) != tried {
		t.Errorf("%d more trials", len(s.tried)-tried)
	}
	// Of a wider space, the rest is recorded.
	narrow := x.Limits
	x.Limits = slices.DeleteFunc(slices.Clone(narrow),
		func(r schedule.Restriction) bool { return strings.HasPrefix(r.Text, "store") })
	recordAll(t, o)
	if wide := recorded(t, file); len(wide.Trials) <= 40 || len(s.tried) == tried {
		t.Errorf("%d configurations of the wider space, after %d trials", len(wide.Trials), len(s.tried)-tried)
	}
	// Another device makes another recording.
	s.name = "Another"
	o.Live = time.Second
	if _, err := Tuner(t.Context(), o); err == nil ||
		!strings.Contains(err.Error(),
			"was recorded with the device Pretended, and this is Another: give another folder") {
		t.Errorf("%v", err)
	}
}

// A whole search is set against the best that is recorded and the best that was
// ever seen, and replays against the recording.
func TestRows(t *testing.T) {
	x := small(t)
	s := newScripted(t, x)
	o := tunerOptions(t, s, x, t.TempDir())
	recordAll(t, o)
	o.Live, o.Seeds = 6*time.Second, 5
	rows, err := Tuner(t.Context(), o)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	r := rows[0]
	points := x.points()
	if points != 14*14*62 || math.Abs(r.Known-points/1e-4/1e9) > 1e-9 || !strings.Contains(r.KnownPlan, "vec=4") &&
		!strings.Contains(r.KnownPlan, "vec=8") {
		t.Errorf("%g cells, best known %g: %s", points, r.Known, r.KnownPlan)
	}
	if !r.Complete || r.Recorded != 40 || r.Strategy != "auto" || r.Trials < 5 || r.Device != "Pretended" ||
		r.Commit != "abc" || r.Grid != "16x16x64" {
		t.Errorf("%+v", r)
	}
	if r.OfKnown != r.GStencils/r.Known || r.OfSeen > r.OfKnown || r.Seen < r.Known || r.GStencils <= 0 ||
		r.OfKnown > 1.001 {
		t.Errorf("%+v", r)
	}
	if len(r.Replays) != 2 || r.Replays[0].Strategy != "auto" || r.Replays[1].Strategy != "random" ||
		r.Replays[0].Seeds != 5 {
		t.Fatalf("%+v", r.Replays)
	}
	for _, p := range r.Replays {
		// 40 configurations take 40 (0.1/4 + 0.04) s at most.
		if len(p.Reached) != 3 || p.Reached[0] != (Reached{Seconds: 10, Fraction: 1, Least: 1, Near: 1}) {
			t.Errorf("%+v", p)
		}
	}
	// The next call has the same rows and measures nothing.
	tried := len(s.tried)
	o.Seeds = 0
	again, err := Tuner(t.Context(), o)
	if err != nil || len(s.tried) != tried || len(again) != 1 || again[0].GStencils != r.GStencils ||
		len(again[0].Replays) != 2 {
		t.Errorf("%+v, %v, %d more trials", again, err, len(s.tried)-tried)
	}
	// An earlier search that was faster stays the best seen.
	b, err := openRecording(o.Folder, x.Name())
	if err != nil {
		t.Fatal(err)
	}
	b.noteFastest(fastestSeen{2 * r.Known, "faster", "somebody"})
	b.noteFastest(fastestSeen{r.Known, "slower", "somebody else"})
	if err := b.save(); err != nil {
		t.Fatal(err)
	}
	again, err = Tuner(t.Context(), o)
	if err != nil || again[0].Seen != 2*r.Known || again[0].SeenPlan != "faster" ||
		again[0].OfSeen != again[0].OfKnown/2 {
		t.Errorf("%+v, %v", again, err)
	}
}

// What was recorded before versions were is replayed, and tells its rows, but nothing that
// is measured now is added to it or compared with it.
func TestRecordingsOfVersions(t *testing.T) {
	x := small(t)
	s := newScripted(t, x)
	o := tunerOptions(t, s, x, t.TempDir())
	recordAll(t, o)
	o.Live, o.Seeds = 3*time.Second, 2
	rows, err := Tuner(t.Context(), o)
	if err != nil || len(rows) != 1 || rows[0].Set != versions.Current() {
		t.Fatalf("%+v, %v", rows, err)
	}
	// age takes the versions out of a file, which they are the last of.
	age := func(name string) {
		t.Helper()
		path := filepath.Join(o.Folder, name)
		var fields map[string]any
		err := readJSON(path, &fields)
		if err == nil && (fields["arithmetic"] == nil || fields["ir"] == nil) {
			t.Errorf("%s has no versions: %v", name, fields)
		}
		delete(fields, "arithmetic")
		delete(fields, "ir")
		if err := errors.Join(err, writeJSON(path, fields)); err != nil {
			t.Fatal(err)
		}
	}
	age("star7-double.json")
	tried := len(s.tried)
	_, err = Tuner(t.Context(), o)
	if want := "star7-double was searched under " + versions.Current().Definitions() +
		", and recorded under arithmetic 1 and program IR 1: they cannot be compared"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	age("star7-double.live.json")
	again, err := Tuner(t.Context(), o)
	if err != nil || len(again) != 1 || again[0].Set != (versions.Set{Arithmetic: 1, IR: 1}) ||
		again[0].GStencils != rows[0].GStencils || len(again[0].Replays) != 2 || len(s.tried) != tried {
		t.Errorf("%+v, %v, %d more trials", again, err, len(s.tried)-tried)
	}
	file := filepath.Join(o.Folder, "star7-double.t4.json.gz")
	refused := file + " was recorded under arithmetic 1 and program IR 1, and this Gridloom has " +
		versions.Current().Definitions() + ", so that nothing can be compared with it: give another folder"
	o.Anew = true
	if _, err := Tuner(t.Context(), o); err == nil || err.Error() != refused {
		t.Errorf("%v, want %s", err, refused)
	}
	// So it is if the rest is to be recorded.
	x.Limits = slices.DeleteFunc(slices.Clone(x.Limits),
		func(r schedule.Restriction) bool { return strings.HasPrefix(r.Text, "store") })
	if _, err := Record(t.Context(), recordOptions(o, time.Minute)); err == nil || err.Error() != refused {
		t.Errorf("%v, want %s", err, refused)
	}
	if len(s.tried) != tried {
		t.Errorf("%d more trials", len(s.tried)-tried)
	}
}

// Averages are over recordings of the same versions.
func TestRecordingsAreAlike(t *testing.T) {
	of := func(name string, recorded int, v versions.Set) *recordingFile {
		b := &recordingFile{folder: "f", name: name, about: about{Configurations: 2, Set: v}}
		b.list = make([]tuner.Outcome, recorded)
		return b
	}
	old, now := versions.Set{}.Complete(), versions.Current()
	mixed := "f/a.t4.json.gz is of arithmetic 1 and program IR 1, and f/b.t4.json.gz of " + now.Definitions() +
		": they cannot be compared; give another folder"
	for _, c := range []struct {
		recordings []*recordingFile
		record     bool
		want       string
	}{
		{nil, true, ""},
		{[]*recordingFile{of("a", 2, old), of("b", 2, old)}, true, ""},
		{[]*recordingFile{of("a", 2, now), of("b", 1, now), of("c", 0, now)}, true, ""},
		{[]*recordingFile{of("a", 2, old), of("b", 2, now)}, false, mixed},
		{[]*recordingFile{of("a", 2, old), of("b", 0, now)}, false, ""},
		{[]*recordingFile{of("a", 2, old), of("b", 0, now)}, true, mixed},
		{[]*recordingFile{of("a", 1, old)}, false, ""},
		{[]*recordingFile{of("a", 1, old)}, true, of("a", 1, old).outdated().Error()},
	} {
		got := ""
		if err := checkVersions(c.recordings, c.record); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestInterruptedRecordingIsKept(t *testing.T) {
	x := small(t)
	s := newScripted(t, x)
	o := tunerOptions(t, s, x, t.TempDir())
	o.Log = io.Discard
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("enough")
	o.Clock = func() time.Time {
		s.mutex.Lock()
		n := len(s.tried)
		s.mutex.Unlock()
		if n > 12 {
			cancel(stopped)
		}
		return s.clock()
	}
	if _, err := Record(ctx, recordOptions(o, time.Minute)); !errors.Is(err, stopped) {
		t.Fatalf("%v", err)
	}
	r := recorded(t, filepath.Join(o.Folder, "star7-double.t4.json.gz"))
	if n := len(r.Trials); n < 8 || n >= 40 {
		t.Errorf("%d configurations are kept", n)
	}
}

// Replays stop at what is found in time, at a simulated clock of which each
// configuration takes its share.
// Where nothing is to be measured there has to be something to tell of.
func TestNothingToDo(t *testing.T) {
	var log strings.Builder
	o := TunerOptions{Folder: filepath.Join(t.TempDir(), "none"), Log: &log}
	if _, err := Tuner(t.Context(), o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), o.Folder) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(o.Folder); err == nil {
		t.Errorf("%s was made", o.Folder)
	}
	o.Folder = t.TempDir()
	if rows, err := Tuner(t.Context(), o); err != nil || len(rows) > 0 ||
		!strings.Contains(log.String(), "nothing to report yet") {
		t.Errorf("%v, %v: %s", rows, err, log.String())
	}
}

func TestReached(t *testing.T) {
	r := &replay.Recording{Params: []replay.Param{{Name: "p", Default: -1}}}
	for i := range 100 {
		r.Params[0].Values = append(r.Params[0].Values, replay.Whole(int64(i)))
		z := replay.Trial{Config: []uint16{uint16(i)}, Seconds: float64(100-i) / 100, Cost: replay.Cost{Runs: 1}}
		if i == 99 {
			z.Failure, z.Seconds = "launch", 0
		}
		r.Trials = append(r.Trials, z)
	}
	make := func(p search.Problem) (search.Strategy, error) { return search.New("exhaustive", p) }
	list, err := reached(t.Context(), r, make, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	// The best that works takes 0.02 s; after n trials the best takes (101-n)/100 s.
	want := []Reached{{10, 0.022, 0.022, 0}, {30, 0.028, 0.028, 0}, {60, 0.049, 0.049, 0}}
	if !slices.Equal(list, want) {
		t.Errorf("%+v", list)
	}
}

// Costs are those of whoever tries a configuration first.
func TestCosts(t *testing.T) {
	b := &recordingFile{name: "x", index: map[string]int{}}
	for _, o := range []tuner.Outcome{
		{Config: "family=tile,block=1x4x32,vec=1", Verdict: verdict.OK, Seconds: 0.25, Compile: 0.5, Cost: 0.75},
		{Config: "family=tile,block=1x4x32,vec=2", Verdict: verdict.OK, Seconds: 0.25,
			Same: "family=tile,block=1x4x32,vec=1"},
		{Config: "family=planes,chunk=4", Verdict: verdict.Resources, Compile: 0.125, Cost: 9},
		{Config: "family=planes,chunk=8", Verdict: verdict.Wrong, Compile: 0.125, Cost: 0.25},
	} {
		if err := b.Keep(o); err != nil {
			t.Fatal(err)
		}
	}
	r := b.recording()
	if err := r.Verify(); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		text, failure string
		cost          replay.Cost
	}{
		{"family=tile,block=1x4x32,vec=1", "", replay.Cost{Compile: 0.5, Runs: 0.25, Framework: lowering}},
		{"family=tile,block=1x4x32,vec=2", "", replay.Cost{Compile: 0.5, Runs: 0.25, Framework: lowering}},
		{"family=planes,chunk=4", "resources", replay.Cost{Compile: 0.125, Framework: lowering}},
		{"family=planes,chunk=8", "wrong", replay.Cost{Compile: 0.125, Runs: 0.125, Framework: lowering}},
	}
	for i, w := range want {
		z := r.Trials[i]
		if r.Text(z.Config) != w.text || z.Failure != w.failure || z.Cost != w.cost {
			t.Errorf("%s: %q, %+v; want %+v", r.Text(z.Config), z.Failure, z.Cost, w)
		}
	}
	if o := outcome(want[3].text, &r.Trials[3]); o.Verdict != verdict.Wrong || o.Seconds != 0 {
		t.Errorf("%+v", o)
	}
}

// What has failed after it was recorded is no longer recorded as right.
func TestBookCondemns(t *testing.T) {
	folder := t.TempDir()
	b, err := openRecording(folder, "x")
	if err != nil {
		t.Fatal(err)
	}
	fast, slow := tuner.Outcome{Config: "family=tile,vec=1", Verdict: verdict.OK, Seconds: 0.25},
		tuner.Outcome{Config: "family=tile,vec=2", Verdict: verdict.OK, Seconds: 0.5}
	for _, o := range []tuner.Outcome{fast, slow} {
		if err := b.Keep(o); err != nil {
			t.Fatal(err)
		}
	}
	fast.Verdict = verdict.Wrong
	if err := b.Condemn(fast); err != nil {
		t.Fatal(err)
	}
	if err := b.Condemn(tuner.Outcome{Config: "family=cells"}); err == nil {
		t.Error("what is not recorded is condemned")
	}
	if b, err = openRecording(folder, "x"); err != nil {
		t.Fatal(err)
	}
	if o, ok := b.Known("", fast.Config); !ok || o.Verdict != verdict.Wrong || b.best().Config != slow.Config ||
		len(b.list) != 2 {
		t.Errorf("%+v of %+v", o, b.list)
	}
}

// What the files of results have in them is no accident.
func TestTunerJSON(t *testing.T) {
	row := TunerRow{
		Program: "star7", DType: "double", Grid: "512x512x512", Known: 250, KnownPlan: "family=tile", OfKnown: 0.98,
		Seen: 251, SeenPlan: "family=planes",
		OfSeen: 0.976, Recorded: 1968, Complete: true,
		liveSearch: liveSearch{
			Strategy: "auto", Seconds: 59.5, Trials: 1500, Rate: 25.2, GStencils: 245, Plan: "star7[0:1]{family=tile}",
			Configurations: "27227696696",
			Idle:           0.25, Rechecked: 0.5, CopyGStencils: 263, Device: "NVIDIA H200", Commit: "abc",
			Set: versions.Current(),
		},
		Replays: []Replay{{"auto", 50, 0.5, 0.4, 0.6, []Reached{{60, 1, 1, 1}}}},
	}
	golden(t, "tuner.json", []TunerRow{row})
	var out strings.Builder
	if err := WriteTuner(&out, []TunerRow{row}); err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(out.String(), "\n")
	if got, want := strings.Join(strings.Fields(line), " "),
		"star7 double 245.0 0.980 0.976 1500 25.2 25 % 50 % 1968 auto 0.500, 1.000 after 60 s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func golden(t *testing.T, file string, v any) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != string(want) {
		t.Errorf("%s is not\n%s", path, text)
	}
}

// The recordings of the project, which earlier versions have made, are read whole.
func TestFormerRecordings(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "bench", "recordings")
	files, err := filepath.Glob(filepath.Join(folder, "*-double.t4.json.gz"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := openRecording(folder, strings.TrimSuffix(filepath.Base(file), ".t4.json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if len(b.list) != b.about.Recorded || len(b.list) < 1000 || b.best() == nil || b.about.Arithmetic < 1 {
			t.Errorf("%s: %d of %d configurations, %+v", file, len(b.list), b.about.Recorded, b.about.Set)
		}
		for _, o := range b.list[:10] {
			if len(tuner.Settings(o.Config)) == 0 {
				t.Errorf("%s: %s", file, o.Config)
			}
		}
	}
}

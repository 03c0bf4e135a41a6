package store

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"
)

// tried is a trial in few words.
func tried(config string, verdict Verdict, median float64, samples int) Trial {
	t := Trial{Config: config, Verdict: verdict, At: noon.Add(time.Second)}
	if verdict == OK {
		t.Median = median
		for range samples {
			t.Samples = append(t.Samples, median)
		}
	}
	return t
}

// with begins a session of a search that change has changed, with trials.
func with(t *testing.T, s *Store, change func(*Search), trials ...Trial) *Session {
	t.Helper()
	search := search1()
	if change != nil {
		change(&search)
	}
	x := begin(t, s, search)
	add(t, x, trials...)
	return x
}

func later(n int) func(*Search) {
	return func(s *Search) { s.Started = noon.Add(time.Duration(n) * time.Minute) }
}

func TestKnown(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	with(t, s, nil,
		tried("a", OK, 3, 5), tried("b", OK, 1, 1), tried("c", Crash, 0, 0), tried("d", OK, 2, 3), tried("e", OK, 0.5, 3), tried("f", OK, 4, 2))
	again := tried("x", OK, 0.1, 9) // not measured
	again.Reused = true
	other := tried("a", OK, 0.2, 9)
	other.Kernel = "heat[0:1]"
	with(t, s, later(1),
		tried("a", OK, 9, 4),      // fewer samples than before
		tried("b", OK, 3.5, 7),    // more: the first one was luck
		tried("c", OK, 5, 1),      // it can run
		tried("d", Timeout, 0, 0), // it could run
		tried("e", Wrong, 0, 0),   // once wrong, always wrong
		tried("f", OK, 4.5, 2),    // as many, later
		again, other)
	with(t, s, later(2), tried("e", OK, 0.4, 10))

	k, err := s.Known(ctx, search1().Scenario)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := range k.All() {
		got = append(got, fmt.Sprintf("%s%s %v %v", r.Kernel, r.Config, r.Verdict, r.Median))
	}
	want := []string{"a ok 3", "b ok 3.5", "c ok 5", "d ok 2", "e wrong 0", "f ok 4.5", "heat[0:1]a ok 0.2"}
	if !reflect.DeepEqual(got, want) || k.Len() != len(want) {
		t.Errorf("%q", got)
	}
	if r, ok := k.Get("heat[0:1]", "a"); !ok || r.Median != 0.2 || r.Session.Strategy != "auto" {
		t.Errorf("%+v", r)
	}
	if _, ok := k.Get("", "x"); ok {
		t.Error("what was not measured is known")
	}
	best, found, err := s.Best(ctx, search1().Scenario, "")
	if err != nil || !found || best.Config != "d" {
		t.Errorf("the best is %+v, %v", best, err)
	}
	if _, found, err := s.Best(ctx, search1().Scenario, "norm[0:1]"); found || err != nil {
		t.Error("a kernel that was never tried has a best variant", err)
	}
}

// Trials that an earlier version has stored although the machine was to blame, and
// not the variant, count for nothing; those that look like them count.
func TestTransientTrialsAreIgnored(t *testing.T) {
	s := fresh(t)
	note := func(config string, v Verdict, note string) Trial {
		x := tried(config, v, 1, 1)
		x.Note = note
		return x
	}
	with(t, s, nil,
		note("a", Compiling, "the generated code cannot be written: write /c/tmp-1/kernels.c: no space left on device"),
		note("b", Compiling, "/usr/bin/cc could not compile the generated code:\n  cc: fatal error: Killed signal terminated program cc1"),
		note("c", Crash, "the worker was lost: something killed it, as the system does when memory runs out (SIGKILL)"),
		note("d", Launch, "fork/exec /proc/self/exe: resource temporarily unavailable"),
		note("e", Compiling, "kernels.c:1:1: error: unknown type name"),
		note("f", Crash, "the worker was lost: it touched memory that is not its own (SIGSEGV)"),
		note("g", Compiling, "it needs more than 4.0 GiB to compile it\n  cc1: out of memory allocating 65536 bytes"),
		note("h", OK, "no space left on device"))
	k, err := s.Known(t.Context(), search1().Scenario)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for r := range k.All() {
		known = append(known, r.Config)
	}
	if want := []string{"e", "f", "g", "h"}; !slices.Equal(known, want) {
		t.Errorf("%q are known, want %q", known, want)
	}
}

// What is known of one scenario is not taken for another.
func TestScenarios(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		change func(*Scenario)
		known  bool
	}{
		{"same", func(*Scenario) {}, true},
		{"program", func(s *Scenario) { s.Program.Hash = "0" }, false},
		{"name of the program", func(s *Scenario) { s.Program.Name = "x.loom" }, true},
		{"API", func(s *Scenario) { s.Device.API = "opencl" }, false},
		{"device", func(s *Scenario) { s.Device.Name = "NVIDIA H100" }, false},
		{"driver", func(s *Scenario) { s.Device.Driver = "580" }, false},
		{"units", func(s *Scenario) { s.Device.Units = 114 }, false},
		{"serial number", func(s *Scenario) { s.Device.UUID = "GPU-0" }, true},
		{"clocks", func(s *Scenario) { s.Device.Clocks = "sm=1200" }, true},
		{"compiler", func(s *Scenario) { s.Compiler.Name = "nvcc" }, false},
		{"version", func(s *Scenario) { s.Compiler.Version = "12.9" }, false},
		{"options", func(s *Scenario) { s.Compiler.Options = "" }, true}, // not said
		{"other options", func(s *Scenario) { s.Compiler.Options = "-O1" }, false},
		{"host", func(s *Scenario) { s.Host = "node8" }, true},
		{"sizes", func(s *Scenario) { s.Sizes = "L=1,M=1,N=1" }, false},
		{"type", func(s *Scenario) { s.DType = "float" }, false},
		{"arithmetic", func(s *Scenario) { s.FP = "strict" }, false},
	} {
		s := fresh(t)
		with(t, s, nil, tried("a", OK, 1, 1))
		scenario := search1().Scenario
		c.change(&scenario)
		if k, err := s.Known(ctx, scenario); err != nil || k.Len() == 1 != c.known {
			t.Errorf("%s: %d variants are known, %v", c.name, k.Len(), err)
		}
	}
}

func TestBestOfSizes(t *testing.T) {
	s := fresh(t)
	sized := func(n int) func(*Search) { return func(s *Search) { s.Sizes = fmt.Sprintf("N=%d", n) } }
	with(t, s, sized(64), tried("a", OK, 2, 1), tried("b", OK, 1, 1))
	with(t, s, sized(128), tried("a", OK, 3, 1), tried("b", OK, 4, 1))
	with(t, s, sized(256), tried("a", Crash, 0, 0))
	with(t, s, func(s *Search) { s.Sizes, s.DType = "N=512", "float" }, tried("a", OK, 3, 1))
	list, err := s.BestOfSizes(context.Background(), search1().Scenario, "")
	var got []string
	for _, r := range list {
		got = append(got, r.Session.Sizes+" "+r.Config)
	}
	if want := []string{"N=128 a", "N=64 b"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSimilar(t *testing.T) {
	s := fresh(t)
	program := func(name string, f Features) func(*Search) {
		return func(s *Search) { s.Program = Program{Hash: name, Name: name + ".loom", Features: f} }
	}
	with(t, s, nil, tried("own", OK, 1, 1))
	with(t, s, program("star13", Features{3, 2, 13, 2, 16}), tried("a", OK, 1, 1), tried("b", OK, 2, 1))
	with(t, s, program("twin", Features{3, 1, 7, 2, 8}), tried("c", OK, 1, 1))
	with(t, s, program("box125", Features{3, 2, 125, 2, 250}), tried("d", OK, 1, 1))
	with(t, s, program("flat", Features{2, 1, 5, 2, 6}), tried("e", OK, 1, 1))
	with(t, s, program("broken", Features{3, 1, 7, 2, 8}), tried("f", Crash, 0, 0))
	with(t, s, func(s *Search) { program("elsewhere", Features{3, 1, 7, 2, 8})(s); s.Device.Name = "A100" }, tried("g", OK, 1, 1))
	last := tried("h", OK, 5, 1)
	last.At = noon.Add(time.Hour)
	with(t, s, func(s *Search) { program("star13", Features{3, 2, 13, 2, 16})(s); s.Sizes = "L=64,M=64,N=64" }, last)
	for n, want := range [][]string{nil, {"c"}, {"c", "h"}, {"c", "h", "d"}, {"c", "h", "d"}} {
		list, err := s.Similar(context.Background(), search1().Scenario, n)
		var got []string
		for i, r := range list {
			got = append(got, r.Config)
			if i > 0 && r.Distance < list[i-1].Distance {
				t.Errorf("distances %v, %v", list[i-1].Distance, r.Distance)
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %q, %v", n, got, err)
		}
	}
}

func TestFilters(t *testing.T) {
	s := sample(t)
	x := with(t, s, func(s *Search) {
		s.Program.Hash, s.Program.Name = "99aa", "examples/wave.loom"
		s.Device = Device{API: "cpu", Name: "EPYC_9654 100%"}
		s.Strategy, s.DType = "random", "float"
		s.Started = noon.Add(24 * time.Hour)
	})
	trial := tried("z", OK, 1, 1)
	trial.Kernel, trial.At = "wave[0:1]", noon.Add(25*time.Hour)
	add(t, x, trial)
	for _, c := range []struct {
		name string
		f    Filter
		want int
	}{
		{"all", Filter{}, 13},
		{"session", Filter{Session: "bbbbbb"}, 4},
		{"session that is none", Filter{Session: "bbbbbbc"}, 0},
		{"program", Filter{Program: "heat3d.loom"}, 12},
		{"part of the name", Filter{Program: "wave"}, 1},
		{"another case", Filter{Program: "Wave"}, 0},
		{"hash", Filter{Program: "6f1ed0"}, 12},
		{"device", Filter{Device: "h200"}, 12},
		{"API", Filter{Device: "CPU"}, 1},
		{"no pattern", Filter{Device: "EPYC%100"}, 0},
		{"as it is", Filter{Device: "EPYC_9654 100%"}, 1},
		{"sizes", Filter{Sizes: "L=64,M=64,N=64"}, 4},
		{"type", Filter{DType: "float"}, 1},
		{"strategy", Filter{Strategy: "random"}, 1},
		{"kernel", Filter{Kernel: "wave[0:1]"}, 1},
		{"kernel that is none", Filter{Kernel: "x"}, 0},
		{"verdict", Filter{Verdict: []Verdict{OK}}, 10},
		{"verdicts", Filter{Verdict: []Verdict{Compiling, TooMuch}}, 2},
		{"since", Filter{Since: noon.Add(time.Hour + 2*time.Second)}, 6},
		{"until", Filter{Until: noon.Add(time.Hour)}, 4},
		{"both", Filter{Since: noon.Add(2 * time.Second), Until: noon.Add(time.Hour)}, 1},
		{"together", Filter{Device: "cuda", Verdict: []Verdict{OK}, Session: "aaaaaa"}, 3},
	} {
		n := 0
		for _, err := range s.Records(context.Background(), c.f) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != c.want {
			t.Errorf("%s: %d trials, want %d", c.name, n, c.want)
		}
	}
}

// Features come from whoever knows them first; the name is the first one.
func TestPrograms(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	with(t, s, func(s *Search) { s.Program = Program{Hash: "1", Name: "a"} })
	with(t, s, func(s *Search) { s.Program = Program{Hash: "1", Name: "b", Features: Features{Rank: 2}}; later(1)(s) })
	with(t, s, func(s *Search) { s.Program = Program{Hash: "1", Name: "c", Features: Features{Rank: 3}}; later(2)(s) })
	for i, err := range s.Sessions(ctx, Filter{}) {
		if want := (Program{Hash: "1", Name: "a", Features: Features{Rank: 2}}); err != nil || i.Program != want {
			t.Errorf("%+v, %v", i.Program, err)
		}
	}
	// Everything that sessions share is stored once.
	var n int
	if err := s.read.QueryRow("SELECT (SELECT count(*) FROM programs) * (SELECT count(*) FROM devices) * (SELECT count(*) FROM scenarios)").Scan(&n); n != 1 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// Who stops in the middle of a query leaves nothing behind, and an interrupt ends it.
func TestEarlyEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := sample(t)
	for range 20 {
		for range s.Records(ctx, Filter{}) {
			break
		}
	}
	if n := s.read.Stats().InUse; n != 0 {
		t.Errorf("%d connections are in use", n)
	}
	cancel()
	for _, err := range s.Records(ctx, Filter{}) {
		if err != context.Canceled {
			t.Error(err)
		}
	}
	// What was measured before an interrupt is stored all the same.
	x := begin(t, s, search1())
	trial := trial1()
	if err := x.Append(ctx, &trial); err != nil {
		t.Error(err)
	}
}

// A store serves several goroutines, which may share a session.
func TestGoroutines(t *testing.T) {
	ctx := context.Background()
	s := fresh(t)
	shared := begin(t, s, search1())
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			x := shared
			if g%2 == 1 {
				search := search1()
				later(g)(&search)
				var err error
				if x, err = s.Begin(ctx, search); err != nil {
					t.Error(err)
					return
				}
			}
			for i := range 40 {
				trial := numbered(g, i)
				if err := x.Append(ctx, &trial); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if _, err := s.Known(ctx, search1().Scenario); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	if n := len(log(t, s, shared.ID())); n != 80 || shared.Len() != 80 {
		t.Errorf("%d trials", n)
	}
	if report := sound(t, s); report.Trials != 160 {
		t.Errorf("%+v", report)
	}
}

// A variant that is condemned stays so when the store is opened again, whatever
// an earlier session says; its times stay.
func TestCondemn(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, Options{})
	with(t, s, nil, tried("b", OK, 1, 5))
	a, b := trial1(), tried("b", OK, 1, 5)
	a.Config, b.Reused = "a", true
	other := tried("a", OK, 4, 2)
	other.Kernel = "heat[0:1]"
	x := with(t, s, later(1), a, b, tried("c", OK, 3, 2), other)
	before := log(t, s, x.ID())
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		config string
		v      Verdict
	}{{"a", Wrong}, {"b", Crash}} {
		if err := x.Condemn(cancelled, "", c.config, c.v, "it was right 4 times before: next[1][1]"); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []error{
		x.Condemn(ctx, "", "a", Wrong, "again"), x.Condemn(ctx, "", "d", Wrong, "no such"), x.Condemn(ctx, "", "c", OK, "right"),
	} {
		if bad == nil {
			t.Error("that cannot be condemned")
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, Options{})
	want := slices.Clone(before)
	for i, v := range []Verdict{Wrong, Crash} {
		want[i].Verdict, want[i].Note, want[i].Reused = v, "it was right 4 times before: next[1][1]", false
	}
	if got := log(t, s, x.ID()); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	k, err := s.Known(ctx, search1().Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := k.Get("", "a"); !ok || r.Verdict != Wrong {
		t.Errorf("%+v", r)
	}
	if best, ok := k.Best(""); !ok || best.Config != "b" { // a crash says less than an earlier session that ran it
		t.Errorf("%+v", best)
	}
	y, err := s.Resume(ctx, x.ID(), "c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	if err := y.Condemn(ctx, "", "b", Wrong, "too late"); err == nil {
		t.Error("it had failed already")
	}
	if err := y.Condemn(ctx, "heat[0:1]", "a", Wrong, "later"); err != nil {
		t.Error(err)
	}
	if r, err := s.Check(ctx); err != nil || len(r.Problems) > 0 {
		t.Errorf("%v, %q", err, r.Problems)
	}
}

package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

func testKnown(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	with(t, s, nil,
		Tried("a", verdict.OK, 3, 5), Tried("b", verdict.OK, 1, 1), Tried("c", verdict.Crash, 0, 0),
		Tried("d", verdict.OK, 2, 3), Tried("e", verdict.OK, 0.5, 3), Tried("f", verdict.OK, 4, 2))
	again := Tried("x", verdict.OK, 0.1, 9) // not measured
	again.Reused = true
	other := Tried("a", verdict.OK, 0.2, 9)
	other.Kernel = "heat[0:1]"
	with(t, s, Later(1),
		Tried("a", verdict.OK, 9, 4),      // fewer samples than before
		Tried("b", verdict.OK, 3.5, 7),    // more: the first one was luck
		Tried("c", verdict.OK, 5, 1),      // it can run
		Tried("d", verdict.Timeout, 0, 0), // it could run
		Tried("e", verdict.Wrong, 0, 0),   // once wrong, always wrong
		Tried("f", verdict.OK, 4.5, 2),    // as many, later
		again, other)
	with(t, s, Later(2), Tried("e", verdict.OK, 0.4, 10))

	k, err := store.Known(ctx, s, Search().Scenario)
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
	best, found, err := store.Best(ctx, s, Search().Scenario, "")
	if err != nil || !found || best.Config != "d" {
		t.Errorf("the best is %+v, %v", best, err)
	}
	if _, found, err := store.Best(ctx, s, Search().Scenario, "norm[0:1]"); found || err != nil {
		t.Error("a kernel that was never tried has a best variant", err)
	}
}

// Trials that an earlier version has stored although the machine was to blame, and
// not the variant, count for nothing; those that look like them count.
func testTransient(t *testing.T, open Open) {
	s := open.fresh(t)
	note := func(config string, v verdict.Verdict, note string) session.Trial {
		x := Tried(config, v, 1, 1)
		x.Note = note
		return x
	}
	with(t, s, nil,
		note("a", verdict.Compiler,
			"the generated code cannot be written: write /c/tmp-1/kernels.c: no space left on device"),
		note("b", verdict.Compiler,
			"/usr/bin/cc could not compile the generated code:\n  cc: fatal error: Killed signal terminated program "+
				"cc1"),
		note("c", verdict.Crash,
			"the worker was lost: something killed it, as the system does when memory runs out (SIGKILL)"),
		note("d", verdict.Launch, "fork/exec /proc/self/exe: resource temporarily unavailable"),
		note("e", verdict.Compiler, "kernels.c:1:1: error: unknown type name"),
		note("f", verdict.Crash, "the worker was lost: it touched memory that is not its own (SIGSEGV)"),
		note("g", verdict.Compiler,
			"it needs more than 4.0 GiB to compile it\n  cc1: out of memory allocating 65536 bytes"),
		note("h", verdict.OK, "no space left on device"))
	k, err := store.Known(t.Context(), s, Search().Scenario)
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
func testScenarios(t *testing.T, open Open) {
	ctx := t.Context()
	for _, c := range []struct {
		name   string
		change func(*session.Scenario)
		known  bool
	}{
		{"same", func(*session.Scenario) {}, true},
		{"program", func(s *session.Scenario) { s.Program.Hash = "0" }, false},
		{"name of the program", func(s *session.Scenario) { s.Program.Name = "x.loom" }, true},
		{"API", func(s *session.Scenario) { s.Device.API = "opencl" }, false},
		{"device", func(s *session.Scenario) { s.Device.Name = "NVIDIA H100" }, false},
		{"driver", func(s *session.Scenario) { s.Device.Driver = "580" }, false},
		{"units", func(s *session.Scenario) { s.Device.Units = 114 }, false},
		{"serial number", func(s *session.Scenario) { s.Device.UUID = "GPU-0" }, true},
		{"clocks", func(s *session.Scenario) { s.Device.Clocks.Compute = 1200 }, true},
		{"properties", func(s *session.Scenario) { s.Device.Properties = session.Properties{} }, true},
		{"compiler", func(s *session.Scenario) { s.Compiler.Name = "nvcc" }, false},
		{"version", func(s *session.Scenario) { s.Compiler.Version = "12.9" }, false},
		{"options", func(s *session.Scenario) { s.Compiler.Options = "" }, true}, // not said
		{"other options", func(s *session.Scenario) { s.Compiler.Options = "-O1" }, false},
		{"host", func(s *session.Scenario) { s.Host.Name = "node8" }, true},
		{"sizes", func(s *session.Scenario) { s.Sizes = session.ParseSizes("L=1,M=1,N=1") }, false},
		{"type", func(s *session.Scenario) { s.DType = "float" }, false},
		{"arithmetic", func(s *session.Scenario) { s.FP = "strict" }, false},
	} {
		s := open.fresh(t)
		with(t, s, nil, Tried("a", verdict.OK, 1, 1))
		scenario := Search().Scenario
		c.change(&scenario)
		if k, err := store.Known(ctx, s, scenario); err != nil || k.Len() == 1 != c.known {
			t.Errorf("%s: %d variants are known, %v", c.name, k.Len(), err)
		}
	}
}

// What several processes did together is not compared with what one did, nor with
// another decomposition.
func testClusters(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	clusters := []session.Cluster{
		{}, {Ranks: 4, Decomposition: []int{2, 2, 1}, Network: "ib"},
		{Ranks: 4, Decomposition: []int{4, 1, 1}, Network: "ib"},
		{Ranks: 4, Decomposition: []int{4, 1, 1}, Network: "ethernet"}, {Ranks: 1},
	}
	for n, c := range clusters {
		with(t, s, func(s *session.Search) { Later(n)(s); s.Cluster = c }, Tried("a", verdict.OK, float64(10-n), 1))
	}
	for n, c := range clusters {
		scenario := Search().Scenario
		scenario.Cluster = c
		best, found, err := store.Best(ctx, s, scenario, "")
		if err != nil || !found || best.Median != float64(10-n) || !best.Session.SameCluster(&c) {
			t.Errorf("%+v: the best is %+v, %v", c, best, err)
		}
		if list, err := store.Plans(ctx, s, scenario); err != nil || len(list) != 1 || list[0].Median != float64(10-n) {
			t.Errorf("%+v: %+v, %v", c, list, err)
		}
	}
}

func testBestOfSizes(t *testing.T, open Open) {
	s := open.fresh(t)
	sized := func(n int) func(*session.Search) {
		return func(s *session.Search) { s.Sizes = session.Sizes{{Name: "N", Value: int64(n)}} }
	}
	with(t, s, sized(64), Tried("a", verdict.OK, 2, 1), Tried("b", verdict.OK, 1, 1))
	with(t, s, sized(128), Tried("a", verdict.OK, 3, 1), Tried("b", verdict.OK, 4, 1))
	with(t, s, sized(256), Tried("a", verdict.Crash, 0, 0))
	with(t, s, func(s *session.Search) { s.Sizes, s.DType = session.ParseSizes("N=512"), "float" },
		Tried("a", verdict.OK, 3, 1))
	list, err := store.BestOfSizes(t.Context(), s, Search().Scenario, "")
	var got []string
	for _, r := range list {
		got = append(got, r.Session.Sizes.String()+" "+r.Config)
	}
	if want := []string{"N=128 a", "N=64 b"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

func testSimilar(t *testing.T, open Open) {
	s := open.fresh(t)
	program := func(name string, f session.Features) func(*session.Search) {
		return func(s *session.Search) { s.Program = session.Program{Hash: name, Name: name + ".loom", Features: f} }
	}
	with(t, s, nil, Tried("own", verdict.OK, 1, 1))
	with(t, s, program("star13", session.Features{Rank: 3, Radius: 2, Points: 13, Arrays: 2, Flops: 16}),
		Tried("a", verdict.OK, 1, 1), Tried("b", verdict.OK, 2, 1))
	with(t, s, program("twin", session.Features{Rank: 3, Radius: 1, Points: 7, Arrays: 2, Flops: 8}),
		Tried("c", verdict.OK, 1, 1))
	with(t, s, program("box125", session.Features{Rank: 3, Radius: 2, Points: 125, Arrays: 2, Flops: 250}),
		Tried("d", verdict.OK, 1, 1))
	with(t, s, program("flat", session.Features{Rank: 2, Radius: 1, Points: 5, Arrays: 2, Flops: 6}),
		Tried("e", verdict.OK, 1, 1))
	with(t, s, program("broken", session.Features{Rank: 3, Radius: 1, Points: 7, Arrays: 2, Flops: 8}),
		Tried("f", verdict.Crash, 0, 0))
	with(t, s, func(s *session.Search) {
		program("elsewhere", session.Features{Rank: 3, Radius: 1, Points: 7, Arrays: 2, Flops: 8})(s)
		s.Device.Name = "A100"
	}, Tried("g", verdict.OK, 1, 1))
	last := Tried("h", verdict.OK, 5, 1)
	last.At = Noon.Add(time.Hour)
	with(t, s, func(s *session.Search) {
		program("star13", session.Features{Rank: 3, Radius: 2, Points: 13, Arrays: 2, Flops: 16})(s)
		s.Sizes = session.ParseSizes("L=64,M=64,N=64")
	}, last)
	for n, want := range [][]string{nil, {"c"}, {"c", "h"}, {"c", "h", "d"}, {"c", "h", "d"}} {
		list, err := store.Similar(t.Context(), s, Search().Scenario, n)
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

// Plans are those of the whole program, at any sizes, with any driver.
func testPlans(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	sizes := func(text string, n int) func(*session.Search) {
		return func(x *session.Search) {
			Later(n)(x)
			x.Sizes, x.Device.Driver = session.ParseSizes(text), fmt.Sprint("driver ", n)
		}
	}
	kernel := Tried("k", verdict.OK, 0.001, 3)
	kernel.Kernel = "heat[0:1]"
	with(t, s, sizes("N=8", 0), Tried("slow", verdict.OK, 3, 3), Tried("fast", verdict.OK, 1, 3), kernel,
		Tried("bad", verdict.Wrong, 0, 0))
	with(t, s, sizes("N=64", 1), Tried("wide", verdict.OK, 7, 3))
	with(t, s, sizes("N=8", 2), Tried("fast", verdict.OK, 2, 9)) // measured better
	with(t, s, func(x *session.Search) { Later(3)(x); x.Device.Name = "another" },
		Tried("elsewhere", verdict.OK, 0.1, 3))
	with(t, s, func(x *session.Search) { Later(4)(x); x.FP = "strict" }, Tried("strict", verdict.OK, 0.1, 3))
	list, err := store.Plans(ctx, s, Search().Scenario)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range list {
		got = append(got, fmt.Sprintf("%s %s %g", r.Session.Sizes, r.Config, r.Median))
	}
	if want := "N=64 wide 7; N=8 fast 2; N=8 slow 3"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
}

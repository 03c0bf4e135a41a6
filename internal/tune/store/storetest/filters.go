package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

func testFilters(t *testing.T, open Open) {
	s := sample(t, open)
	x := with(t, s, func(s *session.Search) {
		s.Program.Hash, s.Program.Name = "99aa", "examples/wave.loom"
		s.Device = session.Device{API: "cpu", Name: "EPYC_9654 100%"}
		s.Strategy, s.DType = "random", "float"
		s.Started = Noon.Add(24 * time.Hour)
	})
	trial := Tried("z", verdict.OK, 1, 1)
	trial.Kernel, trial.At = "wave[0:1]", Noon.Add(25*time.Hour)
	add(t, x, trial)
	for _, c := range []struct {
		name string
		f    store.Filter
		want int
	}{
		{"all", store.Filter{}, 13},
		{"session", store.Filter{Session: "bbbbbb"}, 4},
		{"session that is none", store.Filter{Session: "bbbbbbc"}, 0},
		{"program", store.Filter{Program: "heat3d.loom"}, 12},
		{"part of the name", store.Filter{Program: "wave"}, 1},
		{"another case", store.Filter{Program: "Wave"}, 0},
		{"hash", store.Filter{Program: "6f1ed0"}, 12},
		{"device", store.Filter{Device: "h200"}, 12},
		{"API", store.Filter{Device: "CPU"}, 1},
		{"no pattern", store.Filter{Device: "EPYC%100"}, 0},
		{"as it is", store.Filter{Device: "EPYC_9654 100%"}, 1},
		{"sizes", store.Filter{Sizes: "L=64,M=64,N=64"}, 4},
		{"type", store.Filter{DType: "float"}, 1},
		{"strategy", store.Filter{Strategy: "random"}, 1},
		{"kernel", store.Filter{Kernel: "wave[0:1]"}, 1},
		{"kernel that is none", store.Filter{Kernel: "x"}, 0},
		{"verdict", store.Filter{Verdict: []verdict.Verdict{verdict.OK}}, 10},
		{"verdicts", store.Filter{Verdict: []verdict.Verdict{verdict.Compiler, verdict.Resources}}, 2},
		{"since", store.Filter{Since: Noon.Add(time.Hour + 2*time.Second)}, 6},
		{"until", store.Filter{Until: Noon.Add(time.Hour)}, 4},
		{"both", store.Filter{Since: Noon.Add(2 * time.Second), Until: Noon.Add(time.Hour)}, 1},
		{"together", store.Filter{Device: "cuda", Verdict: []verdict.Verdict{verdict.OK}, Session: "aaaaaa"}, 3},
	} {
		n := 0
		for _, err := range s.Records(t.Context(), c.f) {
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

// A filter lets pass what its methods say, and nothing else.
func testFilterIsDefined(t *testing.T, open Open) {
	s := open.fresh(t)
	rng := rand.New(rand.NewPCG(3, 1))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	for n := range 40 {
		i := session.Session{ID: fmt.Sprintf("%06x%06x", rng.IntN(1<<24), n), Search: Search()}
		i.Program = session.Program{Hash: pick("0a1b", "0aff", "77"), Name: pick("heat", "wave.loom")}
		i.Device = session.Device{API: pick("cuda", "cpu"), Name: pick("H200", "x86 CPU"), Driver: pick("", "1", "2"),
			Units: rng.IntN(3)}
		i.Compiler = session.Compiler{Name: pick("c", "cuda"), Options: pick("", "-O2", "-O3")}
		i.Sizes, i.DType, i.FP = session.ParseSizes(pick("N=8", "N=64", "8x8")), pick("double", "float"),
			pick("strict", "contract")
		i.Ranks, i.Network, i.Strategy = rng.IntN(2), pick("", "ib"), pick("auto", "random")
		i.Started = Noon.Add(time.Duration(rng.IntN(5)) * time.Hour)
		i.Set = session.Current()
		if rng.IntN(3) == 0 {
			i.Set = old
		}
		var trials []session.Trial
		for range rng.IntN(6) {
			trial := Tried(pick("a", "b"), verdict.Verdict(rng.IntN(3)), 1, 1)
			trial.Kernel, trial.At = pick("", "heat[0:1]"), i.Started.Add(time.Duration(rng.IntN(90))*time.Minute)
			trials = append(trials, trial)
		}
		put(t, s, i, trials...)
	}
	var all []store.Record
	for r, err := range s.Records(t.Context(), store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	passed, most := 0, 0
	for range 500 {
		f := store.Filter{Session: pick("", "", "", "", "0", "1"), Program: pick("", "", "heat", "0a"),
			Device: pick("", "", "CPU", "h2", "cuda"),
			Sizes:  pick("", "", "N=8", "8x8"), DType: pick("", "", "float"), Strategy: pick("", "", "auto"),
			Kernel: pick("", "", "", "heat[0:1]", "x"),
			Whole:  rng.IntN(4) == 0, Versions: store.Versions(max(0, rng.IntN(6)-3)),
			Arithmetic: max(0, rng.IntN(6)-3)}
		if rng.IntN(2) == 0 {
			f.Verdict = []verdict.Verdict{verdict.Verdict(rng.IntN(3)), verdict.OK}
		}
		if rng.IntN(3) == 0 {
			f.Since = Noon.Add(time.Duration(rng.IntN(200)) * time.Minute)
		}
		if rng.IntN(3) == 0 {
			f.Until = Noon.Add(time.Duration(rng.IntN(400)) * time.Minute)
		}
		if rng.IntN(4) == 0 {
			l := session.Scenario{DType: pick("", "double"), FP: pick("", "strict"),
				Sizes: session.ParseSizes(pick("", "N=64"))}
			l.Program.Hash = pick("", "", "77")
			l.Device = session.Device{API: pick("", "cpu"), Name: pick("", "H200"), Driver: pick("", "1"),
				Units: rng.IntN(3)}
			l.Compiler = session.Compiler{Name: pick("", "c"), Options: pick("", "-O2")}
			l.Ranks, l.Network = rng.IntN(2), pick("", "ib")
			f.Like = &l
		}
		var want, got []string
		for _, r := range all {
			if f.HasSession(r.Session) && f.HasTrial(&r.Trial) {
				want = append(want, fmt.Sprint(r.Session.ID, r.Index))
			}
		}
		for r, err := range s.Records(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(r.Session.ID, r.Index))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%+v lets pass %q, want %q", f, got, want)
		}
		passed, most = passed+min(len(got), 1), max(most, len(got))
	}
	if passed < 100 || most < 5 {
		t.Errorf("%d of 500 filters let something pass, at most %d", passed, most)
	}
}

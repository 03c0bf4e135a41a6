package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// old are the versions of what names none.
var old = versions.Set{Arithmetic: 1, IR: 1}

// earlier is a session of the first versions.
type earlier struct {
	change func(*session.Search)
	trials []session.Trial
}

// aged opens a store with sessions of the first versions.
func (open Open) aged(t *testing.T, list ...earlier) store.Store {
	t.Helper()
	s := open.fresh(t)
	for n, e := range list {
		i := session.Session{ID: fmt.Sprintf("01d%09d", n), Search: Search()}
		e.change(&i.Search)
		i.Set = old
		i.Finished, i.Outcome = i.Started.Add(time.Hour), "time is up"
		i.Runs = []session.Run{{Started: i.Started, Commit: i.Commit},
			{Trial: 1, Started: i.Started.Add(time.Minute), Commit: "later"}}
		put(t, s, i, e.trials...)
	}
	return s
}

// mode changes the mode of arithmetic.
func mode(fp string, n int) func(*session.Search) {
	return func(s *session.Search) { Later(n)(s); s.FP = fp }
}

// configs are those of records.
func configs(list []store.Record) []string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s %s %g", r.Session.Sizes, r.Config, r.Median))
	}
	return out
}

// What was measured under the first versions is no measurement of now: not known,
// not best, not refused, not wrong, not a plan, under any mode. It is where searches begin,
// and what runs fall back on.
func testVersionsAreNotMixed(t *testing.T, open Open) {
	ctx := t.Context()
	for _, fp := range []string{"strict", "contract", "fast"} {
		sized := func(sizes string, n int) func(*session.Search) {
			return func(s *session.Search) { mode(fp, n)(s); s.Sizes = session.ParseSizes(sizes) }
		}
		s := open.aged(t,
			earlier{sized("N=8", 0), []session.Trial{Tried("fast", verdict.OK, 1, 9), Tried("slow", verdict.OK, 2, 9),
				Tried("refused", verdict.Crash, 0, 0), Tried("wrong", verdict.Wrong, 0, 0),
				Tried("since", verdict.OK, 0.5, 9)}},
			earlier{sized("N=64", 1), []session.Trial{Tried("wide", verdict.OK, 7, 9),
				Tried("wider", verdict.OK, 6, 9)}})
		c := Search().Scenario
		c.FP, c.Sizes = fp, session.ParseSizes("N=8")
		nothing := func(when string) {
			t.Helper()
			k, err := store.Known(ctx, s, c)
			if err != nil || k.Len() != 0 {
				t.Errorf("%s: %d variants are known, %v", when, k.Len(), err)
			}
			if best, found, err := store.Best(ctx, s, c, ""); found || err != nil {
				t.Errorf("%s: the best is %+v, %v", when, best, err)
			}
			if list, err := store.Plans(ctx, s, c); len(list) != 0 || err != nil {
				t.Errorf("%s: plans %q, %v", when, configs(list), err)
			}
		}
		nothing("old")
		older := func(want ...string) {
			t.Helper()
			if list, err := store.OlderPlans(ctx, s, c); err != nil || !slices.Equal(configs(list), want) {
				t.Errorf("older plans %q, want %q, %v", configs(list), want, err)
			}
		}
		older("N=64 wider 6", "N=64 wide 7", "N=8 since 0.5", "N=8 fast 1", "N=8 slow 2")
		begins := func(want ...string) {
			t.Helper()
			if list, err := store.BestOfSizes(ctx, s, c, ""); err != nil || !slices.Equal(configs(list), want) {
				t.Errorf("begins with %q, want %q, %v", configs(list), want, err)
			}
		}
		begins("N=64 wider 6", "N=8 since 0.5")

		// Now it is measured again, slower: that counts, alone.
		with(t, s, sized("N=8", 2), Tried("fast", verdict.OK, 4, 1), Tried("refused", verdict.OK, 5, 1),
			Tried("wrong", verdict.OK, 6, 1), Tried("since", verdict.Wrong, 0, 0))
		k, err := store.Known(ctx, s, c)
		if err != nil || k.Len() != 4 {
			t.Errorf("%d variants are known, %v", k.Len(), err)
		}
		if best, _, err := store.Best(ctx, s, c, ""); err != nil || best.Config != "fast" || best.Median != 4 ||
			!best.Session.IsCurrent() {
			t.Errorf("the best is %+v, %v", best, err)
		}
		if list, err := store.Plans(ctx, s, c); err != nil ||
			!slices.Equal(configs(list), []string{"N=8 fast 4", "N=8 refused 5", "N=8 wrong 6"}) {
			t.Errorf("plans %q, %v", configs(list), err)
		}
		begins("N=64 wider 6", "N=8 fast 4")
		older("N=64 wider 6", "N=64 wide 7", "N=8 fast 1", "N=8 slow 2") // the other is wrong now
		sound(t, s)
	}
}

// Of a similar program the latest versions count, though an older session is later.
func testSimilarOfVersions(t *testing.T, open Open) {
	ctx := t.Context()
	twin := func(n int) func(*session.Search) {
		return func(s *session.Search) {
			Later(n)(s)
			s.Program.Hash, s.Program.Name, s.Sizes = "twin", "twin.loom", session.Sizes{{Name: "N", Value: int64(n)}}
		}
	}
	then := Tried("old", verdict.OK, 1, 1)
	then.At = Noon.Add(time.Hour)
	s := open.aged(t, earlier{twin(60), []session.Trial{then}})
	similar := func(want string) {
		t.Helper()
		list, err := store.Similar(ctx, s, Search().Scenario, 4)
		if err != nil || len(list) != 1 || list[0].Config != want {
			t.Errorf("%+v, want %s, %v", list, want, err)
		}
	}
	similar("old")
	with(t, s, twin(1), Tried("new", verdict.OK, 2, 1))
	similar("new")
}

// A session of other versions does not go on.
func testResumeOfVersions(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.aged(t, earlier{mode("contract", 0), []session.Trial{Tried("a", verdict.OK, 1, 1)}})
	_, err := s.Resume(ctx, "01d", "commit")
	want := fmt.Sprintf("session 01d000000000 was measured under arithmetic 1 and program IR 1, and this Gridloom "+
		"has arithmetic %d and program IR %d (begin another session)",
		arith.Version, ir.Version)
	if !errors.Is(err, store.ErrVersions) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if i, err := store.Session(ctx, s, "01d"); err != nil || i.Finished.IsZero() || len(i.Runs) != 2 {
		t.Errorf("the session has become %+v, %v", i, err)
	}
}

// Versions go with what is exported, and come back.
func testVersionsAreExported(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.aged(t, earlier{mode("contract", 0), []session.Trial{Tried("a", verdict.OK, 1, 1)}})
	with(t, s, mode("contract", 1), Tried("a", verdict.OK, 2, 1))
	text := lines(t, s)
	to := open.fresh(t)
	if _, err := store.Import(ctx, to, bytes.NewReader(text), store.Source{}); err != nil {
		t.Fatal(err)
	}
	if again := lines(t, to); !bytes.Equal(again, text) {
		t.Errorf("came back as\n%s\nnot\n%s", again, text)
	}
	var table bytes.Buffer
	if err := store.ExportCSV(ctx, to, &table, store.Filter{}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{",fp,arithmetic,ir,", ",contract,1,1,",
		fmt.Sprintf(",contract,%d,%d,", arith.Version, ir.Version)} {
		if line := strings.Split(table.String(), "\n")[i]; !strings.Contains(line, want) {
			t.Errorf("line %d is %s, without %s", i+1, line, want)
		}
	}
	// A file of T4 has one scenario, and so one version.
	var b bytes.Buffer
	err := store.ExportT4(ctx, to, &b, store.Filter{})
	if want := fmt.Sprintf(`these are of several: versions "arithmetic 1 and program IR 1" and "arithmetic %d and program IR %d" (choose with`, arith.Version, ir.Version); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	for _, want := range []versions.Set{old, session.Current()} {
		b.Reset()
		if err := store.ExportT4(ctx, to, &b, store.Filter{Arithmetic: want.Arithmetic}); err != nil {
			t.Fatal(err)
		}
		one := open.fresh(t)
		if _, err := store.Import(ctx, one, &b, store.Source{}); err != nil {
			t.Fatal(err)
		}
		for r, err := range one.Records(ctx, store.Filter{}) {
			if err != nil || r.Session.Set != want {
				t.Errorf("%+v, want %+v, %v", r.Session, want, err)
			}
		}
		if report := sound(t, one); report.Trials != 1 {
			t.Errorf("%+v", report)
		}
	}
}

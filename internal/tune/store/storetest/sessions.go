package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

func testSession(t *testing.T, open Open) {
	ctx := t.Context()
	place := t.TempDir()
	s := open(t, place)
	x := begin(t, s, Search())
	first, second := Trial(), session.Trial{Config: "family=loops", Kernel: "heat[0:1]", Verdict: verdict.Timeout,
		Note: "longer than 2 s", At: Noon.Add(2 * time.Second)}
	told := []*session.Trial{&first, &second}
	for _, trial := range told {
		if err := x.Append(ctx, trial); err != nil {
			t.Fatal(err)
		}
	}
	if first.Index != 0 || second.Index != 1 || x.Len() != 2 {
		t.Errorf("indices %d and %d of %d", first.Index, second.Index, x.Len())
	}
	if first.Median != Trial().Median || first.Compile != Trial().Compile || first.At != Trial().At {
		t.Errorf("rounding changed %+v", first)
	}
	// What was told is what the log says, in this process and in the next.
	again := open(t, place)
	for _, s := range []store.Store{s, again} {
		if got := log(t, s, x.ID()[:5]); !reflect.DeepEqual(got, []session.Trial{first, second}) {
			t.Errorf("logged %+v", got)
		}
		info, err := store.Session(ctx, s, x.ID())
		if err != nil || !reflect.DeepEqual(info, x.Info()) || info.Seed != 1<<63 {
			t.Errorf("the session is %+v, %v", info, err)
		}
	}

	// What is used again has the time at which it is.
	reused := first
	reused.Reused, reused.At = true, Noon.Add(-time.Hour)
	if err := x.Append(ctx, &reused); err != nil || time.Since(reused.At) > time.Hour || reused.Index != 2 {
		t.Errorf("%+v, %v", reused, err)
	}

	// It is taken up by another Gridloom.
	if err := x.Finish(ctx, "interrupted"); err != nil {
		t.Fatal(err)
	}
	if info, err := store.Session(ctx, s, x.ID()); err != nil || info.Outcome != "interrupted" ||
		info.Finished.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
	y, err := s.Resume(ctx, x.ID(), "fedcba")
	if err != nil {
		t.Fatal(err)
	}
	third := Trial()
	add(t, y, third)
	var commits []string
	for r, err := range s.Records(ctx, store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		commits = append(commits, fmt.Sprint(r.Index, " ", r.Commit()))
	}
	if want := []string{"0 0123456789ab", "1 0123456789ab", "2 0123456789ab", "3 fedcba"}; !reflect.DeepEqual(commits,
		want) {
		t.Errorf("%q", commits)
	}
	if info, _ := store.Session(ctx, s, x.ID()); info.Outcome != "" || !info.Finished.IsZero() || len(info.Runs) != 2 {
		t.Errorf("after it was taken up: %+v", info)
	}

	// Who goes on after that in the first process is told.
	late := Trial()
	err = x.Append(ctx, &late)
	if want := fmt.Sprintf("session %s goes on in another process, which has stored trial 3 (end one of the two)",
		x.ID()); !errors.Is(err, store.ErrBusy) || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
	if n := len(log(t, s, x.ID())); n != 4 {
		t.Errorf("%d trials", n)
	}
}

func testNoSession(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	a := begin(t, s, Search())
	want := `there is no session "zz" (gridloom results sessions lists them)`
	for trial, err := range store.Log(ctx, s, "zz") {
		if err == nil || !strings.HasSuffix(err.Error(), want) || trial.Config != "" {
			t.Error(err)
		}
	}
	if _, err := s.Resume(ctx, "zz", ""); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
	var b store.Recorder
	for i := 1; b == nil || b.ID()[0] != a.ID()[0]; i++ { // another whose name begins alike
		b = with(t, s, Later(i))
	}
	_, err := store.Session(ctx, s, a.ID()[:1])
	if err == nil || !strings.Contains(err.Error(), "2 sessions begin with") || !strings.Contains(err.Error(), b.ID()) {
		t.Error(err)
	}
}

// What no measurement gives is refused, and nothing of it is stored.
func testAbsurd(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	x := begin(t, s, Search())
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		spoil func(*session.Trial)
		want  string
	}{
		{func(t *session.Trial) { t.Config = "" }, "trial 0: it has no configuration"},
		{func(t *session.Trial) { t.Median = 0 }, "trial 0: a variant that ran took 0 s"},
		{func(t *session.Trial) { t.Median = -1 }, "trial 0: a variant that ran took -1 s"},
		{func(t *session.Trial) { t.Median = nan }, "trial 0: a variant that ran took NaN s"},
		{func(t *session.Trial) { t.Median = inf }, "trial 0: a time of +Inf s (0.0012 to 0.0013)"},
		{func(t *session.Trial) { t.Median, t.Verdict = nan, verdict.Wrong },
			"trial 0: a time of NaN s (0.0012 to 0.0013)"},
		{func(t *session.Trial) { t.Verdict = 8 }, "trial 0: there is no verdict 8"},
		{func(t *session.Trial) { t.High = nan }, "trial 0: a time of 0.00123456789 s (0.0012 to NaN)"},
		{func(t *session.Trial) { t.Low = inf }, "trial 0: a time of 0.00123456789 s (+Inf to 0.0013)"},
		{func(t *session.Trial) { t.Low = 2 }, "trial 0: a time of 0.00123456789 s (2 to 0.0013)"},
		{func(t *session.Trial) { t.Samples[1] = -1 }, "trial 0: a sample of -1 s"},
		{func(t *session.Trial) { t.Samples[1] = nan }, "trial 0: a sample of NaN s"},
		{func(t *session.Trial) { t.Samples[1] = inf }, "trial 0: a sample of +Inf s"},
		{func(t *session.Trial) { t.Compile = -1 }, "trial 0: it took -1ns"},
		{func(t *session.Trial) { t.Resources.Spills = -1 }, "trial 0: negative resources"},
		{func(t *session.Trial) { t.Resources.Blocks = -1 }, "trial 0: negative resources"},
		{func(t *session.Trial) { t.Resources.Occupancy = float32(nan) }, "trial 0: an occupancy of NaN"},
		{func(t *session.Trial) { t.Condition.Clock = -1 }, "trial 0: a condition of -1"},
	} {
		trial := Trial()
		c.spoil(&trial)
		if err := x.Append(ctx, &trial); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		trial = Trial()
		c.spoil(&trial)
		i := x.Info()
		err := s.Merge(ctx, func(b store.Batch) error {
			if _, err := b.Session(&i); err != nil {
				t.Error(err)
			}
			_, err := b.Trial(i.ID, &trial)
			return err
		})
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("merged: %v, want %s", err, c.want)
		}
	}
	if err := x.Report(ctx, &session.Event{Kind: "party"}); err == nil {
		t.Error("an event of no kind was stored")
	}
	if n := len(log(t, s, x.ID())); n != 0 || x.Len() != 0 {
		t.Errorf("%d trials were stored", n)
	}
	for _, spoil := range []func(*session.Session){
		func(i *session.Session) { i.Arithmetic = 99 }, func(i *session.Session) { i.Set.IR = -1 },
		func(i *session.Session) { i.Ranks = -1 },
		func(i *session.Session) { i.Sizes = append(i.Sizes, i.Sizes...) },
	} {
		i := x.Info()
		i.ID = "ffffffffffff"
		spoil(&i)
		if err := s.Merge(ctx, func(b store.Batch) error { _, err := b.Session(&i); return err }); err == nil {
			t.Errorf("%+v was taken in", i)
		}
	}
	if report := sound(t, s); report.Sessions != 1 || report.Trials+report.Events != 0 {
		t.Errorf("%+v", report)
	}
}

// Sessions come from the oldest, those of one moment by name, and trials in their order,
// however they were put in.
func testOrder(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	var want []string
	for _, n := range []int{3, 1, 2, 1} {
		i := session.Session{ID: fmt.Sprintf("%012d", 100*n+len(want)), Search: Search()}
		Later(n)(&i.Search)
		err := s.Merge(ctx, func(b store.Batch) error {
			_, err := b.Session(&i)
			for _, index := range []int{2, 0, 1} {
				trial := Numbered(n, index)
				trial.Index = index
				_, failed := b.Trial(i.ID, &trial)
				err = errors.Join(err, failed)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, i.ID)
	}
	slices.Sort(want)
	var got []string
	for i, err := range s.Sessions(ctx, store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, i.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("sessions %q, want %q", got, want)
	}
	n := 0
	for r, err := range s.Records(ctx, store.Filter{}) {
		if err != nil || r.Session.ID != want[n/3] || r.Index != n%3 {
			t.Fatalf("record %d is trial %d of %s, %v", n, r.Index, r.Session.ID, err)
		}
		n++
	}
	if n != 12 {
		t.Errorf("%d trials", n)
	}
}

// All that a search and a trial say comes back, from another handle, too.
func testComplete(t *testing.T, open Open) {
	place := t.TempDir()
	s := open(t, place)
	search := Search()
	search.Cluster = session.Cluster{Ranks: 4, Decomposition: []int{2, 2, 1}, Network: "infiniband"}
	x := begin(t, s, search)
	trial := Trial()
	add(t, x, trial)
	trial.Round(Noon)
	search.Set = session.Current()
	want := session.Session{ID: x.ID(), Search: search, Runs: []session.Run{{Started: Noon, Commit: search.Commit}}}
	for name, s := range map[string]store.Store{"this": s, "another": open(t, place)} {
		if got := sessionOf(t, s, x.ID()); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, want)
		}
		if got := log(t, s, x.ID()); !reflect.DeepEqual(got, []session.Trial{trial}) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, trial)
		}
		if totals, err := s.Totals(t.Context(), x.ID()); err != nil ||
			totals != (store.Totals{Trials: 1, Right: 1, Best: trial.Median}) {
			t.Errorf("%s: %+v, %v", name, totals, err)
		}
	}
}

// Events come back in order, and go on where a session is taken up.
func testEvents(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	x := begin(t, s, Search())
	told := []session.Event{
		{Kind: session.Start, Text: "cuda:0: NVIDIA H200", At: Noon.Add(1234567 * time.Nanosecond)},
		{Kind: session.Kernel, Kernel: "heat[0:1]", Space: "1,234,567", Share: 0.75, Seconds: 0.0012,
			At: Noon.Add(time.Second)},
		{Kind: session.Note, Text: strings.Repeat("é", 5000), At: Noon.Add(time.Minute)},
		{Kind: session.Profiled, Kernel: "heat[0:1]", Config: "family=cells", Seconds: 2, Text: "compute-bound",
			Detail: json.RawMessage(`{"kernel":"heat[0:1]","trials":[1,2]}`), At: Noon.Add(2 * time.Minute)},
	}
	for i := range told {
		if err := x.Report(ctx, &told[i]); err != nil || told[i].Index != i {
			t.Fatalf("%+v, %v", told[i], err)
		}
	}
	y, err := s.Resume(ctx, x.ID(), "again")
	if err != nil {
		t.Fatal(err)
	}
	last := session.Event{Kind: session.Condemned, Kernel: "heat[0:1]", Config: "family=cells", Text: "next[1][1]"}
	if err := y.Report(ctx, &last); err != nil || last.At.IsZero() {
		t.Fatal(err)
	}
	if err := x.Report(ctx, &session.Event{Kind: session.Note}); !errors.Is(err, store.ErrBusy) {
		t.Error(err)
	}
	var got []session.Event
	for e, err := range s.Events(ctx, x.ID()[:6]) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if want := append(told, last); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, err := range s.Events(ctx, "zz") {
		if err == nil {
			t.Error("a session that is none has events")
		}
	}
	if report := sound(t, s); report.Events != 5 {
		t.Errorf("%+v", report)
	}
}

// A search that ends without a word, as one that is killed does, can be taken up: all
// that it has stored is there, and the next trial has the next index.
func testAbandoned(t *testing.T, open Open) {
	ctx := t.Context()
	place := t.TempDir()
	s := open(t, place)
	x := begin(t, s, Search())
	for i := range 10 {
		add(t, x, Numbered(0, i))
	}
	// s is not closed, and x not finished.
	again := open(t, place)
	if i := sessionOf(t, again, x.ID()); !i.Finished.IsZero() || i.Outcome != "" {
		t.Errorf("%+v", i)
	}
	y, err := again.Resume(ctx, x.ID(), "again")
	if err != nil || y.Len() != 10 {
		t.Fatal(err)
	}
	add(t, y, Numbered(0, 10))
	list := log(t, again, x.ID())
	for i := range list {
		if list[i].Index != i || list[i].Config != Numbered(0, i).Config {
			t.Errorf("trial %d is %+v", i, list[i])
		}
	}
	if len(list) != 11 {
		t.Errorf("%d trials", len(list))
	}
	if i := sessionOf(t, again, x.ID()); len(i.Runs) != 2 || i.Runs[1].Trial != 10 {
		t.Errorf("%+v", i.Runs)
	}
}

// Several handles write at once, each to a session of its own.
func testHandles(t *testing.T, open Open) {
	place := t.TempDir()
	var wait sync.WaitGroup
	ids := make([]string, 3)
	for h := range ids {
		s := open(t, place)
		wait.Go(func() {
			search := Search()
			Later(h)(&search)
			x, err := s.Begin(context.Background(), search)
			if err != nil {
				t.Error(err)
				return
			}
			ids[h] = x.ID()
			for i := range 50 {
				trial := Numbered(h, i)
				if err := x.Append(context.Background(), &trial); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	s := open(t, place)
	for h, id := range ids {
		list := log(t, s, id)
		if len(list) != 50 {
			t.Errorf("handle %d has stored %d trials", h, len(list))
		}
		for i := range list {
			if list[i].Config != Numbered(h, i).Config {
				t.Errorf("trial %d of handle %d is %s", i, h, list[i].Config)
			}
		}
	}
	if report := sound(t, s); report.Sessions != 3 || report.Trials != 150 {
		t.Errorf("%+v", report)
	}
}

// The IR and features come from whoever knows them first; the name is the first one.
func testPrograms(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	with(t, s, func(s *session.Search) { s.Program = session.Program{Hash: "1", Name: "a"} })
	with(t, s, func(s *session.Search) {
		s.Program = session.Program{Hash: "1", Name: "b", Features: session.Features{Rank: 2}}
		Later(1)(s)
	})
	with(t, s, func(s *session.Search) {
		s.Program = session.Program{Hash: "1", Name: "c", IR: "(program)", Features: session.Features{Rank: 3}}
		Later(2)(s)
	})
	for i, err := range s.Sessions(ctx, store.Filter{}) {
		if want := (session.Program{Hash: "1", Name: "a", IR: "(program)",
			Features: session.Features{Rank: 2}}); err != nil || i.Program != want {
			t.Errorf("%+v, %v", i.Program, err)
		}
	}
}

// A variant that is condemned stays so when the store is opened again, whatever
// an earlier session says; its times stay.
func testCondemn(t *testing.T, open Open) {
	ctx := t.Context()
	place := t.TempDir()
	s := open(t, place)
	with(t, s, nil, Tried("b", verdict.OK, 1, 5))
	a, b := Trial(), Tried("b", verdict.OK, 1, 5)
	a.Config, b.Reused = "a", true
	other := Tried("a", verdict.OK, 4, 2)
	other.Kernel = "heat[0:1]"
	x := with(t, s, Later(1), a, b, Tried("c", verdict.OK, 3, 2), other)
	before := log(t, s, x.ID())
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		config string
		v      verdict.Verdict
	}{{"a", verdict.Wrong}, {"b", verdict.Crash}} {
		if err := x.Condemn(cancelled, "", c.config, c.v, "it was right 4 times before: next[1][1]"); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []error{
		x.Condemn(ctx, "", "a", verdict.Wrong, "again"), x.Condemn(ctx, "", "d", verdict.Wrong, "no such"),
		x.Condemn(ctx, "", "c", verdict.OK, "right"),
	} {
		if bad == nil {
			t.Error("that cannot be condemned")
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, place)
	want := slices.Clone(before)
	for i, v := range []verdict.Verdict{verdict.Wrong, verdict.Crash} {
		want[i].Verdict, want[i].Note, want[i].Reused = v, "it was right 4 times before: next[1][1]", false
	}
	if got := log(t, s, x.ID()); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	k, err := store.Known(ctx, s, Search().Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := k.Get("", "a"); !ok || r.Verdict != verdict.Wrong {
		t.Errorf("%+v", r)
	}
	if best, ok := k.Best(""); !ok || best.Config != "b" { // a crash says less than an earlier session that ran it
		t.Errorf("%+v", best)
	}
	y, err := s.Resume(ctx, x.ID(), "c0ffee")
	if err != nil {
		t.Fatal(err)
	}
	if err := y.Condemn(ctx, "", "b", verdict.Wrong, "too late"); err == nil {
		t.Error("it had failed already")
	}
	if err := y.Condemn(ctx, "heat[0:1]", "a", verdict.Wrong, "later"); err != nil {
		t.Error(err)
	}
	if r, err := s.Check(ctx); err != nil || len(r.Problems) > 0 {
		t.Errorf("%v, %q", err, r.Problems)
	}
}

// Who stops in the middle of a query disturbs nobody, and an interrupt ends it.
func testEarlyEnd(t *testing.T, open Open) {
	ctx, cancel := context.WithCancel(t.Context())
	s := sample(t, open)
	for range 20 {
		for range s.Records(ctx, store.Filter{}) {
			break
		}
	}
	cancel()
	for _, err := range s.Records(ctx, store.Filter{}) {
		if err != context.Canceled {
			t.Error(err)
		}
	}
	// What was measured before an interrupt is stored all the same.
	x := begin(t, s, Search())
	trial := Trial()
	if err := x.Append(ctx, &trial); err != nil {
		t.Error(err)
	}
}

// A store serves several goroutines, which may share a session.
func testGoroutines(t *testing.T, open Open) {
	ctx := t.Context()
	s := open.fresh(t)
	shared := begin(t, s, Search())
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			x := shared
			if g%2 == 1 {
				search := Search()
				Later(g)(&search)
				var err error
				if x, err = s.Begin(ctx, search); err != nil {
					t.Error(err)
					return
				}
			}
			for i := range 40 {
				trial := Numbered(g, i)
				if err := x.Append(ctx, &trial); err != nil {
					t.Error(err)
				}
				if i%10 == 0 {
					if _, err := store.Known(ctx, s, Search().Scenario); err != nil {
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

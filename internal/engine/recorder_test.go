package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/profile"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/store/sqlite"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// What a search keeps of its limits is what it planned with: strategies depend on it when
// it is taken up.
func TestLikelyAgain(t *testing.T) {
	for _, o := range []tuner.Options{
		{Budget: time.Minute},
		{Budget: 90 * time.Second, Target: tuner.Target{Fraction: 0.95}},
		{Trials: 1},
		{Trials: 1500},
		{Budget: 2 * time.Minute, Trials: 45, Target: tuner.Target{GStencils: 200}},
	} {
		text, err := json.Marshal((&TuneRequest{Options: o}).budget())
		if err != nil {
			t.Fatal(err)
		}
		var b session.Budget
		want := session.Budget{Time: o.Budget, Trials: o.Trials, Target: session.Target(o.Target)}
		if err := json.Unmarshal(text, &b); err != nil || b != want {
			t.Errorf("%s is %+v, %v", text, b, err)
		}
		for _, about := range []measure.About{{}, {Shared: true}} {
			got, want := tuner.Likely(about, b.Time, b.Trials), tuner.Likely(about, o.Budget, o.Trials)
			if got != want {
				t.Errorf("%s, shared %v: %d, planned with %d", text, about.Shared, got, want)
			}
		}
	}
}

// What a search is restricted to and began from is kept as it is, and compared without
// the latter.
func TestSpaceIsKept(t *testing.T) {
	fix, err := schedule.FixTo("", "family=loops|cells")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := schedule.ParsePlan("local=fused")
	if err != nil {
		t.Fatal(err)
	}
	good, err := schedule.ParseConfig("family=cells,block=4x32")
	if err != nil {
		t.Fatal(err)
	}
	r := TuneRequest{
		Options:      tuner.Options{Plan: plan, Good: []schedule.Config{good}, Free: true},
		Restrictions: schedule.Restrictions{schedule.LimitTo("", "vec<=4"), fix},
	}
	s := r.space()
	limits := []session.Restriction{
		{Kind: session.Limit, Text: "vec<=4"}, {Kind: session.Fix, Text: "family=loops|cells"},
	}
	want := session.Space{
		Restrictions: limits, Free: true, Plan: "local=fused", Begin: []string{"family=cells,block=4x32"},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v", s)
	}
	if list, err := began(s); err != nil || len(list) != 1 || list[0].String() != good.String() {
		t.Errorf("%v, %v", list, err)
	}
	other := s
	if other.Begin = nil; !other.SameAs(&s) {
		t.Error("it began from something else, and is another space")
	}
	if other.Free = false; other.SameAs(&s) {
		t.Error("it is free, and the same space")
	}
}

// What a search costs is kept as the strategy was told it.
func TestCostsAreKept(t *testing.T) {
	for n := range 1000 {
		cost := (time.Duration(n*n*37+n) * time.Microsecond).Seconds()
		if microseconds(cost).Seconds() != cost || microseconds(cost).Truncate(time.Microsecond) != microseconds(cost) {
			t.Fatalf("%v becomes %v", cost, microseconds(cost))
		}
	}
}

// What is condemned is not offered to the next search as right, nor are plans that
// have it; and a search that goes on knows what it took.
func TestCondemnedIsKept(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var search session.Search
	search.Program.Hash = "6f1e"
	n := &recorder{ctx: t.Context(), store: s, about: search.Scenario}
	earlier, err := s.Begin(t.Context(), search)
	if err != nil {
		t.Fatal(err)
	}
	plans := []string{"heat[0:1]@1{family=cells}", "heat[0:1]@1{family=tile}", "heat[1:2]@1{family=cells}"}
	for i, plan := range plans {
		trial := session.Trial{Config: plan, Verdict: verdict.OK, Median: float64(i + 1)}
		if err := earlier.Append(t.Context(), &trial); err != nil {
			t.Fatal(err)
		}
	}
	if n.session, err = s.Begin(t.Context(), search); err != nil {
		t.Fatal(err)
	}
	o := tuner.Outcome{
		Kernel: "heat[0:1]", Config: "family=cells", Verdict: verdict.OK,
		Seconds: 0.5, Low: 0.5, High: 0.5, Times: []float64{0.5},
	}
	if err := n.Keep(o); err != nil {
		t.Fatal(err)
	}
	o.Verdict, o.Message = verdict.Wrong, "it was right 4 times before: next[1][1]"
	if err := n.Condemn(o); err != nil {
		t.Fatal(err)
	}
	if n.known, err = store.Known(t.Context(), s, search.Scenario); err != nil {
		t.Fatal(err)
	}
	x, ok := n.Known(o.Kernel, o.Config)
	if !ok || x.Verdict != verdict.Wrong || x.Message != o.Message || x.Seconds != 0.5 {
		t.Errorf("%+v", x)
	}
	list, err := store.Plans(t.Context(), s, search.Scenario)
	if err != nil || len(list) != 2 || list[0].Config != plans[1] || list[1].Config != plans[2] {
		t.Errorf("%v, %+v", err, list)
	}
	o.Config = "family=tile"
	if err := n.Condemn(o); err == nil {
		t.Error("what was never tried is condemned")
	}
}

// What a profile within a search has said is in the session, for a search that goes on.
func TestAdviceIsKept(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := &recorder{ctx: t.Context(), store: s}
	if n.session, err = s.Begin(t.Context(), session.Search{}); err != nil {
		t.Fatal(err)
	}
	a := tuner.Advice{Kernel: "heat[0:1]", Config: "family=cells", At: 12, Took: 2.5, Profile: &profile.Kernel{
		Part: "heat[0:1]", Class: profile.BoundByL1, Evidence: []string{"it is"}, Levels: []profile.Level{},
		Variants: []profile.Variant{}, Grids: []string{"u"}, Hints: []profile.Hint{{Code: "H02", Text: "copy",
			Gain: 1.5, Predicted: "at the most", Change: profile.Change{Plan: "heat[0:1]@1{family=tile}"}}}}}
	failed := tuner.Advice{Kernel: "heat[0:1]", Config: "family=tile", Failed: "there was no time"}
	for _, x := range []*tuner.Advice{&a, &failed} {
		n.report(tuner.Event{Kind: tuner.EventAdvice, Advice: x})
	}
	r := &TuneRequest{Store: s}
	list, first, err := r.advice(t.Context(), n.session.ID())
	if err != nil || n.failed != nil || first.IsZero() || !reflect.DeepEqual(list, []tuner.Advice{a, failed}) {
		t.Errorf("%+v at %v, %v, %v", list, first, err, n.failed)
	}
	var texts []string
	for e, err := range s.Events(t.Context(), n.session.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, e.Kind+" "+e.Text)
	}
	want := []string{"profile bandwidth-bound at l1", "profile there was no time"}
	if !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
}

// aged is a store with what a Gridloom of the first versions has exported: sessions of
// a program at some sizes, each with its driver and its trials "kernel config seconds".
func aged(t *testing.T, sessions map[string][]string) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var b strings.Builder
	fmt.Fprintln(&b, `{"gridloom":"results","version":1}`)
	for _, sizes := range slices.Sorted(maps.Keys(sessions)) {
		fmt.Fprintf(&b, `{"session":{"id":"old %s","program":{"hash":"6f1e","name":"heat"},"device":{"api":"cpu","name":"d","driver":%q},"compiler":{"name":"c"},"sizes":%q,"dtype":"double","fp":"contract","strategy":"auto","seed":1,"started":"2026-01-02T12:00:00Z"}}`+"\n", sizes, sessions[sizes][0], sizes)
		for i, text := range sessions[sizes][1:] {
			f := strings.Fields(text)
			fmt.Fprintf(&b, `{"trial":{"session":"old %s","index":%d,"kernel":%q,"config":%q,"verdict":"ok","median":%s,"at":"2026-01-02T12:00:01Z"}}`+"\n",
				sizes, i, strings.Trim(f[0], "-"), f[1], f[2])
		}
	}
	if _, err := store.Import(t.Context(), s, strings.NewReader(b.String()), store.Source{}); err != nil {
		t.Fatal(err)
	}
	return s
}

// agedScenario is what the sessions of aged are about, with a later driver.
func agedScenario(sizes string) session.Scenario {
	return session.Scenario{
		Program:  session.Program{Hash: "6f1e", Name: "heat"},
		Device:   session.Device{API: "cpu", Name: "d", Driver: "now"},
		Compiler: session.Compiler{Name: "c"}, Sizes: session.ParseSizes(sizes), DType: "double", FP: "contract",
	}
}

// A search begins from what other versions found at its sizes, in the order of their
// times, until something of now is known there. None of it is taken as measured.
func TestSearchBeginsFromOlderVersions(t *testing.T) {
	s := aged(t, map[string][]string{
		"N=8": {"then",
			"heat[0:1] block=1 5", "heat[0:1] block=2 1", "heat[0:1] block=3 4",
			"heat[0:1] block=4 3", "heat[0:1] block=5 2",
			"- heat[0:1]@1{block=6} 9", "- heat[0:1]@1{block=2} 8",
		},
		"N=64": {"now", "- heat[0:1]@1{block=7} 9", "- heat[0:1]@1{block=8} 10"},
	})
	begins := func(want string) {
		t.Helper()
		list, err := good(t.Context(), s, agedScenario("N=8"))
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, c := range list {
			texts = append(texts, c.String())
		}
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("begins from %s, want %s", got, want)
		}
	}
	// Whole programs, the kernel's four, and the best of each sizes.
	begins("block=2 block=6 block=5 block=4 block=3 block=7")
	n := &recorder{ctx: t.Context(), store: s, about: agedScenario("N=8")}
	var err error
	if n.known, err = store.Known(t.Context(), s, n.about); err != nil {
		t.Fatal(err)
	}
	if o, ok := n.Known("heat[0:1]", "block=2"); ok {
		t.Errorf("%+v is taken as measured", o)
	}
	if n.session, err = s.Begin(t.Context(), session.Search{Scenario: n.about}); err != nil {
		t.Fatal(err)
	}
	if err := n.session.Append(t.Context(), &session.Trial{Config: "heat[0:1]@1{block=9}", Median: 20}); err != nil {
		t.Fatal(err)
	}
	begins("block=7 block=9")
}

// What is condemned now is not what a run takes from other versions.
func TestCondemnedPlansOfOlderVersions(t *testing.T) {
	s := aged(t, map[string][]string{"N=8": {"then", "- heat[0:1]@1{block=2} 1", "- heat[0:1]@1{block=3} 2"}})
	n := &recorder{ctx: t.Context(), store: s, about: agedScenario("N=8")}
	var err error
	if n.session, err = s.Begin(t.Context(), session.Search{Scenario: n.about}); err != nil {
		t.Fatal(err)
	}
	o := tuner.Outcome{
		Kernel: "heat[0:1]", Config: "block=2", Verdict: verdict.OK,
		Seconds: 0.5, Low: 0.5, High: 0.5, Times: []float64{0.5},
	}
	if err := n.Keep(o); err != nil {
		t.Fatal(err)
	}
	o.Verdict, o.Message = verdict.Wrong, "next[1][1]"
	if err := n.Condemn(o); err != nil {
		t.Fatal(err)
	}
	list, err := store.OlderPlans(t.Context(), s, n.about)
	if err != nil || len(list) != 1 || list[0].Config != "heat[0:1]@1{block=3}" {
		t.Errorf("%+v, %v", list, err)
	}
}

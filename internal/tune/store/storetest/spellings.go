package storetest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
)

// What is handed to a store in a former spelling of a parameter is found in that of today:
// trials, plans, what is condemned, and events; by a search of today, and by lines of JSON.
func testFormerSpellings(t *testing.T, open Open) {
	for _, x := range scheduletest.Spellings() {
		former := "family=stream,vec=2," + x.Former
		whole := func(config string) string { return "heat[0:1]@1{" + config + "};norm[0:1]@1{family=tile}" }
		s := open.fresh(t)
		kernel, plan := Tried(former, verdict.OK, 2, 3), Tried(whole(former), verdict.OK, 3, 3)
		kernel.Kernel = "heat[0:1]"
		r := with(t, s, func(s *session.Search) {
			s.Space = spaceOf(x)
		}, kernel, plan)
		event := session.Event{Kind: session.Condemned, Kernel: "heat[0:1]", Config: former}
		if err := r.Report(t.Context(), &event); err != nil {
			t.Fatal(err)
		}
		other := open.fresh(t)
		text := strings.ReplaceAll(string(lines(t, s)), x.Now, x.Former)
		if !strings.Contains(text, whole(former)) {
			t.Fatal(text)
		}
		if _, err := store.Import(t.Context(), other, strings.NewReader(text), store.Source{}); err != nil {
			t.Fatal(err)
		}
		for i, s := range []store.Store{s, other} {
			if FindsSpelling(t, s, x); t.Failed() {
				t.Fatalf("%s as %s", []string{"stored", "imported"}[i], x.Former)
			}
		}
	}
}

// spaceOf is what a search of a setting is restricted to and begins from.
func spaceOf(x scheduletest.Spelling) session.Space {
	return session.Space{
		Restrictions: []session.Restriction{{Kind: session.Limit, Text: x.Now}},
		Begin:        []string{"family=stream,vec=2," + x.Now},
	}
}

// FindsSpelling holds a store that has a session with a kernel, a whole plan, a space and
// an event, all with a former spelling of a setting beside vec=2 of the family stream, to find them
// by that of today.
func FindsSpelling(t *testing.T, s store.Store, x scheduletest.Spelling) {
	t.Helper()
	now := "family=stream,vec=2," + x.Now
	whole := "heat[0:1]@1{" + now + "};norm[0:1]@1{family=tile}"
	k, err := store.Known(t.Context(), s, Search().Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := k.Get("heat[0:1]", now); !ok || r.Config != now || r.Median != 2 {
		t.Errorf("%s is not known: %+v", now, r)
	}
	plans, err := store.Plans(t.Context(), s, Search().Scenario)
	if err != nil || len(plans) != 1 || plans[0].Config != whole {
		t.Errorf("plans are %+v, %v", plans, err)
	}
	var id string
	for i, err := range s.Sessions(t.Context(), store.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		id = i.ID
		want := spaceOf(x)
		if !i.Space.SameAs(&want) || !slices.Equal(i.Space.Begin, want.Begin) {
			t.Errorf("the space is %+v", i.Space)
		}
	}
	for e, err := range s.Events(t.Context(), id) {
		if err != nil || e.Config != now {
			t.Errorf("the event is of %s, %v", e.Config, err)
		}
	}
	var b bytes.Buffer
	err = store.ExportLines(t.Context(), s, &b, store.Filter{})
	if err != nil || strings.Contains(b.String(), x.Former) {
		t.Errorf("exported as %s, %v", b.String(), err)
	}
	r, err := s.Resume(t.Context(), id, "now")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Condemn(t.Context(), "heat[0:1]", now, verdict.Wrong, "it failed"); err != nil {
		t.Error(err)
	}
	if k, err = store.Known(t.Context(), s, Search().Scenario); err != nil {
		t.Fatal(err)
	}
	if r, ok := k.Get("heat[0:1]", now); !ok || r.Verdict != verdict.Wrong || k.Len() != 2 {
		t.Errorf("%s is not condemned: %+v of %d", now, r, k.Len())
	}
}

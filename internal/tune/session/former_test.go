package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridloom/gridloom/internal/compile/schedule/scheduletest"
)

// Texts that earlier versions have written are read as what they said.
func TestFormerTexts(t *testing.T) {
	one := func(limit time.Duration, trials int, target Target) Budget { return Budget{limit, trials, target, ""} }
	for _, c := range []struct {
		text string
		want Budget
	}{
		{"", Budget{}},
		{"1m0s", one(time.Minute, 0, Target{})},
		{"60s", one(time.Minute, 0, Target{})},
		{"1m0s, 5 trials", one(time.Minute, 5, Target{})},
		{"1 trial", one(0, 1, Target{})},
		{"1,500 trials", one(0, 1500, Target{})}, // which earlier versions did not read
		{"1h30m0s, 45 trials, until 200", one(90*time.Minute, 45, Target{GStencils: 200})},
		{"1m30s, until 95%", one(90*time.Second, 0, Target{Fraction: 0.95})},
		{"a while", Budget{Former: "a while"}},
		{"-5 trials", Budget{Former: "-5 trials"}},
		{"until dusk", Budget{Former: "until dusk"}},
	} {
		if got := formerBudget(c.text); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.text, got, c.want)
		} else if c.text != "60s" && got.String() != c.text {
			t.Errorf("%q is written %q", c.text, got.String())
		}
	}
	for _, c := range []struct {
		text string
		want Space
	}{
		{"", Space{}},
		{"limit vec<=4", Space{Restrictions: []Restriction{{Limit, "vec<=4"}}}},
		{"limit block<=64; fix family=tile|stream; free; any integers; local=fused",
			Space{Restrictions: []Restriction{{Limit, "block<=64"}, {Fix, "family=tile|stream"}}, Free: true,
				AnyIntegers: true, Plan: "local=fused"}},
		{" <- family=cells,block=4x32", Space{Begin: []string{"family=cells,block=4x32"}}},
		{"free <- family=tile,vec=2,block=1x2x64 family=cells",
			Space{Free: true, Begin: []string{"family=tile,vec=2,block=1x2x64", "family=cells"}}},
		{"heat[0:1]@1{family=tile};norm[0:1]@1{family=cells}",
			Space{Plan: "heat[0:1]@1{family=tile};norm[0:1]@1{family=cells}"}},
		{"@best.plan", Space{Former: "@best.plan"}},
		{"f00d", Space{Former: "f00d"}},
	} {
		if got := formerSpace(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, want %+v", c.text, got, c.want)
		} else if restrictions, _, _ := strings.Cut(c.text, " <- "); got.String() != restrictions {
			t.Errorf("%q is written %q", c.text, got.String())
		}
	}
	for text, want := range map[string]Clocks{
		"sm=1980,memory=3201": {Compute: 1980, Memory: 3201}, "sm=1200": {Compute: 1200}, "fast": {Former: "fast"},
	} {
		if got := formerClocks(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for text, want := range map[string]Condition{
		"1980 MHz, memory 3201 MHz, 41 degrees C, 320 W of 700, 1.5 GiB taken, 3 % busy": {1980, 3201, 41, 320, 700},
		"345 MHz, memory 405 MHz, 30 degrees C, 7 W":                                     {345, 405, 30, 7, 0},
		"warm": {},
	} {
		if got := formerCondition(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, c := range []struct{ was, want Device }{
		{Device{API: CPU, Name: "AMD EPYC 9654, 96 cores, 8 threads"},
			Device{API: CPU, Name: "AMD EPYC 9654, 96 cores", Units: 8}},
		{Device{API: CPU, Name: "x86, 1 threads"}, Device{API: CPU, Name: "x86", Units: 1}},
		{Device{API: CPU, Name: "x86, 1 thread"}, Device{API: CPU, Name: "x86", Units: 1}},
		{Device{API: CPU, Name: "x86, 08 threads"}, Device{API: CPU, Name: "x86, 08 threads"}},
		{Device{API: CPU, Name: "x86, 8 threads", Units: 4}, Device{API: CPU, Name: "x86, 8 threads", Units: 4}},
		{Device{API: CPU, Name: "x86"}, Device{API: CPU, Name: "x86"}},
		{Device{API: "cuda", Name: "X, 8 threads"}, Device{API: "cuda", Name: "X, 8 threads"}},
	} {
		got := c.was
		if got.settle(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v becomes %+v", c.was, got)
		}
	}
}

// What is read of a text says the same when its words are read again, and what cannot be read stays as it is.
func TestFormerTextsAreStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"1m0s", "5 trials", "1,500 trials", "until 95%", "until 2.5",
			", ", "; ", " <- ", "limit ", "fix vec=2", "free", "any integers", "local=fused", "family=tile", " ", "x",
			"%",
		}), 0, 6)
		text := strings.Join(parts.Draw(t, "parts"), "")
		b := formerBudget(text)
		if b.Former != "" && b != (Budget{Former: text}) || b.Former == "" && formerBudget(b.String()) != b {
			t.Fatalf("%q is %+v, and %q is %+v", text, b, b.String(), formerBudget(b.String()))
		}
		s := formerSpace(text)
		words := s.String()
		if len(s.Begin) > 0 {
			words += " <- " + strings.Join(s.Begin, " ")
		}
		if s.Former != "" && s.Former != text || s.Former == "" && !reflect.DeepEqual(formerSpace(words), s) {
			t.Fatalf("%q is %+v, and %q is %+v", text, s, words, formerSpace(words))
		}
	})
}

// The text of sizes is their key: reading it gives sizes with that text, whatever it is.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Sizes
	}{
		{"", nil},
		{"L=512,M=512,N=512", Sizes{{Name: "L", Value: 512}, {Name: "M", Value: 512}, {Name: "N", Value: 512}}},
		{"4096x4096", Sizes{{Value: 4096}, {Value: 4096}}},
		{"width x2", Sizes{{Text: "width "}, {Value: 2}}},
		{"N=-1", Sizes{{Name: "N", Value: -1}}},
		{"N=1e9", Sizes{{Name: "N", Text: "1e9"}}},
	} {
		if got := ParseSizes(c.text); !got.Equal(c.want) || got.String() != c.text {
			t.Errorf("%q: %+v, written %q", c.text, got, got.String())
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[x=,0-2N-]*`).Draw(t, "text")
		if got := ParseSizes(text).String(); got != text {
			t.Fatalf("%q became %q", text, got)
		}
		list := ParseSizes(text)
		var back Sizes
		if data, err := json.Marshal(list); err != nil || list.check() == nil && json.Unmarshal(data, &back) != nil {
			t.Fatal(err)
		} else if list.check() == nil && !back.Equal(list) {
			t.Fatalf("%s became %+v", data, back)
		}
	})
	values, ok := ParseSizes("N=2,M=3").Params([]string{"M", "N"})
	if !ok || !reflect.DeepEqual(values, []int64{3, 2}) {
		t.Errorf("%v, %v", values, ok)
	}
	for _, text := range []string{"", "N=2", "N=2,K=3", "N=2,N=3", "2x3", "N=2,M=x", "N=2,M=3,L=4"} {
		if values, ok := ParseSizes(text).Params([]string{"M", "N"}); ok {
			t.Errorf("%s are %v", text, values)
		}
	}
	for _, bad := range []string{`[{"name":"N","value":1},{"name":"N","value":2}]`,
		`[{"name":"N","value":1,"text":"x"}]`, `[{"value":1.5}]`, `{}`, `7`} {
		var s Sizes
		if err := json.Unmarshal([]byte(bad), &s); err == nil {
			t.Errorf("%s was read as %v", bad, s)
		}
	}
}

// A session of each former version is read as what it is now, and its JSON of now is
// canonical: it comes back byte for byte.
func TestFormerSessions(t *testing.T) {
	want, err := os.ReadFile("testdata/session3.json")
	if err != nil {
		t.Fatal(err)
	}
	for version := 1; version <= Version; version++ {
		text, err := os.ReadFile(fmt.Sprintf("testdata/session%d.json", version))
		if err != nil {
			t.Fatal(err)
		}
		var s Session
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if err := s.Settle(); err != nil {
			t.Fatal(err)
		}
		if version == 1 {
			if s.Arithmetic != 1 || s.Set.IR != 1 {
				t.Errorf("version 1: %+v", s.Set)
			}
			s.Arithmetic, s.Set.IR = 2, 2
		}
		var got bytes.Buffer
		enc := json.NewEncoder(&got)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&s); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("version %d is\n%s\nwant\n%s%v", version, got.Bytes(), want, err)
		}
	}
}

// A column has JSON or a former text, and never loses either.
func TestColumns(t *testing.T) {
	for text, want := range map[string]string{
		"": `{}`, "1m0s": `{"time_ns":60000000000}`, `say "when"`: `{"former":"say \"when\""}`,
		`{"trials":5}`: `{"trials":5}`,
	} {
		var b Budget
		if err := Column(text, &b); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := json.Marshal(b); err != nil || string(got) != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	var s Sizes
	if err := Column("{broken", &s); err == nil {
		t.Error("broken JSON was read")
	}
}

func TestDevices(t *testing.T) {
	for _, c := range []struct {
		d    Device
		want string
	}{
		{Device{API: CPU, Name: "x86", Units: 8}, "x86, 8 threads"},
		{Device{API: CPU, Name: "x86", Units: 1}, "x86, 1 thread"},
		{Device{API: CPU, Name: "x86"}, "x86"},
		{Device{API: "cuda", Name: "NVIDIA H200", Units: 132}, "NVIDIA H200"},
	} {
		if got := c.d.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// What no measurement gives is refused.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		e    Event
		want string
	}{
		{Event{Kind: "party"}, `event 0: there is no kind "party"`},
		{Event{Kind: Note, Index: -1}, "event -1: a session has at most 16777216 events"},
		{Event{Kind: Kernel, Seconds: -1}, "event 0: -1 s, a share of 0"},
	} {
		if err := c.e.Check(); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	s := Session{ID: "a"}
	s.Ranks = -1
	if err := s.Settle(); err == nil || err.Error() != "session a: -1 ranks" {
		t.Error(err)
	}
	s.Ranks, s.Arithmetic = 0, 99
	if err := s.Settle(); err == nil || !strings.HasPrefix(err.Error(), "session a was measured under arithmetic 99") {
		t.Error(err)
	}
}

// What a session was restricted to and began from is read in every former spelling, of
// all versions, and is the same search as one of today.
func TestFormerSpellings(t *testing.T) {
	for _, x := range scheduletest.Spellings() {
		space := func(setting, name string) Space {
			return Space{
				Restrictions: []Restriction{
					{Limit, setting}, {Fix, setting + "|7"}, {Limit, name + "!=7"}, {Limit, "vec<=4"},
				},
				Plan:  setting + ";heat[0:1]@1{" + setting + "}",
				Begin: []string{"family=tile," + setting, "family=stream,vec=2," + setting},
			}
		}
		now, former := space(x.Now, x.Parameter), space(x.Former, x.Name)
		typed, err := json.Marshal(former)
		if err != nil {
			t.Fatal(err)
		}
		text := "limit " + x.Former + "; fix " + x.Former + "|7; limit " + x.Name + "!=7; limit vec<=4; " + x.Former +
			" <- family=tile," + x.Former + " family=stream,vec=2," + x.Former
		for _, stored := range []string{string(typed), text} {
			want := now
			if stored == text {
				want.Plan = x.Now // a semicolon was between its parts
			}
			var got Space
			if err := Column(stored, &got); err != nil || !reflect.DeepEqual(got, want) || !got.SameAs(&want) {
				t.Errorf("%s is %+v, %v; want %+v", stored, got, err, want)
			}
		}
		trial := Trial{Config: "heat[0:1]@1{family=tile," + x.Former + "}"}
		trial.Round(time.Time{})
		event := Event{Config: "family=tile," + x.Former}
		event.Round()
		if trial.Config != "heat[0:1]@1{family=tile,"+x.Now+"}" || event.Config != "family=tile,"+x.Now {
			t.Errorf("a trial of %s, an event of %s", trial.Config, event.Config)
		}
	}
}

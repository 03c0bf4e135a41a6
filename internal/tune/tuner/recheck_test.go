package tuner

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// gatedSearch is a search in which compilers are behind: of its configurations the
// first are compiled at once, and all others only when the gate opens.
type gatedSearch struct {
	*scripted
	Options
	log   *memoryLog
	early []Outcome // as they come out if nothing goes wrong, in order
	gate  chan struct{}
	after error // of the others then
}

const earlyOnes = 12

// newGatedSearch returns such a search of so many trials. An ordinary one tells which
// configurations a strategy asks for.
func newGatedSearch(t *testing.T, strategy string, trials int) *gatedSearch {
	b := program(t, plane)
	o := options(newScripted(t, b, smooth), b, trials)
	o.Strategy = strategy
	r := tune(t, o)
	list := r.Kernels[0].Trials
	s := &gatedSearch{scripted: newScripted(t, b, smooth), Options: o, log: &memoryLog{}, early: list[:earlyOnes],
		gate: make(chan struct{})}
	s.workers = 2 * trials // tasks that wait for the gate hold up no others
	s.Lab, s.Clock, s.Log = s.scripted, s.clock, s.log
	for _, x := range list[earlyOnes:] {
		if x.Config == r.Kernels[0].Default {
			t.Fatal("the default is among what is compiled late, and is compiled first")
		}
	}
	s.compile = func(plan string) error {
		if !slices.ContainsFunc(list[earlyOnes:],
			func(x Outcome) bool { return strings.Contains(plan, "{"+x.Config+"}") }) {
			return nil
		}
		<-s.gate
		return s.after
	}
	return s
}

// open lets the others be compiled.
func (s *gatedSearch) open() {
	select {
	case <-s.gate:
	default:
		close(s.gate)
	}
}

// fastest returns the best of those that are compiled at once.
func (s *gatedSearch) fastest() Outcome {
	return slices.MinFunc(s.early, func(a, b Outcome) int { return compare(a.Seconds, b.Seconds) })
}

var race = &measure.Mismatch{What: "next[7][9]", Got: 1, Want: 2}

// While compilers are behind, the leaders are checked again, each as often as
// the others.
func TestLeadersAreCheckedAgain(t *testing.T) {
	s := newGatedSearch(t, "random", 20)
	const rounds = 40
	n, since, told := 0, 0, 0
	s.again = func(string) error {
		n++
		if told >= earlyOnes {
			since++
		}
		if since == rounds*maxFinalists {
			s.open()
		}
		return nil
	}
	var last *Status
	s.Events = func(e Event) {
		if e.Kind == EventTrial {
			last = e.Status
			told++
		}
	}
	r := tune(t, s.Options)
	leaders := slices.SortedStableFunc(slices.Values(s.early),
		func(a, b Outcome) int { return compare(a.Seconds, b.Seconds) })[:maxFinalists]
	sum := 0
	for _, x := range r.Kernels[0].Trials {
		if x.Verdict != verdict.OK || x.Checks < checksOfTry || len(x.Times) > enough {
			t.Errorf("%s: %s, %d comparisons, %d times", x.Config, x.Verdict, x.Checks, len(x.Times))
		}
		sum += x.Checks - checksOfTry
		if slices.ContainsFunc(leaders, func(l Outcome) bool { return l.Config == x.Config }) && x.Checks < rounds {
			t.Errorf("%s leads, and was compared %d times only", x.Config, x.Checks)
		}
	}
	if sum != checksOfTry*n {
		t.Errorf("%d comparisons in idle time, and there were %d trials", sum, n)
	}
	// In idle time the clock has gone on by 2.2 s at least, and besides by the trials.
	if r.Rechecked < 0.5 || r.Idle > 0.01 || r.Idle+r.Rechecked > 1 || last.Rechecked < 0.5 || last.Rechecked > 1 {
		t.Errorf("idle %g, checking again %g; the last status has %g", r.Idle, r.Rechecked, last.Rechecked)
	}
	best := r.Contenders[0]
	i := slices.IndexFunc(r.Kernels[0].Trials,
		func(x Outcome) bool { return strings.Contains(best.Plan, "{"+x.Config+"}") })
	if i < 0 || best.Checks != r.Kernels[0].Trials[i].Checks+checksOfTry {
		t.Errorf("%+v", best)
	}
}

// What the device does in idle time is not what it is idle for.
func TestPartsOfASearch(t *testing.T) {
	now := time.Unix(1e9, 0)
	k := &tuning{clock: func() time.Time { return now }, begun: now.Add(-6 * time.Second), searched: 4 * time.Second,
		busy: 7 * time.Second, rechecked: 2 * time.Second}
	if k.idlePart() < 0.299 || k.idlePart() > 0.301 || k.recheckedPart() != 0.2 {
		t.Errorf("idle %g, checking again %g", k.idlePart(), k.recheckedPart())
	}
}

// A leader that comes out wrong at its third comparison is out, and the search
// that goes on from the log asks for what it would have asked for.
func TestLeaderIsCondemned(t *testing.T) {
	for _, strategy := range []string{"random", "auto"} {
		s := newGatedSearch(t, strategy, 50)
		bad := s.fastest()
		s.again = func(plan string) error {
			if strings.Contains(plan, bad.Config) {
				return race
			}
			return nil
		}
		var condemned []Event
		s.Events = func(e Event) {
			if e.Kind == EventCondemned {
				condemned = append(condemned, e)
				s.open()
			}
		}
		r := tune(t, s.Options)
		wrong, least := 0, 1.0
		for _, x := range r.Kernels[0].Trials {
			switch {
			case x.Verdict == verdict.OK:
				least = min(least, x.Seconds)
			case x.Verdict != verdict.Wrong ||
				!strings.HasPrefix(x.Message, "it was right 2 times before: next[7][9]"):
				t.Errorf("%+v", x)
			default:
				wrong++
			}
			if x.Config == bad.Config && x.Verdict != verdict.Wrong {
				t.Errorf("%s is %s", x.Config, x.Verdict)
			}
		}
		if r.Totals["wrong"] != wrong || r.Totals["good"] != 50-wrong || r.Totals["trials"] != 50 ||
			wrong != len(condemned) {
			t.Errorf("%v, with %d wrong and %d told", r.Totals, wrong, len(condemned))
		}
		if len(r.Refusals) != 1 || r.Refusals[0].Reason != "wrong" || r.Refusals[0].Count != wrong ||
			r.Refusals[0].Config != bad.Config {
			t.Errorf("%+v", r.Refusals)
		}
		if len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], bad.Config+" was one of the fastest, and failed") {
			t.Errorf("%q", r.Notes)
		}
		if e := condemned[0]; e.Text != r.Notes[0] || e.Trial.Config != bad.Config || e.Status.Config == bad.Config ||
			e.Status.Wrong != 1 || e.Status.Good != e.Status.Trials-1 {
			t.Errorf("%+v, %+v", e, e.Status)
		}
		if r.Kernels[0].Best == bad.Config || strings.Contains(r.Best, bad.Config) ||
			math.Abs(r.Contenders[0].Seconds/least-1) > 1e-12 {
			t.Errorf("best %s, %s; another takes %g", r.Kernels[0].Best, r.Best, least)
		}
		at := slices.IndexFunc(s.log.list, func(x Outcome) bool { return x.Config == bad.Config })
		if x := s.log.list[at]; x.Verdict != verdict.Wrong || x.Seconds != bad.Seconds {
			t.Errorf("the log has %+v", x)
		}
		for _, n := range []int{20, 50} {
			o := options(newScripted(t, s.bound, smooth), s.bound, 50)
			o.Strategy, o.Log, o.Resume = strategy, &memoryLog{}, s.log.list[:n]
			again := tune(t, o)
			for i, x := range again.Kernels[0].Trials {
				if x.Config != r.Kernels[0].Trials[i].Config {
					t.Fatalf("%s, after %d: trial %d is %s, and was %s", strategy, n, i, x.Config,
						r.Kernels[0].Trials[i].Config)
				}
			}
			if again.Trials != 50 || again.Totals["wrong"] != wrong || again.Kernels[0].Best != r.Kernels[0].Best ||
				len(again.Notes) > 0 {
				t.Errorf("%s, after %d: %v, %s, %q", strategy, n, again.Totals, again.Kernels[0].Best, again.Notes)
			}
		}
		// Another search is not told that it was fast once.
		o := options(newScripted(t, s.bound, smooth), s.bound, 50)
		o.Strategy, o.Log = strategy, &memoryLog{known: map[string]Outcome{bad.Config: s.log.list[at]}}
		i := slices.IndexFunc(tune(t, o).Kernels[0].Trials,
			func(x Outcome) bool { return x.Config == bad.Config && x.Verdict == verdict.Wrong && x.Seconds == 0 })
		if i < 0 {
			t.Errorf("%s is not known to be wrong", bad.Config)
		}
	}
}

// A search survives that all its leaders fail one after the other, and those that
// take their places; the plans that nobody has to search for are left.
func TestAllLeadersFail(t *testing.T) {
	s := newGatedSearch(t, "random", 20)
	s.after = verdict.For(verdict.Compiler, errors.New("virtual memory exhausted"))
	s.again = func(string) error {
		return &measure.Crash{Err: errors.New("it touched memory that is not its own (SIGSEGV)")}
	}
	told, out := 0, 0
	var last *Status
	s.Events = func(e Event) {
		switch e.Kind {
		case EventTrial:
			told++
		case EventCondemned:
			out++
		default:
			return
		}
		if told == earlyOnes && out == earlyOnes && last == nil {
			last = e.Status
			s.open()
		}
	}
	r := tune(t, s.Options)
	if last.Good != 0 || last.Wrong != 0 || last.Refused["crash"] != earlyOnes || last.Trials != earlyOnes ||
		last.Best != 0 || last.Config != "" {
		t.Errorf("%+v", last)
	}
	if r.Totals["good"] != 0 || r.Trials != 20 || r.Kernels[0].Best != "" || len(r.Notes) == 0 {
		t.Errorf("%v: %q, %d notes", r.Totals, r.Kernels[0].Best, len(r.Notes))
	}
	for _, c := range r.Contenders {
		if strings.HasPrefix(c.Name, "found") {
			t.Errorf("%s is a contender", c.Plan)
		}
	}
	if d := r.Contender("default"); d == nil || r.Best == "" {
		t.Errorf("%q", r.Best)
	}
}

// Where compilers and kernels share processors nothing is checked in idle time:
// there is none.
func TestNoRechecksWhereCompilersRun(t *testing.T) {
	b := program(t, plane)
	s := newScripted(t, b, smooth)
	s.shared = true
	s.again = func(plan string) error {
		t.Errorf("%s was checked again", plan)
		return nil
	}
	r := tune(t, options(s, b, 20))
	for _, x := range r.Kernels[0].Trials {
		if x.Checks != checksOfTry {
			t.Errorf("%s was compared %d times", x.Config, x.Checks)
		}
	}
	if r.Rechecked != 0 {
		t.Errorf("%g of the time", r.Rechecked)
	}
}

// A device that is lost while leaders are checked again is no leader's fault.
func TestDeviceIsGoneInIdleTime(t *testing.T) {
	s := newGatedSearch(t, "random", 20)
	gone := false
	s.again = func(string) error {
		gone = true
		s.open()
		return &measure.Gone{Device: "scripted", Err: errors.New("it fell off the bus")}
	}
	s.speed = func(plan string) (float64, error) {
		if gone {
			return 0, &measure.Gone{Device: "scripted", Err: errors.New("it fell off the bus")}
		}
		return smooth(plan)
	}
	r, err := Run(t.Context(), s.Options)
	if err == nil || !strings.Contains(err.Error(), "it fell off the bus") || len(r.Notes) > 0 {
		t.Errorf("%v, %q", err, r.Notes)
	}
	for _, x := range s.log.list {
		if x.Verdict != verdict.OK {
			t.Errorf("%s: %s", x.Config, x.Message)
		}
	}
}

// A user who has had enough does not wait for compilers because there is always
// a leader to check.
func TestIdleTimeIsInterrupted(t *testing.T) {
	s := newGatedSearch(t, "random", 20)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	s.again = func(string) error {
		if n++; n == 30 {
			cancel()
			s.open()
			return context.Canceled
		}
		return nil
	}
	r, err := Run(ctx, s.Options)
	if err != nil || !r.Interrupted || r.Best == "" || r.Totals["good"] != r.Trials || n != 30 {
		t.Errorf("%v, %v after %d", err, r.Totals, n)
	}
}

// A finalist that fails its last check is out for good, too; of several kernels
// the one whose call it is.
func TestFinalistIsCondemned(t *testing.T) {
	for _, c := range []struct {
		source, kernel string
		kernels        int
	}{{plane, "five[0:1]", 1}, {two, "cheap[0:1]", 2}} {
		b := program(t, c.source)
		search := func(last func(string) error) (*Result, *memoryLog, int) {
			s, log := newScripted(t, b, smooth), &memoryLog{}
			s.last = last
			o := options(s, b, 40)
			o.Log = log
			r := tune(t, o)
			return r, log, slices.IndexFunc(r.Kernels, func(k KernelResult) bool { return k.Kernel == c.kernel })
		}
		r, _, n := search(nil)
		best := r.Kernels[n].Best
		r, log, n := search(func(plan string) error {
			if strings.Contains(plan, c.kernel+"@1{"+best+"}") {
				return race
			}
			return nil
		})
		wrong := 0
		for _, list := range [][]Outcome{log.list, r.Kernels[n].Trials} {
			for _, x := range list {
				bad := x.Kernel == c.kernel && x.Config == best
				if bad && !strings.Contains(x.Message, " times before: next[7][9]") ||
					bad != (x.Verdict == verdict.Wrong) &&
						x.Same != best {
					t.Errorf("%s: %+v", best, x)
				}
				if x.Verdict == verdict.Wrong {
					wrong++
				}
			}
		}
		if k := r.Kernels[n].Best; k == best || k == "" || strings.Contains(r.Best, c.kernel+"@1{"+best+"}") ||
			len(r.Kernels) != c.kernels {
			t.Errorf("%s, %s", r.Best, k)
		}
		if 2*r.Totals["wrong"] != wrong || r.Totals["good"]+r.Totals["wrong"] != 40 || len(r.Notes) != 1 ||
			!strings.Contains(r.Notes[0], best) {
			t.Errorf("%v, %d wrong, %q", r.Totals, wrong, r.Notes)
		}
	}
}

// Where a call has several kernels none is condemned for a plan that fails, but
// a note tells.
func TestNobodyKnowsWhichKernel(t *testing.T) {
	b := program(t, chained)
	s, log := newScripted(t, b, smooth), &memoryLog{}
	s.last = func(plan string) error {
		if len(log.list) == 40 {
			return race
		}
		return nil
	}
	o := options(s, b, 40)
	o.Log = log
	r, err := Run(t.Context(), o)
	if err == nil || r.Totals != nil {
		t.Errorf("every plan fails: %v, %v", err, r.Totals)
	}
	for _, x := range log.list {
		if x.Verdict != verdict.OK {
			t.Errorf("%s %s: %s", x.Kernel, x.Config, x.Message)
		}
	}
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "one of the kernels of both is to blame: next[7][9]") {
		t.Errorf("%q", r.Notes)
	}
}

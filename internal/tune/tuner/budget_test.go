package tuner

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/search"
)

// busy is a device on a machine that others use: it takes seconds to compile, to
// check and to time anything.
func busy(s *scripted) *scripted {
	s.shared = true // idle time is not used
	var compiled sync.Map
	s.compile = func(plan string) error {
		if _, before := compiled.LoadOrStore(plan, true); !before { // else it is in the cache
			s.pass(0.5)
		}
		return nil
	}
	speed := s.speed
	s.speed = func(plan string) (float64, error) {
		s.pass(0.3)
		return speed(plan)
	}
	return s
}

// The budget is for all that the user waits for, on a busy machine, too: what there
// is no time for is left out at the end and named.
func TestBudgetIsForAll(t *testing.T) {
	for _, test := range []struct {
		budget time.Duration
		all    bool // plans are timed at the end
	}{{20 * time.Second, false}, {60 * time.Second, false}, {1000 * time.Second, true}} {
		b := program(t, plane)
		s := busy(newScripted(t, b, smooth))
		o := options(s, b, 0)
		o.Budget, o.Library, o.Started = test.budget, true, s.clock().Add(-time.Second)
		r := tune(t, o)
		var names []string
		for _, c := range r.Contenders {
			names = append(names, c.Name)
		}
		if r.Seconds > test.budget.Seconds() || r.Trials == 0 || !slices.Contains(names, "default") || r.Best == "" {
			t.Errorf("%d trials in %g s of %v; side by side: %q", r.Trials, r.Seconds, test.budget, names)
		}
		left := strings.Join(r.Notes, "\n")
		if got := !strings.Contains(left,
			"the budget had no time left to time these side by side with the best: "); got != test.all {
			t.Errorf("%v: %q\n%s", test.budget, names, left)
		}
		if test.all && (!slices.Contains(names, "expert") || !slices.Contains(names, "plain")) {
			t.Errorf("%v: %q in %g s", test.budget, names, r.Seconds)
		}
	}
}

// Plans that are given are timed at the end as far as there is time, however short it is if they are needed, and it is
// told why others are not.
func TestOthersAtTheEnd(t *testing.T) {
	for _, needed := range []bool{false, true} {
		b := program(t, plane)
		s := busy(newScripted(t, b, smooth))
		o := options(s, b, 0)
		o.Budget, o.OthersNeeded = 20*time.Second, needed
		for _, text := range []string{"five[0:1]@1{family=loops,threads=1,block=4x0}", "five[0:1]@1{family=none}"} {
			plan, err := schedule.ParsePlan(text)
			if err != nil {
				t.Fatal(err)
			}
			o.Others = append(o.Others, plan)
		}
		r := tune(t, o)
		timed := slices.ContainsFunc(r.Contenders, func(c Contender) bool { return c.Plan == o.Others[0].String() })
		reasons := map[string]string{}
		for _, l := range r.LeftOut {
			reasons[l.Plan] = l.Reason
		}
		if timed != needed || (reasons[o.Others[0].String()] == errNoTime.Error()) == needed {
			t.Errorf("needed %v, timed %v: %v", needed, timed, reasons)
		}
		if why := reasons[o.Others[1].String()]; why == "" || needed && why == errNoTime.Error() {
			t.Errorf("needed %v, a plan that does not fit: %q", needed, why)
		}
	}
}

// stuckLab is a Lab on which nothing ends before it is told to, once so many variants
// were tried.
type stuckLab struct {
	*scripted
	tries int
	begun func()
}

func (s *stuckLab) Try(ctx context.Context, c measure.Code, m measure.Margins, r measure.Rule,
	limit time.Duration) (measure.Trial, error) {
	if s.tries--; s.tries < 0 {
		if s.tries == -1 {
			s.begun()
		}
		<-ctx.Done()
		return measure.Trial{}, context.Cause(ctx)
	}
	return s.scripted.Try(ctx, c, m, r, limit)
}

// An interrupted search ends though nothing can be timed any more: its trials are
// the result.
func TestInterruptWhileNothingEnds(t *testing.T) {
	b := program(t, plane)
	ctx, cancel := context.WithCancel(t.Context())
	s := &stuckLab{scripted: newScripted(t, b, smooth), tries: 6, begun: cancel}
	o := options(s.scripted, b, 0)
	o.Lab = s
	r, err := Run(ctx, o)
	if err != nil || !r.Interrupted || r.Best == "" || len(r.Contenders) != 1 || r.Contenders[0].Seconds <= 0 ||
		!strings.Contains(strings.Join(r.Notes, "\n"), "no time to time plans side by side") {
		t.Errorf("%v: %+v", err, r)
	}
}

// A strategy or a lowering that takes for ever does not hold up an interrupt.
func TestInterruptWhileStrategyOrLoweringRuns(t *testing.T) {
	endless := make(chan bool)
	defer close(endless)
	driver := &strategyDriver{strategy: slowStrategy{endless}, inFlight: func(int) int { return 1 },
		idleWorkers: func() int { return 0 }}
	driver.start()
	driver.send(driverRequest{ask: true})
	driver.stop() // returns

	b := program(t, plane)
	lab := newScripted(t, b, smooth)
	s, err := newSubject(b, lab, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tuning := &tuning{subject: s, clock: lab.clock, result: &Result{}}
	tuning.queue = newCompileQueue(ctx, lab, lab.clock)
	lowers := make(chan bool)
	j := tuning.queue.add("five[0:1]", "a", func() (*variant, error) {
		close(lowers)
		<-endless
		return nil, errors.New("too late")
	})
	<-lowers
	cancel()
	if err := tuning.await(ctx, j); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := tuning.runReporting(ctx, "nothing", func() { <-endless }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if j := tuning.queue.add("five[0:1]", "b", func() (*variant, error) {
		return s.calls[0].lowered(s.calls[0].bound, schedule.Plan{})
	}); tuning.await(t.Context(), j) == nil || !errors.Is(j.err, context.Canceled) {
		t.Errorf("%v", j.err)
	}
}

// slowStrategy is a strategy that comes to no end.
type slowStrategy struct{ end chan bool }

func (p slowStrategy) Ask(int) []search.Point {
	<-p.end
	return nil
}
func (slowStrategy) Tell(search.Trial)         {}
func (slowStrategy) Likely(int) []search.Point { return nil }

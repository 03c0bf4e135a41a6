package tuner

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/run/child"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// failingLab makes calls for some plans fail, so many times each.
type failingLab struct {
	times int
	err   error

	mutex  sync.Mutex
	failed map[string]int
}

func (f *failingLab) call(plan string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if setting(plan, "block") != 16 || f.failed[plan] >= f.times {
		return nil
	}
	f.failed[plan]++
	return f.err
}

// hasty is a persistent Lab that counts its pauses instead of making them.
func hasty(s *scripted) (*retryingLab, *int) {
	p, n := newRetryingLab(s), 0
	p.sleep = func(context.Context, time.Duration) { n++ } // one at a time tries again
	return p, &n
}

var full = verdict.For(verdict.Compiler, &os.PathError{Op: "write", Path: "/cache/kernels.c", Err: syscall.ENOSPC})

// What the machine could not just now is tried again, and counts for nothing if
// that helps.
func TestPassingFailuresAreTriedAgain(t *testing.T) {
	b := program(t, plane)
	killed := &measure.Crash{Err: &child.Death{Signal: syscall.SIGKILL}}
	for name, err := range map[string]error{"compiler": full, "worker": killed} {
		s := newScripted(t, b, smooth)
		f := &failingLab{times: 2, err: err, failed: map[string]int{}}
		if name == "compiler" {
			s.compile = f.call
		} else {
			s.speed = func(plan string) (float64, error) {
				if err := f.call(plan); err != nil {
					return 0, err
				}
				return smooth(plan)
			}
		}
		lab, pauses := hasty(s)
		o, log := options(s, b, 60), &memoryLog{}
		o.Lab, o.Log = lab, log
		r := tune(t, o)
		if len(f.failed) == 0 || *pauses != 2*len(f.failed) {
			t.Errorf("%s: %d plans failed, and there were %d pauses", name, len(f.failed), *pauses)
		}
		if r.Trials != 60 || r.Totals["good"] != 60 || len(r.Refusals) != 0 {
			t.Errorf("%s: of %d trials %d are good: %+v", name, r.Trials, r.Totals["good"], r.Refusals)
		}
	}
}

// What fails every time ends the search, and is neither counted nor kept.
func TestPassingFailuresEndTheSearch(t *testing.T) {
	b := program(t, plane)
	for name, err := range map[string]error{"compiler": full,
		"worker": &measure.Crash{Err: &child.Death{Signal: syscall.SIGKILL}}} {
		s := newScripted(t, b, smooth)
		f := &failingLab{times: 1 << 30, err: err, failed: map[string]int{}}
		if name == "compiler" {
			s.compile = f.call
		} else {
			s.speed = func(plan string) (float64, error) {
				if err := f.call(plan); err != nil {
					return 0, err
				}
				return smooth(plan)
			}
		}
		lab, paused := hasty(s)
		o, log := options(s, b, 60), &memoryLog{}
		o.Lab, o.Log = lab, log
		_, got := Run(t.Context(), o)
		if verdict.Of(got) != verdict.Transient || !errors.Is(got, errors.Unwrap(err)) || *paused != len(retryDelays) {
			t.Errorf("%s: after %d pauses: %v", name, *paused, got)
		}
		for _, x := range log.list {
			if x.Verdict != verdict.OK {
				t.Errorf("%s: %s was kept as %s: %s", name, x.Config, x.Verdict, x.Message)
			}
		}
	}
}

// The limit of one variant, which may be over before the machine is asked again,
// does not make a verdict of it.
func TestPassingFailureAtADeadline(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newScripted(t, program(t, plane), smooth)
	s.compile = func(string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return full
	}
	lab, _ := hasty(s)
	late := verdict.For(verdict.Compiler, errors.New("the compiler has not come to an end"))
	lab.sleep = func(context.Context, time.Duration) { cancel(late) }
	if _, err := lab.Compile(ctx, measure.Text{}); verdict.Of(err) != verdict.Transient {
		t.Error(err)
	}
}

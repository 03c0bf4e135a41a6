package tuner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// slow is a Lab on which compilers never come to an end with some sources.
type slow struct {
	*scripted
	endless bool
	begun   chan bool // is told when a compiler begins, if it is there
}

func (s *slow) Compile(ctx context.Context, t measure.Text) (measure.Compiled, error) {
	if s.begun != nil {
		s.begun <- true
	}
	if s.endless {
		<-ctx.Done()
		return measure.Compiled{}, context.Cause(ctx)
	}
	return measure.Compiled{Took: time.Microsecond}, nil
}

// What takes a compiler far longer than anything else is given up, and is the
// compiler's refusal; but not before it is known what is usual.
func TestCompilersDoNotHoldUpASearch(t *testing.T) {
	b := program(t, plane)
	lab := &slow{scripted: newScripted(t, b, smooth)}
	s, err := newSubject(b, lab, toolchain.Contract, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorks(ctx, lab)
	w.least = time.Millisecond
	for n := range enoughCompiled {
		if d, ok := w.limit(); ok {
			t.Fatalf("the limit is %v after %d", d, n)
		}
		if c := w.compile(s.stages[0], schedule.Plan{}, func(doing) {}); c.err != nil {
			t.Fatal(c.err)
		}
	}
	if d, ok := w.limit(); !ok || d != time.Millisecond {
		t.Errorf("%v %v", d, ok)
	}
	lab.endless = true
	c := w.compile(s.stages[0], schedule.Plan{}, func(doing) {})
	if refusal.Of(c.err) != refusal.Compiler || !strings.Contains(c.err.Error(), "not come to an end after 1ms") || reasonOf(c.err) != "compiler" {
		t.Errorf("%v", c.err)
	}
	w.took[len(w.took)/2] = time.Second
	if d, _ := w.limit(); d != tooLong*time.Second {
		t.Errorf("%v", d)
	}
	cancel() // the user's end is nobody's refusal
	if c := w.compile(s.stages[0], schedule.Plan{}, func(doing) {}); !errors.Is(c.err, context.Canceled) {
		t.Errorf("%v", c.err)
	}
	lab.shared = true
	if d, ok := w.limit(); ok {
		t.Errorf("the limit is %v where nothing is compiled ahead", d)
	}
}

// It is said what compilers do, and what waits for them.
func TestWhatIsWaitedFor(t *testing.T) {
	b := program(t, plane)
	lab := &slow{scripted: newScripted(t, b, smooth), endless: true, begun: make(chan bool)}
	s, err := newSubject(b, lab, toolchain.Contract, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorks(ctx, lab)
	if got := w.waiting("five[0:1]"); got != "" {
		t.Errorf("%q", got)
	}
	var jobs []*job
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		jobs = append(jobs, w.start("five[0:1]", name, s.stages[0], schedule.Plan{}))
	}
	other := w.start("another[0:1]", "f", s.stages[0], schedule.Plan{})
	for range 3 { // which is how many compile at the same time
		<-lab.begun
	}
	of := 0
	for _, n := range []int{2, 3} { // the other kernel's may be among them
		if strings.HasPrefix(w.waiting("five[0:1]"), fmt.Sprintf("compiling %d variants of five[0:1], the first for ", n)) {
			of = n
		}
	}
	if got := w.waiting("five[0:1]"); of == 0 || !strings.HasSuffix(got, fmt.Sprintf(" s; %d more to come", 5-of)) {
		t.Errorf("%q", got)
	}
	if sum := w.sum(); sum.Processes != 3 || sum.Variants != 3 || sum.Cached != 0 {
		t.Errorf("%+v", sum)
	}
	cancel()
	for _, j := range append(jobs, other) {
		<-j.done
		if !errors.Is(j.err, context.Canceled) {
			t.Error(j.err)
		}
	}
	if got := w.waiting("five[0:1]"); got != "" {
		t.Errorf("%q", got)
	}
}

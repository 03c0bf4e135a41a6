package tuner

import (
	"context"
	"errors"
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
}

func (s *slow) Compile(ctx context.Context, t measure.Text) (measure.Compiled, error) {
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
		if c := w.compile(s.stages[0], schedule.Plan{}); c.err != nil {
			t.Fatal(c.err)
		}
	}
	if d, ok := w.limit(); !ok || d != time.Millisecond {
		t.Errorf("%v %v", d, ok)
	}
	lab.endless = true
	c := w.compile(s.stages[0], schedule.Plan{})
	if refusal.Of(c.err) != refusal.Compiler || !strings.Contains(c.err.Error(), "not come to an end after 1ms") || reasonOf(c.err) != "compiler" {
		t.Errorf("%v", c.err)
	}
	w.took[len(w.took)/2] = time.Second
	if d, _ := w.limit(); d != tooLong*time.Second {
		t.Errorf("%v", d)
	}
	cancel() // the user's end is nobody's refusal
	if c := w.compile(s.stages[0], schedule.Plan{}); !errors.Is(c.err, context.Canceled) {
		t.Errorf("%v", c.err)
	}
	lab.shared = true
	if d, ok := w.limit(); ok {
		t.Errorf("the limit is %v where nothing is compiled ahead", d)
	}
}

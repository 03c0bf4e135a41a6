package tuner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// slowLab is a Lab whose compilers never finish some sources.
type slowLab struct {
	*scripted
	endless bool
	begun   chan bool // is told when a compiler begins, if it is there
	// compiled is told what a compiler begins with, if it is there.
	compiled func(name string)
}

func (s *slowLab) Compile(ctx context.Context, t measure.Text) (measure.Compiled, error) {
	if s.compiled != nil {
		s.compiled(t.Name)
	}
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
	lab := &slowLab{scripted: newScripted(t, b, smooth)}
	s, err := newSubject(b, lab, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	q := newCompileQueue(ctx, lab, lab.clock)
	q.minLimit = time.Millisecond
	names := 0
	compile := func() *compileTask {
		names++
		task := q.addPlan("five[0:1]", fmt.Sprint(names), s.calls[0], schedule.Plan{})
		<-task.done
		return task
	}
	for n := range enoughCompiled {
		if d, ok := q.timeLimit(""); ok {
			t.Fatalf("the limit is %v after %d", d, n)
		}
		if c := compile(); c.err != nil {
			t.Fatal(c.err)
		}
	}
	if d, ok := q.timeLimit(""); !ok || d != time.Millisecond {
		t.Errorf("%v %v", d, ok)
	}
	lab.endless = true
	c := compile()
	if verdict.Of(c.err) != verdict.Compiler || !strings.Contains(c.err.Error(), "not come to an end after 1ms") ||
		verdictOf(c.err) != verdict.Compiler {
		t.Errorf("%v", c.err)
	}
	times := q.compileTimes[""]
	times[len(times)/2] = time.Second
	if _, ok := q.timeLimit("body[0:2]@8"); ok {
		t.Error("kernels of other iterations limit those of 8")
	}
	if d, _ := q.timeLimit(""); d != tooLong*time.Second {
		t.Errorf("%v", d)
	}
	cancel() // an interrupt is not a refusal
	if c := compile(); !errors.Is(c.err, context.Canceled) {
		t.Errorf("%v", c.err)
	}
	lab.shared = true
	if d, ok := q.timeLimit(""); ok {
		t.Errorf("the limit is %v where nothing is compiled ahead", d)
	}
}

// It is said what compilers do, and what waits for them.
func TestWhatIsWaitedFor(t *testing.T) {
	b := program(t, plane)
	lab := &slowLab{scripted: newScripted(t, b, smooth), endless: true, begun: make(chan bool)}
	s, err := newSubject(b, lab, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	q := newCompileQueue(ctx, lab, lab.clock)
	if got := q.describe("five[0:1]"); got != "" {
		t.Errorf("%q", got)
	}
	var tasks []*compileTask
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		tasks = append(tasks, q.addPlan("five[0:1]", name, s.calls[0], schedule.Plan{}))
	}
	other := q.addPlan("another[0:1]", "f", s.calls[0], schedule.Plan{})
	for range 3 { // which is how many compile at the same time
		<-lab.begun
	}
	of := 0
	for _, n := range []int{2, 3} { // the other kernel's may be among them
		if strings.HasPrefix(q.describe("five[0:1]"), fmt.Sprintf("compiling %d variants of five[0:1], the first for ",
			n)) {
			of = n
		}
	}
	if got := q.describe("five[0:1]"); of == 0 || !strings.HasSuffix(got, fmt.Sprintf(" s; %d more to come", 5-of)) {
		t.Errorf("%q", got)
	}
	if sum := q.summary(); sum.Processes != 3 || sum.Variants < 3 || sum.Cached != 0 {
		t.Errorf("%+v", sum)
	}
	cancel()
	for _, task := range append(tasks, other) {
		<-task.done
		if !errors.Is(task.err, context.Canceled) {
			t.Error(task.err)
		}
	}
	if got := q.describe("five[0:1]"); got != "" {
		t.Errorf("%q", got)
	}
}

// Until something was measured of a kernel its shortest texts are compiled first;
// then they are compiled in the order of asking.
func TestShortTextsAreFirst(t *testing.T) {
	b := program(t, plane)
	lab := &slowLab{scripted: newScripted(t, b, smooth), begun: make(chan bool)}
	s, err := newSubject(b, lab, false)
	if err != nil {
		t.Fatal(err)
	}
	var lock sync.Mutex
	for _, test := range []struct {
		measured bool
		want     string
	}{{false, "block ccc aa bbbb"}, {true, "block bbbb aa ccc"}} {
		ctx, cancel := context.WithCancel(t.Context())
		q := newCompileQueue(ctx, lab, lab.clock)
		q.stats.Processes = 1
		var order []string
		begin := func(name string, length int) *compileTask {
			return q.add("five[0:1]", name, func() (*variant, error) {
				v, err := s.calls[0].lowered(s.calls[0].bound, schedule.Plan{})
				if err == nil {
					v.source = strings.Repeat("x", length)
					v.code.Name = name
				}
				return v, err
			})
		}
		busy, free := make(chan bool), make(chan bool)
		lab.compiled = func(name string) {
			if name == "block" {
				close(busy)
				<-free
			}
			lock.Lock()
			defer lock.Unlock()
			order = append(order, name)
		}
		tasks := []*compileTask{begin("block", 1)}
		<-busy // the only process is at it
		tasks = append(tasks, begin("bbbb", 3), begin("aa", 2), begin("ccc", 1))
		if test.measured {
			q.markMeasured("five[0:1]")
		}
		q.mutex.Lock()
		q.stats.Processes = 3 // are enough texts to choose from
		q.mutex.Unlock()
		close(free)
		for range tasks {
			<-lab.begun
		}
		for _, task := range tasks {
			<-task.done
		}
		cancel()
		if got := strings.Join(order, " "); got != test.want {
			t.Errorf("measured %v: %s, want %s", test.measured, got, test.want)
		}
	}
}

// simultaneousLab is a Lab whose compilers finish only once so many are at work.
type simultaneousLab struct {
	*scripted
	begun sync.WaitGroup
	first atomic.Int32 // so many compilations wait for each other
}

func (s *simultaneousLab) Compile(ctx context.Context, t measure.Text) (measure.Compiled, error) {
	if s.first.Add(-1) >= 0 {
		s.begun.Done()
		s.begun.Wait()
	}
	return s.scripted.Compile(ctx, t)
}

// What a search begins with is compiled at the same time: the plain kernels of all
// calls, at both sizes.
func TestPlainKernelsAreCompiledTogether(t *testing.T) {
	b := program(t, two)
	lab := &simultaneousLab{scripted: newScripted(t, b, smooth)}
	const kernels = 2 * 2
	lab.workers = kernels
	lab.begun.Add(kernels)
	lab.first.Store(kernels)
	o := options(lab.scripted, b, 4)
	o.Lab = lab
	if r := tune(t, o); r.Trials != 4 || r.Compilers.Processes != kernels {
		t.Errorf("%d trials, %+v", r.Trials, r.Compilers)
	}
}

// Where compilers and kernels take turns, what is compiled is tried while others are
// not, once the time is short.
func TestOneCompilerDoesNotHoldUpATurn(t *testing.T) {
	b := program(t, plane)
	lab := newScripted(t, b, smooth)
	tuning := &tuning{clock: lab.clock, result: &Result{}, queue: newCompileQueue(t.Context(), lab, lab.clock)}
	k := &kernelSearch{tuning: tuning}
	done, open := make(chan struct{}), make(chan struct{})
	close(done)
	slow, fast := &attempt{task: &compileTask{done: open}}, &attempt{task: &compileTask{done: done}}
	over := make(chan time.Time, 1)
	over <- time.Time{}
	if a := k.awaitAll(t.Context(), []*attempt{slow, fast}, nil, over); a != fast {
		t.Errorf("%+v though the time is short", a)
	}
	over <- time.Time{}
	if a := k.awaitAll(t.Context(), []*attempt{slow, fast}, over, nil); a != nil {
		t.Errorf("%+v after the end", a)
	}
	if a := k.awaitAll(t.Context(), []*attempt{fast, fast}, nil, nil); a != fast {
		t.Errorf("%+v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := k.awaitAll(ctx, []*attempt{slow}, nil, nil); a != nil {
		t.Errorf("%+v after an interrupt", a)
	}
}

// What is asked for of a kernel and not begun is dropped when its search is over; other kernels' tasks stay.
func TestPendingTasksAreDropped(t *testing.T) {
	b := program(t, plane)
	lab := &slowLab{scripted: newScripted(t, b, smooth), endless: true, begun: make(chan bool)}
	s, err := newSubject(b, lab, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	q := newCompileQueue(ctx, lab, lab.clock)
	q.stats.Processes = 1
	var tasks []*compileTask
	for i, kernel := range []string{"five[0:1]", "five[0:1]", "another[0:1]", "five[0:1]"} {
		tasks = append(tasks, q.addPlan(kernel, fmt.Sprint(i), s.calls[0], schedule.Plan{}))
		if i == 0 {
			<-lab.begun
		}
	}
	q.dropPending("five[0:1]")
	for _, i := range []int{1, 3} {
		if <-tasks[i].done; !errors.Is(tasks[i].err, errDropped) {
			t.Errorf("task %d: %v", i, tasks[i].err)
		}
	}
	if len(q.pending) != 1 || q.pending[0] != tasks[2] || len(q.unfinished) != 2 || len(q.tasks) != 2 {
		t.Errorf("%d are pending, %d unfinished, %d known", len(q.pending), len(q.unfinished), len(q.tasks))
	}
	cancel()
	for _, i := range []int{0, 2} {
		if <-tasks[i].done; !errors.Is(tasks[i].err, context.Canceled) {
			t.Errorf("task %d: %v", i, tasks[i].err)
		}
	}
}

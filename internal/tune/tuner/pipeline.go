package tuner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// compiled is a variant that is ready to be measured, or why it never will be.
type compiled struct {
	*variant
	made measure.Compiled
	err  error
}

// works compiles variants in many processes, each only once, so that those
// which are asked for after they were thought likely are there already.
type works struct {
	ctx  context.Context
	lab  measure.Lab
	free chan struct{} // a token for each process that compiles
	hold sync.RWMutex  // is held while something is timed that compiling would disturb

	mutex sync.Mutex
	jobs  map[string]*job // by configuration
	open  map[*job]bool   // that are not done
	made  Compilation
	took  []time.Duration // by what was compiled, the shortest first
	least time.Duration   // that a variant may be compiled for
}

type job struct {
	kernel string
	done   chan struct{}
	compiled

	mutex sync.Mutex
	doing doing
	since time.Time // it does that
}

// doing is what is done for a variant.
type doing uint8

const (
	queued doing = iota
	lowering
	compiling
)

func newWorks(ctx context.Context, lab measure.Lab) *works {
	w := &works{ctx: ctx, lab: lab, jobs: map[string]*job{}, open: map[*job]bool{}, least: leastCompiling}
	w.made.Processes = max(1, lab.About().Workers)
	w.free = make(chan struct{}, w.made.Processes)
	return w
}

// start has a stage compiled with a plan, unless that was started before. The
// name stands for both.
func (w *works) start(kernel, name string, st *stage, plan schedule.Plan) *job {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if j, ok := w.jobs[name]; ok {
		return j
	}
	j := &job{kernel: kernel, done: make(chan struct{})}
	w.jobs[name] = j
	w.open[j] = true
	go func() {
		defer func() {
			w.mutex.Lock()
			delete(w.open, j)
			w.mutex.Unlock()
			close(j.done)
		}()
		select {
		case w.free <- struct{}{}:
			defer func() { <-w.free }()
		case <-w.ctx.Done():
			j.err = context.Cause(w.ctx)
			return
		}
		j.compiled = w.compile(st, plan, j.enter)
	}()
	return j
}

// enter notes what is done for the variant from now on.
func (j *job) enter(d doing) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.doing, j.since = d, time.Now()
}

// compile lowers and compiles, and tells which of both it does.
func (w *works) compile(st *stage, plan schedule.Plan, tell func(doing)) compiled {
	w.hold.RLock()
	defer w.hold.RUnlock()
	var c compiled
	tell(lowering)
	begin := time.Now()
	c.variant, c.err = st.lowered(st.bound, plan)
	w.lowered(time.Since(begin))
	if c.err != nil {
		return c
	}
	tell(compiling)
	ctx := w.ctx
	if limit, ok := w.limit(); ok {
		late := refusal.For(refusal.Compiler, fmt.Errorf("the compiler has not come to an end after %v; half of all variants take a tenth of that or less", limit.Round(time.Millisecond)))
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, late)
		defer stop()
	}
	c.made, c.err = w.lab.Compile(ctx, c.text())
	c.code.Image = c.made.Image
	if c.err == nil {
		w.note(c.made)
	}
	return c
}

// lowered counts a variant that was lowered.
func (w *works) lowered(took time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.made.Variants++
	w.made.Lowering += took.Seconds()
}

// waiting says what is done for the variants of a kernel: "compiling 12 variants of
// laplace[0:1], the first for 9 s; lowering 3 variants of laplace[0:1], the first for 1 s; 20 more
// to come".
func (w *works) waiting(kernel string) string {
	var n [compiling + 1]int
	var first [compiling + 1]time.Time
	w.mutex.Lock()
	for j := range w.open {
		if j.kernel != kernel {
			continue
		}
		j.mutex.Lock()
		n[j.doing]++
		if first[j.doing].IsZero() || j.since.Before(first[j.doing]) {
			first[j.doing] = j.since
		}
		j.mutex.Unlock()
	}
	w.mutex.Unlock()
	var parts []string
	for _, d := range []struct {
		doing
		words string
	}{{compiling, "compiling"}, {lowering, "lowering"}} {
		if k := n[d.doing]; k > 0 {
			parts = append(parts, fmt.Sprintf("%s %s of %s, the first for %.0f s", d.words, variants(k), kernel, time.Since(first[d.doing]).Seconds()))
		}
	}
	if k := n[queued]; k > 0 {
		parts = append(parts, fmt.Sprintf("%d more to come", k))
	}
	return strings.Join(parts, "; ")
}

func variants(n int) string {
	if n == 1 {
		return "1 variant"
	}
	return fmt.Sprintf("%d variants", n)
}

// A search cannot wait long for one variant: those asked for after it are not
// told before it is. So many times what variants usually take is too long for
// one, once so many have been compiled; and never is less than leastCompiling.
const (
	tooLong        = 10
	enoughCompiled = 20
	leastCompiling = 2 * time.Second
)

// limit returns how long a variant may be compiled; false if that is for the
// compiler's own limit to say, which it is where nothing is compiled ahead.
func (w *works) limit() (time.Duration, bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.lab.About().Shared || len(w.took) < enoughCompiled {
		return 0, false
	}
	return max(w.least, tooLong*w.took[len(w.took)/2]), true
}

// note takes in how long a variant took to compile.
func (w *works) note(m measure.Compiled) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if m.Cached {
		w.made.Cached++
	} else {
		w.made.Compiling += m.Took.Seconds()
	}
	i, _ := slices.BinarySearch(w.took, m.Took)
	w.took = slices.Insert(w.took, i, m.Took)
}

// sum returns what was done so far.
func (w *works) sum() Compilation {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.made
}

// spare returns how many processes have nothing to compile.
func (w *works) spare() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return max(0, cap(w.free)-len(w.open))
}

// forget drops what was compiled for names that are not needed any more.
func (w *works) forget(name string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.jobs, name)
}

// quietly calls f while nothing is compiled, on devices that compilers share.
func (w *works) quietly(f func()) {
	if w.lab.About().Shared {
		w.hold.Lock()
		defer w.hold.Unlock()
	}
	f()
}

// Limits of the time for one variant. Besides its runs it is checked, which
// takes about as long as some runs of the best; a variant that is that much
// slower is of no interest.
const (
	leastPatience = 5 * time.Second
	firstPatience = 30 * time.Second
	manyTimes     = 400
)

// patience returns the limit of time for a variant, given the best so far.
func patience(best float64) time.Duration {
	if best <= 0 || math.IsInf(best, 0) {
		return firstPatience
	}
	return min(firstPatience, leastPatience+time.Duration(manyTimes*best*float64(time.Second)))
}

// checksOfTry is how often a trial that is right compares all cells: before
// and after timing.
const checksOfTry = 2

// outcomeOf words what has become of a variant.
func outcomeOf(t measure.Trial, err error) Outcome {
	o := Outcome{Verdict: Good}
	if err != nil {
		o.Verdict, o.Reason, o.Message = Refused, reasonOf(err), err.Error()
		if _, wrong := errors.AsType[*measure.Mismatch](err); wrong {
			o.Verdict = Wrong
		}
		return o
	}
	i := measure.Mean(measure.Undisturbed(t.Times))
	o.Seconds, o.Low, o.High = measure.Median(t.Times), max(i[0], 0), i[1] // no time is negative, whatever few samples say
	o.Times, o.Runs, o.Early = t.Times, t.Launches, t.Early
	o.Cells, o.Difference, o.Condition = t.Agreement.Cells, t.Agreement.Largest, t.Condition
	o.Checks = checksOfTry
	o.Resources = t.Resources
	return o
}

// reasonOf is the word by which refusals are counted.
func reasonOf(err error) string {
	if _, wrong := errors.AsType[*measure.Mismatch](err); wrong {
		return "wrong"
	}
	if _, late := errors.AsType[*measure.Late](err); late {
		return "timeout"
	}
	if r := refusal.Of(err); r != refusal.None {
		return r.String()
	}
	if _, crash := errors.AsType[*measure.Crash](err); crash {
		return "crash"
	}
	if _, died := errors.AsType[*worker.Death](err); died {
		return "crash"
	}
	return "launch"
}

package tuner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
	busy  int             // jobs that are not done
	took  []time.Duration // by what was compiled, the shortest first
	least time.Duration   // that a variant may be compiled for
}

type job struct {
	done chan struct{}
	compiled
}

func newWorks(ctx context.Context, lab measure.Lab) *works {
	w := &works{ctx: ctx, lab: lab, jobs: map[string]*job{}, least: leastCompiling}
	w.free = make(chan struct{}, max(1, lab.About().Workers))
	return w
}

// start has a stage compiled with a plan, unless that was started before. The
// name stands for both.
func (w *works) start(name string, st *stage, plan schedule.Plan) *job {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if j, ok := w.jobs[name]; ok {
		return j
	}
	j := &job{done: make(chan struct{})}
	w.jobs[name] = j
	w.busy++
	go func() {
		defer func() {
			w.mutex.Lock()
			w.busy--
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
		j.compiled = w.compile(st, plan)
	}()
	return j
}

// compile lowers and compiles.
func (w *works) compile(st *stage, plan schedule.Plan) compiled {
	w.hold.RLock()
	defer w.hold.RUnlock()
	var c compiled
	if c.variant, c.err = st.lowered(st.bound, plan); c.err != nil {
		return c
	}
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
		w.note(c.made.Took)
	}
	return c
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
func (w *works) note(took time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	i, _ := slices.BinarySearch(w.took, took)
	w.took = slices.Insert(w.took, i, took)
}

// spare returns how many processes have nothing to compile.
func (w *works) spare() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return max(0, cap(w.free)-w.busy)
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
	o.timed(t.Times)
	o.Runs, o.Early = t.Launches, t.Early
	o.Cells, o.Difference, o.Condition = t.Agreement.Cells, t.Agreement.Largest, t.Condition
	o.Checks = checksOfTry
	o.Resources = t.Resources
	return o
}

// timed takes in the times of all batches.
func (o *Outcome) timed(times []float64) {
	median, i := measure.Typical(times)
	o.Times, o.Seconds, o.Low, o.High = times, median, i[0], i[1]
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

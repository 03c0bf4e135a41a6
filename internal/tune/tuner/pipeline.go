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
	ctx   context.Context
	lab   measure.Lab
	clock func() time.Time
	hold  sync.RWMutex // is held while something is timed that compiling would disturb

	mutex sync.Mutex
	jobs  map[string]*job // by configuration
	open  map[*job]bool   // that are not done
	queue []*job          // of these, that no process is at
	begun int             // jobs in all
	busy  int             // processes that are at a job
	known map[string]bool // kernels that something was measured of
	made  Compilation
	took  []time.Duration // by what was compiled, the shortest first
	waits []time.Duration // for these, of others than those that were compiled before
	least time.Duration   // that a variant may be compiled for
}

type job struct {
	kernel string
	number int
	lower  func() (*variant, error)
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
	lowered // and waits to be compiled
	compiling
)

func newWorks(ctx context.Context, lab measure.Lab, clock func() time.Time) *works {
	w := &works{ctx: ctx, lab: lab, clock: clock, jobs: map[string]*job{}, open: map[*job]bool{}, known: map[string]bool{}, least: leastCompiling}
	w.made.Processes = max(1, lab.About().Workers)
	return w
}

// start has a stage compiled with a plan, unless that was started before. The
// name stands for both.
func (w *works) start(kernel, name string, st *stage, plan schedule.Plan) *job {
	return w.begin(kernel, name, func() (*variant, error) { return st.lowered(st.bound, plan) })
}

// begin has what a function lowers compiled, unless that was begun before under the
// name.
func (w *works) begin(kernel, name string, lower func() (*variant, error)) *job {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if j, ok := w.jobs[name]; ok {
		return j
	}
	j := &job{kernel: kernel, number: w.begun, lower: lower, done: make(chan struct{})}
	w.begun++
	w.jobs[name] = j
	w.open[j] = true
	w.queue = append(w.queue, j)
	if w.busy < w.made.Processes {
		w.busy++
		go w.work()
	}
	return j
}

// work does jobs until none is left.
func (w *works) work() {
	for {
		j := w.first()
		if j == nil {
			return
		}
		switch {
		case w.ctx.Err() != nil:
			j.err = context.Cause(w.ctx)
		case j.doing == lowered:
			w.finish(j)
		default:
			j.variant, j.err = w.lowerOne(j)
			if j.err == nil && w.later(j) {
				continue
			}
			if j.err == nil {
				w.finish(j)
			}
		}
		w.mutex.Lock()
		delete(w.open, j)
		w.mutex.Unlock()
		close(j.done)
	}
}

// first takes the job from the queue that is to be done next; nil if there is none,
// and then there is one process less at work. Kernels that nothing was measured of
// yet have their shortest texts compiled first, of as many as there are processes:
// what is long takes compilers long, and a search has to begin. The others have
// theirs in the order of asking.
func (w *works) first() *job {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	best, ready := -1, 0
	for _, j := range w.queue {
		if j.doing == lowered {
			ready++
		}
	}
	for i, j := range w.queue {
		if best < 0 || w.before(j, w.queue[best], ready >= w.made.Processes) {
			best = i
		}
	}
	if best < 0 {
		w.busy--
		return nil
	}
	j := w.queue[best]
	w.queue = slices.Delete(w.queue, best, best+1)
	return j
}

// before reports whether one job in the queue goes before another. Where nothing
// was measured yet, what is not lowered does until enough is: how long it is nobody
// knows.
func (w *works) before(a, b *job, enough bool) bool {
	fresh, other := !w.known[a.kernel], !w.known[b.kernel]
	switch {
	case fresh && other && (a.doing == lowered) != (b.doing == lowered):
		return (a.doing == lowered) == enough
	case fresh && other && a.doing == lowered && len(a.source) != len(b.source):
		return len(a.source) < len(b.source)
	}
	return a.number < b.number
}

// later puts a job that was lowered back, if shorter ones may go before it.
func (w *works) later(j *job) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.known[j.kernel] || len(w.queue) == 0 {
		return false
	}
	j.enter(lowered)
	w.queue = append(w.queue, j)
	return true
}

// measured notes that something was measured of a kernel.
func (w *works) measured(kernel string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.known[kernel] = true
}

// enter notes what is done for the variant from now on.
func (j *job) enter(d doing) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.doing, j.since = d, time.Now()
}

// lowerOne lowers a variant.
func (w *works) lowerOne(j *job) (*variant, error) {
	w.hold.RLock()
	defer w.hold.RUnlock()
	j.enter(lowering)
	begin := time.Now()
	v, err := j.lower()
	w.count(time.Since(begin))
	return v, err
}

// finish compiles a variant that was lowered.
func (w *works) finish(j *job) {
	w.hold.RLock()
	defer w.hold.RUnlock()
	j.enter(compiling)
	ctx := w.ctx
	if limit, ok := w.limit(); ok {
		late := refusal.For(refusal.Compiler, fmt.Errorf("the compiler has not come to an end after %v; half of all variants take a tenth of that or less", limit.Round(time.Millisecond)))
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, late)
		defer stop()
	}
	begin := w.clock()
	j.made, j.err = w.lab.Compile(ctx, j.text())
	j.code.Image = j.made.Image
	if j.err == nil {
		w.note(j.made, w.clock().Sub(begin))
	}
}

// count counts a variant that was lowered.
func (w *works) count(took time.Duration) {
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
	if k := n[queued] + n[lowered]; k > 0 {
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
func (w *works) note(m measure.Compiled, waited time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if m.Cached {
		w.made.Cached++
	} else {
		w.made.Compiling += m.Took.Seconds()
		w.waits = sortedWith(w.waits, waited)
	}
	w.took = sortedWith(w.took, m.Took)
}

func sortedWith(list []time.Duration, d time.Duration) []time.Duration {
	i, _ := slices.BinarySearch(list, d)
	return slices.Insert(list, i, d)
}

// usualTime is how long a variant usually takes from its plan to its code.
func (w *works) usualTime() time.Duration {
	took := w.lowering()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if n := len(w.waits); n > 0 {
		took += w.waits[n/2]
	}
	return took
}

// lowering is how long it takes to lower a variant, on average.
func (w *works) lowering() time.Duration {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return time.Duration(w.made.Lowering / float64(max(1, w.made.Variants)) * float64(time.Second))
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
	return max(0, w.made.Processes-len(w.open))
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

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
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// compiled is a variant that is ready to be measured, or the reason why it cannot be.
type compiled struct {
	*variant
	made measure.Compiled
	err  error
}

// hash returns the hash of the code; 0 if there is none.
func (c *compiled) hash() session.Code {
	if c.variant == nil {
		return 0
	}
	h, err := session.CodeOf(c.key)
	if err != nil {
		return 0 // it was not lowered
	}
	return h
}

// compileQueue lowers and compiles each variant once, on several processes. Variants that the strategy
// calls likely are compiled ahead of time.
type compileQueue struct {
	ctx    context.Context
	lab    measure.Lab
	clock  func() time.Time
	timing sync.RWMutex // held for writing while a measurement runs that compilers would disturb

	mutex        sync.Mutex
	tasks        map[string]*compileTask // by name
	unfinished   map[*compileTask]bool   // tasks that are not done
	pending      []*compileTask          // of these, tasks that no process works on
	added        int                     // tasks so far
	busyWorkers  int                     // processes that work on a task
	measured     map[string]bool         // kernels with at least one measurement
	stats        Compilation
	compileTimes map[string][]time.Duration // seconds of each compilation, by class, the shortest first
	waitTimes    []time.Duration            // from request to code, of variants that no cache had, the shortest first
	minLimit     time.Duration              // the shortest time limit of a compilation
	firstLimit   time.Duration              // that of the first compilations; 0 is none
}

type compileTask struct {
	kernel string
	class  string // of tasks whose times of compiling are compared
	number int
	lower  func() (*variant, error)
	done   chan struct{}
	compiled

	mutex sync.Mutex
	state taskState
	since time.Time // it does that
}

// taskState is how far a compile task is.
type taskState uint8

const (
	queued taskState = iota
	lowering
	lowered // waits to be compiled
	compiling
)

func newCompileQueue(ctx context.Context, lab measure.Lab, clock func() time.Time) *compileQueue {
	q := &compileQueue{ctx: ctx, lab: lab, clock: clock, tasks: map[string]*compileTask{},
		unfinished: map[*compileTask]bool{}, measured: map[string]bool{},
		compileTimes: map[string][]time.Duration{}, minLimit: leastCompiling}
	q.stats.Processes = max(1, lab.About().Workers)
	return q
}

// addPlan adds the task to compile a call with a plan. The name stands for both: a task of that name
// that exists already is returned.
func (q *compileQueue) addPlan(kernel, name string, call *tunedCall, plan schedule.Plan) *compileTask {
	class := "" // kernels of single iterations take about as long
	if call.iterations != nil {
		class = call.name
	}
	return q.addOf(class, kernel, name, func() (*variant, error) { return call.lowered(call.bound, plan) })
}

// add adds the task to compile what a function lowers, unless there is a task of that name.
func (q *compileQueue) add(kernel, name string, lower func() (*variant, error)) *compileTask {
	return q.addOf("", kernel, name, lower)
}

// addOf is add for a class of tasks.
func (q *compileQueue) addOf(class, kernel, name string, lower func() (*variant, error)) *compileTask {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if task, ok := q.tasks[name]; ok {
		return task
	}
	task := &compileTask{kernel: kernel, class: class, number: q.added, lower: lower, done: make(chan struct{})}
	q.added++
	q.tasks[name] = task
	q.unfinished[task] = true
	q.pending = append(q.pending, task)
	if q.busyWorkers < q.stats.Processes {
		q.busyWorkers++
		go q.runWorker()
	}
	return task
}

// runWorker works on tasks until none is left.
func (q *compileQueue) runWorker() {
	for {
		task := q.nextTask()
		if task == nil {
			return
		}
		switch {
		case q.ctx.Err() != nil:
			task.err = context.Cause(q.ctx)
		case task.state == lowered:
			q.compile(task)
		default:
			task.variant, task.err = q.lower(task)
			if task.err == nil && q.postpone(task) {
				continue
			}
			if task.err == nil {
				q.compile(task)
			}
		}
		q.mutex.Lock()
		delete(q.unfinished, task)
		q.mutex.Unlock()
		close(task.done)
	}
}

// nextTask takes the next task from the queue. If there is none it returns nil, and the worker counts as
// idle. A kernel without measurements has its shortest texts compiled first, among as many lowered
// variants as there are processes: long texts take compilers long, and the search has to begin. All other
// tasks keep the order in which they were added.
func (q *compileQueue) nextTask() *compileTask {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	best, ready := -1, 0
	for _, task := range q.pending {
		if task.state == lowered {
			ready++
		}
	}
	for i, task := range q.pending {
		if best < 0 || q.precedes(task, q.pending[best], ready >= q.stats.Processes) {
			best = i
		}
	}
	if best < 0 {
		q.busyWorkers--
		return nil
	}
	task := q.pending[best]
	q.pending = slices.Delete(q.pending, best, best+1)
	return task
}

// precedes reports whether task a comes before task b. For kernels without measurements, tasks that are
// not lowered come first until enough are lowered, because the length of their texts is not known.
func (q *compileQueue) precedes(a, b *compileTask, enough bool) bool {
	fresh, other := !q.measured[a.kernel], !q.measured[b.kernel]
	switch {
	case fresh && other && (a.state == lowered) != (b.state == lowered):
		return (a.state == lowered) == enough
	case fresh && other && a.state == lowered && len(a.source) != len(b.source):
		return len(a.source) < len(b.source)
	}
	return a.number < b.number
}

// postpone puts a lowered task back into the queue if a shorter one may come before it.
func (q *compileQueue) postpone(task *compileTask) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.measured[task.kernel] || len(q.pending) == 0 {
		return false
	}
	task.setState(lowered)
	q.pending = append(q.pending, task)
	return true
}

// markMeasured notes that a kernel has a measurement.
func (q *compileQueue) markMeasured(kernel string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.measured[kernel] = true
}

// setState sets the task's state and when it began.
func (task *compileTask) setState(d taskState) {
	task.mutex.Lock()
	defer task.mutex.Unlock()
	task.state, task.since = d, time.Now()
}

// lower lowers a task's variant.
func (q *compileQueue) lower(task *compileTask) (*variant, error) {
	q.timing.RLock()
	defer q.timing.RUnlock()
	task.setState(lowering)
	begin := time.Now()
	v, err := task.lower()
	q.countLowered(time.Since(begin))
	return v, err
}

// compile compiles a lowered variant.
func (q *compileQueue) compile(task *compileTask) {
	q.timing.RLock()
	defer q.timing.RUnlock()
	task.setState(compiling)
	ctx := q.ctx
	if limit, ok := q.timeLimit(task.class); ok {
		late := verdict.For(verdict.Compiler,
			fmt.Errorf(
				"the compiler has not come to an end after %v; half of all variants take a tenth of that or less, "+
					"or it is half of the search's time",
				limit.Round(time.Millisecond)))
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, late)
		defer stop()
	}
	begin := q.clock()
	task.made, task.err = q.lab.Compile(ctx, task.text())
	task.code.Image = task.made.Image
	if task.err == nil {
		q.countCompiled(task.class, task.made, q.clock().Sub(begin))
	}
}

// countLowered counts a variant and the time of its lowering.
func (q *compileQueue) countLowered(took time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.stats.Variants++
	q.stats.Lowering += took.Seconds()
}

// describe says what the queue does for a kernel: "compiling 12 variants of laplace[0:1], the first for
// 9 s; lowering 3 variants of laplace[0:1], the first for 1 s; 20 more to come".
func (q *compileQueue) describe(kernel string) string {
	var n [compiling + 1]int
	var first [compiling + 1]time.Time
	q.mutex.Lock()
	for task := range q.unfinished {
		if task.kernel != kernel {
			continue
		}
		task.mutex.Lock()
		n[task.state]++
		if first[task.state].IsZero() || task.since.Before(first[task.state]) {
			first[task.state] = task.since
		}
		task.mutex.Unlock()
	}
	q.mutex.Unlock()
	var parts []string
	for _, d := range []struct {
		taskState
		words string
	}{{compiling, "compiling"}, {lowering, "lowering"}} {
		if k := n[d.taskState]; k > 0 {
			parts = append(parts, fmt.Sprintf("%s %s of %s, the first for %.0f s", d.words, variants(k), kernel,
				time.Since(first[d.taskState]).Seconds()))
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

// A search cannot wait long for one variant, because the strategy is told results in the order of its
// requests. Once enoughCompiled variants are compiled, the limit for one is tooLong times their median,
// and at least leastCompiling.
const (
	tooLong        = 10
	enoughCompiled = 20
	leastCompiling = 2 * time.Second
	firstCompiling = 10 * time.Second // at the least for the first ones, in a search with a budget
)

// firstLimitOf is how long each of the first variants may be compiled in a search of so much time: a search with a
// budget would else end when the slowest of them does.
func firstLimitOf(budget time.Duration) time.Duration {
	if budget == 0 {
		return 0
	}
	return max(budget/2, firstCompiling)
}

// timeLimit returns how long a variant of a class may be compiled. It is false if only the compiler's own limit
// applies: before enough variants are compiled in a search without a budget, and where nothing is compiled ahead.
func (q *compileQueue) timeLimit(class string) (time.Duration, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	times := q.compileTimes[class]
	switch {
	case q.lab.About().Shared:
		return 0, false
	case len(times) < enoughCompiled:
		return q.firstLimit, q.firstLimit > 0
	}
	return max(q.minLimit, tooLong*times[len(times)/2]), true
}

// countCompiled records how long a variant took to compile.
func (q *compileQueue) countCompiled(class string, m measure.Compiled, waited time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if m.Cached {
		q.stats.Cached++
	} else {
		q.stats.Compiling += m.Took.Seconds()
		q.waitTimes = sortedWith(q.waitTimes, waited)
	}
	q.compileTimes[class] = sortedWith(q.compileTimes[class], m.Took)
}

func sortedWith(list []time.Duration, d time.Duration) []time.Duration {
	i, _ := slices.BinarySearch(list, d)
	return slices.Insert(list, i, d)
}

// typicalTime is the median time of a variant from its plan to its code.
func (q *compileQueue) typicalTime() time.Duration {
	took := q.meanLowering()
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if n := len(q.waitTimes); n > 0 {
		took += q.waitTimes[n/2]
	}
	return took
}

// meanLowering is the mean time of lowering a variant.
func (q *compileQueue) meanLowering() time.Duration {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return time.Duration(q.stats.Lowering / float64(max(1, q.stats.Variants)) * float64(time.Second))
}

// summary returns what the queue has done so far.
func (q *compileQueue) summary() Compilation {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.stats
}

// errDropped is why a variant is not compiled that nothing waits for any more.
var errDropped = errors.New("the search of the kernel is over")

// dropPending drops the tasks of a kernel that no process works on.
func (q *compileQueue) dropPending(kernel string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.pending = slices.DeleteFunc(q.pending, func(task *compileTask) bool {
		if task.kernel != kernel {
			return false
		}
		delete(q.unfinished, task)
		for name, other := range q.tasks {
			if other == task {
				delete(q.tasks, name)
			}
		}
		task.err = errDropped
		close(task.done)
		return true
	})
}

// idleWorkers returns how many processes have nothing to compile.
func (q *compileQueue) idleWorkers() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return max(0, q.stats.Processes-len(q.unfinished))
}

// forget drops a compiled variant that is no longer needed.
func (q *compileQueue) forget(name string) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	delete(q.tasks, name)
}

// withoutCompilers calls f. On devices that share their processors with compilers, no compiler runs
// meanwhile.
func (q *compileQueue) withoutCompilers(f func()) {
	if q.lab.About().Shared {
		q.timing.Lock()
		defer q.timing.Unlock()
	}
	f()
}

// Limits of the time of one trial. A trial has runs and checks; checking takes about as long as some runs
// of the incumbent. A variant that is bestTimes slower than the incumbent is of no interest.
const (
	minTrialLimit   = 5 * time.Second
	firstTrialLimit = 30 * time.Second
	bestTimes       = 400
)

// trialLimit returns the time limit of a trial, given the incumbent's time.
func trialLimit(best float64) time.Duration {
	if best <= 0 || math.IsInf(best, 0) {
		return firstTrialLimit
	}
	return min(firstTrialLimit, minTrialLimit+time.Duration(bestTimes*best*float64(time.Second)))
}

// checksOfTry is how often a correct trial compares all cells: before and after timing.
const checksOfTry = 2

// outcomeOf makes the outcome of a trial or of its error.
func outcomeOf(t measure.Trial, err error) Outcome {
	o := Outcome{Verdict: verdict.OK}
	if err != nil {
		o.Verdict, o.Message = verdictOf(err), err.Error()
		return o
	}
	o.timed(t.Times)
	o.Runs, o.Early = t.Launches, t.Early
	o.Cells, o.Difference, o.Condition = t.Agreement.Cells, t.Agreement.Largest, t.Condition
	o.Checks = checksOfTry
	o.Resources = t.Resources
	return o
}

// timed sets the times of all batches, with their median and interval.
func (o *Outcome) timed(times []float64) {
	median, i := measure.Typical(times)
	o.Times, o.Seconds, o.Low, o.High = times, median, i[0], i[1]
}

// verdictOf returns what an error of a trial says of the variant.
func verdictOf(err error) verdict.Verdict {
	if _, wrong := errors.AsType[*measure.Mismatch](err); wrong {
		return verdict.Wrong
	}
	if _, late := errors.AsType[*measure.Late](err); late {
		return verdict.Timeout
	}
	if r := verdict.Of(err); r != verdict.OK {
		return r
	}
	if _, crash := errors.AsType[*measure.Crash](err); crash {
		return verdict.Crash
	}
	if _, died := errors.AsType[*worker.Death](err); died {
		return verdict.Crash
	}
	return verdict.Launch
}

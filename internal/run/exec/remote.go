package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Options says how a compiled program is run.
type Options struct {
	Device  string // "cpu", "cuda:0"
	Image   string // that device.Builder has made of the module
	Threads int    // of the cpu; 0 for all that this process may use
	// Private keeps the cpu's grids in memory of the worker's own, in huge
	// pages, and copies them when they are asked for: faster for many
	// iterations, slower for few, and twice the memory.
	Private bool
	// NoGraphs starts every kernel by itself, also where the device could start
	// many together.
	NoGraphs bool
	Deadline time.Duration  // for one launch; 0 is none
	Patience time.Duration  // for a worker that was told to stop; 0 is 10 s
	Progress func(Progress) // called now and then while Advance is busy
	Interval time.Duration  // between calls of Progress; 0 is 200 ms
	System   memory.System  // that memory is asked of; "" is this machine

	eager int64 // for tests: iterations of a graph, at once
}

// Remote is a Runner whose program runs in a worker process.
type Remote struct {
	hosted
	opts    Options
	process *worker.Process

	number int64 // of advances
	usage  []device.Usage
	failed error // that ended the worker
}

// Open starts a worker for a module and gives its grids memory, after checking
// that there is enough.
func Open(ctx context.Context, m *kernel.Module, b *ir.Binding, o Options) (*Remote, error) {
	script, err := NewScript(m, b)
	if err != nil {
		return nil, err
	}
	o = o.complete()
	if err := script.runsOn(o.Device); err != nil {
		return nil, err
	}
	if err := o.System.Check(script.Needs(o.Device, o.Private)); err != nil {
		return nil, err
	}
	r := &Remote{opts: o}
	region, err := memory.New("gridloom", script.SharedBytes)
	if err != nil {
		return nil, err
	}
	r.hosted = newHosted(b, script, region, nil)
	if err := r.start(ctx); err != nil {
		r.Close()
		if ctx.Err() != nil { // an interrupt may have hit a worker that did not know better yet
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return r, nil
}

func (o Options) complete() Options {
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	if o.Interval == 0 {
		o.Interval = 200 * time.Millisecond
	}
	if o.System == "" {
		o.System = "/"
	}
	return o
}

// start starts the worker and sends it the script.
func (r *Remote) start(ctx context.Context) error {
	var err error
	r.process, err = worker.Start(Service.Name, worker.Options{Files: []*os.File{r.region.File()},
		Env: cpu.Environment(r.opts.Threads)})
	if err != nil {
		return err
	}
	a, err := r.ask(ctx, request{Kind: setUp, Script: r.script, Device: r.opts.Device, Image: r.opts.Image,
		Private: r.opts.Private, NoGraphs: r.opts.NoGraphs, Deadline: r.opts.Deadline, Eager: r.opts.eager}, nil)
	r.usage = a.Usage
	return err
}

// Failure is the end of the worker in the midst of the program.
type Failure struct {
	Call, Kernel string // that ran; "" if none did
	Others       bool   // or one that was launched together with it
	Iterations   int64  // of outermost iterates that were complete
	Err          error
}

// Error says what ran and what happened.
func (e *Failure) Error() string {
	if e.Kernel == "" {
		return fmt.Sprintf("the worker process failed: %v", e.Err)
	}
	where := "kernel " + e.Kernel
	if e.Call != e.Kernel {
		where += " of call " + e.Call
	}
	if e.Others {
		where += ", or one launched together with it,"
	}
	return fmt.Sprintf("%s failed after %s: %v", where, iterations(e.Iterations), e.Err)
}

func iterations(n int64) string {
	if n == 1 {
		return "1 iteration"
	}
	return fmt.Sprintf("%d iterations", n)
}

// Unwrap returns the cause.
func (e *Failure) Unwrap() error { return e.Err }

// ask sends a request and waits for the reply, meanwhile watching over the
// worker. beat, unless nil, is called at every interval.
func (r *Remote) ask(ctx context.Context, q request, beat func()) (reply, error) {
	if r.failed != nil {
		return reply{}, r.failed
	}
	type answer struct {
		reply
		err error
	}
	answers := make(chan answer, 1)
	if err := r.process.Send(q); err == nil {
		go func() {
			var a answer
			a.err = r.process.Receive(&a.reply)
			answers <- a
		}()
	} else {
		// A worker that is gone takes no requests; Receive knows how it went.
		var a answer
		a.err = r.process.Receive(&a.reply)
		answers <- a
	}
	ticker := time.NewTicker(r.opts.tick())
	defer ticker.Stop()
	guard := watchdog{remote: r, limit: r.opts.Deadline}
	if q.Kind == setUp {
		guard.limit, guard.always = setUpLimit, true
	}
	interrupted := ctx.Done()
	for {
		select {
		case a := <-answers:
			switch {
			case a.err != nil:
				r.failed = r.failure(a.err)
				return a.reply, r.failed
			case a.Error != "":
				return a.reply, verdict.For(a.Reason, errors.New(a.Error))
			}
			return a.reply, nil
		case <-ticker.C:
			guard.look()
			if beat != nil {
				beat()
			}
		case <-interrupted:
			interrupted = nil
			guard.interrupted = time.Now()
			r.process.Send(request{Kind: halt, Number: q.Number})
		}
	}
}

// tick returns how often to look after the worker.
func (o Options) tick() time.Duration {
	tick := o.Interval
	if o.Deadline > 0 {
		tick = min(tick, max(o.Deadline/4, time.Millisecond))
	}
	return min(tick, max(o.Patience/4, time.Millisecond))
}

// setUpLimit is for devices that hang when they are opened, not for slow ones.
const setUpLimit = time.Minute

// watchdog kills a worker that makes no progress.
type watchdog struct {
	remote      *Remote
	limit       time.Duration // for a launch, or for setting up; 0 is none
	always      bool          // whether or not a kernel is running
	launches    int64         // when last looked at
	since       time.Time     // when that number was first seen
	interrupted time.Time     // when the worker was told to stop
}

func (w *watchdog) look() {
	o := &w.remote.opts
	now := time.Now()
	if !w.interrupted.IsZero() && now.Sub(w.interrupted) > o.Patience {
		w.remote.process.Kill(fmt.Errorf("it was interrupted, and did not stop within %v", o.Patience))
	}
	n := w.remote.status.launches.Load()
	if w.since.IsZero() || n != w.launches {
		w.launches, w.since = n, now
		return
	}
	running := w.always || w.remote.status.running.Load() != 0
	if w.limit > 0 && running && now.Sub(w.since) > w.limit {
		w.remote.process.Kill(fmt.Errorf("it took longer than %v", w.limit))
	}
}

// Advance implements Runner.
func (r *Remote) Advance(ctx context.Context, limit Limit) (Progress, error) {
	r.number++
	begin, before := time.Now(), r.done.Busy
	beat := func() { r.tell(r.opts.Progress, before+time.Since(begin)) }
	a, err := r.ask(ctx, request{Kind: advance, From: r.cursor, Limit: limit, Number: r.number, Push: r.push}, beat)
	if r.failed != nil {
		return r.counts(), err
	}
	r.push = false
	r.done = r.counts()
	r.done.Busy = before + a.Busy
	if err != nil {
		r.failed = r.failure(err)
		return r.done, r.failed
	}
	r.arrived(a.Cursor, a.Ending, a.Holds)
	return r.done, nil
}

// Grid implements Runner.
func (r *Remote) Grid(name string) ([]byte, error) {
	i, err := gridIndex(r.bound.Program, name)
	if err != nil {
		return nil, err
	}
	if r.failed != nil {
		return nil, r.failed
	}
	if r.stale[i] {
		if _, err := r.ask(context.Background(), request{Kind: fetch, Grids: []int{i}}, nil); err != nil {
			return nil, err
		}
		r.stale[i] = false
	}
	return r.grid(i), nil
}

// Initialise implements Runner.
func (r *Remote) Initialise(given []string) error {
	if r.bound.Program.Initial == nil {
		return nil
	}
	if err := r.bring(r.Grid); err != nil {
		return err
	}
	return initialise(r.bound, given, r.grid)
}

// KernelUsage is what a kernel takes of its device.
type KernelUsage struct {
	Kernel  string
	Threads int64 // of a block
	device.Usage
}

// Usage returns what each kernel takes; nothing where devices do not tell it.
func (r *Remote) Usage() []KernelUsage { return r.script.usage(r.usage) }

func (s *Script) usage(used []device.Usage) []KernelUsage {
	var list []KernelUsage
	for i, u := range used {
		t := s.Geometry(i).Threads
		list = append(list, KernelUsage{s.Kernels[i], t[0] * t[1] * t[2], u})
	}
	return list
}

// Restore implements Runner.
func (r *Remote) Restore(p Place) error {
	values, err := p.check(r.bound.Program)
	if err != nil {
		return err
	}
	if err := r.bring(r.Grid); err != nil { // those that are not written to keep what they have
		return err
	}
	r.goTo(p, values)
	return nil
}

// Close implements Runner.
func (r *Remote) Close() error {
	if r.process != nil {
		r.process.Close()
	}
	return r.region.Close()
}

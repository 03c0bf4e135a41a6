package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/target"
)

// Local is a Runner whose kernels run in this process, on memory of the caller where it
// has some: a device that works in the host's memory copies nothing. Nothing protects the
// process from generated code that faults or hangs.
type Local struct {
	hosted
	opts     Options
	thread   *thread
	device   device.Device
	executor *executor

	stop   atomic.Int64 // number of the advance that is to stop
	number int64        // of advances
	usage  []device.Usage
}

// OpenLocal gives a module memory in this process, after checking that there is enough.
// The slices of given, by the names of their grids, are those grids' memory; each has as
// many bytes as its grid, and stays the caller's. Options.Deadline, Private and Patience
// have no meaning here: nothing can end a kernel but the end of the process.
func OpenLocal(ctx context.Context, m *kernel.Module, b *ir.Binding, o Options,
	given map[string][]byte) (*Local, error) {
	script, err := NewScript(m, b)
	if err != nil {
		return nil, err
	}
	o = o.complete()
	if err := script.runsOn(o.Device); err != nil {
		return nil, err
	}
	memories := make([][]byte, len(script.Grids))
	var needs []memory.Need
	for i, need := range script.Needs(o.Device, false) {
		if i < len(script.Grids) {
			g := &script.Grids[i]
			if !g.Spare {
				memories[i] = given[g.Name]
			}
			if memories[i] != nil {
				if int64(len(memories[i])) != g.Bytes {
					return nil, fmt.Errorf("%s has %d bytes, and its memory %d", g.Name, g.Bytes, len(memories[i]))
				}
				continue
			}
		}
		needs = append(needs, need)
	}
	if err := o.System.Check(needs); err != nil {
		return nil, err
	}
	script.compact(memories)
	region, err := memory.Anonymous(script.SharedBytes)
	if err != nil {
		return nil, err
	}
	l := &Local{hosted: newHosted(b, script, region, memories), opts: o, thread: newThread()}
	if err := l.thread.do(func() error { return l.start(memories) }); err != nil {
		l.Close()
		return nil, err
	}
	if ctx.Err() != nil {
		l.Close()
		return nil, context.Cause(ctx)
	}
	return l, nil
}

// start opens the device and prepares its launches, on the thread that is to make them.
func (l *Local) start(given [][]byte) error {
	var err error
	if l.device, err = target.Connect(l.opts.Device, device.OpenOptions{}); err != nil {
		return err
	}
	if l.executor, err = newExecutor(l.script, l.device, l.opts.Image, l.region, given, false); err != nil {
		return err
	}
	l.usage = l.executor.usage
	if !l.opts.NoGraphs {
		l.executor.graphs = newGraphLauncher(l.executor, l.opts.eager)
	}
	return nil
}

// Advance implements Runner.
func (l *Local) Advance(ctx context.Context, limit Limit) (Progress, error) {
	l.number++
	number := l.number
	forget := context.AfterFunc(ctx, func() { l.stop.Store(number) })
	defer forget()
	begin, before := time.Now(), l.done.Busy
	done := make(chan struct{})
	var at ir.Cursor
	var end ending
	var failed error
	var busy time.Duration
	go func() {
		defer close(done)
		failed = l.thread.do(func() error {
			if l.push {
				if err := l.executor.push(); err != nil {
					return err
				}
			}
			start := time.Now()
			var err error
			at, end, err = l.executor.run(l.cursor, limit, &l.stop, number)
			busy = time.Since(start)
			return err
		})
	}()
	ticker := time.NewTicker(l.opts.Interval)
	defer ticker.Stop()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-ticker.C:
			l.tell(l.opts.Progress, before+time.Since(begin))
		}
	}
	l.push = false
	l.done = l.counts()
	l.done.Busy = before + busy
	if failed != nil {
		return l.done, l.failure(failed)
	}
	l.arrived(at, end, l.executor.holds)
	return l.done, nil
}

// Grid implements Runner.
func (l *Local) Grid(name string) ([]byte, error) {
	i, err := gridIndex(l.bound.Program, name)
	if err != nil {
		return nil, err
	}
	if l.stale[i] {
		if err := l.thread.do(func() error { return l.executor.pull([]int{i}) }); err != nil {
			return nil, err
		}
		l.stale[i] = false
	}
	return l.grid(i), nil
}

// Settle brings all grids here, each to the memory that it was given: grids that have
// changed places an odd number of times are exchanged.
func (l *Local) Settle() error {
	if err := l.bring(l.Grid); err != nil {
		return err
	}
	for i := range l.holds {
		for l.holds[i] != i {
			// The memory of grid j holds grid i; it goes to where grid i is at home.
			j, other := l.holds[i], slices.Index(l.holds, i)
			switch grids := l.script.Grids; {
			case grids[i].Spare: // nor is other a grid: those are at home
			case grids[other].Spare:
				copy(l.hosts[i], l.hosts[j])
			default:
				exchange(l.hosts[i], l.hosts[j])
			}
			l.holds[i], l.holds[other] = i, j
		}
	}
	l.push = true
	return l.thread.do(func() error { l.executor.assignBuffers(l.holds); return nil })
}

// exchange exchanges the contents of two equally long pieces of memory.
func exchange(a, b []byte) {
	var between [1 << 16]byte
	for len(a) > 0 {
		n := copy(between[:], a)
		copy(a[:n], b)
		copy(b, between[:n])
		a, b = a[n:], b[n:]
	}
}

// Initialise implements Runner.
func (l *Local) Initialise(given []string) error {
	if l.bound.Program.Initial == nil {
		return nil
	}
	return initialise(l.bound, given, l.grid)
}

// Restore implements Runner.
func (l *Local) Restore(p Place) error {
	values, err := p.check(l.bound.Program)
	if err != nil {
		return err
	}
	if err := l.bring(l.Grid); err != nil {
		return err
	}
	l.goTo(p, values)
	return nil
}

// Usage returns what each kernel takes; nothing where devices do not tell it.
func (l *Local) Usage() []KernelUsage { return l.script.usage(l.usage) }

// Close implements Runner. The caller's memory stays.
func (l *Local) Close() error {
	var err error
	if l.device != nil {
		err = l.thread.do(l.device.Close)
	}
	l.thread.release()
	return errors.Join(err, l.region.Close())
}

// thread is a thread of the operating system that carries out one thing after the other:
// drivers and thread teams keep state by thread.
type thread struct{ tasks chan func() }

// idleThreads are those that wait for the next Local: each keeps its team of threads.
var idleThreads = make(chan *thread, 16)

func newThread() *thread {
	select {
	case t := <-idleThreads:
		return t
	default:
	}
	t := &thread{tasks: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for f := range t.tasks {
			f()
		}
	}()
	return t
}

// do carries something out on the thread, and waits for it.
func (t *thread) do(f func() error) error {
	done := make(chan error, 1)
	t.tasks <- func() { done <- f() }
	return <-done
}

// release keeps the thread for another Local, or ends it.
func (t *thread) release() {
	select {
	case idleThreads <- t:
	default:
		close(t.tasks)
	}
}

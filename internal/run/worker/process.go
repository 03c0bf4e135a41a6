package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gridloom/gridloom/internal/run/child"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// Options says how to start a worker.
type Options struct {
	Files []*os.File // handed down; the parent keeps its own
	Env   []string   // besides the parent's own, "NAME=value"
	// Memory is how many bytes the service lets itself take, if it has a limit:
	// a worker that meets it has needed too much.
	Memory int64
	// Under is a command that starts the worker, with its arguments before the worker's own: a profiler, which sees
	// only the process that it has started itself. It need not hand files down, so there can be no Files.
	Under []string
}

// Process is a worker as its parent sees it. Under another program it is that program: the worker ends with it, or when
// its requests end.
type Process struct {
	cmd    *exec.Cmd
	under  bool
	link   *Link
	said   *child.Output
	memory int64
	exited chan struct{}
	status error // of Wait, once exited is closed

	mutex  sync.Mutex
	reason error // why it was killed
}

// Start starts a worker that runs a service.
func Start(service string, o Options) (*Process, error) {
	if !ready.Load() {
		return nil, errors.New(
			"this program cannot start worker processes: it has to call gridloom.WorkerMain first thing in main, and in TestMain")
	}
	if len(o.Under) > 0 {
		return startUnder(service, o)
	}
	var pipes [4]*os.File // requests: read, write; replies: read, write
	closePipes := func() {
		for _, f := range pipes {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := 0; i < 4; i += 2 {
		var err error
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closePipes()
			return nil, unstarted(err)
		}
	}
	// The image of this very process, even if its file has been replaced.
	cmd := exec.Command("/proc/self/exe", Word, service, strconv.Itoa(len(o.Files)))
	cmd.Args[0] = os.Args[0]
	cmd.ExtraFiles = append([]*os.File{pipes[0], pipes[3]}, o.Files...)
	p, err := begin(cmd, o, func() {})
	if err != nil {
		closePipes()
		return nil, err
	}
	p.link = newLink(pipes[2], pipes[1])
	// The worker has its own. Nothing of this process may keep them open.
	pipes[0].Close()
	pipes[3].Close()
	return p, nil
}

// begin starts the command of a worker. Whoever calls it sets the link. When the command has ended, after is called
// before anybody is told.
func begin(cmd *exec.Cmd, o Options, after func()) (*Process, error) {
	cmd.Env = append(os.Environ(), o.Env...)
	if _, limited := memory.System("/").AddressSpace(); limited && os.Getenv("MALLOC_ARENA_MAX") == "" {
		// The C library would reserve 64 MiB for each thread.
		cmd.Env = append(cmd.Env, "MALLOC_ARENA_MAX=1")
	}
	p := &Process{cmd: cmd, said: &child.Output{First: 2 << 10, Last: 6 << 10}, memory: o.Memory,
		exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.said, p.said
	cmd.WaitDelay = time.Second // for children of its own that keep its output open
	if err := child.Start(cmd); err != nil {
		return nil, unstarted(err)
	}
	go func() {
		p.status = cmd.Wait()
		after()
		close(p.exited)
	}()
	return p, nil
}

func unstarted(err error) error { return fmt.Errorf("a worker process cannot be started: %w", err) }

// Send sends a value to the worker.
func (p *Process) Send(v any) error { return p.link.Send(v) }

// Receive waits for the worker's next value. When there will be none, because
// the worker has ended, the error is a *Death.
func (p *Process) Receive(v any) error {
	err := p.link.Receive(v)
	if err == nil {
		return nil
	}
	// A worker that closes its end, or sends what cannot be read, is of no use.
	p.end(p.patience(), fmt.Errorf("it stopped answering: %w", err))
	return p.death()
}

// patience is how long a worker may take to end by itself once it is known to
// have nothing left to do.
const patience = 5 * time.Second

// patienceUnder takes its place under another program, which may have to write down what it has seen.
const patienceUnder = time.Minute

func (p *Process) patience() time.Duration {
	if p.under {
		return patienceUnder
	}
	return patience
}

// end waits for the worker to end by itself, and kills it after a while.
func (p *Process) end(after time.Duration, reason error) {
	timer := time.AfterFunc(after, func() { p.Kill(reason) })
	<-p.exited
	timer.Stop()
}

// Kill ends the worker at once. The first reason given is the one that its
// Death reports.
func (p *Process) Kill(reason error) {
	p.mutex.Lock()
	select {
	case <-p.exited: // too late to be the reason
	default:
		if p.reason == nil {
			p.reason = reason
		}
	}
	p.mutex.Unlock()
	if p.under { // and all that it has started
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		return
	}
	p.cmd.Process.Signal(syscall.SIGKILL)
}

// Close asks the worker to leave, by closing its requests, and returns when it
// has gone.
func (p *Process) Close() {
	p.link.out.Close()
	p.end(p.patience(), errors.New("it did not leave when asked to"))
	p.link.close()
}

// death describes the end of a worker that has ended.
func (p *Process) death() *Death {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	d := child.DeathOf(p.cmd.ProcessState, p.reason, p.said.String())
	d.Memory = p.memory
	return d
}

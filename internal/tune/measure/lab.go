package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// About is what is known of a device.
type About struct {
	ID         string         `json:"id"`   // "cuda:0"
	Name       string         `json:"name"` // "NVIDIA H200"; a processor's has its threads
	Device     session.Device `json:"-"`    // as measurements are stored with it
	Driver     string         `json:"driver,omitempty"`
	Compiler   string         `json:"compiler"`
	Options    string         `json:"-"` // of the compiler
	Arithmetic string         `json:"arithmetic"`
	Target     *target.Target `json:"-"` // that variants are lowered for
	// Unfused says that there is no fused multiply-add: products are rounded before
	// they are added.
	Unfused bool `json:"unfused,omitempty"`
	// Shared says that compilers and kernels share the same processors, so that
	// nothing may be compiled while something is timed.
	Shared  bool          `json:"-"`
	Workers int           `json:"workers"` // that compile at the same time
	Least   time.Duration `json:"-"`       // of a batch: enough for the timer
	// CacheBytes is the size of the caches that keep a grid from one update to the next; 0 if not known.
	CacheBytes int64 `json:"cache_bytes,omitempty"`
}

// Text is a source to compile.
type Text struct {
	Name   string // what it is called in messages
	Source string
	Plain  bool // compiled with -O3 -fopenmp alone
}

// Compiled is a compiled source.
type Compiled struct {
	Image     string
	Cached    bool
	Took      time.Duration // of the compilation, even if it was cached
	Resources Resources     // as far as the compiler tells them
}

// Lab compiles and measures variants on a device. Compile may be called from many goroutines, the other
// methods from one.
type Lab interface {
	About() About
	// Fits returns why a script cannot run on the device, as far as that is known before compilation.
	Fits(*exec.Script) error
	Compile(context.Context, Text) (Compiled, error)
	// Arrange allocates the memory of a program, and frees that of the one before.
	Arrange(context.Context, Setting) error
	// Expect runs the plain kernels of a call. Try compares with their results until the next Expect or
	// Arrange. With fetch it returns the results.
	Expect(ctx context.Context, c Code, fetch bool) (Values, error)
	// Try checks and times a variant within a time limit.
	Try(context.Context, Code, Margins, Rule, time.Duration) (Trial, error)
	// Batch times one batch of a checked variant, and returns the seconds of one run.
	Batch(ctx context.Context, c Code, least time.Duration) (float64, error)
	// Copy returns the seconds of copying so many bytes.
	Copy(ctx context.Context, bytes int64, least time.Duration) (float64, error)
	// Close ends the worker, with its memory. What is asked for later starts another.
	Close()
}

// Crash is the end of the worker that ran a variant.
type Crash struct{ Err error }

// Error says how it ended.
func (e *Crash) Error() string { return "the worker was lost: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Crash) Unwrap() error { return e.Err }

// Gone says that the device can no longer be used.
type Gone struct {
	Device string
	Err    error
}

// Error says why.
func (e *Gone) Error() string {
	return fmt.Sprintf("the device %s cannot be used: %v", e.Device, e.Err)
}

// Unwrap returns the cause.
func (e *Gone) Unwrap() error { return e.Err }

// localLab is a Lab on a target of this machine.
type localLab struct {
	compiler device.Compiler
	about    About
	process  *worker.Process
	tools    string   // image
	under    []string // the command that starts the worker
	// The state that a new worker is given.
	setting  Setting
	expected *Code
	cells    []op.Value
}

const (
	openPatience  = 2 * time.Minute // for opening a device, filling its memory, and plain kernels
	batchPatience = time.Minute
	loadPatience  = time.Minute // some drivers compile what they load
	closePatience = time.Minute
)

// About implements Lab.
func (s *localLab) About() About { return s.about }

// Close ends the worker. A profiler sees the end of the device's use before that of the process.
func (s *localLab) Close() {
	if s.process != nil && s.under != nil {
		s.send(context.Background(), request{Kind: closeDevice}, closePatience) // the worker ends whatever comes of it
	}
	s.drop(nil)
}

// drop ends the worker, for a reason or because it is no longer needed.
func (s *localLab) drop(why error) {
	if s.process == nil {
		return
	}
	if why != nil {
		s.process.Kill(why)
	}
	s.process.Close()
	s.process = nil
}

// Arrange implements Lab.
func (s *localLab) Arrange(ctx context.Context, setting Setting) error {
	s.setting, s.expected = setting, nil
	image, err := s.Compile(ctx, Text{Source: toolSource(s.about.Target.Dialect, kinds(setting))})
	if err != nil {
		return fmt.Errorf("the kernels that fill and compare grids: %w", err)
	}
	s.drop(nil)
	s.tools = image.Image
	return s.ensureWorker(ctx)
}

// ensureWorker starts a worker if there is none, and gives it the state of the last one.
func (s *localLab) ensureWorker(ctx context.Context) error {
	if s.process != nil {
		return nil
	}
	var err error
	env := []string{fmt.Sprintf("OMP_NUM_THREADS=%d", runtime.GOMAXPROCS(0)), "OMP_WAIT_POLICY=passive"}
	if s.process, err = worker.Start(Service.Name, worker.Options{Env: env, Under: s.under}); err != nil {
		return err
	}
	if _, err := s.send(ctx, request{Kind: openDevice, Device: s.about.ID, Tools: s.tools}, openPatience); err != nil {
		return err
	}
	if _, err := s.send(ctx, request{Kind: arrange, Setting: s.setting}, openPatience); err != nil {
		return err
	}
	if s.expected != nil {
		_, err = s.send(ctx, request{Kind: expect, Code: *s.expected}, openPatience)
	}
	return err
}

// ask sends a request to the worker, and starts a new one if the last is gone.
func (s *localLab) ask(ctx context.Context, q request, patience time.Duration) (reply, error) {
	if err := s.ensureWorker(ctx); err != nil {
		s.drop(errors.New("it cannot be used"))
		if ctx.Err() != nil {
			return reply{}, context.Cause(ctx)
		}
		return reply{}, &Gone{s.about.ID, err}
	}
	return s.send(ctx, q, patience)
}

// send sends a request to the present worker, and waits for its reply.
func (s *localLab) send(ctx context.Context, q request, patience time.Duration) (reply, error) {
	var r reply
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	p := s.process
	late := time.AfterFunc(patience, func() {
		if s.under != nil {
			p.Kill(fmt.Errorf("it took longer than %v under a profiler", patience))
			return
		}
		p.Kill(&Late{patience, q.Kind == load})
	})
	defer late.Stop()
	stop := context.AfterFunc(ctx, func() { p.Kill(context.Cause(ctx)) })
	defer func() {
		if !stop() { // it is being killed, though it may have answered: the next request is for another one
			s.drop(errors.New("it was interrupted"))
		}
	}()
	p.Send(&q) // if the worker is gone, Receive returns the cause
	if err := p.Receive(&r); err != nil {
		s.drop(errors.New("it does not answer"))
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		return r, &Crash{err}
	}
	f := r.Failed
	if f == nil {
		return r, nil
	}
	var err error = f
	switch {
	case f.Wrong != nil:
		err = &mismatchError{f}
	case f.Lost:
		s.drop(errors.New("the device is spoilt"))
		err = &Crash{f}
	}
	return r, verdict.For(f.Reason, err)
}

// Late says that a variant exceeded its time limit.
type Late struct {
	Limit   time.Duration
	Loading bool // its code was not loaded by then
}

// Error returns the text.
func (e *Late) Error() string {
	if e.Loading {
		return fmt.Sprintf("it took longer than %v: the driver has not loaded the compiled code", e.Limit)
	}
	return fmt.Sprintf("it took longer than %v, the limit that the best so far sets: a kernel hangs, or is slow",
		e.Limit)
}

// mismatchError is a failure whose cause is a Mismatch.
type mismatchError struct{ *failure }

// Unwrap returns the Mismatch.
func (e *mismatchError) Unwrap() error { return e.Wrong }

// Expect implements Lab.
func (s *localLab) Expect(ctx context.Context, c Code, fetch bool) (Values, error) {
	s.expected = nil
	r, err := s.ask(ctx, request{Kind: expect, Code: c, Fetch: fetch}, openPatience)
	if err == nil {
		s.expected, s.cells = &c, r.Values.Cells
	}
	return r.Values, err
}

// Try implements Lab. The limit is for checking and timing, not for loading code.
func (s *localLab) Try(ctx context.Context, c Code, m Margins, rule Rule, limit time.Duration) (Trial, error) {
	loaded, err := s.ask(ctx, request{Kind: load, Code: Code{Image: c.Image}}, loadPatience)
	if err != nil {
		return Trial{Loading: loaded.Once}, err
	}
	r, err := s.ask(ctx, request{Kind: try, Code: c, Margins: m, Plain: s.cells, Rule: rule}, limit)
	r.Trial.Loading = loaded.Once
	return r.Trial, err
}

// Batch implements Lab.
func (s *localLab) Batch(ctx context.Context, c Code, least time.Duration) (float64, error) {
	r, err := s.ask(ctx, request{Kind: batch, Code: c, Rule: Rule{Least: least}}, batchPatience)
	return r.Once, err
}

// Copy implements Lab.
func (s *localLab) Copy(ctx context.Context, bytes int64, least time.Duration) (float64, error) {
	r, err := s.ask(ctx, request{Kind: copyBytes, Bytes: bytes, Rule: Rule{Least: least}}, batchPatience)
	return r.Once, err
}

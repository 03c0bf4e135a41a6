package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Service measures on a GPU in a worker process: a kernel that hangs or faults
// costs that process, and the suite goes on with the next plan in another.
var Service = worker.Service{Name: "bench-gpu", Serve: serve}

// request asks a worker for one thing. The first opens a case.
type request struct {
	Open *openRequest
	Try  *attempt
	Name string // of a contender that a batch is timed of
	Time time.Duration
	// Cells asks for what the plain kernels write there.
	Cells []int64
	// Strict asks for a comparison of a plan's strict code.
	Strict string
}

// reply answers it.
type reply struct {
	Opened openReply
	Trial  trial
	Once   float64
	Values []float64
	Cells  int64
	Failed *failure
}

// failure is an error in a form that a worker can send.
type failure struct {
	Text  string
	Wrong bool // the results of a kernel are wrong
	Lost  bool // the process cannot use the GPU any more
}

// Error returns the text.
func (f *failure) Error() string { return f.Text }

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	var wrong *Mismatch
	f.Wrong = errors.As(err, &wrong)
	var broken *cuda.Error
	f.Lost = errors.As(err, &broken) && broken.Lost()
	return f
}

func serve(l *worker.Link) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var s *caseRunner
	for {
		var q request
		if err := l.Receive(&q); err != nil {
			if s != nil {
				s.dev.Close() // so that a profiler sees the end of its use; the driver frees what is left
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var r reply
		var err error
		switch {
		case q.Open != nil:
			var dev *cuda.Device
			if dev, err = cuda.Open(q.Open.Ordinal); err == nil {
				s, r.Opened, err = open(context.Background(), dev, *q.Open)
			}
		case s == nil:
			err = errors.New("bench spatial: no case is open")
		case q.Try != nil:
			r.Trial, err = s.try(*q.Try)
		case q.Cells != nil:
			r.Values, err = s.values(q.Cells)
		case q.Strict != "":
			r.Cells, err = s.strict(q.Strict)
		default:
			r.Once, err = s.once(q.Name, q.Time)
		}
		r.Failed = failureOf(err)
		if err := l.Send(&r); err != nil {
			return err
		}
	}
}

// caseWorker is a case on a GPU in a worker process. A new worker starts when one is lost.
type caseWorker struct {
	ctx     context.Context
	opening openRequest
	info    openReply
	process *worker.Process
	under   []string // a profiler that starts the worker
}

// patience is how long a worker may take for an answer: for opening a case,
// which compiles and compares, and for a plan.
const (
	openPatience = 3 * time.Minute
	tryPatience  = 30 * time.Second
	// A profiler runs a launch several times, and restores its memory in between.
	profilePatience = 3 * time.Minute
)

// newHost opens a case.
func newHost(ctx context.Context, o openRequest) (*caseWorker, error) {
	h := &caseWorker{ctx: ctx, opening: o}
	return h, h.start()
}

func (h *caseWorker) start() error {
	var err error
	if h.process, err = worker.Start(Service.Name, worker.Options{Under: h.under}); err != nil {
		return err
	}
	r, err := h.ask(request{Open: &h.opening}, openPatience)
	h.info = r.Opened
	return err
}

// ask sends a request and waits for the answer.
func (h *caseWorker) ask(q request, patience time.Duration) (reply, error) {
	if h.ctx.Err() != nil {
		return reply{}, context.Cause(h.ctx)
	}
	if h.process == nil {
		if err := h.start(); err != nil {
			return reply{}, fmt.Errorf("the case cannot be opened again: %w", err)
		}
	}
	p := h.process
	late := time.AfterFunc(patience,
		func() { p.Kill(fmt.Errorf("no answer within %v: a kernel hangs, or takes that long", patience)) })
	defer late.Stop()
	stop := context.AfterFunc(h.ctx, func() { p.Kill(context.Cause(h.ctx)) })
	defer stop()
	var r reply
	p.Send(&q) // to a worker that is gone: what it died of comes with Receive
	if err := p.Receive(&r); err != nil {
		h.drop()
		return r, err
	}
	if r.Failed != nil {
		if r.Failed.Lost {
			h.drop()
		}
		return r, r.Failed
	}
	return r, nil
}

// drop ends the worker; the next request starts another.
func (h *caseWorker) drop() {
	h.process.Kill(errors.New("it is of no more use"))
	h.process.Close()
	h.process = nil
}

func (h *caseWorker) try(a attempt) (trial, error) {
	patience := tryPatience
	if h.under != nil {
		patience = profilePatience
	}
	r, err := h.ask(request{Try: &a}, patience)
	return r.Trial, err
}

// once times a batch of a contender.
func (h *caseWorker) once(name string, least time.Duration) (float64, error) {
	r, err := h.ask(request{Name: name, Time: least}, tryPatience)
	return r.Once, err
}

// values returns what the plain kernels write to cells.
func (h *caseWorker) values(cells []int64) ([]float64, error) {
	r, err := h.ask(request{Cells: cells}, tryPatience)
	return r.Values, err
}

// strict compares a plan's strict code bit for bit.
func (h *caseWorker) strict(plan string) (int64, error) {
	r, err := h.ask(request{Strict: plan}, openPatience)
	return r.Cells, err
}

func (h *caseWorker) close() {
	if h.process != nil {
		h.process.Close()
		h.process = nil
	}
}

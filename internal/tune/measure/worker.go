package measure

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Service checks and times variants in a worker, which owns the device and the
// grids. Programs give it to worker.Main.
var Service = worker.Service{Name: "measure", Serve: serve}

type requestKind uint8

const (
	openDevice  requestKind = iota // Device, Tools
	arrange                        // Setting
	expect                         // Code, Fetch
	load                           // Code: its image alone, for what comes next
	try                            // Code, Margins, Rule, Plain
	batch                          // Code, Rule
	copyBytes                      // Bytes, Rule
	profile                        // Code
	closeDevice                    // and nothing comes after it
)

// request asks a worker for one thing.
type request struct {
	Kind    requestKind
	Device  string
	Tools   string // image
	Setting Setting
	Code    Code
	Fetch   bool // what was computed
	Margins Margins
	Plain   []op.Value // cells as the plainest kernels have left them
	Rule    Rule
	Bytes   int64
}

// reply answers a request.
type reply struct {
	Values Values
	Trial  Trial
	Once   float64
	Failed *failure
}

// failure is an error in a form that a worker can send.
type failure struct {
	Text   string
	Reason verdict.Verdict
	Wrong  *Mismatch
	Lost   bool // the process cannot use the device any more
}

// Error returns the text.
func (f *failure) Error() string { return f.Text }

// deviceLoss is an error after which the process cannot use its device.
type deviceLoss interface {
	error
	Lost() bool
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error(), Reason: verdict.Of(err)}
	f.Wrong, _ = errors.AsType[*Mismatch](err)
	if l, ok := errors.AsType[deviceLoss](err); ok {
		f.Lost = l.Lost()
	}
	return f
}

// workerServer is the worker's side of a localLab.
type workerServer struct {
	workerContext
	timer     device.Timer
	condition func() device.Condition
	library   device.Library // the library whose batches are timed
	image     string
	next      device.Library // loaded, and to be tried next
	nextImage string
	copies    [2]*device.Slot
	copied    int64
}

func serve(l *worker.Link) error {
	runtime.LockOSThread()
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	requests := make(chan request)
	go func() {
		for {
			var q request
			if err := l.Receive(&q); err != nil {
				if !errors.Is(err, io.EOF) {
					fmt.Fprintln(os.Stderr, err)
				}
				os.Exit(0) // the driver frees what a process leaves
			}
			requests <- q
		}
	}()
	s := &workerServer{}
	for q := range requests {
		r, err := s.answer(&q)
		r.Failed = failureOf(err)
		if err := l.Send(&r); err != nil {
			return err
		}
	}
	return nil
}

func (s *workerServer) answer(q *request) (r reply, err error) {
	switch q.Kind {
	case openDevice:
		return r, s.openDevice(q)
	case arrange:
		return r, s.arrange(q.Setting)
	case expect:
		r.Values, err = s.expect(q)
	case load:
		r.Once, err = s.load(q.Code.Image)
	case try:
		r.Trial, err = s.try(q)
	case batch:
		r.Once, err = s.batch(q)
	case copyBytes:
		r.Once, err = s.timeCopy(q.Bytes, q.Rule)
	case profile:
		err = s.profile(&q.Code)
	case closeDevice:
		err = s.dev.Close()
	}
	return r, err
}

// openDevice opens the device. The compilers need the processor that a spinning thread would
// take.
func (s *workerServer) openDevice(q *request) error {
	kind, _, err := target.Parse(q.Device)
	if err != nil {
		return err
	}
	if s.dev, err = target.Connect(q.Device, device.OpenOptions{Sleep: true}); err != nil {
		return err
	}
	s.comparers, s.interleaved = 256, false
	if target.KindOf(kind.Dialect) == lower.GPU {
		s.comparers, s.interleaved = 1<<16, true
	}
	s.timer, s.condition = clock{}, func() device.Condition { return device.Condition{} }
	if d, ok := s.dev.(device.Timed); ok {
		if s.timer, err = d.Clock(); err != nil {
			return err
		}
	}
	if d, ok := s.dev.(device.Conditioned); ok {
		s.condition = d.Condition
	}
	if s.tools, err = s.dev.Load(q.Tools); err != nil {
		return err
	}
	return s.allocateComparison()
}

// clock is device.Timer on the host's clock, for launches that return when their kernel does.
type clock struct{}

func (clock) Time(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

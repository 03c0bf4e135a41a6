package measure

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Service checks and times variants in a worker, which owns the device and the
// grids. Programs give it to worker.Main.
var Service = worker.Service{Name: "measure", Serve: serve}

type requestKind uint8

const (
	openDevice requestKind = iota // Device, Tools
	arrange                       // Setting
	expect                        // Code, Fetch
	load                          // Code: its image alone, for what comes next
	try                           // Code, Margins, Rule, Plain
	batch                         // Code, Rule
	copyBytes                     // Bytes, Rule
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
	Reason refusal.Reason
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
	f := &failure{Text: err.Error(), Reason: refusal.Of(err)}
	f.Wrong, _ = errors.AsType[*Mismatch](err)
	if l, ok := errors.AsType[deviceLoss](err); ok {
		f.Lost = l.Lost()
	}
	return f
}

// timer measures time by a device's own clock.
type timer interface {
	Time(f func() error) (time.Duration, error)
}

// workerServer is the worker's side of a localLab.
type workerServer struct {
	workerContext
	timer     timer
	condition func() string
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
	}
	return r, err
}

// openDevice opens the device.
func (s *workerServer) openDevice(q *request) error {
	s.condition = func() string { return "" }
	s.comparers = 1 << 16
	s.interleaved = true
	if q.Device == "cpu" {
		s.dev, s.timer, s.comparers, s.interleaved = cpu.Open(), clock{}, 256, false
	} else if n, ok := cuda.ParseID(q.Device); ok {
		// A thread that spins would take a processor from the compilers. Times are
		// the GPU's own, so sleeping changes none.
		d, err := cuda.OpenSleeping(n)
		if err != nil {
			return err
		}
		s.dev, s.condition = d, conditionOf(&d.GPU)
		if s.timer, err = d.NewTimer(); err != nil {
			return err
		}
	} else if n, ok := opencl.ParseID(q.Device); ok {
		d, err := opencl.Open(n)
		if err != nil {
			return err
		}
		s.dev = d
		if s.timer, err = d.NewTimer(); err != nil {
			return err
		}
	} else {
		return errorf("there is no device %s", q.Device)
	}
	var err error
	if s.tools, err = s.dev.Load(q.Tools); err != nil {
		return err
	}
	return s.allocateComparison()
}

// conditionEvery is the interval between two readings of a GPU's condition: a reading takes as long as some
// batches.
const conditionEvery = time.Second

// conditionOf returns a function that reads a GPU's condition.
func conditionOf(g *cuda.GPU) func() string {
	var asked time.Time
	text := ""
	return func() string {
		if time.Since(asked) < conditionEvery {
			return text
		}
		asked, text = time.Now(), ""
		if c, ok := g.Condition(); ok {
			text = c.String()
		}
		return text
	}
}

// clock times launches that return when their kernels do.
type clock struct{}

func (clock) Time(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

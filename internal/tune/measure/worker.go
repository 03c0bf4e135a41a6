package measure

import (
	"errors"
	"fmt"
	"io"
	"math"
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
	try                           // Code, Margins, Rule, Plain
	batch                         // Code, Rule
	copying                       // Bytes, Rule
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

// reply answers it.
type reply struct {
	Values Values
	Trial  Trial
	Once   float64
	Failed *failure
}

// failure is an error as it comes out of a worker.
type failure struct {
	Text   string
	Reason refusal.Reason
	Wrong  *Mismatch
	Lost   bool // the process cannot use the device any more
}

// Error returns the text.
func (f *failure) Error() string { return f.Text }

// lost is an error after which a device is of no use to its process.
type lost interface {
	error
	Lost() bool
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error(), Reason: refusal.Of(err)}
	f.Wrong, _ = errors.AsType[*Mismatch](err)
	if l, ok := errors.AsType[lost](err); ok {
		f.Lost = l.Lost()
	}
	return f
}

// Trial is what came out of checking and timing a variant.
type Trial struct {
	Agreement Agreement
	Sample
	Resources Resources
	Condition string // of the device, where it tells
	Suspect   bool   // it was right only once its inputs were filled anew: something before it has spoilt them
}

// Resources are what the kernels of a variant take, the most of each.
type Resources struct {
	Registers int `json:"registers,omitempty"` // of a thread
	Spills    int `json:"spills,omitempty"`    // bytes of a thread
	Shared    int `json:"shared,omitempty"`    // bytes of a block
	Blocks    int `json:"blocks,omitempty"`    // of the fewest that a multiprocessor holds
}

// timer measures on a device's own clock.
type timer interface {
	Time(f func() error) (time.Duration, error)
}

// server is the worker's side.
type server struct {
	bed
	timer     timer
	condition func() string
	library   device.Library // that batches are timed of
	calls     []device.Call
	image     string
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
	s := &server{}
	for q := range requests {
		r, err := s.answer(&q)
		r.Failed = failureOf(err)
		if err := l.Send(&r); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) answer(q *request) (r reply, err error) {
	switch q.Kind {
	case openDevice:
		return r, s.open(q)
	case arrange:
		return r, s.arrange(q.Setting)
	case expect:
		r.Values, err = s.expect(q)
	case try:
		r.Trial, err = s.try(q)
	case batch:
		r.Once, err = s.batch(q)
	case copying:
		r.Once, err = s.copy(q.Bytes, q.Rule)
	}
	return r, err
}

// open opens the device.
func (s *server) open(q *request) error {
	s.condition = func() string { return "" }
	s.workers = 1 << 16
	s.across = true
	if q.Device == "cpu" {
		s.dev, s.timer, s.workers, s.across = cpu.Open(), clock{}, 256, false
	} else if n, ok := cuda.ParseID(q.Device); ok {
		d, err := cuda.Open(n)
		if err != nil {
			return err
		}
		s.dev, s.condition = d, func() string { return conditionOf(&d.GPU) }
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
	return s.start()
}

func conditionOf(g *cuda.GPU) string {
	if c, ok := g.Condition(); ok {
		return c.String()
	}
	return ""
}

// clock measures launches that return when their kernel does.
type clock struct{}

func (clock) Time(f func() error) (time.Duration, error) {
	start := time.Now()
	err := f()
	return time.Since(start), err
}

func launch(calls []device.Call) error {
	for _, c := range calls {
		if err := c.Launch(); err != nil {
			return err
		}
	}
	return nil
}

// seconds times n runs of some launches.
func (s *server) seconds(n int, calls []device.Call) (float64, error) {
	took, err := s.timer.Time(func() error {
		for range n {
			if err := launch(calls); err != nil {
				return err
			}
		}
		return nil
	})
	return took.Seconds(), err
}

// expect runs the plainest kernels, and keeps what they have computed.
func (s *server) expect(q *request) (Values, error) {
	var v Values
	lib, err := s.dev.Load(q.Code.Image)
	if err != nil {
		return v, err
	}
	calls, err := s.prepare(&q.Code, lib)
	if err != nil {
		return v, err
	}
	if err := s.once(&q.Code, calls); err != nil {
		return v, err
	}
	if q.Fetch {
		v, err = s.values(&q.Code)
	} else {
		v.Cells, err = s.reduced()
	}
	if err != nil {
		return v, err
	}
	if err := s.keep(&q.Code); err != nil {
		return v, err
	}
	return v, lib.Close()
}

// once runs a stage from its start.
func (s *server) once(c *Code, calls []device.Call) error {
	if err := s.ready(c); err != nil {
		return err
	}
	s.ran(c)
	if err := launch(calls); err != nil {
		return err
	}
	return s.dev.Sync()
}

// try checks a variant, times it, and checks it once more: what threads do in
// another order now and then comes out wrong now and then.
func (s *server) try(q *request) (Trial, error) {
	var t Trial
	lib, err := s.dev.Load(q.Code.Image)
	if err != nil {
		return t, err
	}
	calls, err := s.prepare(&q.Code, lib)
	if err == nil {
		t, err = s.measure(q, calls)
		t.Resources = resources(lib, &q.Code)
	}
	s.forget(lib)
	return t, errors.Join(err, lib.Close())
}

func (s *server) measure(q *request, calls []device.Call) (Trial, error) {
	var t Trial
	c := &q.Code
	if err := s.ready(c); err != nil {
		return t, err
	}
	s.ran(c)
	took, err := s.timer.Time(func() error { return launch(calls) })
	if err != nil {
		return t, err
	}
	if t.Agreement, err = s.compare(c, q.Margins, q.Plain); err != nil {
		if !s.anew(c, calls, q, &t) {
			return t, err
		}
	}
	timed := calls[c.From:c.To]
	first := took.Seconds()
	if c.From > 0 || c.To < len(calls) {
		if first, err = s.seconds(1, timed); err != nil {
			return t, err
		}
	}
	if t.Sample, err = q.Rule.take(first, func(n int) (float64, error) { return s.seconds(n, timed) }); err != nil {
		return t, err
	}
	t.Condition = s.condition()
	if s.repeats(c) || c.From > 0 || c.To < len(calls) {
		if err := s.once(c, calls); err != nil {
			return t, err
		}
	}
	if _, err := s.compare(c, q.Margins, q.Plain); err != nil {
		return t, fmt.Errorf("after %d more runs: %w", len(t.Times)*t.Launches, err)
	}
	return t, nil
}

// repeats reports whether a stage starts from what it has written itself, so
// that running it often gives something else than running it once.
func (s *server) repeats(c *Code) bool {
	for i := range s.grids {
		if c.Use.Reads[i] && c.Use.Writes[i] {
			return true
		}
	}
	return len(s.cells) > 0
}

// anew reports whether a variant is right when all memory is filled anew: then
// something else has spoilt its inputs.
func (s *server) anew(c *Code, calls []device.Call, q *request, t *Trial) bool {
	for _, p := range s.grids {
		p.state = spoilt
	}
	if s.once(c, calls) != nil {
		return false
	}
	a, err := s.compare(c, q.Margins, q.Plain)
	if err != nil {
		for _, p := range s.grids {
			p.state = spoilt
		}
		return false
	}
	t.Agreement, t.Suspect = a, true
	return true
}

// resources asks what the launches that are timed take.
func resources(l device.Library, c *Code) Resources {
	var r Resources
	accountant, ok := l.(device.Accountant)
	if !ok {
		return r
	}
	for i, launch := range c.Launches {
		if i < c.From || i >= c.To {
			continue
		}
		u, err := accountant.Usage(c.Kernels[launch.Kernel], launch.Geometry)
		if err != nil {
			continue
		}
		r.Registers, r.Spills, r.Shared = max(r.Registers, u.Registers), max(r.Spills, u.Local), max(r.Shared, u.Shared)
		if r.Blocks == 0 || u.Blocks < r.Blocks {
			r.Blocks = u.Blocks
		}
	}
	return r
}

// batch times one batch of a variant that was checked before.
func (s *server) batch(q *request) (float64, error) {
	if s.image != q.Code.Image || s.library == nil {
		s.forget(s.library)
		lib, err := s.dev.Load(q.Code.Image)
		if err != nil {
			return 0, err
		}
		s.library, s.image = lib, q.Code.Image
	}
	calls, err := s.prepare(&q.Code, s.library)
	if err != nil {
		return 0, err
	}
	if err := s.once(&q.Code, calls); err != nil {
		return 0, err
	}
	s.ran(&q.Code)
	return s.long(calls[q.Code.From:q.Code.To], q.Rule.Least)
}

// long times a batch that takes long enough, and returns the seconds of a run.
func (s *server) long(calls []device.Call, least time.Duration) (float64, error) {
	n := 1
	for {
		took, err := s.seconds(n, calls)
		if err != nil || took >= least.Seconds() {
			return took / float64(n), err
		}
		n = max(n+1, int(math.Ceil(1.1*float64(n)*least.Seconds()/max(took, 1e-7))))
	}
}

// forget lets go of the library that batches are timed of.
func (s *server) forget(l device.Library) {
	if l != nil && l == s.library {
		s.library, s.image = nil, ""
	}
}

// copy times copying so many bytes, and returns the seconds of one copy.
func (s *server) copy(bytes int64, r Rule) (float64, error) {
	items := max(1, bytes/16)
	if s.copied != items {
		for i := range s.copies {
			if s.copies[i] != nil {
				if err := free(s.copies[i].Buffer); err != nil {
					return 0, err
				}
			}
			buf, err := s.dev.Alloc(16 * items)
			if err != nil {
				return 0, err
			}
			s.copies[i] = &device.Slot{Buffer: buf}
			if err := s.run("poison", 2*items, []*device.Slot{s.copies[i]}); err != nil {
				return 0, err
			}
		}
		s.copied = items
	}
	a := &device.Value{}
	a.Set(int64s(items)[0])
	call, err := bind(s.tools, "copy_wide", toolGeometry(items), []device.Arg{s.copies[0], s.copies[1], a})
	if err != nil {
		return 0, err
	}
	if err := call.Launch(); err != nil {
		return 0, err
	}
	return s.long([]device.Call{call}, r.Least)
}

package exec

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/verdict"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Service executes scripts in a worker. Programs give it to worker.Main.
var Service = worker.Service{Name: "exec", Serve: serve}

type requestKind uint8

const (
	setUp   requestKind = iota // Script, Device, Image, Private, NoGraphs, Deadline, Eager
	advance                    // From, Limit, Number, Push
	fetch                      // Grids
	halt                       // the advance with that Number
)

// request is what the parent sends. Each but halt gets one reply.
type request struct {
	Kind requestKind

	Script   *Script
	Device   string
	Image    string
	Private  bool
	NoGraphs bool
	Deadline time.Duration
	Eager    int64

	From   ir.Cursor
	Limit  Limit
	Number int64
	Push   bool // the host has written to grids or cells

	Grids []int
}

// reply is the answer; Error is empty if all went well.
type reply struct {
	Error  string
	Reason verdict.Verdict // if the error is a refusal
	Cursor ir.Cursor
	Ending ending
	Holds  []int
	Busy   time.Duration
	Usage  []device.Usage
}

func serve(l *worker.Link) error {
	// Thread teams and drivers keep state by thread.
	runtime.LockOSThread()
	if err := worker.ExposeFaults(); err != nil {
		return err
	}
	s := &server{link: l}
	requests := make(chan request)
	go s.listen(requests)
	for r := range requests {
		a, err := s.answer(r)
		if err != nil {
			a.Error, a.Reason = err.Error(), verdict.Of(err)
		}
		if err := l.Send(a); err != nil {
			return err
		}
	}
	return nil
}

type server struct {
	link     *worker.Link
	executor *executor
	region   *memory.Region
	shared   bool         // kernels work in the region itself
	halt     atomic.Int64 // number of the advance that is to stop
}

// listen passes requests on. It hears halt while an advance is under way, and
// ends the process when the parent is gone: nothing waits for a launch then.
func (s *server) listen(requests chan<- request) {
	for {
		var r request
		if err := s.link.Receive(&r); err != nil {
			os.Exit(0)
		}
		if r.Kind == halt {
			s.halt.Store(r.Number)
			continue
		}
		requests <- r
	}
}

func (s *server) answer(r request) (a reply, err error) {
	if s.executor == nil && r.Kind != setUp {
		return a, fmt.Errorf("the worker has no program")
	}
	switch r.Kind {
	case setUp:
		err = s.setUp(r)
		if err == nil {
			a.Usage = s.executor.usage
		}
		return a, err
	case advance:
		if r.Push {
			s.populate()
			if err := s.executor.push(); err != nil {
				return a, err
			}
		}
		start := time.Now()
		a.Cursor, a.Ending, err = s.executor.run(r.From, r.Limit, &s.halt, r.Number)
		a.Busy, a.Holds = time.Since(start), s.executor.holds
		return a, err
	case fetch:
		return a, s.executor.pull(r.Grids)
	}
	return a, fmt.Errorf("the worker does not know request %d", r.Kind)
}

func (s *server) setUp(r request) error {
	if len(s.link.Files) != 1 {
		return fmt.Errorf("the worker has %d shared regions", len(s.link.Files))
	}
	region, err := memory.Open(s.link.Files[0], r.Script.SharedBytes)
	if err != nil {
		return err
	}
	d, err := target.Connect(r.Device, device.OpenOptions{})
	if err != nil {
		return err
	}
	s.region, s.shared = region, r.Device == "cpu" && !r.Private
	if s.executor, err = newExecutor(r.Script, d, r.Image, region, nil, r.Private); err != nil {
		return err
	}
	s.executor.pace = newPacer(r.Deadline)
	if !r.NoGraphs {
		s.executor.graphs = newGraphLauncher(s.executor, r.Eager)
	}
	return nil
}

// populate brings in the pages of the grids before the clock runs, if kernels
// work in them.
func (s *server) populate() {
	if !s.shared {
		return
	}
	for _, g := range s.executor.script.Grids {
		s.region.Populate(g.Start, g.Start+g.Bytes)
	}
}

package bench

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// rule says how to time.
type rule struct {
	Batches int
	Least   time.Duration // of a batch
	// Slow is a time of one step after which a single batch is enough: the
	// contender is out of the race. 0 is never.
	Slow float64
}

// attempt is a plan with its compiled code.
type attempt struct {
	Plan string
	Code []byte
	Rule rule
	Keep bool // for batches to come
}

// trial is what came out of it.
type trial struct {
	Full       string // the whole plan that the text stands for
	Kernels    []string
	Registers  int
	Spills     int // bytes of local memory a thread
	Shared     int // bytes a block
	Cells      int64
	Difference float64   // the largest from the plain kernels
	Times      []float64 // of one step, in seconds
	Launches   int       // in a batch
	Condition  string
}

// contender is what batches are timed of.
type contender struct {
	launch func() error
	n      int // launches in a batch
}

// try checks and times a plan.
func (s *caseRunner) try(a attempt) (trial, error) {
	var t trial
	m, full, err := modules(s.bound, a.Plan, arith.Contract)
	if err != nil {
		return t, err
	}
	t.Full = full
	lib, err := s.dev.LoadCode(a.Code)
	if err != nil {
		return t, err
	}
	p, err := s.set(m)
	if err != nil {
		return t, errors.Join(err, lib.Close())
	}
	launches, err := p.bind(m, lib)
	if err != nil {
		return t, errors.Join(err, lib.Close())
	}
	err = s.measure(a, &t, p, launches, lib)
	if err == nil && a.Keep {
		s.kept[a.Plan] = &contender{launches.launch, max(1, t.Launches)}
		return t, nil
	}
	return t, errors.Join(err, launches.free(), lib.Close())
}

func (s *caseRunner) measure(a attempt, t *trial, p *gridsOnGPU, launches *callLaunches, lib *cuda.Library) error {
	for _, c := range launches.list {
		t.Kernels = append(t.Kernels, c.kernel.Name)
		r, err := lib.Resources(c.kernel.Name)
		if err != nil {
			return err
		}
		t.Registers, t.Spills, t.Shared = max(t.Registers, r.Registers), max(t.Spills, r.Local),
			max(t.Shared, r.Shared+int(c.shared))
	}
	err := s.run(p, launches)
	if err != nil {
		return err
	}
	if t.Cells, t.Difference, err = s.verify(p); err != nil {
		return err
	}
	if t.Times, t.Launches, err = s.timeBatches(launches.launch, a.Rule); err != nil {
		return err
	}
	// What threads do in another order now and then comes out wrong now and
	// then.
	if _, _, err = s.verify(p); err != nil {
		return fmt.Errorf("after %d more steps: %w", len(t.Times)*t.Launches, err)
	}
	if c, ok := s.dev.GPU.Condition(); ok {
		t.Condition = c.String()
	}
	return nil
}

// timeBatches times the batches of a rule, after one to warm up.
func (s *caseRunner) timeBatches(f func() error, r rule) ([]float64, int, error) {
	first, err := s.batch(f, 1)
	if err != nil {
		return nil, 0, err
	}
	if r.Slow > 0 && first > 2*r.Slow {
		return []float64{first}, 1, nil
	}
	n := max(1, int(math.Ceil(1.1*r.Least.Seconds()/max(first, 1e-6))))
	var times []float64
	for len(times) < r.Batches {
		took, err := s.batch(f, n)
		if err != nil {
			return nil, 0, err
		}
		if took < r.Least.Seconds() {
			n = max(n+1, int(1.2*float64(n)*r.Least.Seconds()/max(took, 1e-6)))
			times = nil
			continue
		}
		times = append(times, took/float64(n))
		if r.Slow > 0 && times[0] > r.Slow {
			break
		}
	}
	return times, n, nil
}

// The contenders of every caseRunner.
const (
	copyDriver = "copy by the driver"
	copyOne    = "copy, 16 bytes a thread"
	copyFour   = "copy, 64 bytes a thread"
)

// copyBytes is what a copy reads, and writes: half of what a step cannot do
// without, or as much as tells the memory's speed.
func copyBytes(useful float64) int64 {
	const enough = 4 << 30
	return min(enough, int64(useful)/2) / 16 * 16
}

func (s *caseRunner) copyBytes() int64 {
	return copyBytes(points(s.bound) * s.c.usefulBytes(s.bound))
}

// contender returns what a batch is to be timed of.
func (s *caseRunner) contender(name string, least time.Duration) (*contender, error) {
	if c, ok := s.kept[name]; ok {
		return c, nil
	}
	items := s.copyBytes() / 16
	for i := range s.copies {
		if s.copies[i] != nil {
			continue
		}
		var err error
		if s.copies[i], err = s.random(16 * items); err != nil {
			return nil, err
		}
	}
	launch := func() error { return s.copies[0].CopyFrom(s.copies[1]) }
	switch name {
	case copyDriver:
	case copyOne, copyFour:
		kernel, block := "copy_1", int64(toolThreads)
		if name == copyFour {
			kernel, block = "copy_4", 4*toolThreads
		}
		count := &device.Value{}
		count.Set(op.Int(types.I64, items))
		prepared, err := s.tools.PrepareGrid(kernel, blocksOf(items, block),
			[]device.Arg{&device.Slot{Buffer: s.copies[0]}, &device.Slot{Buffer: s.copies[1]}, count})
		if err != nil {
			return nil, err
		}
		launch = prepared.Launch
	default:
		return nil, fmt.Errorf("bench spatial: %q is not kept for batches", name)
	}
	_, n, err := s.timeBatches(launch, rule{Batches: 1, Least: least})
	s.kept[name] = &contender{launch, n}
	return s.kept[name], err
}

// once times one batch of a contender, and returns the seconds of one step.
func (s *caseRunner) once(name string, least time.Duration) (float64, error) {
	c, err := s.contender(name, least)
	if err != nil {
		return 0, err
	}
	for {
		took, err := s.batch(c.launch, c.n)
		if err != nil || took >= least.Seconds() {
			return took / float64(c.n), err
		}
		c.n = max(c.n+1, int(1.2*float64(c.n)*least.Seconds()/max(took, 1e-6)))
	}
}

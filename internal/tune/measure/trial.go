package measure

import (
	"errors"
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/tune/session"
)

// Trial is the result of checking and timing a variant.
type Trial struct {
	Agreement Agreement
	Sample
	Resources Resources
	Loading   float64 // seconds that the driver took to load the code
	Condition session.Condition
	Suspect   bool // right only after its inputs were filled anew: an earlier variant overwrote them
}

// Resources are those of a variant: the most that one of its kernels takes.
type Resources struct {
	Registers int `json:"registers,omitempty"` // of a thread
	Spills    int `json:"spills,omitempty"`    // bytes of a thread
	Shared    int `json:"shared,omitempty"`    // bytes of a block
	Blocks    int `json:"blocks,omitempty"`    // on a multiprocessor: the fewest of any kernel
}

// expect runs the plain kernels, and keeps their results to compare with.
func (s *workerServer) expect(q *request) (Values, error) {
	var v Values
	lib, err := s.dev.Load(q.Code.Image)
	if err != nil {
		return v, err
	}
	launches, err := s.bindLaunches(&q.Code, lib)
	if err != nil {
		return v, err
	}
	if err := s.runOnce(&q.Code, launches); err != nil {
		return v, err
	}
	if q.Fetch {
		v, err = s.values(&q.Code)
	} else {
		v.Cells, err = s.readCells()
	}
	if err != nil {
		return v, err
	}
	if err := s.keepExpected(&q.Code); err != nil {
		return v, err
	}
	return v, lib.Close()
}

// runOnce runs a call on its initial values.
func (s *workerServer) runOnce(c *Code, launches []device.PreparedLaunch) error {
	if err := s.prepareInputs(c); err != nil {
		return err
	}
	s.markOverwritten(c)
	if err := launch(launches); err != nil {
		return err
	}
	return s.dev.Sync()
}

// load loads the code that is tried next, and returns the seconds that it took.
func (s *workerServer) load(image string) (float64, error) {
	start := time.Now()
	if err := s.unload(); err != nil {
		return 0, err
	}
	lib, err := s.dev.Load(image)
	if err == nil {
		s.next, s.nextImage = lib, image
	}
	return time.Since(start).Seconds(), err
}

// unload closes the library that was loaded and not tried.
func (s *workerServer) unload() error {
	if s.next == nil {
		return nil
	}
	lib := s.next
	s.next, s.nextImage = nil, ""
	return lib.Close()
}

// takeLoaded returns the library to try, and loads it if needed. The caller closes it.
func (s *workerServer) takeLoaded(image string) (device.Library, error) {
	if s.next == nil || s.nextImage != image {
		if _, err := s.load(image); err != nil {
			return nil, err
		}
	}
	lib := s.next
	s.next, s.nextImage = nil, ""
	return lib, nil
}

// try checks a variant, times it, and checks it once more, since a race shows only sometimes.
func (s *workerServer) try(q *request) (Trial, error) {
	var t Trial
	lib, err := s.takeLoaded(q.Code.Image)
	if err != nil {
		return t, err
	}
	launches, err := s.bindLaunches(&q.Code, lib)
	if err == nil {
		t, err = s.measure(q, launches)
		t.Resources = resources(lib, &q.Code)
	}
	s.forget(lib)
	return t, errors.Join(err, lib.Close())
}

func (s *workerServer) measure(q *request, launches []device.PreparedLaunch) (Trial, error) {
	var t Trial
	c := &q.Code
	if err := s.prepareInputs(c); err != nil {
		return t, err
	}
	s.markOverwritten(c)
	took, err := s.timer.Time(func() error { return launch(launches) })
	if err != nil {
		return t, err
	}
	if t.Agreement, err = s.compare(c, q.Margins, q.Plain); err != nil {
		if !s.retryOnFreshInputs(c, launches, q, &t) {
			return t, err
		}
	}
	timed := launches[c.From:c.To]
	first := took.Seconds()
	if c.From > 0 || c.To < len(launches) {
		if first, err = s.timeRuns(1, timed); err != nil {
			return t, err
		}
	}
	batch := func(n int) (float64, error) { return s.timeRuns(n, timed) }
	if t.Sample, err = q.Rule.take(first, c.parts(), batch); err != nil {
		return t, err
	}
	t.Condition = session.Condition(s.condition())
	if s.overwritesInputs(c) || c.From > 0 || c.To < len(launches) {
		if err := s.runOnce(c, launches); err != nil {
			return t, err
		}
	}
	if _, err := s.compare(c, q.Margins, q.Plain); err != nil {
		return t, fmt.Errorf("after %d more runs: %w", len(t.Times)*t.Launches, err)
	}
	return t, nil
}

// overwritesInputs reports whether a call reads what it writes, so that two runs give other results than one.
func (s *workerServer) overwritesInputs(c *Code) bool {
	for i := range s.grids {
		if c.Use.Reads[i] && c.Use.Writes[i] {
			return true
		}
	}
	return len(s.cells) > 0
}

// retryOnFreshInputs reports whether a variant is right when all memory is filled anew. If so, another
// variant overwrote its inputs.
func (s *workerServer) retryOnFreshInputs(c *Code, launches []device.PreparedLaunch, q *request, t *Trial) bool {
	for _, p := range s.grids {
		p.state = overwritten
	}
	if s.runOnce(c, launches) != nil {
		return false
	}
	a, err := s.compare(c, q.Margins, q.Plain)
	if err != nil {
		for _, p := range s.grids {
			p.state = overwritten
		}
		return false
	}
	t.Agreement, t.Suspect = a, true
	return true
}

// resources returns the resources of the launches that are timed.
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

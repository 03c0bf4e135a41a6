package measure

import (
	"errors"
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/run/device"
)

// Trial is what came out of checking and timing a variant.
type Trial struct {
	Agreement Agreement
	Sample
	Resources Resources
	Loading   float64 // seconds that the driver took to load the code
	Condition string  // of the device, where it tells
	Suspect   bool    // it was right only once its inputs were filled anew: something before it has spoilt them
}

// Resources are what the kernels of a variant take, the most of each.
type Resources struct {
	Registers int `json:"registers,omitempty"` // of a thread
	Spills    int `json:"spills,omitempty"`    // bytes of a thread
	Shared    int `json:"shared,omitempty"`    // bytes of a block
	Blocks    int `json:"blocks,omitempty"`    // of the fewest that a multiprocessor holds
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

// load loads the code that is tried next, and returns the seconds that it took.
func (s *server) load(image string) (float64, error) {
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

// unload lets go of what was loaded and not tried.
func (s *server) unload() error {
	if s.next == nil {
		return nil
	}
	lib := s.next
	s.next, s.nextImage = nil, ""
	return lib.Close()
}

// take returns the code to be tried, which the caller closes.
func (s *server) take(image string) (device.Library, error) {
	if s.next == nil || s.nextImage != image {
		if _, err := s.load(image); err != nil {
			return nil, err
		}
	}
	lib := s.next
	s.next, s.nextImage = nil, ""
	return lib, nil
}

// try checks a variant, times it, and checks it once more: what threads do in
// another order now and then comes out wrong now and then.
func (s *server) try(q *request) (Trial, error) {
	var t Trial
	lib, err := s.take(q.Code.Image)
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

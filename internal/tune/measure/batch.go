package measure

import (
	"math"
	"time"

	"github.com/gridloom/gridloom/internal/run/device"
)

func launch(launches []device.PreparedLaunch) error {
	for _, c := range launches {
		if err := c.Launch(); err != nil {
			return err
		}
	}
	return nil
}

// timeRuns returns the seconds of n runs of some launches.
func (s *workerServer) timeRuns(n int, launches []device.PreparedLaunch) (float64, error) {
	took, err := s.timer.Time(func() error {
		for range n {
			if err := launch(launches); err != nil {
				return err
			}
		}
		return nil
	})
	return took.Seconds(), err
}

// batch times one batch of a variant that is already checked.
func (s *workerServer) batch(q *request) (float64, error) {
	if s.image != q.Code.Image || s.library == nil {
		s.forget(s.library)
		lib, err := s.dev.Load(q.Code.Image)
		if err != nil {
			return 0, err
		}
		s.library, s.image = lib, q.Code.Image
	}
	launches, err := s.bindLaunches(&q.Code, s.library)
	if err != nil {
		return 0, err
	}
	if err := s.runOnce(&q.Code, launches); err != nil {
		return 0, err
	}
	s.markOverwritten(&q.Code)
	took, err := s.timeBatch(launches[q.Code.From:q.Code.To], q.Rule.Least)
	return took / q.Code.parts(), err
}

// timeBatch times a batch of at least the given time, and returns the seconds of one run.
func (s *workerServer) timeBatch(launches []device.PreparedLaunch, least time.Duration) (float64, error) {
	n := 1
	for {
		took, err := s.timeRuns(n, launches)
		if err != nil || took >= least.Seconds() {
			return took / float64(n), err
		}
		n = max(n+1, int(math.Ceil(1.1*float64(n)*least.Seconds()/max(took, 1e-7))))
	}
}

// forget drops a library if it is the one whose batches are timed.
func (s *workerServer) forget(l device.Library) {
	if l != nil && l == s.library {
		s.library, s.image = nil, ""
	}
}

// timeCopy returns the seconds of copying so many bytes.
func (s *workerServer) timeCopy(bytes int64, r Rule) (float64, error) {
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
			if err := s.runTool("poison", 2*items, []*device.Slot{s.copies[i]}); err != nil {
				return 0, err
			}
		}
		s.copied = items
	}
	a := &device.Value{}
	a.Set(int64s(items)[0])
	prepared, err := bind(s.tools, "copy_wide", toolGeometry(items), []device.Arg{s.copies[0], s.copies[1], a})
	if err != nil {
		return 0, err
	}
	if err := prepared.Launch(); err != nil {
		return 0, err
	}
	return s.timeBatch([]device.PreparedLaunch{prepared}, r.Least)
}

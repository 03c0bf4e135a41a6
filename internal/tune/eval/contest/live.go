package contest

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gridloom/gridloom/internal/tune/tuner"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// liveSearch is the result of a search of the whole space, as the file beside the recording holds it.
type liveSearch struct {
	Strategy       string  `json:"strategy"`
	Seconds        float64 `json:"seconds"` // wall time, compiling and the last measurements included
	Trials         int     `json:"trials"`
	Rate           float64 `json:"trials_per_s"`
	GStencils      float64 `json:"best_gstencils"` // of the best plan, timed side by side with others
	Plan           string  `json:"best"`
	Configurations string  `json:"configurations"` // of the space
	Idle           float64 `json:"device_idle"`
	Rechecked      float64 `json:"device_rechecking"`
	CopyGStencils  float64 `json:"copy_gstencils"`
	Device         string  `json:"device"`
	Commit         string  `json:"commit"`
	versions.Set
}

func (s *recorder) livePath(x *Subject) string { return filepath.Join(s.folder, x.Name()+".live.json") }

// search runs the tuner on the whole space.
func (s *recorder) search(ctx context.Context, x *Subject, b *recordingFile, budget time.Duration) error {
	lab, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer lab.Close()
	if err := b.checkSource(x, lab.About(), s.commit); err != nil {
		return err
	}
	o := s.options(x, lab)
	o.Strategy, o.Budget = defaultStrategy, budget
	r, err := tuner.Run(ctx, o)
	if err != nil {
		return fmt.Errorf("%s: %w", x.Name(), err)
	}
	if r.Interrupted {
		return context.Cause(ctx)
	}
	best := found(r)
	if best == nil {
		return fmt.Errorf("%s: no plan gave kernels that work", x.Name())
	}
	s.noteFastest(b, r, fmt.Sprintf("%s in %v", defaultStrategy, budget))
	if err := writeJSON(b.aboutPath(), &b.about); err != nil {
		return err
	}
	fmt.Fprintf(s.log, "%s: %.4g GStencil/s after %d configurations in %.1f s, device %s\n",
		x.Name(), best.GStencils, r.Trials, r.Seconds, r.Idleness())
	return writeJSON(s.livePath(x), &liveSearch{
		Strategy: defaultStrategy, Seconds: r.Seconds, Trials: r.Trials, Rate: r.Rate, GStencils: best.GStencils,
		Plan:           best.Plan,
		Configurations: r.Kernels[0].Configurations, Idle: r.Idle, Rechecked: r.Rechecked,
		CopyGStencils: r.Bound.GStencils,
		Device:        r.Device.Name, Commit: s.commit, Set: versions.Current(),
	})
}

// found returns the fastest plan of a search that may be its result.
func found(r *tuner.Result) *tuner.Contender {
	for i := range r.Contenders { // the fastest first
		if c := &r.Contenders[i]; c.Name != "plain" {
			return c
		}
	}
	return nil
}

package measure

import (
	"context"
	"errors"
	"time"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/target"
)

// ProfiledLab is a Lab whose worker a profiler has started and watches.
type ProfiledLab interface {
	Lab
	// Profile shows the profiler the timed launches of a call, once. All launches of the call have run before.
	Profile(context.Context, Code) error
}

// profilePatience is for profilers, which run a launch several times, and save and restore its memory in between.
const profilePatience = 3 * time.Minute

// OpenProfiled is Open of a laboratory whose worker that command starts. It compiles where every Lab does: profilers
// see launches alone.
func OpenProfiled(ctx context.Context, t *target.Target, command []string) (ProfiledLab, error) {
	l, err := Open(ctx, t)
	if err != nil {
		return nil, err
	}
	s := l.(*localLab)
	s.under = command
	return s, nil
}

// Profile implements ProfiledLab.
func (s *localLab) Profile(ctx context.Context, c Code) error {
	_, err := s.ask(ctx, request{Kind: profile, Code: c}, profilePatience)
	return err
}

// profile is the worker's side of it.
func (s *workerServer) profile(c *Code) error {
	dev, ok := s.dev.(device.Profiled)
	if !ok {
		return errorf("no profiler can be told what to watch on this device")
	}
	lib, err := s.dev.Load(c.Image)
	if err != nil {
		return err
	}
	launches, err := s.bindLaunches(c, lib)
	if err == nil {
		err = s.runOnce(c, launches)
	}
	if err == nil {
		err = dev.Profile(func() error { return launch(launches[c.From:c.To]) })
	}
	return errors.Join(err, lib.Close())
}

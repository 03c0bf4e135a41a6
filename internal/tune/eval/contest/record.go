package contest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/disk"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

// site is where recordings are made and lie.
type site struct {
	folder string
	commit string
	log    io.Writer
	open   func(context.Context) (measure.Lab, error)
	clock  func() time.Time // nil for the real one
}

func (s *site) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return time.Now()
}

// searchPart of a tuner's budget is searched in; the rest is for the finalists.
// A recording ends with what was measured, so that it gets as much more.
const searchPart = 0.88

// errLater says that time is up before a recording is complete.
var errLater = errors.New("the time is up")

// record goes on with the recording of a sub-space until a moment. It returns
// errLater if there is more to do then.
func (s *site) record(ctx context.Context, x *Subject, b *book, until time.Time) error {
	if b.complete() && b.about.Space == x.restrictions() {
		return nil
	}
	left := until.Sub(s.now())
	if left <= 0 {
		return errLater
	}
	lab, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer lab.Close()
	if err := b.belongs(x, lab.About(), s.commit); err != nil {
		return err
	}
	o := s.options(x, lab)
	o.Strategy, o.Budget, o.Log = "exhaustive", time.Duration(float64(left)/searchPart), b
	o.Restrict = func(_ []string, spaces []schedule.Space) ([]schedule.Space, []string, error) {
		var left []schedule.Space
		for _, space := range spaces {
			space, err := x.restrict(space)
			if err != nil {
				return nil, nil, err
			}
			left = append(left, space)
			b.settle(space)
			b.about.Configurations, b.about.Space = space.Count().Int64(), x.restrictions()
			fmt.Fprintf(s.log, "%s: %d of %d configurations are recorded\n", x.Name(), len(b.list), b.about.Configurations)
		}
		return left, nil, nil
	}
	r, err := tuner.Run(ctx, o)
	if len(b.list) > 0 {
		s.seeing(b, r, "an exhaustive search of the sub-space")
		err = errors.Join(err, b.save())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", x.Name(), err)
	}
	fmt.Fprintf(s.log, "%s: %d of %d configurations are recorded; %.1f a second, device %s\n",
		x.Name(), len(b.list), b.about.Configurations, r.Rate, r.Idleness())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !b.complete():
		return errLater
	}
	return nil
}

// options are those that recording and searching have in common.
func (s *site) options(x *Subject, lab measure.Lab) tuner.Options {
	return tuner.Options{
		Bound: x.bound, Set: x.set(x.bound.Program), Lab: lab, Seed: 1, Clock: s.clock,
	}
}

// seeing notes the fastest plan that a search has timed side by side with others.
func (s *site) seeing(b *book, r *tuner.Result, by string) {
	if r == nil {
		return
	}
	for _, c := range r.Contenders {
		if c.Name != "plain" {
			b.see(seen{c.GStencils, c.Plan, by})
		}
	}
}

// belongs checks that a recording goes on where it began.
func (b *book) belongs(x *Subject, a measure.About, commit string) error {
	now := b.about
	now.Program, now.DType, now.Grid = x.Program, x.DType, x.Grid()
	now.Device, now.Driver, now.Compiler, now.Workers, now.Commit = a.Name, a.Driver, a.Compiler, a.Workers, commit
	now.Set = versions.Current()
	if old := b.about; old.Program != "" {
		for _, e := range []struct{ what, was, is string }{
			{"device", old.Device, now.Device}, {"compiler", old.Compiler, now.Compiler}, {"grid", old.Grid, now.Grid},
		} {
			if e.was != e.is {
				return fmt.Errorf("%s was recorded with the %s %s, and this is %s: give another folder", b.file(), e.what, e.was, e.is)
			}
		}
	}
	if !b.about.IsCurrent() {
		return b.outdated()
	}
	b.about = now
	return nil
}

// outdated says that a recording of other versions can be replayed, and not go on.
func (b *book) outdated() error {
	return fmt.Errorf("%s was recorded under %s, and this Gridloom has %s, so that nothing can be compared with it: "+
		"give another folder", b.file(), b.about.Definitions(), versions.Current().Definitions())
}

// OpenDevice returns what opens a device for recordings and searches. Compiled
// code is kept for one of them alone, so that none is spared what compiling takes.
func OpenDevice(device string, workers int) func(context.Context) (measure.Lab, error) {
	return func(ctx context.Context) (measure.Lab, error) {
		folder, err := disk.NewFolder("", "gridloom-contest-")
		if err != nil {
			return nil, err
		}
		cache, err := toolchain.OpenCache(folder.Path)
		if err != nil {
			return nil, err
		}
		at, err := target.Open(device, target.Options{Arithmetic: arith.Contract, CompilerOptions: measure.Compilers(cache, workers)})
		if err != nil {
			folder.Remove()
			return nil, err
		}
		lab, err := measure.Open(ctx, at)
		if err != nil {
			at.Close()
			folder.Remove()
			return nil, err
		}
		return &fresh{lab, at, folder}, nil
	}
}

// fresh is a Lab with a cache of its own.
type fresh struct {
	measure.Lab
	target *target.Target
	folder *disk.Folder
}

func (f *fresh) Close() {
	f.Lab.Close()
	f.target.Close()
	f.folder.Remove()
}

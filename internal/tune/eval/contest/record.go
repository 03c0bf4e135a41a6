package contest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// RecordOptions says what to record.
type RecordOptions struct {
	Folder   string // of the recordings
	Subjects []*Subject
	Budget   time.Duration // over all subjects, for this call
	// Alike has all be of the same versions, since they are compared with each other.
	Alike bool

	Open   func(context.Context) (measure.Lab, error)
	Clock  func() time.Time // nil for the real one
	Commit string
	Log    io.Writer
}

// Record continues the exhaustive recordings of sub-spaces, one after the other, as T4 files that are replayed. It says
// where the time was up before all were complete, and returns how many are complete.
func Record(ctx context.Context, o RecordOptions) (complete int, err error) {
	if err := os.MkdirAll(o.Folder, 0o777); err != nil {
		return 0, err
	}
	s := &recorder{folder: o.Folder, commit: o.Commit, log: o.Log, open: o.Open, clock: o.Clock}
	all, err := openRecordings(o.Folder, o.Subjects)
	if err == nil && o.Alike {
		err = checkVersions(all, true)
	}
	if err != nil {
		return 0, err
	}
	until := s.now().Add(o.Budget)
	for i, x := range o.Subjects {
		err := s.record(ctx, x, all[i], until)
		if errors.Is(err, errTimeUp) {
			fmt.Fprintf(s.log, "the time is up: %d of %d programs are recorded, and the same command goes on\n",
				complete, len(o.Subjects))
			return complete, nil
		}
		if err != nil {
			return complete, err
		}
		complete++
	}
	return complete, nil
}

// recorder makes recordings in a folder.
type recorder struct {
	folder string
	commit string
	log    io.Writer
	open   func(context.Context) (measure.Lab, error)
	clock  func() time.Time // nil for the real one
}

func (s *recorder) now() time.Time {
	if s.clock != nil {
		return s.clock()
	}
	return time.Now()
}

// searchPart is the part of a tuner's budget that the search uses. A recording needs no finalists, so its budget
// is divided by this.
const searchPart = 0.88

// errTimeUp says that the time is up before a recording is complete.
var errTimeUp = errors.New("the time is up")

// record continues the recording of a sub-space until a time. It returns errTimeUp if it is not complete then.
func (s *recorder) record(ctx context.Context, x *Subject, b *recordingFile, until time.Time) error {
	if b.complete() && b.about.Space == x.restrictions() {
		return nil
	}
	left := until.Sub(s.now())
	if left <= 0 {
		return errTimeUp
	}
	lab, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer lab.Close()
	if err := b.checkSource(x, lab.About(), s.commit); err != nil {
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
			b.normalise(space)
			b.about.Configurations, b.about.Space = space.Count().Int64(), x.restrictions()
			fmt.Fprintf(s.log, "%s: %d of %d configurations are recorded\n", x.Name(), len(b.list),
				b.about.Configurations)
		}
		return left, nil, nil
	}
	r, err := tuner.Run(ctx, o)
	if err != nil && !b.complete() && !s.now().Before(until) { // it had no time for anything that works
		r, err = nil, nil
	}
	if len(b.list) > 0 {
		s.noteFastest(b, r, "an exhaustive search of the sub-space")
		err = errors.Join(err, b.save())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", x.Name(), err)
	}
	if r == nil {
		return errTimeUp
	}
	fmt.Fprintf(s.log, "%s: %d of %d configurations are recorded; %.1f a second, device %s\n",
		x.Name(), len(b.list), b.about.Configurations, r.Rate, r.Idleness())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !b.complete():
		return errTimeUp
	}
	return nil
}

// options returns the options that recording and searching share: kernels of single iterations are recorded.
func (s *recorder) options(x *Subject, lab measure.Lab) tuner.Options {
	return tuner.Options{
		Bound: x.bound, Set: x.set(x.bound.Program), Lab: lab, Seed: 1, Clock: s.clock, MaxDepth: 1,
	}
}

// noteFastest keeps the fastest plan that a search has timed side by side with others.
func (s *recorder) noteFastest(b *recordingFile, r *tuner.Result, by string) {
	if r == nil {
		return
	}
	for _, c := range r.Contenders {
		if c.Name != "plain" {
			b.noteFastest(fastestSeen{c.GStencils, c.Plan, by})
		}
	}
}

// checkSource checks that a recording continues with the device, compiler and versions of its beginning.
func (b *recordingFile) checkSource(x *Subject, a measure.About, commit string) error {
	now := b.about
	now.Program, now.DType, now.Grid, now.Sizes = x.Program, x.DType, x.Grid(), x.sizes()
	now.Device, now.Driver, now.Compiler, now.Workers, now.Commit = a.Name, a.Driver, a.Compiler, a.Workers, commit
	now.Set = versions.Current()
	if old := b.about; old.Program != "" {
		for _, e := range []struct{ what, was, is string }{
			{"device", old.Device, now.Device}, {"compiler", old.Compiler, now.Compiler}, {"grid", old.Grid, now.Grid},
		} {
			if e.was != e.is {
				return fmt.Errorf("%s was recorded with the %s %s, and this is %s: give another folder", b.path(),
					e.what, e.was, e.is)
			}
		}
	}
	if !b.about.IsCurrent() {
		return b.outdated()
	}
	b.about = now
	return nil
}

// outdated is the error that a recording of other versions can be replayed, but not continued.
func (b *recordingFile) outdated() error {
	return fmt.Errorf("%s was recorded under %s, and this Gridloom has %s, so that nothing can be compared with it: "+
		"give another folder", b.path(), b.about.Definitions(), versions.Current().Definitions())
}

// OpenDevice returns a function that opens a device for a recording or a search. Each has a code cache of its own,
// so that every compilation takes its time.
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
		at, err := target.Open(device, target.Options{
			Arithmetic: arith.Contract, CompilerOptions: measure.Compilers(cache, workers),
		})
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
		return &labWithCache{lab, at, folder}, nil
	}
}

// labWithCache is a Lab with a code cache of its own.
type labWithCache struct {
	measure.Lab
	target *target.Target
	folder *disk.Folder
}

func (f *labWithCache) Close() {
	f.Lab.Close()
	f.target.Close()
	f.folder.Remove()
}

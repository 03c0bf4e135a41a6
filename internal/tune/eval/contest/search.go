package contest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Search says how tune looks for plans, of one program after the other, and for how long.
type Search struct {
	Budget time.Duration // of each search; 0 is no limit
	Trials int           // likewise
	// Strategy looks for plans; empty for the one that tune takes if nobody says otherwise.
	Strategy string
	Within   time.Duration // no search is begun that would end later; 0 is no limit

	// Missing leaves out what a search of another commit has found as well, if it had as much time.
	Missing bool

	Open   func(context.Context) (measure.Lab, error)
	Commit string
	Log    io.Writer
}

// stands reports whether a row of a commit, whose search had so many seconds, is not measured again.
func (s *Search) stands(commit string, budget float64) bool {
	return commit == s.Commit || s.Missing && budget >= s.Budget.Seconds()
}

// run tunes a program as tune does where nothing is known, but for the options that are changed.
func (s *Search) run(ctx context.Context, lab measure.Lab, b *ir.Binding, set map[string]string,
	change ...func(*tuner.Options)) (*tuner.Result, error) {
	o := s.options(lab, b, set)
	for _, f := range change {
		f(&o)
	}
	r, err := tuner.Run(ctx, o)
	return r, worked(ctx, r, err)
}

// runVersions does so, and tunes versions of the source where they may be faster. It returns the version that is the
// fastest, and logs what the search notes.
func (s *Search) runVersions(ctx context.Context, lab measure.Lab, src *diag.Source, b *ir.Binding,
	set map[string]string) (*tuner.Result, tuner.Version, error) {
	o := s.options(lab, b, set)
	o.Events = func(e tuner.Event) {
		if e.Kind == tuner.EventNote {
			fmt.Fprintf(s.Log, "  %s\n", e.Text)
		}
	}
	r, v, err := tuner.RunVersions(ctx, o, src,
		func(ctx context.Context, o tuner.Options, _ tuner.Version) (*tuner.Result, error) {
			return tuner.Run(ctx, o)
		})
	if r != nil {
		for _, v := range r.Versions {
			fmt.Fprintf(s.Log, "  version %q: %.4g s in %d trials\n", v.Version, v.Seconds, v.Trials)
		}
		for _, l := range r.Loops {
			fmt.Fprintf(s.Log, "  %s: %d depths, %s\n", l.Loop, len(l.Depths), l.Stopped)
		}
	}
	return r, v, worked(ctx, r, err)
}

func (s *Search) options(lab measure.Lab, b *ir.Binding, set map[string]string) tuner.Options {
	return tuner.Options{
		Bound: b, Set: set, Lab: lab, Strategy: cmp.Or(s.Strategy, defaultStrategy), Seed: 1, Budget: s.Budget,
		Trials: s.Trials,
	}
}

// worked returns why a search has no result.
func worked(ctx context.Context, r *tuner.Result, err error) error {
	switch {
	case err != nil:
		return err
	case r.Interrupted:
		return context.Cause(ctx)
	case r.Best == "":
		return errors.New("no plan gave kernels that work")
	}
	return nil
}

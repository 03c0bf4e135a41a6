package contest

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Search says how tune looks for plans, of one program after the other, and for how long.
type Search struct {
	Budget time.Duration // of each search; 0 is no limit
	Trials int           // likewise
	Within time.Duration // no search is begun that would end later; 0 is no limit

	Open   func(context.Context) (measure.Lab, error)
	Commit string
	Log    io.Writer
}

// run tunes a program as tune does where nothing is known.
func (s *Search) run(ctx context.Context, lab measure.Lab, b *ir.Binding, set map[string]string) (*tuner.Result,
	error) {
	r, err := tuner.Run(ctx, tuner.Options{
		Bound: b, Set: set, Lab: lab, Strategy: defaultStrategy, Seed: 1, Budget: s.Budget, Trials: s.Trials,
	})
	switch {
	case err != nil:
		return nil, err
	case r.Interrupted:
		return nil, context.Cause(ctx)
	case r.Best == "":
		return nil, errors.New("no plan gave kernels that work")
	}
	return r, nil
}

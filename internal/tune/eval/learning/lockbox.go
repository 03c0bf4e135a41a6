package learning

import (
	"context"
	"errors"
	"slices"

	"github.com/gridloom/gridloom/internal/tune/predict"
)

// Lockbox judges all pickers on kernels that no choice was made by, after they have learned from others. Stencils that
// are in both are learned from by none. What it says should be looked at once a model is chosen, and never choose one:
// so the command that calls it keeps a log.
func Lockbox(ctx context.Context, from, locked *HeldOut, commit string) ([]Row, error) {
	if len(locked.All) == 0 {
		return nil, errors.New("no kernel of the lockbox was recorded with the candidates that all kernels share")
	}
	others := slices.DeleteFunc(slices.Clone(from.All), func(e *predict.Examples) bool {
		return slices.ContainsFunc(locked.All, func(l *predict.Examples) bool { return l.Stencil == e.Stencil })
	})
	if len(others) == 0 {
		return nil, errors.New("all stencils are in the lockbox: nothing is left to learn from")
	}
	results := make([][]*judged, len(Pickers))
	for i := range Pickers {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var err error
		if results[i], err = Pickers[i].judge(ctx, from, others, locked.All); err != nil {
			return nil, err
		}
	}
	var rows []Row
	for m := range Metrics {
		for i, p := range Pickers {
			rows = append(rows, row(results, locked.All, i, m, Row{
				Experiment: "candidates", Model: p.Name, Split: "lockbox", Metric: Metrics[m].Name,
				Device: locked.All[0].Device, Commit: commit,
			}))
		}
	}
	return rows, nil
}

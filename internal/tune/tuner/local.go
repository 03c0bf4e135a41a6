package tuner

import (
	"context"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// localsRounds is the number of rounds that compare stored with fused local grids.
const localsRounds = 5

// settleLocals chooses between the two fusion variants of a program with local grids: stored between kernels,
// or computed where they are read. The variants have different kernels, so both are timed with their
// defaults, and the faster one is searched. A plan that names the variant is obeyed.
func (t *tuning) settleLocals(ctx context.Context) error {
	if _, said := lower.LocalGrids(t.opts.Plan); said {
		return nil
	}
	if len(t.opts.Plan.Kernels) > 0 {
		return nil
	}
	fused := lower.WithLocalGrids(t.opts.Plan, lower.FusedGrids)
	var finalists []*finalist
	for _, fusion := range []struct {
		name string
		plan schedule.Plan
	}{{lower.StoredGrids, t.opts.Plan}, {lower.FusedGrids, fused}} {
		o := t.options
		o.Plan = fusion.plan
		full, err := lower.Plan(t.subject.bound.Program, o)
		if err != nil {
			if fusion.name == lower.StoredGrids {
				return constraint(err)
			}
			return nil // there are no local grids that could be fused
		}
		finalists = append(finalists, &finalist{name: fusion.name, plan: full, needed: true})
	}
	if finalists[0].plan.String() == finalists[1].plan.String() {
		return nil
	}
	if err := t.compareFinalists(ctx, finalists, localsRounds); err != nil {
		return err
	}
	stored, other := finalists[0], finalists[1]
	if other.err != nil || len(other.times) == 0 {
		return nil
	}
	words := "stored between kernels"
	if stored.err != nil || len(stored.times) == 0 || measure.Median(other.times) < measure.Median(stored.times) {
		t.opts.Plan = fused
		words = "computed where they are read"
	}
	text := fmt.Sprintf("local grids are %s: ", words)
	if len(stored.times) > 0 {
		text += fmt.Sprintf("%s a step with defaults if they are stored, and ",
			quantity.Time(measure.Median(stored.times)))
	}
	t.note("%s%s if they are fused", text, quantity.Time(measure.Median(other.times)))
	return nil
}

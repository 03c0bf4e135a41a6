package bench

import (
	"cmp"
	"context"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// How a plan that was found elsewhere does in turn with those of a row's list.

// PlanPair is a plan timed in turn with the fastest one of a row's list.
type PlanPair struct {
	Rate      float64 `json:"gstencils"` // the median of all repetitions
	Low       float64 `json:"low"`       // its 95 % interval
	High      float64 `json:"high"`
	Depth     int     `json:"depth"`
	Plan      string  `json:"plan"`
	Best      float64 `json:"best_gstencils"` // of the list's plan
	BestPlan  string  `json:"best_plan"`
	Share     float64 `json:"share"` // the median of the ratios of the plan to that of the list
	ShareLow  float64 `json:"share_low"`
	ShareHigh float64 `json:"share_high"`
	Pairs     int     `json:"pairs"`
	Differ    int64   `json:"differing_cells"` // of the plan from one iteration a kernel
}

// Program returns the row's program with its sizes and iterations, and the values that make it so.
func (r SuiteRow) Program() (*ir.Binding, map[string]string, error) {
	w, err := r.wanted()
	if err != nil {
		return nil, nil, err
	}
	p, set, err := w.sized(w.set, r.Steps)
	if err != nil {
		return nil, nil, err
	}
	b, err := bindTo(p, set)
	return b, set, err
}

// Goals returns the rows of a list that must reach a figure of their own; of several for one program and grid the
// first.
func Goals(list []SuiteRow) (goals []SuiteRow) {
	seen := map[string]bool{}
	for _, r := range list {
		if r.Must > 0 && !seen[r.Title()] {
			seen[r.Title()] = true
			goals = append(goals, r)
		}
	}
	return goals
}

// Title names the row.
func (r SuiteRow) Title() string {
	return temporalCase{r.Case, r.DType, cmp.Or(r.Boundary, "none")}.String() + " " + r.Grid
}

// Compare times a plan for the row in turn with the fastest of its list.
func (r SuiteRow) Compare(ctx context.Context, o TemporalOptions, plan string) (*PlanPair, error) {
	w, err := r.wanted()
	if err != nil {
		return nil, err
	}
	depth, err := depthOf(plan)
	if err != nil {
		return nil, err
	}
	d, err := openTemporal(o)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t, err := d.load(w)
	if err != nil {
		return nil, err
	}
	as, ahead := ofSeveral, w
	ahead.bare, ahead.single, ahead.plans = nil, orDefault(nil), append([]string{plan}, w.plans...)
	if depth == 1 {
		as, ahead.single, ahead.plans = ofOne, []string{"", plan}, w.plans
	}
	d.compileAhead(ctx, []rowWanted{ahead})
	if t.checks, err = checksOf(append([]string{plan}, w.plans...)); err != nil {
		return nil, err
	}
	single, err := t.fastest(ctx, orDefault(nil), ofOne) // what cells are compared with
	if err != nil {
		return nil, err
	}
	single.Close()
	mine, err := t.fastest(ctx, []string{plan}, as)
	if err != nil {
		return nil, err
	}
	defer mine.Close()
	best, err := t.fastest(ctx, w.plans, ofSeveral)
	if err != nil {
		return nil, err
	}
	defer best.Close()
	var row TemporalRow
	if err := t.inTurn(ctx, &row, []*timedLoop{mine, best}, mine); err != nil {
		return nil, err
	}
	ratios := ratiosOf(mine, best)
	pair := &PlanPair{
		Rate: row.Rate, Low: row.Low, High: row.High, Depth: depth, Plan: plan, Best: median(best.rates),
		BestPlan: best.plan, Share: median(ratios), Pairs: len(ratios), Differ: mine.differ,
	}
	pair.ShareLow, pair.ShareHigh = medianInterval(ratios)
	return pair, nil
}

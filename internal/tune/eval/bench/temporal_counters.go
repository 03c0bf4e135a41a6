package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/tune/counters"
)

// slotShare has Nsight Compute run this program once more with a plan, and returns the share of
// issue slots that the second launch of its deepest kernel fills, or the first where one launch has all iterations.
func (t *temporal) slotShare(ctx context.Context, l *timedLoop) (*float64, error) {
	if _, ok := cuda.Kind.ParseID(t.Device); !ok {
		return nil, errors.New("only NVIDIA's GPUs count them")
	}
	if l.depth < 2 {
		return nil, errors.New("the plan has no kernel of several iterations")
	}
	args := []string{
		"bench", "temporal", "--quick", "--device", t.Device, "--case", t.name, "--dtype", t.dtype,
		"--boundary", t.boundary, "--steps", fmt.Sprint(t.checks), "--plan", l.plan,
	}
	for _, name := range slices.Sorted(maps.Keys(t.set)) {
		args = append(args, "--set", name+"="+t.set[name])
	}
	skip := 1
	if l.repeats {
		skip = 0
	}
	c, err := counters.Count(ctx, l.symbol, skip, args)
	if err != nil {
		return nil, err
	}
	share := c.Issue / 100
	return &share, nil
}

// countSlots adds to a row that was measured before which share of issue slots its plan fills.
func (d *temporalDevice) countSlots(ctx context.Context, w rowWanted) (TemporalRow, error) {
	row := *w.measured
	t := &temporal{temporalDevice: d, rowWanted: w}
	var err error
	if t.bound, err = w.bind(w.set); err != nil {
		return row, err
	}
	if t.checks, err = checksOf([]string{row.Plan}); err != nil {
		return row, err
	}
	m, err := d.lower(t.bound, row.Plan, ofSeveral)
	if err != nil {
		return row, err
	}
	l := &timedLoop{plan: row.Plan, depth: row.Depth}
	if len(m.Spans) == 0 {
		return row, fmt.Errorf("the plan %s has no kernel of several iterations", row.Plan)
	}
	l.mark(m, d.target.Dialect)
	fmt.Fprintf(d.Log, "%v %s, %d iterations: issue slots\n", w.temporalCase, row.Grid, row.Steps)
	if row.SlotShare, err = t.slotShare(ctx, l); err != nil {
		return row, fmt.Errorf("issue slots are not counted: %w", err)
	}
	if d.Commit != row.Commit {
		row.SlotCommit = d.Commit
	}
	return row, row.impossible(t.bound, d.target.Machine)
}

// TemporalOnce carries out the steps of the first row that the options name, with their first
// plan, and measures nothing: profilers count what is launched.
func TemporalOnce(ctx context.Context, o TemporalOptions) error {
	d, err := openTemporal(o)
	if err != nil {
		return err
	}
	defer d.Close()
	first := func(list, wanted []string) string { return chosen(list, wanted)[0] }
	w := rowWanted{
		temporalCase: temporalCase{
			first(TemporalNames(), o.Cases), first([]string{"double", "float"}, o.DTypes),
			first(TemporalBoundaries(), orNone(o.Boundaries)),
		},
		set: o.Set, steps: o.Steps, plans: o.Plans,
	}
	t, err := d.load(w)
	if err != nil {
		return fmt.Errorf("%v: %w", w.temporalCase, err)
	}
	if err := t.once(ctx, w.plans[0]); err != nil {
		return fmt.Errorf("%v, %s: %w", w.temporalCase, strings.TrimSpace(w.plans[0]), err)
	}
	return nil
}

// once carries out the steps in this very process: profilers do not see what a worker launches,
// and launches of a graph are not told apart by all of them.
func (t *temporal) once(ctx context.Context, plan string) error {
	if _, err := depthAs(plan, ofSeveral); err != nil {
		return err
	}
	m, code, err := t.compile(ctx, t.bound, plan, ofSeveral)
	if err != nil {
		return err
	}
	o := exec.Options{Device: t.target.ID, Image: code.Path, NoGraphs: true}
	l, err := exec.OpenLocal(ctx, m, t.bound, o, t.data)
	if err != nil {
		return err
	}
	defer l.Close()
	_, err = l.Advance(ctx, exec.Limit{Iterations: t.steps})
	return err
}

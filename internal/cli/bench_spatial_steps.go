package cli

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

// steps measures what each step of Zhang and Mueller 2013, figure 6, gains, row by row.
func (c *benchSpatial) steps(a *app) error {
	if err := c.stepsOnly(); err != nil {
		return err
	}
	flags := searchFlags{
		Device: c.Device, Budget: c.TunedBudget, Trials: c.Trials, Within: c.Budget, Jobs: c.Jobs, Table: c.Table,
	}
	search, err := flags.search(a, c.JSON, c.TunedBudget)
	if err != nil {
		return err
	}
	var have []contest.SpatialStepRow
	if c.JSON != "" {
		if have, err = contest.ReadSpatialSteps(c.JSON); err != nil {
			return err
		}
	}
	if c.Table {
		contest.WriteSpatialSteps(a.stdout, have)
		return nil
	}
	if err := c.check(); err != nil {
		return err
	}
	rows, err := contest.SpatialStepsOf(a.ctx, contest.SpatialStepsOptions{
		Search: search, Cases: c.Case, DTypes: c.DType, Steps: c.Step, Size: c.Size, Have: have,
		Each: func(r contest.SpatialStepRow) error {
			if c.JSON == "" {
				return nil
			}
			return contest.MergeSpatialSteps(c.JSON, r)
		},
	})
	if len(rows) > 0 {
		contest.WriteSpatialSteps(a.stdout, rows)
	}
	return err
}

// stepsOnly refuses flags that have no meaning with --steps, and names that there are not.
func (c *benchSpatial) stepsOnly() error {
	if len(c.Plan)+len(c.Set) > 0 || c.Plans != "" || c.Sweep != "" || c.RivalsDir != "" || c.Rivals != "" ||
		c.Suite != "" || c.Quick || c.Counters {
		return usage("--steps has plans and sizes of its own: leave out --plan, --plans, --sweep, --suite, --set, " +
			"--quick, --counters and rivals")
	}
	if kind, _, err := target.Parse(c.Device); err == nil && kind.Dialect == emit.C {
		return usage("--device %s: the steps are those of kernels for GPUs", c.Device)
	}
	known := func(flag string, names, all []string) error {
		for _, name := range names {
			if !slices.Contains(all, name) {
				return usage("--%s %s: with --steps there are %s", flag, name, strings.Join(all, ", "))
			}
		}
		return nil
	}
	var all []string
	for _, s := range contest.SpatialSteps {
		all = append(all, s.Name)
	}
	if err := known("case", c.Case, contest.SpatialCases); err != nil {
		return err
	}
	if err := known("step", c.Step, all); err != nil {
		return err
	}
	if err := known("dtype", c.DType, []string{"double", "float"}); err != nil {
		return err
	}
	if c.Size < 8 {
		return usage("--size %d: at least 8 are needed", c.Size)
	}
	return nil
}

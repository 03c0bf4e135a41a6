package cli

import (
	"slices"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
)

type benchLearning struct {
	record     `embed:""`
	Recordings string `required:"" help:"The folder of the recordings, as gridloom record makes them." placeholder:"DIR"`
	Device     string `help:"Only what was measured on this device: a part of its name." placeholder:"NAME"`
}

func (c *benchLearning) Help() string {
	return `Judges models that pick configurations for stencils that they have not seen, on recordings: each tenth of the stencils, and each pattern, is left out once. Beside the models stand the baselines: one that knows nothing, a random order, and a table of each configuration's mean over other programs, without features. Intervals are of whole stencils drawn anew.

Examples:

	gridloom bench learning --recordings bench/recordings --json bench/results/learning-h200.json`
}

func (c *benchLearning) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	list, err := engine.Recordings(a.ctx, c.Recordings, c.Device)
	if err != nil {
		return err
	}
	rows, err := learning.Evaluate(a.ctx, list, a.commit(), a.stderr)
	if err != nil {
		return err
	}
	order := func(r learning.Row) int {
		return slices.IndexFunc(learning.Splits, func(s learning.Split) bool { return s.Name == r.Split })*100 +
			slices.IndexFunc(learning.Metrics, func(m learning.Metric) bool { return m.Name == r.Metric })
	}
	slices.SortStableFunc(rows, func(x, y learning.Row) int { return order(x) - order(y) })
	if err := learning.Write(a.stdout, rows); err != nil {
		return err
	}
	return c.keep(rows)
}

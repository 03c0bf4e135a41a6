package cli

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
)

type benchLearning struct {
	record     `embed:""`
	Recordings string `required:"" help:"The folder of the recordings, as gridloom record makes them." placeholder:"DIR"`
	Picks      string `help:"Also sum up what bench picks has measured and left in this file." placeholder:"FILE"`
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
	models := learning.NewHeldOut(list)
	rows, err := learning.Evaluate(a.ctx, models, a.commit(), a.stderr)
	if err != nil {
		return err
	}
	forms, err := learning.Forms(a.ctx, models, a.commit())
	if err != nil {
		return err
	}
	if len(forms) == 0 {
		fmt.Fprintln(a.stderr, "note: no form was judged: too few configurations of each were tried")
	}
	rows = append(rows, forms...)
	if c.Picks != "" {
		live, err := learning.ReadLive(c.Picks)
		if err != nil {
			return err
		}
		more, err := learning.SumUpLive(live, models, a.commit())
		if err != nil {
			return usage("--picks %s: %v", c.Picks, err)
		}
		rows = append(rows, more...)
	}
	if err := learning.Write(a.stdout, rows); err != nil {
		return err
	}
	return c.keep(rows)
}

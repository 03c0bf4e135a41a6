package cli

import (
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
)

type benchLift struct {
	record     `embed:""`
	Recordings string `required:"" help:"The folder of the recordings of the programs: gridloom record lift makes them." placeholder:"DIR"`
	Device     string `help:"Only what was measured on this device: a part of its name." placeholder:"NAME"`
}

func (c *benchLift) Help() string {
	return `Repeats what Remmelg et al. 2020 report, on recordings of their programs: a model of the other programs ranks the variants of each, by what is counted on the kernels before they are compiled; how many are run until one has 0.9 of the best, against random orders; and how much each feature tells of the speed. Beside it are boosted trees, of the same features and of those of program and configuration.

Examples:

	gridloom record lift --recordings bench/recordings --size 4096
	gridloom bench lift --recordings bench/recordings/lift --json bench/results/lift-h200.json`
}

func (c *benchLift) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	list, err := engine.Recordings(a.ctx, c.Recordings, c.Device)
	if err != nil {
		return err
	}
	r, err := learning.Lift(a.ctx, list, a.commit(), a.stderr)
	if err != nil {
		return err
	}
	if err := learning.WriteLift(a.stdout, r); err != nil {
		return err
	}
	return c.keep(r)
}

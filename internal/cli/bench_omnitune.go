package cli

import (
	"github.com/gridloom/gridloom/internal/tune/eval/omnitune"
)

type benchOmniTune struct {
	record `embed:""`
	Data   string `required:"" help:"The scenarios: JSON, gzipped if its name ends in .gz." placeholder:"FILE"`
}

func (c *benchOmniTune) Help() string {
	return `Repeats the validations of Cummins et al. 2018 on scenarios that were measured for it, each a kernel on a dataset on a
device with its times at the work-group sizes that were run: models learn from some scenarios, and pick a size for the
others. Left out are tenths in ten random orders, all kernels but generated ones, and one device, kernel or dataset at a
time. Models are baselines (the size that was most often the fastest, the mean speed of each size), algorithms 1 to 4 of
the paper (classifiers with three fallbacks; forests that predict times or speed-ups; sizes run until a prediction
holds), and a forest that the table or neighbours guide. Tables have the paper's figures beside ours. Intervals are of
groups drawn anew. Rows of the same scenarios that the file of --json has from the same commit are not made anew.

The file has {"data": [...]}, for each scenario an object with Benchmark, dev_name, properties of the device (dev_...),
instruction counts (kernel_...), BorderNorth and so on, DataWidth, DataHeight, and RuntimeCxR in milliseconds for each
work-group size, 0 where it is not known.

Examples:

	gridloom bench omnitune --data scenarios.json.gz --json bench/results/omnitune.json`
}

func (c *benchOmniTune) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	s, err := omnitune.Read(c.Data)
	if err != nil {
		return err
	}
	var known []omnitune.Row
	keep := func([]omnitune.Row) error { return nil }
	if c.JSON != "" {
		if known, err = omnitune.Known(c.JSON); err != nil {
			return err
		}
		keep = func(rows []omnitune.Row) error { return omnitune.Merge(c.JSON, rows) }
	}
	rows, err := omnitune.Run(a.ctx, s, omnitune.Splits, a.commit(), a.stderr, known, keep)
	if err != nil {
		return err
	}
	omnitune.Write(a.stdout, rows)
	return nil
}

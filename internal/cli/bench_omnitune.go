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
device with its times at the work-group sizes that were run: models learn from all scenarios but those of a device, a
kernel or a dataset, and pick a size for these. Each is told of beside the baselines: the size that was most often the
fastest, the mean speed of each size, and a size at random. Classifiers say which size is the fastest, and one of three
fallbacks picks where that was not run; the others rank all sizes. Intervals are of groups drawn anew.

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
	rows, err := omnitune.Run(a.ctx, s, a.commit(), a.stderr)
	if err != nil {
		return err
	}
	omnitune.Write(a.stdout, rows)
	if c.JSON == "" {
		return nil
	}
	return omnitune.Merge(c.JSON, rows)
}

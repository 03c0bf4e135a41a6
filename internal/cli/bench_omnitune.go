package cli

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/eval/omnitune"
)

type benchOmniTune struct {
	record     `embed:""`
	Data       string `required:"" help:"The scenarios: JSON, gzipped if its name ends in .gz." placeholder:"FILE" xor:"scenarios"`
	Recordings string `required:"" help:"Take the kernels of the recordings in this folder for scenarios, as gridloom record makes them." placeholder:"DIR" xor:"scenarios"`
	Device     string `help:"Of --recordings only what was measured on this device: a part of its name." placeholder:"NAME"`
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

With --recordings a scenario is a recorded kernel at its sizes, and a size a block of the family tile; its time is that
of the fastest of the configurations that all kernels were recorded with. Which sizes are refused is known: those whose
configurations all failed, or are none of the kernel's space. Left out are tenths, all but Garvey's kernels, and one
stencil or one pattern at a time.

Examples:

	gridloom bench omnitune --data scenarios.json.gz --json bench/results/omnitune.json
	gridloom bench omnitune --recordings bench/recordings --json bench/results/omnitune-recordings.json`
}

func (c *benchOmniTune) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	s, err := c.suite(a)
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
	rows, err := omnitune.Run(a.ctx, s, s.Splits, a.commit(), a.stderr, known, keep)
	if err != nil {
		return err
	}
	omnitune.Write(a.stdout, s, rows)
	return nil
}

// suite reads the scenarios.
func (c *benchOmniTune) suite(a *app) (*omnitune.Suite, error) {
	if c.Recordings == "" {
		if c.Device != "" {
			return nil, usage("--device %s: it is for --recordings", c.Device)
		}
		return omnitune.Read(c.Data)
	}
	list, err := engine.Recordings(a.ctx, c.Recordings, c.Device)
	if err != nil {
		return nil, err
	}
	clang, err := toolchain.FindClang()
	if err != nil {
		fmt.Fprintf(a.stderr, "note: instructions are counted on the kernel IR: %v\n", err)
	}
	return omnitune.FromRecordings(a.ctx, list, clang)
}

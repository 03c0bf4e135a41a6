package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

type benchCells struct {
	record  `embed:""`
	Device  string            `default:"cuda:0" help:"The GPU."`
	Case    []string          `help:"Only these cases: star7, box27, star5, himeno." placeholder:"NAME"`
	Set     map[string]string `help:"Another size of every case that has it." placeholder:"N=VALUE"`
	Batches int               `default:"7" help:"Timed batches of each configuration; at least 5."`
}

func (c *benchCells) Help() string {
	return `The plainest GPU kernels, one thread a cell, with every block shape: compared with the
reference executor, timed, and set against the GPU's own copies in the same run.

Examples:

	gridloom bench cells --json bench/results/gpu-cells.json`
}

func (c *benchCells) Run(a *app) error {
	ordinal, ok := cuda.Kind.ParseID(c.Device)
	if !ok {
		return usage("--device %s: the GPUs are cuda:0, cuda:1 and so on", c.Device)
	}
	if c.Batches < 5 {
		return usage("--batches %d: at least 5 are needed", c.Batches)
	}
	if err := c.check(); err != nil {
		return err
	}
	rows, err := bench.Cells(a.ctx, bench.GPUOptions{
		Ordinal: ordinal, Cases: c.Case, Set: c.Set, Batches: c.Batches, Batch: 20 * time.Millisecond,
		Commit: a.commit(), Log: a.stderr,
	})
	for _, r := range rows {
		if r.Refused != "" {
			a.row("%-7s %-7s %-13s %-25s refused: %s", r.Case, r.DType, r.Grid, r.Plan, r.Refused)
			continue
		}
		fmt.Fprintf(a.stdout, "%-7s %-7s %-13s %-25s %8.1f GStencil/s  "+
			"%5.1f %% of copy  %3d registers  %9d cells checked\n",
			r.Case, r.DType, r.Grid, r.Plan, r.GStencils, 100*r.FractionOfCopy, r.Registers, r.CellsChecked)
	}
	if len(rows) > 0 || err == nil {
		if kept := c.keep(rows); err == nil { // what was measured is not lost to an error
			err = kept
		}
	}
	var wrong *bench.Mismatch
	if errors.As(err, &wrong) {
		return failf(exitCheck, "%w", err)
	}
	return err
}

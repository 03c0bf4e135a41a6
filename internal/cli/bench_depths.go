package cli

import (
	"path/filepath"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

type benchDepths struct {
	record `embed:""`
	Files  []string      `arg:"" name:"file" optional:"" help:"Source files. Default: examples/*.loom."`
	Device string        `short:"d" default:"cuda:0" help:"The device. Default: cuda:0." placeholder:"DEVICE"`
	Budget time.Duration `help:"How long the search of a program may take. Default: 30s, or none with --trials." placeholder:"TIME"`
	Trials int           `help:"Stop the search of a program after so many configurations." placeholder:"N"`
	Within time.Duration `help:"Begin no program that would end later." placeholder:"TIME"`
	Large  bool          `help:"Make sizes so large that grids take eight times the last cache of the device."`
	Set    []string      `help:"Give a size its value in all programs that have it (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Jobs   int           `help:"Processes that compile; as many as processors if it is not given." placeholder:"COUNT"`
	Table  bool          `help:"Measure nothing: print the rows that --json names as a table in Markdown."`
}

func (c *benchDepths) Help() string {
	return `Tunes programs as tune does by default, and tells for each how many iterations of its time loop share a
kernel, what that gains over the best plan of one iteration a kernel, and what binds it or forbids
more. Programs that the file of --json has from this commit are left out.

Examples:

	gridloom bench depths --large --within 9m --json bench/results/depths-h200.json
	gridloom bench depths --json bench/results/depths-h200.json --table
	gridloom bench depths examples/heat3d.loom --device cpu --budget 20s`
}

// depthsBudget is what the search of a program may take if nobody says otherwise.
const depthsBudget = 30 * time.Second

func (c *benchDepths) Run(a *app) error {
	collectLess()
	switch {
	case c.Budget < 0:
		return usage("--budget %v: a time is positive", c.Budget)
	case c.Within < 0:
		return usage("--within %v: a time is positive", c.Within)
	case c.Trials < 0:
		return usage("--trials %d: a number of configurations is positive", c.Trials)
	case c.Jobs < 0:
		return usage("--jobs %d: a number of processes is positive", c.Jobs)
	}
	var have []contest.DepthsRow
	var err error
	if c.JSON != "" {
		if have, err = contest.ReadDepths(c.JSON); err != nil {
			return err
		}
	}
	if c.Table {
		if c.JSON == "" {
			return usage("--table prints the rows of a file: name it by --json")
		}
		contest.WriteDepths(a.stdout, have)
		return nil
	}
	if _, _, err := target.Parse(c.Device); err != nil {
		return usage("--device %s: %v", c.Device, err)
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Budget == 0 && c.Trials == 0 {
		c.Budget = depthsBudget
	}
	o := contest.DepthsOptions{
		Large: c.Large, Budget: c.Budget, Trials: c.Trials, Within: c.Within,
		Open: contest.OpenDevice(c.Device, c.Jobs), Commit: a.commit(), Log: a.stderr, Have: have,
		Each: func(r contest.DepthsRow) error {
			if c.JSON == "" {
				return nil
			}
			return contest.MergeDepths(c.JSON, r)
		},
	}
	if o.Set, err = sets(c.Set); err != nil {
		return err
	}
	if len(c.Files) == 0 {
		if c.Files, err = filepath.Glob("examples/*.loom"); err != nil || len(c.Files) == 0 {
			return usage("there is no examples/*.loom here: name the files")
		}
	}
	for _, file := range c.Files {
		_, p, err := a.load(file, arith.Contract)
		if err != nil {
			return err
		}
		o.Programs = append(o.Programs, p)
	}
	rows, err := contest.Depths(a.ctx, o)
	if len(rows) > 0 {
		contest.WriteDepths(a.stdout, rows)
	}
	return err
}

package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

type benchDepths struct {
	record      `embed:""`
	searchFlags `embed:""`
	Files       []string `arg:"" name:"file" optional:"" help:"Source files. Default: examples/*.loom."`
	Large       bool     `help:"Make sizes so large that grids take eight times the last cache of the device."`
	Set         []string `help:"Give a size its value in all programs that have it (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
}

func (c *benchDepths) Help() string {
	return `Tunes programs as tune does by default, and tells for each how many iterations of its time loop share a
kernel, what that gains over the best plan of one iteration a kernel, and what binds it or forbids
more. Beside it stands what run takes without a search, where a model of the device is there. The
search of a program takes 30 s if neither --budget nor --trials is given. Programs that the file of
--json has from this commit are left out.

Examples:

	gridloom bench depths --large --within 9m --json bench/results/depths-h200.json
	gridloom bench depths --json bench/results/depths-h200.json --table
	gridloom bench depths examples/heat3d.loom --device cpu --budget 20s`
}

// planAhead returns what run takes where nothing is known of a program: the plan of a model of the device, with kernels
// of several iterations, or the usual one. It is nil where no model of the device is there.
func planAhead(ctx context.Context, b *ir.Binding, t *target.Target) (*contest.TakenAhead, error) {
	j := &engine.Job{Bound: b, Device: &engine.Device{Target: t}}
	p, err := j.Model(ctx, "")
	if err != nil || p == nil {
		return nil, err
	}
	single := j.Plan
	if j.Origin == engine.Usual {
		if single, err = lower.Plan(b.Program, j.Lowering()); err != nil {
			return nil, err
		}
	}
	deep := single
	if added, err := j.Deepen(ctx, 0); err != nil {
		return nil, err
	} else if len(added) > 0 {
		deep = j.Plan
	}
	return &contest.TakenAhead{Single: single, Deep: deep, Usual: p.Kernels == 0}, nil
}

// depthsBudget is what the search of a program may take if nobody says otherwise.
const depthsBudget = 30 * time.Second

func (c *benchDepths) Run(a *app) error {
	collectLess()
	search, err := c.search(a, c.JSON, depthsBudget)
	if err != nil {
		return err
	}
	var have []contest.DepthsRow
	if c.JSON != "" {
		if have, err = contest.ReadDepths(c.JSON); err != nil {
			return err
		}
	}
	if c.Table {
		contest.WriteDepths(a.stdout, have)
		return nil
	}
	if err := c.check(); err != nil {
		return err
	}
	o := contest.DepthsOptions{
		Search: search, Large: c.Large, Have: have, Ahead: planAhead,
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

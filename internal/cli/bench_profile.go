package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

type benchProfile struct {
	record     `embed:""`
	Device     string        `short:"d" default:"cuda:0" help:"Default: cuda:0." placeholder:"DEVICE"`
	Case       []string      `help:"Only these cases (repeatable)." placeholder:"NAME"`
	Size       int64         `help:"The size of every axis, in place of the cases'." placeholder:"N"`
	Budget     time.Duration `default:"2s" help:"Time each kernel and its variants for about so long. Default: 2s." placeholder:"TIME"`
	Within     time.Duration `help:"Begin no case that would end later." placeholder:"TIME"`
	NoCounters bool          `help:"Do not ask NVIDIA's profiler (ncu) for the counters of the hardware."`
	Table      bool          `help:"Print the table of the file of --json, and measure nothing."`
}

func (c *benchProfile) Help() string {
	return `Says of iterative and complex stencils, by usual kernels and by better ones, what binds them: by code differencing,
and beside that by the counters of the hardware. Processors have the usual
kernels alone. Cases that the file of --json has from this commit are left out.

Examples:

	gridloom bench profile --within 9m --json bench/results/profile-h200.json
	gridloom bench profile --case star7 --device cpu --size 128
	gridloom bench profile --json bench/results/profile-h200.json --table`
}

func (c *benchProfile) Run(a *app) error {
	switch {
	case c.Size < 0:
		return usage("--size %d: a size is positive", c.Size)
	case c.Budget < 0:
		return usage("--budget %v: a time is positive", c.Budget)
	case c.Within < 0:
		return usage("--within %v: a time is positive", c.Within)
	case c.Table && c.JSON == "":
		return usage("--table prints the rows of the file that --json names")
	}
	var have []bench.ProfileRow
	var err error
	if c.JSON != "" {
		if have, err = bench.ReadProfiles(c.JSON); err != nil {
			return err
		}
	}
	if c.Table {
		bench.WriteProfiles(a.stdout, have)
		return nil
	}
	if err := c.check(); err != nil {
		return err
	}
	d, err := engine.Open(engine.DeviceRequest{ID: c.Device, Arithmetic: arith.Contract, Purpose: engine.ToTune})
	if err != nil {
		return err
	}
	defer d.Close()
	cases := slices.DeleteFunc(slices.Clone(bench.ProfileCases), func(x bench.ProfileCase) bool {
		return len(c.Case) > 0 && !slices.Contains(c.Case, x.Name) || d.Kind() != lower.GPU && x.Plan != ""
	})
	if len(cases) == 0 {
		return usage("--case %s: there is no such case", strings.Join(c.Case, ", "))
	}
	commit := a.commit()
	rows, err := bench.MeasureEach(a.ctx, cases, c.Within, a.stderr, bench.ProfileCase.String,
		func(x bench.ProfileCase) (*bench.ProfileRow, error) {
			if c.Size > 0 {
				x.Size = c.Size
			}
			if slices.ContainsFunc(have, func(r bench.ProfileRow) bool { return r.Of(x, commit) }) {
				return nil, nil
			}
			return c.measure(a.ctx, d, x, commit)
		}, func(r bench.ProfileRow) error {
			bench.WriteProfiles(a.stderr, []bench.ProfileRow{r})
			if c.JSON == "" {
				return nil
			}
			return bench.MergeProfile(c.JSON, r)
		})
	if len(rows) > 0 {
		bench.WriteProfiles(a.stdout, rows)
	}
	return err
}

// measure profiles a case.
func (c *benchProfile) measure(ctx context.Context, d *engine.Device, x bench.ProfileCase, commit string) (
	*bench.ProfileRow, error) {
	begin := time.Now()
	src, err := x.Source(examples.FS)
	if err != nil {
		return nil, err
	}
	p, wrong := engine.Parse(src)
	if wrong.HasErrors() {
		return nil, failf(exitSource, "%s", diag.Render(src, wrong, diag.Style{}))
	}
	p = p.In(arith.Contract)
	var names []string
	for _, q := range p.Params {
		names = append(names, q.Name)
	}
	j := engine.Job{Device: d}
	if j.Bound, err = engine.Bind(p, x.Set(names)); err != nil {
		return nil, err
	}
	if j.Plan, err = schedule.ParsePlan(x.Plan); err != nil {
		return nil, err
	}
	if x.Plan != "" {
		j.Origin = engine.Chosen
	}
	r := engine.ProfileRequest{Job: j, Source: src, Budget: c.Budget, NoCounters: c.NoCounters}
	found, err := engine.Profile(ctx, r)
	if err != nil {
		return nil, err
	}
	row := bench.NewProfileRow(x, found, time.Since(begin).Seconds(), commit)
	return &row, nil
}

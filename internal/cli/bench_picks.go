package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
	"github.com/gridloom/gridloom/internal/tune/measure"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

type benchPicks struct {
	JSON         string   `name:"json" required:"" help:"The file of the rows: what stands there is not measured again." placeholder:"FILE"`
	Record       string   `required:"" help:"The folder for recordings of what is measured, so that models may learn from it later." placeholder:"DIR"`
	Program      []string `help:"Only the kernels of these programs." placeholder:"NAME"`
	Search       int      `help:"Also search each kernel with so many trials, without and with a prior." placeholder:"TRIALS"`
	Prior        int      `default:"${prior}" help:"Configurations of a model that searches begin with. Default: ${prior}." placeholder:"N"`
	Most         int      `default:"50" help:"Where none of a model's first five picks is near the best, a search goes on up to so many trials, these five among them. Default: 50." placeholder:"N"`
	Again        bool     `help:"Measure the picks of rows of other commits anew, before those of kernels without rows. What was the fastest of a kernel stays."`
	From         string   `help:"The device whose recordings are learned from: a part of its name. Default: the one that is measured on, and on processors all of them." placeholder:"NAME"`
	heldOutFlags `embed:""`
	sliceFlags   `embed:""`
}

func (c *benchPicks) Help() string {
	return `Measures what models pick among all candidates of a kernel, whose stencil, pattern or suite they have not learned from: the first of each model, and those that a search goes on with from there, as gridloom tune does, to the fifth, or until one is near the best. gridloom bench learning sums the rows up. With --from, models have learned from another device.

Examples:

	gridloom bench picks --recordings bench/recordings --record picks --json picks.json --budget 8m
	gridloom bench picks --recordings bench/recordings --record picks --json searches.json --search 300`
}

func (c *benchPicks) Run(a *app) error {
	collectLess()
	switch {
	case c.Search < 0:
		return usage("--search %d: a number of trials is positive", c.Search)
	case c.Prior < 1:
		return usage("--prior %d: a number of configurations is positive", c.Prior)
	case c.Most < 1 || c.Most > learning.MostTrials:
		return usage("--most %d: a number of trials is from 1 to %d", c.Most, learning.MostTrials)
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := gridio.CheckFile(c.JSON); err != nil {
		return err
	}
	rows, err := learning.ReadLive(c.JSON)
	if err != nil {
		return err
	}
	d, err := c.device()
	if err != nil {
		return err
	}
	defer d.Close()
	on := measure.DeviceOf(d.Target)
	for _, l := range rows {
		if l.Device != on.Name {
			return usage("--json %s: its rows are of %s, and this is %s", c.JSON, l.Device, on.Name)
		}
	}
	from := c.From
	if from == "" && on.API != session.CPU { // one model learns from all processors
		from = on.Name
	}
	models, err := c.heldOut(a.ctx, from)
	if err != nil {
		return err
	}
	kernels := models.All
	if from == "" {
		kernels = slices.DeleteFunc(slices.Clone(kernels), func(e *predict.Examples) bool {
			return e.Device != on.String()
		})
		if len(kernels) == 0 {
			return usage("--recordings %s: no kernel was recorded on this device, %s", c.Recordings, &on).
				hintf("gridloom record measures kernels on it, and --from names another device to learn from")
		}
	}
	done := rows
	if c.Again {
		done = learning.WithoutPicks(rows, a.commit())
	}
	rounds, err := learning.Unmeasured(kernels, done, c.Program, c.Search > 0, c.Most)
	if err != nil {
		return usage("%v", err)
	}
	var left []*predict.Examples
	for _, round := range rounds {
		left = append(left, spread(round)...)
	}
	if c.Again || c.Search > 0 {
		left = learning.RowsFirst(left, rows)
	}
	if err := os.MkdirAll(c.Record, 0o777); err != nil {
		return err
	}
	prepare := func() error { return models.Prepare(a.ctx, left, models.BothWithout, a.stderr) }
	if err := c.keeping(a, prepare); err != nil {
		return err
	}
	until, missed := time.Now().Add(c.Budget), 0
	for i, k := range left {
		if time.Now().After(until) {
			fmt.Fprintf(a.stderr, "the time is up: %d of %d kernels were measured, and the same command goes on\n",
				i-missed, len(left))
			return nil
		}
		began := time.Now()
		row := learning.RowOf(k, rows)
		if row != nil && row.Driver != on.Driver { // its times are of another one
			row = nil
		}
		l, err := c.measure(a, d, models, k, row)
		switch {
		case err != nil && a.ctx.Err() != nil:
			return failf(exitInterrupted, "interrupted: %d of %d kernels were measured, and the same command goes on",
				i-missed, len(left))
		case err != nil && !unmeasurable(err): // one kernel less
			missed++
			fmt.Fprintf(a.stderr, "%s: %v\n", k.Name, err)
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", k.Name, err)
		}
		if err := learning.KeepLive(c.JSON, l); err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "%d of %d: %s, in %.1f s\n", i+1, len(left), l, time.Since(began).Seconds())
	}
	if missed > 0 {
		return &failure{status: exitDevice}
	}
	return nil
}

// measure measures the picks of a kernel, of which there may be a row already.
func (c *benchPicks) measure(a *app, d *engine.Device, models *learning.HeldOut, k *predict.Examples,
	row *learning.Live) (*learning.Live, error) {
	l, err := learning.Picks(a.ctx, learning.PicksRequest{
		Models: models, Kernel: k, Row: row, Target: d.Target, Search: c.Search, Prior: c.Prior, Most: c.Most,
		In: func(ctx context.Context, name string, work func(tuner.Try) error) error {
			r := engine.TrialsRequest{
				Kernel: k.Kernel, Device: d, Commit: a.commit(), Path: filepath.Join(c.Record, name+".jsonl.gz"),
			}
			return engine.Trials(ctx, r, work)
		},
	})
	if err != nil {
		return nil, err
	}
	on := measure.DeviceOf(d.Target)
	l.Device, l.Driver, l.Commit = on.Name, on.Driver, a.commit()
	return l, nil
}

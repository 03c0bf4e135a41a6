package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

type benchTemporal struct {
	record `embed:""`
	Device string            `default:"cuda:0" help:"The GPU, or cpu."`
	Case   []string          `help:"Only these cases: star5, box9, star9, box25, star7, star13, poisson19, box27." placeholder:"NAME"`
	DType  []string          `name:"dtype" help:"Only these types: double, float." placeholder:"TYPE"`
	Set    map[string]string `help:"Another size." placeholder:"N=VALUE"`
	Plan   []string          `help:"A plan to try; may be given several times. The fastest is measured." placeholder:"TEXT" sep:"none"`
	Bare   []string          `help:"A plan to try without handling of edges, whose values are wrong there: what they cost." placeholder:"TEXT" sep:"none"`
	Single []string          `help:"A plan of one iteration a kernel to time in turn with the fastest; may be given several times. The fastest of them counts." placeholder:"TEXT" sep:"none"`
	Steps  int64             `default:"1000" help:"Iterations of a repetition."`
	Least  time.Duration     `name:"seconds" default:"3s" help:"How long repetitions or pairs go on, at least."`
}

func (c *benchTemporal) Help() string {
	return `Time loops in which several iterations share a kernel: the whole loop is timed, and every cell is
compared with what one iteration a kernel leaves. With --single the fastest plans of both kinds are
timed in turn, which tells their ratio on a machine that does other things, too. Rows are merged into the file of --json one by
one, so that further cases and types can be measured later.

Examples:

	gridloom bench temporal --case star5 --dtype double --plan 'body[0:2]@4{family=pipe,cells=4}' --json temporal.json
	gridloom bench temporal --case star7 --plan 'body[0:2]@2{family=pipe}' --set N=509 --steps 997
	gridloom bench temporal --device cpu --case star7 --dtype double --set N=384 --steps 100 \
	  --single block=0x16x0 --single block=64x32x0 --plan 'body[0:2]@4{family=wavefront}' --json temporal-cpu.json`
}

func (c *benchTemporal) Run(a *app) error {
	if _, _, err := target.Parse(c.Device); err != nil {
		return usage("--device %s: %v", c.Device, err)
	}
	for _, name := range c.Case {
		if !slices.Contains(bench.TemporalNames(), name) {
			return usage("--case %s: the cases are %s", name, strings.Join(bench.TemporalNames(), ", "))
		}
	}
	for _, t := range c.DType {
		if t != "double" && t != "float" {
			return usage("--dtype %s: the types are double and float", t)
		}
	}
	switch {
	case len(c.Plan) == 0:
		return usage("bench temporal needs a plan: --plan 'body[0:2]@4{family=pipe}'")
	case c.Steps < 1:
		return usage("--steps %d: at least 1 is needed", c.Steps)
	}
	if err := c.check(); err != nil {
		return err
	}
	rows, err := bench.Temporal(a.ctx, bench.TemporalOptions{
		Device: c.Device, Cases: c.Case, DTypes: c.DType, Set: c.Set, Plans: c.Plan, Bare: c.Bare, Steps: c.Steps,
		Single: c.Single,
		Least:  c.Least, Commit: a.commit(), Log: a.stderr,
		Each: func(r bench.TemporalRow) error {
			if c.JSON == "" {
				return nil
			}
			return bench.MergeTemporal(c.JSON, r)
		},
	})
	if len(rows) > 0 {
		bench.WriteTemporal(a.stdout, rows)
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Differ > 0 {
			return failf(exitCheck, "the plan %s leaves %d cells that differ from one iteration a kernel", r.Plan,
				r.Differ)
		}
	}
	return nil
}

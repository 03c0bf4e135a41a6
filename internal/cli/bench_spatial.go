package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

type benchSpatial struct {
	record    `embed:""`
	Device    string            `default:"cuda:0" help:"The GPU."`
	Case      []string          `help:"Only these cases: star7, star13, star25, box27, star5, box9, box25, wave, himeno, grayscott, hotspot, hdiff." placeholder:"NAME"`
	DType     []string          `name:"dtype" help:"Only these types: double, float." placeholder:"TYPE"`
	Set       map[string]string `help:"Another size of every case that has it." placeholder:"N=VALUE"`
	Plan      []string          `help:"A plan to try; may be given several times." placeholder:"TEXT" sep:"none"`
	Plans     string            `help:"A JSON file of plans by case and type, in place of those that come with gridloom; all takes every family and 64 plans at random." placeholder:"FILE"`
	Sweep     string            `help:"Try every plan of a text file, one a line, and show all of them." placeholder:"FILE"`
	RivalsDir string            `name:"rivals-dir" help:"Time the rivals in this folder, in turn with the finalists." placeholder:"DIR"`
	Rivals    string            `help:"What rivals have printed that were timed before, a line of JSON each." placeholder:"FILE"`
	Quick     bool              `help:"Time shorter batches, and only the best plan in turn with the copies."`
	Counters  bool              `help:"Have Nsight Compute (ncu) count what limits the best plans."`
	Batches   int               `default:"7" help:"Timed batches of the finalists; at least 5."`
	Suite     string            `help:"Measure the cases of a list, wide or a JSON file, by the plans that it has for them, and show all of them. Cases that --json has from this commit are left out." placeholder:"NAME"`
	Budget    time.Duration     `help:"With --suite or --steps: begin no case or step that would end later." placeholder:"TIME"`
	Jobs      int               `help:"Processes that compile; as many as processors if it is not given." placeholder:"COUNT"`

	Steps       bool          `help:"What each step from plain kernels to tuned ones gains (Zhang and Mueller 2013, figure 6 and table 2), of star7, star13, himeno and box27, on any GPU. Rows that --json has from this commit are left out."`
	Step        []string      `help:"With --steps: only these: base, queue, shared, rows, rimless, prefetch, unrolled, texture, tuned." placeholder:"NAME"`
	Size        int64         `default:"256" help:"With --steps: the size of every axis."`
	TunedBudget time.Duration `name:"tuned-budget" default:"30s" help:"With --steps: how long the search of the last step may take." placeholder:"TIME"`
	Trials      int           `help:"With --steps: stop a search after so many configurations." placeholder:"N"`
	Table       bool          `help:"With --steps: measure nothing: print the rows that --json names as tables in Markdown."`
}

func (c *benchSpatial) Help() string {
	return `One step of each case by generated GPU kernels: each plan is compared at every cell with the
plainest kernels, and the fastest are timed in turn with the GPU's own copies.

With --steps, every configuration of a step is tried, and the last step is what tune finds.

Examples:

	gridloom bench spatial --rivals-dir bench/rivals --json bench/results/spatial-h200.json
	gridloom bench spatial --case star7 --dtype double --plan family=cells,block=4x64
	gridloom bench spatial --case star7 --dtype double --sweep plans.txt --json sweep.json
	gridloom bench spatial --suite wide --budget 9m --json bench/results/wide-h200.json
	gridloom bench spatial --steps --budget 8m --json bench/results/spatial-steps-h200.json`
}

func (c *benchSpatial) Run(a *app) error {
	if c.Steps {
		return c.steps(a)
	}
	if c.Table || c.Trials != 0 || len(c.Step) > 0 {
		return usage("--step, --trials and --table are for --steps")
	}
	o, err := c.options(a)
	if err != nil {
		return err
	}
	if c.Suite != "" {
		return c.suite(a, o)
	}
	run := bench.Spatial
	if c.Sweep != "" {
		run = bench.Sweep
	}
	rows, err := run(a.ctx, o)
	if len(rows) > 0 {
		bench.WriteSpatial(a.stdout, rows)
	}
	if len(rows) > 0 || err == nil {
		if kept := c.keep(rows); err == nil { // what was measured is not lost to an error
			err = kept
		}
	}
	if err != nil {
		return err
	}
	return wrongPlan(rows)
}

// wrongPlan is the failure of a plan that computes wrong results, if there is one.
func wrongPlan(rows []bench.SpatialRow) error {
	for _, r := range rows {
		if r.Wrong {
			return failf(exitCheck, "the plan %s computes wrong results", r.Plan)
		}
	}
	return nil
}

// suite measures the cases of a list, and merges their rows into the file.
func (c *benchSpatial) suite(a *app, o bench.SpatialOptions) error {
	list, err := c.list()
	if err != nil {
		return err
	}
	var have []bench.SpatialRow
	if c.JSON != "" {
		if have, err = bench.ReadSpatial(c.JSON); err != nil {
			return err
		}
	}
	rows, err := bench.MeasureSpatial(a.ctx, o, list, have, c.Budget, func(rows []bench.SpatialRow) error {
		if c.JSON == "" {
			return nil
		}
		return bench.MergeSpatial(c.JSON, rows)
	})
	if len(rows) > 0 {
		bench.WriteSpatial(a.stdout, rows)
	}
	have = rows
	if err == nil && c.JSON != "" { // with those of earlier calls
		have, err = bench.ReadSpatial(c.JSON)
	}
	bench.WriteSpatialShort(a.stdout, list, have)
	if err != nil {
		return err
	}
	return wrongPlan(rows)
}

// list reads the list of cases.
func (c *benchSpatial) list() ([]bench.SpatialSuiteRow, error) {
	if len(c.Plan)+len(c.Set) > 0 || c.Plans != "" || c.Sweep != "" || c.RivalsDir != "" || c.Rivals != "" {
		return nil, usage("--suite has plans and sizes of its own: leave out --plan, --plans, --sweep, --set and " +
			"rivals")
	}
	if !strings.Contains(c.Suite, ".") {
		list, err := bench.SpatialSuite(c.Suite)
		if err != nil {
			return nil, usage("--suite: %v", err)
		}
		return list, nil
	}
	text, err := gridio.ReadSmall(c.Suite, maxStory)
	if err != nil {
		return nil, gridio.Named(c.Suite, err)
	}
	list, err := bench.ParseSpatialSuite(text)
	return list, gridio.Named(c.Suite, err)
}

// options checks everything that can be checked before the work begins.
func (c *benchSpatial) options(a *app) (bench.SpatialOptions, error) {
	o := bench.SpatialOptions{
		Cases: c.Case, DTypes: c.DType, Set: c.Set, Plans: c.Plan, Batches: c.Batches, Batch: 20 * time.Millisecond,
		Quick: c.Quick, Counters: c.Counters, Jobs: c.Jobs, Commit: a.commit(), Log: a.stderr,
	}
	ordinal, ok := cuda.Kind.ParseID(c.Device)
	if !ok {
		return o, usage("--device %s: the GPUs are cuda:0, cuda:1 and so on", c.Device)
	}
	o.Ordinal = ordinal
	for _, name := range c.Case {
		if !slices.Contains(bench.SpatialNames(), name) {
			return o, usage("--case %s: the cases are %s", name, strings.Join(bench.SpatialNames(), ", "))
		}
	}
	for _, t := range c.DType {
		if t != "double" && t != "float" {
			return o, usage("--dtype %s: the types are double and float", t)
		}
	}
	if c.Batches < 5 {
		return o, usage("--batches %d: at least 5 are needed", c.Batches)
	}
	if c.Budget != 0 && c.Suite == "" {
		return o, usage("--budget is for --suite and --steps")
	}
	if c.Quick {
		o.Batch = 5 * time.Millisecond
	}
	if c.Sweep != "" {
		text, err := gridio.ReadSmall(c.Sweep, maxStory)
		if err != nil {
			return o, gridio.Named(c.Sweep, err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				o.Plans = append(o.Plans, line)
			}
		}
		if len(o.Plans) == 0 {
			return o, usage("--sweep %s: the file has no plan", c.Sweep)
		}
	}
	var err error
	if c.Plans == "all" {
		o.Sampled = 64
	} else if o.PlanFile, err = planFile(c.Plans); err != nil {
		return o, err
	}
	if c.Rivals != "" {
		text, err := gridio.ReadSmall(c.Rivals, maxStory)
		if err != nil {
			return o, gridio.Named(c.Rivals, err)
		}
		if o.Given, err = bench.ParseRivals(text); err != nil {
			return o, fmt.Errorf("%s: %w", c.Rivals, err)
		}
	}
	if c.RivalsDir != "" {
		if o.Rivals, err = bench.FindRivals(c.RivalsDir); err != nil {
			return o, err
		}
	}
	return o, c.check()
}

type benchCompile struct {
	record    `embed:""`
	Plans     string `help:"A JSON file of plans by case and type, in place of those that come with gridloom." placeholder:"FILE"`
	Processes int    `default:"16" help:"Processes that compile at the same time."`
	Arch      int    `default:"90" help:"Compute capability that is compiled for, 90 for 9.0."`
}

func (c *benchCompile) Help() string {
	return `How long NVRTC takes for each of the suite's kernels, and what many processes gain.

Examples:

	gridloom bench compile --processes 16 --json bench/results/compile.json`
}

func (c *benchCompile) Run(a *app) error {
	if c.Processes < 1 {
		return usage("--processes %d: at least 1 is needed", c.Processes)
	}
	o := bench.CompileOptions{Arch: c.Arch, Processes: c.Processes, Commit: a.commit(), Log: a.stderr}
	var err error
	if o.PlanFile, err = planFile(c.Plans); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	r, err := bench.Compile(a.ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%d sources, %.3f s the median, %.3f s the longest; "+
		"%.1f a second in one process, %.1f in %d: %.1f times\n",
		r.Sources, r.Median, r.Longest, r.One, r.Many, r.Processes, r.Gain)
	return c.keep(r)
}

// planFile reads a file of plans; "" stands for none.
func planFile(path string) (bench.PlanFile, error) {
	if path == "" {
		return nil, nil
	}
	text, err := gridio.ReadSmall(path, maxStory)
	if err != nil {
		return nil, gridio.Named(path, err)
	}
	f, err := bench.ParsePlans(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

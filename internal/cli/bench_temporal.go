package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

type benchTemporal struct {
	record   `embed:""`
	Device   string            `default:"cuda:0" help:"The GPU, or cpu."`
	Case     []string          `help:"Only these cases: star5, box9, star9, box25, star7, star13, poisson19, box27, star5-axes, star9-axes, star7-axes, star13-axes, wave, grayscott." placeholder:"NAME"`
	DType    []string          `name:"dtype" help:"Only these types: double, float." placeholder:"TYPE"`
	Boundary []string          `help:"What all grids have at their ends: none (if it is not given), clamp, periodic, mirror, reflect, constant." placeholder:"NAME"`
	Set      map[string]string `help:"Another size; N alone is that of every axis." placeholder:"N=VALUE"`
	Plan     []string          `help:"A plan to try; may be given several times. The fastest is measured." placeholder:"TEXT" sep:"none"`
	Bare     []string          `help:"A plan to try without handling of edges, whose values are wrong there: what they cost. The fastest is timed in turn with the fastest plan." placeholder:"TEXT" sep:"none"`
	Single   []string          `help:"A plan of one iteration a kernel to time in turn with the fastest; may be given several times. The fastest of them counts." placeholder:"TEXT" sep:"none"`
	Suite    string            `help:"Measure the rows of a list, h200 or a JSON file, by the plans that it has for them. Rows that --json has from this commit are left out." placeholder:"NAME"`
	Budget   time.Duration     `help:"With --suite, or --counters alone: begin no row that would end later." placeholder:"TIME"`
	Counters bool              `help:"Have Nsight Compute (ncu) count which share of the issue slots the fastest plans fill. Without --suite and --plan: of the rows that --json has without it, whatever their commit."`
	Sources  string            `help:"Write the CUDA of the plans into a folder, as it is for an H200, and measure nothing. bench/paths.py tells from it, without a GPU, what a loop costs." placeholder:"DIR"`
	Quick    bool              `help:"Only carry out the first case once, by the first plan: for profilers."`
	Steps    int64             `default:"1000" help:"Iterations of a repetition."`
	Least    time.Duration     `name:"seconds" default:"3s" help:"How long repetitions of the fastest plan take together, at least."`
}

func (c *benchTemporal) Help() string {
	return `Time loops in which several iterations share a kernel: the whole loop is timed, and every cell is
compared with what one iteration a kernel leaves. With --single the fastest plans of both kinds are
timed in turn, which tells their ratio on a machine that does other things, too. Rows are merged into the file of --json one by
one, so that further cases and types can be measured later.

Examples:

	gridloom bench temporal --case star5 --dtype double --plan 'body[0:2]@4{family=pipe,cells=4}' --json temporal.json
	gridloom bench temporal --case star7 --boundary clamp --plan 'body[0:2]@2{family=pipe}' --set N=509 --steps 997
	gridloom bench temporal --suite h200 --budget 9m --counters --json bench/results/temporal-h200.json
	gridloom bench temporal --counters --json bench/results/temporal-h200.json
	gridloom bench temporal --device cpu --case star7 --dtype double --set N=384 --steps 100 \
	  --single block=0x16x0 --single block=64x32x0 --plan 'body[0:2]@4{family=wavefront}' --json temporal-cpu.json`
}

func (c *benchTemporal) Run(a *app) error {
	suite, err := c.list()
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	o := bench.TemporalOptions{
		Device: c.Device, Cases: c.Case, DTypes: c.DType, Boundaries: c.Boundary, Set: c.Set, Plans: c.Plan,
		Bare: c.Bare, Single: c.Single,
		Steps: c.Steps, Least: c.Least, Counters: c.Counters, Commit: a.commit(), Log: a.stderr,
		Each: func(r bench.TemporalRow) error {
			if c.JSON == "" {
				return nil
			}
			return bench.MergeTemporal(c.JSON, r)
		},
	}
	if c.Sources != "" {
		return bench.TemporalSources(o, c.Sources)
	}
	if c.Quick {
		return bench.TemporalOnce(a.ctx, o)
	}
	var rows, have []bench.TemporalRow
	if c.JSON != "" && len(c.Plan) == 0 {
		if have, err = bench.ReadTemporal(c.JSON); err != nil {
			return err
		}
	}
	switch {
	case c.Suite != "":
		rows, err = bench.MeasureSuite(a.ctx, o, suite, have, c.Budget)
	case len(c.Plan) == 0 && len(have) == 0:
		return usage("--counters without --suite and --plan counts for the rows of --json: %s has none", c.JSON)
	case len(c.Plan) == 0:
		rows, err = bench.CountSlots(a.ctx, o, have, c.Budget)
	default:
		rows, err = bench.Temporal(a.ctx, o)
	}
	if len(rows) > 0 {
		bench.WriteTemporal(a.stdout, rows)
	}
	if err == nil && c.Suite != "" && c.JSON != "" { // with those of earlier calls
		have, err = bench.ReadTemporal(c.JSON)
	} else {
		have = rows
	}
	bench.WriteShort(a.stdout, suite, have)
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

// list checks the flags, and reads the list of rows if there is one.
func (c *benchTemporal) list() ([]bench.SuiteRow, error) {
	if _, _, err := target.Parse(c.Device); err != nil {
		return nil, usage("--device %s: %v", c.Device, err)
	}
	if err := knownRows(c.Case, c.DType, c.Boundary); err != nil {
		return nil, err
	}
	switch {
	case c.Steps < 1:
		return nil, usage("--steps %d: at least 1 is needed", c.Steps)
	case c.Sources != "" && (c.Suite != "" || c.JSON != "" || c.Quick):
		return nil, usage("--sources measures nothing, and takes no list: leave out --suite, --json, --quick")
	case c.Quick && c.JSON != "":
		return nil, usage("--quick measures nothing that --json could keep")
	case c.Budget != 0 && c.Suite == "" && len(c.Plan) > 0:
		return nil, usage("--budget is for the rows of --suite")
	case c.Suite == "" && len(c.Plan) == 0 && c.Counters && c.JSON != "" && !c.Quick && c.Sources == "":
		return nil, nil
	case c.Suite == "" && len(c.Plan) == 0:
		return nil, usage("bench temporal needs a plan: --plan 'body[0:2]@4{family=pipe}'")
	case c.Suite == "":
		return nil, nil
	case c.Quick || len(c.Plan)+len(c.Bare)+len(c.Single)+len(c.Set) > 0:
		return nil, usage("--suite has plans and sizes of its own: leave out --plan, --bare, --single, --set, --quick")
	}
	return suiteRows(c.Suite)
}

// suiteRows returns the rows of a list that comes with gridloom, or of a file.
func suiteRows(name string) ([]bench.SuiteRow, error) {
	if !strings.Contains(name, ".") {
		suite, err := bench.TemporalSuite(name)
		if err != nil {
			return nil, usage("--suite: %v", err)
		}
		return suite, nil
	}
	text, err := gridio.ReadSmall(name, maxStory)
	if err != nil {
		return nil, gridio.Named(name, err)
	}
	suite, err := bench.ParseSuite(text)
	return suite, gridio.Named(name, err)
}

// knownRows checks the names of rows that flags select.
func knownRows(cases, types, boundaries []string) error {
	for _, x := range []struct {
		flag, what   string
		given, known []string
	}{
		{"--case", "cases", cases, bench.TemporalNames()},
		{"--dtype", "types", types, []string{"double", "float"}},
		{"--boundary", "boundaries", boundaries, bench.TemporalBoundaries()},
	} {
		for _, word := range x.given {
			if !slices.Contains(x.known, word) {
				return usage("%s %s: the %s are %s", x.flag, word, x.what, strings.Join(x.known, ", "))
			}
		}
	}
	return nil
}

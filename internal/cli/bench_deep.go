package cli

import (
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/tune/eval/bench"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

type benchDeep struct {
	record      `embed:""`
	searchFlags `embed:""`
	Suite       string        `default:"h200" help:"The list of rows, h200 or a JSON file: those of its rows that must reach a figure." placeholder:"NAME"`
	Case        []string      `help:"Only these cases." placeholder:"NAME"`
	DType       []string      `name:"dtype" help:"Only these types: double, float." placeholder:"TYPE"`
	Least       time.Duration `name:"seconds" default:"3s" help:"How long repetitions of the plan that is found take together, at least."`
}

func (c *benchDeep) Help() string {
	return `Tunes time loops of bench temporal as tune does where nothing is known, and times what it finds in turn with
the fastest of the plans that their list has. The search of a row takes 120 s if neither --budget nor --trials is given.
Rows that the file of --json has from this commit are left out.

Examples:

	gridloom bench deep --within 9m --json bench/results/deep-h200.json
	gridloom bench deep --case star7 --dtype float --budget 60s
	gridloom bench deep --json bench/results/deep-h200.json --table`
}

// deepBudget is what the search of a row may take if nobody says otherwise.
const deepBudget = 120 * time.Second

func (c *benchDeep) Run(a *app) error {
	collectLess()
	search, err := c.search(a, c.JSON, deepBudget)
	if err != nil {
		return err
	}
	var have []contest.DeepRow
	if c.JSON != "" {
		if have, err = contest.ReadDeep(c.JSON); err != nil {
			return err
		}
	}
	if c.Table {
		contest.WriteDeep(a.stdout, have)
		return nil
	}
	if err := knownRows(c.Case, c.DType, nil); err != nil {
		return err
	}
	suite, err := suiteRows(c.Suite)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(bench.Goals(suite), func(r bench.SuiteRow) bool {
		return len(c.Case) > 0 && !slices.Contains(c.Case, r.Case) ||
			len(c.DType) > 0 && !slices.Contains(c.DType, r.DType)
	})
	if len(list) == 0 {
		return usage("--suite %s: none of its rows is of that case and type, and must reach a figure", c.Suite)
	}
	if err := c.check(); err != nil {
		return err
	}
	rows, err := contest.Deep(a.ctx, contest.DeepOptions{
		Search: search, List: list, Have: have,
		Timing: bench.TemporalOptions{Device: c.Device, Least: c.Least, Log: a.stderr},
		Each: func(r contest.DeepRow) error {
			if c.JSON == "" {
				return nil
			}
			return contest.MergeDeep(c.JSON, r)
		},
	})
	if len(rows) > 0 {
		contest.WriteDeep(a.stdout, rows)
	}
	contest.WriteShortDeep(a.stdout, rows)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(rows, func(r contest.DeepRow) bool { return r.Differ > 0 }); i >= 0 {
		return failf(exitCheck, "the plan %s leaves %d cells that differ from one iteration a kernel", rows[i].Plan,
			rows[i].Differ)
	}
	return nil
}

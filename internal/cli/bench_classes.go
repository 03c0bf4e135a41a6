package cli

import (
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

type benchClasses struct {
	record     `embed:""`
	Recordings string   `required:"" help:"The folder of the recordings that bench tuner has made." placeholder:"DIR"`
	Case       []string `help:"Only these programs: star7, box27, wave, himeno." placeholder:"NAME"`
	DType      []string `name:"dtype" help:"Only these types: double, float." placeholder:"TYPE"`
	Machine    string   `default:"h200" help:"The machine that was recorded on, for the programs' classes. Default: h200." placeholder:"NAME"`
	Seeds      int      `default:"50" help:"Replays of each recording with each strategy. Default: 50." placeholder:"N"`
	Table      bool     `help:"Replay nothing: print the rows that --json names as a table in Markdown."`
}

func (c *benchClasses) Help() string {
	return `What it saves to try only what is promising for kernels of a class (Rawat et al. 2019, section V): replays of
recordings by auto, by hierarchical, and by hierarchical with the promising configurations alone. It needs no GPU.

Examples:

	gridloom bench classes --recordings bench/recordings --json bench/results/classes-h200.json`
}

func (c *benchClasses) Run(a *app) error {
	collectLess()
	if c.Table {
		if c.JSON == "" {
			return usage("--table prints the rows of a file: name it by --json")
		}
		rows, err := contest.ReadClasses(c.JSON)
		if err == nil {
			contest.WriteClasses(a.stdout, rows)
		}
		return err
	}
	for _, name := range c.Case {
		if !slices.Contains(contest.ProgramNames(), name) {
			return usage("--case %s: the programs are %s", name, strings.Join(contest.ProgramNames(), ", "))
		}
	}
	for _, t := range c.DType {
		if t != "double" && t != "float" {
			return usage("--dtype %s: the types are double and float", t)
		}
	}
	if c.Seeds < 1 {
		return usage("--seeds %d: at least 1 is needed", c.Seeds)
	}
	m, err := machine.Builtin(c.Machine)
	if err != nil {
		return usage("--machine %s: %v", c.Machine, err)
	}
	if err := c.check(); err != nil {
		return err
	}
	subjects, err := contest.Subjects(c.Case, c.DType)
	if err != nil {
		return err
	}
	rows, err := contest.Classes(a.ctx, contest.ClassesOptions{
		Folder: c.Recordings, Subjects: subjects, Machine: m, Seeds: c.Seeds, Commit: a.commit(), Log: a.stderr,
	})
	if err != nil {
		return err
	}
	contest.WriteClasses(a.stdout, rows)
	return c.keep(rows)
}

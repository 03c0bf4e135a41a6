package cli

import (
	"errors"
	"os"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

type benchTunerCPU struct {
	record  `embed:""`
	Program string        `default:"examples/heat3d.loom" help:"The program. Default: examples/heat3d.loom." placeholder:"FILE"`
	Rival   string        `default:"bench/rivals/heat3d.c" help:"The same in plain C. Default: bench/rivals/heat3d.c." placeholder:"FILE.c"`
	Set     []string      `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Budget  time.Duration `help:"How long the search may take. Default: as long as tune takes by default." placeholder:"TIME"`
	Rounds  int           `default:"31" help:"Rounds in which all are timed in turn; at least 7. Default: 31." placeholder:"N"`
}

func (c *benchTunerCPU) Help() string {
	return `Tunes a program on the processor, as tune does when nothing is known or compiled, and times
what it found in turn with the same program in plain C, every cell of both checked.

Examples:

	gridloom bench tuner-cpu --json bench/results/tuner-cpu.json
	gridloom bench tuner-cpu --set L=128 --set M=128 --budget 2m`
}

func (c *benchTunerCPU) Run(a *app) error {
	collectLess()
	switch {
	case c.Budget < 0:
		return usage("--budget %v: a time is positive", c.Budget)
	case c.Budget == 0:
		c.Budget = usualBudget
	}
	if c.Rounds < contest.FewestRounds {
		return usage("--rounds %d: at least %d are needed", c.Rounds, contest.FewestRounds)
	}
	if err := c.check(); err != nil {
		return err
	}
	if _, err := os.Stat(c.Rival); err != nil {
		return gridio.Named(c.Rival, err)
	}
	src, p, err := a.load(c.Program, arith.Contract)
	if err != nil {
		return err
	}
	o := contest.PlainOptions{
		Rival: c.Rival, Budget: c.Budget, Rounds: c.Rounds,
		Open: contest.OpenDevice("cpu", 0), Commit: a.commit(), Log: a.stderr,
	}
	if o.Bound, err = a.bind(src, p, c.Set); err != nil {
		return err
	}
	if o.Set, err = sets(c.Set); err != nil {
		return err
	}
	row, err := contest.Plain(a.ctx, o)
	if _, wrong := errors.AsType[*contest.Disagreement](err); wrong {
		return failf(exitCheck, "%w", err)
	}
	if err != nil {
		return err
	}
	contest.WritePlain(a.stdout, row)
	return c.keep([]*contest.PlainRow{row})
}

package cli

import (
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

type benchRanking struct {
	record  `embed:""`
	Suite   string `default:"garvey" help:"The programs: a suite that gridloom synth lists. Default: garvey." placeholder:"NAME"`
	Device  string `short:"d" help:"Kernels for a device of this machine: cpu, cuda:0 and so on." placeholder:"DEVICE" xor:"for"`
	Machine string `help:"Kernels for a machine that need not be here: a built-in one (${machines}) or a JSON file. Default: h200." placeholder:"NAME|FILE.json" xor:"for"`
	Rounds  int    `default:"5" help:"Measure each so often; the median counts. Default: 5." placeholder:"N"`
}

func (c *benchRanking) Help() string {
	return `How long one core takes to draw the configurations of each kernel that a model ranks, and to rank them, with the model loaded and nothing lowered. No device is needed.

Examples:

	gridloom bench ranking --json bench/results/ranking-h200.json`
}

func (c *benchRanking) Run(a *app) error {
	if c.Rounds < 1 {
		return usage("--rounds %d: at least 1 is needed", c.Rounds)
	}
	if err := c.check(); err != nil {
		return err
	}
	suite, err := synth.FindSuite(c.Suite)
	if err != nil {
		return misuse("--suite", err)
	}
	t, err := paperTarget(c.Device, c.Machine, "cuda", arith.Contract)
	if err != nil {
		return err
	}
	m, err := engine.ModelOf(t, "")
	if err != nil {
		return err
	}
	rows, err := learning.RankingTimes(a.ctx, learning.RankingOptions{
		Suite: suite, Target: t, Model: m, Rounds: c.Rounds, Commit: a.commit(), Log: a.stderr,
	})
	if err != nil {
		return err
	}
	if err := learning.WriteRankingTimes(a.stdout, rows); err != nil {
		return err
	}
	return c.keep(rows)
}

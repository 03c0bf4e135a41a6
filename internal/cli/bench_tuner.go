package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/tune/eval/contest"
	"github.com/gridloom/gridloom/internal/tune/eval/replay"
)

type benchTuner struct {
	record     `embed:""`
	Recordings string        `required:"" help:"The folder of the recordings (gridloom record tuner --exhaustive), and of what is found." placeholder:"DIR"`
	Case       []string      `help:"Only these programs: star7, box27, wave, himeno." placeholder:"NAME"`
	DType      []string      `name:"dtype" help:"Only these types: double, float." placeholder:"TYPE"`
	Live       time.Duration `default:"60s" help:"How long the search of a whole space may take; 0s searches nothing. Default: 60s." placeholder:"TIME"`
	Anew       bool          `help:"Search also where an earlier call did."`
	Seeds      int           `default:"50" help:"Replays of each recording with each strategy; 0 replays nothing. Default: 50." placeholder:"N"`
	Device     string        `default:"cuda:0" help:"The device." placeholder:"DEVICE"`
	Jobs       int           `help:"Processes that compile; as many as processors if it is not given." placeholder:"COUNT"`
}

func (c *benchTuner) Help() string {
	return `Lets auto search the whole spaces of four programs, and replays exhaustive recordings of parts of them.
What earlier calls have searched is not searched again.

Examples:

	gridloom record tuner --exhaustive --recordings bench/recordings
	gridloom bench tuner --recordings bench/recordings --seeds 0
	gridloom bench tuner --recordings bench/recordings --live 0s --json bench/results/tuner-h200.json`
}

func (c *benchTuner) Run(a *app) error {
	collectLess()
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
	switch {
	case c.Live < 0:
		return usage("--live %v: a time is positive", c.Live)
	case c.Seeds < 0:
		return usage("--seeds %d: a number of replays is positive", c.Seeds)
	case c.Jobs < 0:
		return usage("--jobs %d: a number of processes is positive", c.Jobs)
	}
	if err := c.check(); err != nil {
		return err
	}
	subjects, err := contest.Subjects(c.Case, c.DType)
	if err != nil {
		return err
	}
	rows, err := contest.Tuner(a.ctx, contest.TunerOptions{
		Folder: c.Recordings, Subjects: subjects, Live: c.Live, Anew: c.Anew, Seeds: c.Seeds,
		Open: contest.OpenDevice(c.Device, c.Jobs), Own: replay.ThreadClock, Commit: a.commit(), Log: a.stderr,
	})
	if len(rows) > 0 {
		if werr := contest.WriteTuner(a.stdout, rows); err == nil {
			err = werr
		}
	}
	if len(rows) > 0 || err == nil {
		if kept := c.keep(rows); err == nil { // what was measured is not lost to an error
			err = kept
		}
	}
	return err
}

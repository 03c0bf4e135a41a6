package cli

import (
	"time"

	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

// searchFlags are those of benchmarks that have tune look for plans.
type searchFlags struct {
	Device  string        `short:"d" default:"cuda:0" help:"The device. Default: cuda:0." placeholder:"DEVICE"`
	Budget  time.Duration `help:"How long a search may take. There is no limit if --trials alone is given." placeholder:"TIME"`
	Trials  int           `help:"Stop a search after so many configurations." placeholder:"N"`
	Within  time.Duration `help:"Begin no search that would end later." placeholder:"TIME"`
	Jobs    int           `help:"Processes that compile; as many as processors if it is not given." placeholder:"COUNT"`
	Missing bool          `help:"Leave out, too, what --json has from other commits, if its search had as much time."`
	Table   bool          `help:"Measure nothing: print the rows that --json names as a table in Markdown."`
}

// search checks the flags. The budget is the usual one if nobody says otherwise.
func (c *searchFlags) search(a *app, json string, usual time.Duration) (contest.Search, error) {
	s := contest.Search{
		Budget: c.Budget, Trials: c.Trials, Within: c.Within, Open: contest.OpenDevice(c.Device, c.Jobs),
		Commit: a.commit(), Log: a.stderr, Missing: c.Missing,
	}
	switch {
	case c.Budget < 0:
		return s, usage("--budget %v: a time is positive", c.Budget)
	case c.Within < 0:
		return s, usage("--within %v: a time is positive", c.Within)
	case c.Trials < 0:
		return s, usage("--trials %d: a number of configurations is positive", c.Trials)
	case c.Jobs < 0:
		return s, usage("--jobs %d: a number of processes is positive", c.Jobs)
	case c.Table && json == "":
		return s, usage("--table prints the rows of a file: name it by --json")
	}
	if _, _, err := target.Parse(c.Device); err != nil {
		return s, usage("--device %s: %v", c.Device, err)
	}
	if s.Budget == 0 && s.Trials == 0 {
		s.Budget = usual
	}
	return s, nil
}

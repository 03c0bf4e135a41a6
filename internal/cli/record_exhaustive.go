package cli

import "github.com/gridloom/gridloom/internal/tune/eval/contest"

// Suites whose spaces have a part that is recorded exhaustively.
const (
	garveySuite = "garvey"
	tunerSuite  = "tuner" // the programs of bench tuner
)

// exhaustive records all configurations of a part of the space of each program, for replays.
func (c *recordCmd) exhaustive(a *app) error {
	list, err := c.subSpaces()
	if err != nil {
		return err
	}
	_, err = contest.Record(a.ctx, contest.RecordOptions{
		Folder: c.Recordings, Subjects: list, Budget: c.Budget, Alike: c.Suite == garveySuite,
		Open: contest.OpenDevice(c.sliceFlags.Device, c.Jobs), Commit: a.commit(), Log: a.stderr,
	})
	if err != nil && a.ctx.Err() != nil {
		return failf(exitInterrupted, "interrupted: the same command goes on")
	}
	return err
}

// subSpaces returns the programs of the suite, with the part of their spaces.
func (c *recordCmd) subSpaces() ([]*contest.Subject, error) {
	var list []*contest.Subject
	var err error
	switch {
	case c.Type != "":
		return nil, usage("--type: the programs of --exhaustive have theirs")
	case c.Suite == garveySuite && c.Size != 0 && c.Size < 32:
		return nil, usage("--size %d: at least 32 cells are needed", c.Size)
	case c.Suite == garveySuite:
		edge := int64(contest.GarveyEdge)
		if c.Size != 0 {
			edge = int64(c.Size)
		}
		list, err = contest.GarveySubjects(nil, edge)
	case c.Suite == tunerSuite && c.Size != 0:
		return nil, usage("--size: the programs of %s have theirs", tunerSuite)
	case c.Suite == tunerSuite:
		list, err = contest.Subjects(nil, nil)
	default:
		return nil, usage("--exhaustive: %s has no part that is recorded so; %s and %s have", c.Suite, garveySuite,
			tunerSuite)
	}
	if err != nil {
		return nil, err
	}
	return selected(c.Program, list, (*contest.Subject).Name)
}

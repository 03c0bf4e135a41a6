package cli

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

// Suites whose spaces have a part that is recorded exhaustively.
const (
	garveySuite  = "garvey"
	intenseSuite = "garvey416"
	tunerSuite   = "tuner" // the programs of bench tuner
)

// exhaustive records all configurations of a part of the space of each program, for replays.
func (c *recordCmd) exhaustive(a *app) error {
	list, err := c.subSpaces()
	if err != nil {
		return err
	}
	_, err = contest.Record(a.ctx, contest.RecordOptions{
		Folder: c.Recordings, Subjects: list, Budget: c.Budget, Alike: c.Suite != tunerSuite,
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
	case c.OneIn > 0 && (c.Suite == garveySuite || c.Suite == intenseSuite), c.Suite == garveySuite:
		list, err = c.garveyParts()
	case c.Suite == tunerSuite && (len(c.Size) > 0 || c.OneIn > 0):
		return nil, usage("--size, --one-in: the programs of %s have theirs, and all configurations", tunerSuite)
	case c.Suite == tunerSuite:
		list, err = contest.Subjects(nil, nil)
	case c.Suite == intenseSuite:
		return nil, usage("--exhaustive: of %s a part is recorded: add --one-in N", intenseSuite)
	default:
		return nil, usage("--exhaustive: %s has no part that is recorded so; %s and %s have", c.Suite, garveySuite,
			tunerSuite)
	}
	if err != nil {
		return nil, err
	}
	return selected(c.Program, list, (*contest.Subject).Name)
}

// leastEdge are the cells on an axis from which on the spaces of kernels on cubes have all their blocks.
const leastEdge = 32

// garveyParts returns the kernels of Garvey 2018: on cubes with all configurations, or on grids of some sizes with a
// sample of them.
func (c *recordCmd) garveyParts() ([]*contest.Subject, error) {
	sizes := c.Size
	if len(sizes) == 0 {
		sizes = []string{fmt.Sprint(contest.GarveyEdge)}
	}
	var all []*contest.Subject
	for _, text := range sizes {
		size, err := parseSize(text)
		if err != nil {
			return nil, err
		}
		switch {
		case len(size) == 1:
			size = []int{size[0], size[0], size[0]}
		case len(size) != 3:
			return nil, usage("--size %s: grids of %s have 3 axes", text, c.Suite)
		case c.OneIn == 0:
			return nil, usage("--size %s: all configurations are of cubes; --one-in takes a sample of others", text)
		}
		if c.OneIn == 0 && size[0] < leastEdge {
			return nil, usage("--size %s: at least %d cells are needed", text, leastEdge)
		}
		list, err := contest.GarveyPart{Suite: c.Suite, Size: [3]int(size), OneIn: c.OneIn}.Subjects()
		if err != nil {
			return nil, usage("--%v", err)
		}
		all = append(all, list...)
	}
	return all, nil
}

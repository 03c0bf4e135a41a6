package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/search"
)

type searchShow struct {
	Strategy string `arg:"" help:"Strategy that is a heuristic specification file: hybrid and others; or the name of a search space: zhang-mueller."`
}

func (c *searchShow) Help() string {
	return `Prints the heuristic specification file that a strategy is, to begin one's own with; docs/search.md explains the
syntax. It prints the files of restrictions that come with gridloom, too: search spaces of publications, for --space.

Examples:

	gridloom search show hybrid > mine.spec
	gridloom tune examples/heat3d.loom --strategy mine.spec
	gridloom search show zhang-mueller`
}

func (c *searchShow) Run(a *app) error {
	text, ok := search.Specification(c.Strategy)
	if !ok {
		text, ok = search.SpaceFile(c.Strategy)
	}
	if !ok {
		if err := search.Check(c.Strategy); err != nil {
			return usage("%s", err)
		}
		return usage("%s is no specification file", c.Strategy).
			hintf("these are: %s", strings.Join(append(search.Specifications(), search.SpaceFiles()...), ", "))
	}
	io.WriteString(a.data, text)
	return nil
}

// fitsSpaces reports whether a strategy that names parameters knows those of all
// kernels.
func fitsSpaces(strategy string, choices []lower.Choice) error {
	name, _, argument := strings.Cut(strategy, ":")
	if !argument && !strings.HasSuffix(name, ".spec") {
		return nil
	}
	for _, c := range choices {
		if c.Depth > 1 {
			continue // another strategy takes the place of one that does not fit
		}
		if _, err := search.New(strategy, search.Problem{Space: search.Of(c.Space)}); err != nil {
			return strategyFile(fmt.Errorf("%s: %w", c.Name(), err))
		}
	}
	return nil
}

// strategyFile words what is wrong with a specification file.
func strategyFile(err error) error {
	var wrong *search.SpecError
	var unread *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return failf(exitSource, "%w", err)
	case errors.As(err, &unread):
		return failf(exitDevice, "--strategy: %w", gridio.Named(unread.Path, err)).
			hintf("gridloom search show hybrid prints a file to begin with")
	default:
		return usage("--strategy: %s", err)
	}
}

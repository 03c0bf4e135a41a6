package cli

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/tune/search"
)

type searchShow struct {
	Strategy string `arg:"" help:"Strategy that is a heuristic specification file: hybrid and others."`
}

func (c *searchShow) Help() string {
	return `Prints the heuristic specification file that a strategy is, to begin one's own with; docs/search.md explains the syntax.

Examples:

	gridloom search show hybrid > mine.spec
	gridloom tune examples/heat3d.loom --strategy mine.spec`
}

func (c *searchShow) Run(a *app) error {
	text, ok := search.Specification(c.Strategy)
	if !ok {
		if err := search.Check(c.Strategy); err != nil {
			return usage("%s", err)
		}
		return usage("%s is no specification file", c.Strategy).hintf("these are: %s", strings.Join(search.Specifications(), ", "))
	}
	fmt.Fprint(a.stdout, text)
	return nil
}

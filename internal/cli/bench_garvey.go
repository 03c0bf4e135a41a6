package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
)

type benchGarvey struct {
	record     `embed:""`
	Recordings string   `required:"" help:"The folder of the recordings (gridloom record garvey --exhaustive)." placeholder:"DIR"`
	Kernel     []string `help:"Only these synthetic kernels: dense-zyx-r1 and so on." placeholder:"NAME"`
	Size       int64    `default:"256" help:"Cells of the grids on each axis. Default: 256." placeholder:"N"`
	Seeds      int      `default:"50" help:"Searches at random. Default: 50." placeholder:"N"`
	Samples    string   `help:"Also judge forests at other sizes and shapes and with more arithmetic, on the samples in this folder (gridloom record garvey --exhaustive --one-in)." placeholder:"DIR"`
	Techniques string   `help:"Also judge forests that choose the technique of loading, on the recordings of gridloom record garvey in this folder." placeholder:"DIR"`
}

func (c *benchGarvey) Help() string {
	return `Compares grouped searches with random sampling and with an expert's search, as Garvey 2018 does in Tables 3 and
7, on spaces of synthetic kernels that were recorded exhaustively. With --samples it judges the paper's forests at
other sizes and shapes and with more arithmetic (Tables 9 to 11), on samples of spaces, and with --techniques on
recordings of all kernels, each without the kernel that they choose for.

Examples:

	gridloom record garvey --exhaustive --recordings exhaustive
	gridloom bench garvey --recordings exhaustive --json garvey.json
	gridloom bench garvey --recordings exhaustive --techniques bench/recordings/garvey
	gridloom bench garvey --recordings exhaustive --samples bench/recordings/samples`
}

func (c *benchGarvey) Run(a *app) error {
	collectLess()
	for _, name := range c.Kernel {
		if !slices.Contains(contest.GarveyNames(), name) {
			return usage("--kernel %s: the kernels are %s", name, strings.Join(contest.GarveyNames(), ", "))
		}
	}
	switch {
	case c.Size < 32:
		return usage("--size %d: at least 32 cells are needed", c.Size)
	case c.Seeds < 1:
		return usage("--seeds %d: at least one search is needed", c.Seeds)
	}
	if err := c.check(); err != nil {
		return err
	}
	subjects, err := contest.GarveySubjects(c.Kernel, c.Size)
	if err != nil {
		return err
	}
	g, err := contest.Garvey(a.ctx, contest.GarveyOptions{
		Folder: c.Recordings, Subjects: subjects, Seeds: c.Seeds, Log: a.stderr,
	})
	if err != nil {
		return err
	}
	var sampled []contest.SampledRow
	if c.Samples != "" {
		if sampled, err = contest.GarveySamples(a.ctx, c.Samples, g, c.Seeds, a.stderr); err != nil {
			return err
		}
	}
	techniques, err := c.techniques(a)
	if err != nil {
		return err
	}
	if g != nil {
		if err := contest.WriteGarvey(a.stdout, g); err != nil {
			return err
		}
	}
	if len(sampled) > 0 {
		fmt.Fprintln(a.stdout)
		if err := contest.WriteSamples(a.stdout, sampled); err != nil {
			return err
		}
	}
	if len(techniques) > 0 {
		fmt.Fprintln(a.stdout)
		if err := learning.WriteTechniques(a.stdout, techniques); err != nil {
			return err
		}
	}
	if g == nil && techniques == nil {
		return nil
	}
	return c.keep(garveyTables{g, sampled, techniques})
}

// garveyTables are the paper's tables, ours and those of its forests.
type garveyTables struct {
	*contest.GarveyResult
	Samples    []contest.SampledRow `json:"samples,omitempty"`
	Techniques []learning.Row       `json:"techniques,omitempty"`
}

// techniques judges the paper's forests, if the user wants it.
func (c *benchGarvey) techniques(a *app) ([]learning.Row, error) {
	if c.Techniques == "" {
		return nil, nil
	}
	list, err := engine.Recordings(a.ctx, c.Techniques, "")
	if err != nil {
		return nil, err
	}
	rows, err := learning.Techniques(a.ctx, learning.NewHeldOut(list), a.commit())
	if err == nil && rows == nil {
		return nil, usage("--techniques %s: no kernel has two techniques with enough configurations each", c.Techniques)
	}
	return rows, err
}

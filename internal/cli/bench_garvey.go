package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	return `Compares grouped searches with random sampling and with an expert's search, as Garvey 2018 does in Tables 3, 4
and 7, on spaces of synthetic kernels that were recorded exhaustively: as oracles with every technique of loading, and
with the one that a forest predicts, which has learned from other stencils (Table 6). It also says how interesting the
spaces are (section 5). With --samples it judges the paper's forests at other sizes and shapes and with more arithmetic
(Tables 9 to 11), on samples of spaces, and with --techniques on recordings of all kernels, each without the kernel that
they choose for. Tables of the file of --json that are not made anew stay.

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
	old, err := c.kept() // before anything takes time
	if err == nil {
		err = c.checkSamples()
	}
	if err != nil {
		return err
	}
	slices.Sort(c.Kernel)
	subjects, err := contest.GarveySubjects(slices.Compact(c.Kernel), c.Size)
	if err != nil {
		return err
	}
	techniques, labels, err := c.techniques(a)
	if err != nil {
		return err
	}
	g, err := contest.Garvey(a.ctx, contest.GarveyOptions{
		Folder: c.Recordings, Subjects: subjects, Seeds: c.Seeds, Labels: labels, Log: a.stderr,
	})
	switch _, other := errors.AsType[*contest.GridError](err); {
	case other:
		return misuse(fmt.Sprintf("--size %d", c.Size), err)
	case err != nil:
		return err
	case g == nil:
		return usage("--recordings %s: no kernel of Garvey's is recorded there as a whole", c.Recordings).
			hintf("gridloom record garvey --exhaustive --recordings %s records them", c.Recordings)
	}
	var sampled []contest.SampledRow
	if c.Samples != "" {
		if sampled, err = contest.GarveySamples(a.ctx, c.Samples, g, c.Seeds, a.stderr); err != nil {
			return err
		}
		if len(sampled) == 0 {
			return c.noSamples()
		}
	}
	if err := contest.WriteGarvey(a.stdout, g); err != nil {
		return err
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
	return c.merge(a, old, garveyTables{g, sampled, techniques})
}

// checkSamples reports whether there are samples, if the user wants them judged.
func (c *benchGarvey) checkSamples() error {
	if c.Samples == "" {
		return nil
	}
	if ok, err := contest.HasSamples(c.Samples); ok || err != nil {
		return err
	}
	return c.noSamples()
}

func (c *benchGarvey) noSamples() error {
	return usage("--samples %s: no sample is recorded there as a whole", c.Samples).
		hintf("gridloom record garvey --exhaustive --one-in 15 --recordings %s records them", c.Samples)
}

// kept is what the file of --json has; nothing if there is no file.
func (c *benchGarvey) kept() (garveyTables, error) {
	old := garveyTables{GarveyResult: &contest.GarveyResult{}}
	if c.JSON == "" {
		return old, nil
	}
	text, err := os.ReadFile(c.JSON)
	if errors.Is(err, os.ErrNotExist) {
		return old, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	if err == nil && len(old.Kernels)+len(old.Samples)+len(old.Techniques) == 0 {
		err = errors.New("it is of something else")
	}
	if err != nil {
		return old, fmt.Errorf("%s has no tables of bench garvey: %w", c.JSON, err)
	}
	return old, nil
}

// merge keeps the tables, and those of the file that were not made anew.
func (c *benchGarvey) merge(a *app, old, made garveyTables) error {
	if c.JSON == "" {
		return nil
	}
	others, err := made.Merge(old.GarveyResult)
	if err != nil {
		return misuse("--json "+c.JSON, err)
	}
	if others > 0 {
		fmt.Fprintf(a.stderr, "note: %s keeps its averages: it has %d kernels that were not replayed now\n", c.JSON,
			others)
	}
	if c.Samples == "" {
		made.Samples = old.Samples
	}
	if c.Techniques == "" {
		made.Techniques = old.Techniques
	}
	return c.keep(made)
}

// garveyTables are the paper's tables, ours and those of its forests.
type garveyTables struct {
	*contest.GarveyResult
	Samples    []contest.SampledRow `json:"samples,omitempty"`
	Techniques []learning.Row       `json:"techniques,omitempty"`
}

// techniques judges the paper's forests, if the user wants it, and returns what others can learn from.
func (c *benchGarvey) techniques(a *app) ([]learning.Row, []contest.Label, error) {
	if c.Techniques == "" {
		return nil, nil, nil
	}
	list, err := engine.Recordings(a.ctx, c.Techniques, "")
	if err != nil {
		return nil, nil, err
	}
	h := learning.NewHeldOut(list)
	rows, err := learning.Techniques(a.ctx, h, a.commit())
	if err != nil {
		return nil, nil, err
	}
	if rows == nil {
		return nil, nil, usage("--techniques %s: no kernel has two techniques with enough configurations each",
			c.Techniques)
	}
	var labels []contest.Label
	for _, l := range learning.TechniqueLabels(h) {
		labels = append(labels, contest.Label(l))
	}
	return rows, labels, nil
}

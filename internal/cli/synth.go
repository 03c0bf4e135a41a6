package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/tune/synth"
)

type synthCmd struct {
	Suite string `arg:"" optional:"" help:"Suite; without one, all suites are listed."`
	Name  string `arg:"" optional:"" help:"Program, whose text goes to standard output; without one, all programs of the suite are listed."`

	Size string `help:"Cells on each axis, outermost first, or on all axes. Default: that of the suite, or of a drawn program." placeholder:"N[xN...]"`
	Seed uint64 `help:"Draw the weights from this seed. Default: 1." placeholder:"N"`
	Type string `help:"Type of the grids: float or double. Default: float." placeholder:"TYPE"`
	Out  string `help:"Write the programs of the suite, or the one that is named, into this folder as NAME.loom." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print lists as JSON."`
}

func (c *synthCmd) Help() string {
	return `Writes stencil programs of publications on tuning, and drawn ones, to try it on and to learn from. Suite omnitune also has programs that are not in its list: any borders of up to 999 cells, of int, float or double.

Examples:

	gridloom synth
	gridloom synth garvey
	gridloom synth garvey star-zyx-r2 --size 128 > star.loom
	gridloom synth garvey416 --size 64x128x256 --type double --out kernels
	gridloom synth omnitune complex-n1-s2-e3-w4-int-float --seed 7 | gridloom check -
	gridloom synth lift --json`
}

// suiteRow is a suite as --json prints it.
type suiteRow struct {
	Name     string   `json:"name"`
	Programs int      `json:"programs"`
	Axes     []string `json:"axes"`
	Size     int      `json:"size"`  // on every axis, unless another one is asked for; 0 where programs have their own
	Sizes    []int    `json:"sizes"` // of the publication
	Types    []string `json:"types,omitempty"`
	Seeded   bool     `json:"seeded"`
	Doc      string   `json:"doc"`
}

// programRow is a program as --json prints it.
type programRow struct {
	Name    string `json:"name"`
	Group   string `json:"group"`
	Pattern string `json:"pattern"`
	Points  int    `json:"points"`
	Type    string `json:"type"`
	Size    []int  `json:"size,omitempty"` // on each axis, where it is not the suite's
}

func (c *synthCmd) Run(a *app) error {
	if c.JSON && (c.Name != "" || c.Out != "") {
		return usage("--json is of lists, and programs are texts").hintf("leave it out")
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Suite == "" {
		if c.Out != "" {
			return usage("--out %s: programs of which suite?", c.Out).hintf("gridloom synth SUITE --out %s", c.Out)
		}
		return c.suites(a)
	}
	suite, err := c.suite()
	if err != nil {
		return err
	}
	if c.Name == "" && c.Out == "" {
		return c.programs(a, suite)
	}
	programs := suite.Programs()
	if c.Name != "" {
		p, err := c.program(suite)
		if err != nil {
			return err
		}
		programs = []synth.Program{p}
	}
	files, err := synthFiles(programs, o)
	if err != nil {
		return err
	}
	if c.Out == "" {
		_, err := io.WriteString(a.data, files[0].Text)
		return err
	}
	if err := writeTree(c.Out, files); err != nil {
		return err
	}
	return a.row("wrote %s to %s", count(len(files), "program"), filepath.Clean(c.Out))
}

// options returns what is asked of the texts.
func (c *synthCmd) options() (synth.Options, error) {
	o := synth.Options{Type: c.Type, Seed: c.Seed}
	if c.Name == "" && c.Out == "" && (c.Size != "" || c.Type != "" || c.Seed != 0) {
		return o, usage("--size, --type and --seed are of texts, and this is a list").
			hintf("name a program, or give --out a folder for all")
	}
	if c.Size == "" {
		return o, nil
	}
	var err error
	o.Size, err = parseSize(c.Size)
	return o, err
}

// parseSize reads cells on each axis, or on all of them: 64x128x256 or 256.
func parseSize(text string) ([]int, error) {
	var list []int
	for _, part := range strings.Split(text, "x") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, usage("--size %s: %q is no whole number", text, part).
				hintf("write --size 256 or --size 64x128x256")
		}
		if n < 1 {
			return nil, usage("--size %s: a number of cells is positive", text)
		}
		list = append(list, n)
	}
	return list, nil
}

func (c *synthCmd) suite() (synth.Suite, error) {
	s, err := synth.FindSuite(c.Suite)
	if err == nil {
		return s, nil
	}
	var names []string
	for _, s := range synth.Suites() {
		names = append(names, s.Name)
	}
	return s, usage("%s", err).hintf("%s", didYouMean(c.Suite, names, "gridloom synth lists the suites"))
}

func (c *synthCmd) program(s synth.Suite) (synth.Program, error) {
	p, err := s.Find(c.Name)
	if err == nil {
		return p, nil
	}
	var names []string
	for _, p := range s.Programs() {
		names = append(names, p.Name)
	}
	hint := didYouMean(c.Name, names, fmt.Sprintf("gridloom synth %s lists the programs", s.Name))
	return p, usage("%s", err).hintf("%s", hint)
}

// didYouMean returns a hint at the name that is meant, or else another hint.
func didYouMean(name string, names []string, otherwise string) string {
	if near := diag.Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return otherwise
}

// synthFiles returns the texts of programs as files.
func synthFiles(programs []synth.Program, o synth.Options) ([]emit.File, error) {
	var files []emit.File
	for _, p := range programs {
		text, err := p.Source(o)
		if err != nil {
			return nil, usage("--%s", err)
		}
		files = append(files, emit.File{Name: p.Name + ".loom", Text: text})
	}
	return files, nil
}

func (c *synthCmd) suites(a *app) error {
	var rows []suiteRow
	for _, s := range synth.Suites() {
		rows = append(rows, suiteRow{s.Name, len(s.Programs()), s.Axes, s.Edge, s.Sizes, s.Types, s.Seeded, s.Doc})
	}
	if c.JSON {
		return a.printJSON(rows)
	}
	t := newTable(a, column{head: "suite"}, column{head: "programs", right: true}, column{head: "size"},
		column{head: "what it is"})
	for _, r := range rows {
		size := strings.TrimSuffix(strings.Repeat(fmt.Sprint(r.Size)+"x", len(r.Axes)), "x")
		if r.Size == 0 {
			size = "of their own"
		}
		if err := t.row(r.Name, fmt.Sprint(r.Programs), size, r.Doc); err != nil {
			return err
		}
	}
	return t.end()
}

func (c *synthCmd) programs(a *app, s synth.Suite) error {
	var rows []programRow
	for _, p := range s.Programs() {
		rows = append(rows, programRow{p.Name, p.Group, p.Pattern, p.Points, p.Type, p.Edges})
	}
	if c.JSON {
		return a.printJSON(rows)
	}
	t := newTable(a, column{head: "program"}, column{head: "group"}, column{head: "pattern"},
		column{head: "points", right: true}, column{head: "type"})
	for _, r := range rows {
		if err := t.row(r.Name, r.Group, r.Pattern, fmt.Sprint(r.Points), r.Type); err != nil {
			return err
		}
	}
	return t.end()
}

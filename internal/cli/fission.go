package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/fission"
)

type fissionCmd struct {
	File string `arg:"" help:"Source file; - reads standard input."`
	Out  string `help:"Folder for the source files; without it the text of one goes to standard output." placeholder:"DIR"`
	Only string `default:"" enum:",maxfuse,trivial,recompute,statements,cire,inline,retime" help:"Write this version alone: maxfuse, trivial, recompute, statements, cire, inline or retime. Without --out it is trivial if nothing else is said." placeholder:"VERSION"`

	Parts     int `help:"Of statements: into how many parts they are cut. Default: 2." placeholder:"COUNT"`
	Registers int `help:"Of statements: as many parts as it takes until the cells that a part reads fit in so many registers of a thread." placeholder:"COUNT"`

	Values int    `help:"Of cire: at most so many values, those that save most. Default: all that are worth it." placeholder:"COUNT"`
	FP     string `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Of cire: the arithmetic in which it equals the program. Under strict products may be shared that contract fuses with sums; under fast sums are put into another order first. Default: contract." placeholder:"MODE"`
}

func (c *fissionCmd) Help() string {
	return `Writes the program anew, with the same results to the bit: as maxfuse with calls that follow each other joined, as trivial with stencils that assign several arrays split into stencils that each assign one, as recompute with those split that would compute too many cells again, and as statements with long statements cut: values of scalar locals, and the first terms of sums, are computed by a stencil of their own, which leaves them in a grid. What several parts need, each computes. Kernels of small stencils need fewer registers: tune the versions where those of large ones spill. In cire, values that stencils compute at several cells are computed once for each, and are in local grids: tune it where operations or the cache bind kernels. In inline, calls that follow each other are joined, and what an earlier one leaves at other cells is computed anew there: no thread waits for another one then.

Examples:

	gridloom fission examples/miniflux.loom --out versions
	gridloom fission examples/addsgd4.loom > split.loom
	gridloom fission examples/rhs4sgcurv.loom --only statements --registers 128 > cut.loom
	gridloom fission examples/smooth27.loom --only cire --fp fast > planes.loom`
}

func (c *fissionCmd) Run(a *app) error {
	limit, err := c.limit()
	if err != nil {
		return err
	}
	src, _, err := a.load(c.File, arith.Strict)
	if err != nil {
		return err
	}
	if c.Out == "" && c.Only == "" {
		c.Only = "trivial"
	}
	versions, err := c.versions(a, src, limit)
	if err != nil {
		return err
	}
	if c.Out == "" {
		_, err := io.WriteString(a.data, versions[0].Text)
		return err
	}
	if err := writeTree(c.Out, versions); err != nil {
		return err
	}
	for _, f := range versions {
		a.row("wrote %s", filepath.Join(c.Out, f.Name))
	}
	return nil
}

// limit returns how far statements are cut.
func (c *fissionCmd) limit() (fission.Limit, error) {
	l := fission.Limit{Parts: c.Parts, Registers: c.Registers, Values: c.Values}
	switch {
	case c.Values < 0:
		return l, usage("--values %d: cire shares 1 value at least", c.Values)
	case c.Values > 0 && c.Only != "" && c.Only != fission.CIREVersion:
		return l, usage("--values is of cire, and --only %s makes another version", c.Only)
	case c.Parts != 0 && c.Registers != 0:
		return l, usage("--parts and --registers both say how far statements are cut: give one")
	case c.Parts != 0 && (c.Parts < 2 || c.Parts > fission.MostParts):
		return l, usage("--parts %d: statements are cut into 2 to %d parts", c.Parts, fission.MostParts)
	case c.Registers < 0:
		return l, usage("--registers %d: a thread has 1 at least", c.Registers)
	case (c.Parts != 0 || c.Registers != 0) && c.Only != "" && c.Only != fission.StatementVersion:
		return l, usage("--parts and --registers are of statements, and --only %s makes another version", c.Only)
	case c.Registers == 0 && c.Parts == 0:
		l.Parts = fission.FewParts
	}
	return l, nil
}

// versions returns the versions that are asked for, one at least, as source files, and tells what they are made of.
func (c *fissionCmd) versions(a *app, src *diag.Source, limit fission.Limit) ([]emit.File, error) {
	ext := filepath.Ext(src.Name)
	if ext == "" {
		ext = ".loom"
	}
	base := strings.TrimSuffix(filepath.Base(src.Name), ext)
	mode, err := arith.Parse(c.FP)
	if err != nil {
		return nil, misuse("--fp", err)
	}
	var list []emit.File
	for _, name := range fission.Names() {
		if c.Only != "" && c.Only != name {
			continue
		}
		v, err := c.version(name, src, limit, mode)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		for _, made := range v.Made {
			fmt.Fprintf(a.stderr, "%s: %s\n", name, made)
		}
		list = append(list, emit.File{Name: base + "_" + name + ext, Text: v.Source.Text})
	}
	if len(list) > 0 {
		return list, nil
	}
	if c.Only == fission.CIREVersion {
		return nil, failf(exitSource, "%s: there is nothing to share under --fp %s: no value that a stencil computes "+
			"at several cells saves more operations and loads than a grid of its own costs", src.Name, c.FP)
	}
	return nil, failf(exitSource, "%s: there is nothing to join or to split: %s", src.Name, map[string]string{
		fission.MaxFuseVersion:   "no calls that may be joined follow each other",
		fission.TrivialVersion:   "no stencil assigns several arrays of which one can be finished before another",
		fission.RecomputeVersion: "no kernel would compute many cells again",
		fission.StatementVersion: "no statement reads many cells, or their values need what was assigned before; a " +
			"statement that reads few cannot be split further",
		fission.InlineVersion: "no call reads at other cells what calls before it assign, or too much would be " +
			"computed anew",
		fission.RetimeVersion: "no statement could begin before all planes have come that it reads",
		"": "it has one call, which assigns one array, or its parts need each other; nor is there anything to " +
			"share",
	}[c.Only])
}

// version makes a version; nil if there is none.
func (c *fissionCmd) version(name string, src *diag.Source, limit fission.Limit,
	mode arith.Mode) (*fission.Version, error) {
	if name == fission.StatementVersion || name == fission.CIREVersion {
		return fission.MakeWithin(name, src, limit, mode)
	}
	return fission.Make(name, src, mode)
}

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
	Only string `default:"" enum:",maxfuse,trivial,recompute" help:"Write this version alone: maxfuse, trivial or recompute. Without --out it is trivial if nothing else is said." placeholder:"VERSION"`
}

func (c *fissionCmd) Help() string {
	return `Writes the program anew, with the same results to the bit: as maxfuse with calls that follow each other joined, as trivial with stencils that assign several arrays split into stencils that each assign one, and as recompute with those split that would compute too many cells again. What several parts need, each computes. Kernels of small stencils need fewer registers: tune the versions where those of large ones spill.

Examples:

	gridloom fission examples/miniflux.loom --out versions
	gridloom fission examples/addsgd4.loom > split.loom`
}

func (c *fissionCmd) Run(a *app) error {
	src, _, err := a.load(c.File, arith.Strict)
	if err != nil {
		return err
	}
	if c.Out == "" && c.Only == "" {
		c.Only = "trivial"
	}
	versions, err := c.versions(a, src)
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

// versions returns the versions that are asked for, one at least, as source files, and tells what they are made of.
func (c *fissionCmd) versions(a *app, src *diag.Source) ([]emit.File, error) {
	ext := filepath.Ext(src.Name)
	if ext == "" {
		ext = ".loom"
	}
	base := strings.TrimSuffix(filepath.Base(src.Name), ext)
	var list []emit.File
	for _, name := range fission.Names() {
		if c.Only != "" && c.Only != name {
			continue
		}
		v, err := fission.Make(name, src)
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
	return nil, failf(exitSource, "%s: there is nothing to join or to split: %s", src.Name, map[string]string{
		fission.MaxFuseVersion:   "no calls that may be joined follow each other",
		fission.TrivialVersion:   "no stencil assigns several arrays of which one can be finished before another",
		fission.RecomputeVersion: "no kernel would compute many cells again",
		"":                       "it has one call, which assigns one array, or its parts need each other",
	}[c.Only])
}

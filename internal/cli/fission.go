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
	"github.com/gridloom/gridloom/internal/compile/lang"
)

type fissionCmd struct {
	File string `arg:"" help:"Source file; - reads standard input."`
	Out  string `help:"Folder for the source files; without it the text of one goes to standard output." placeholder:"DIR"`
	Only string `default:"" enum:",maxfuse,trivial" help:"Write this version alone: maxfuse or trivial. Without --out it is trivial if nothing else is said." placeholder:"VERSION"`
}

func (c *fissionCmd) Help() string {
	return `Writes the program anew, with the same results to the bit: as maxfuse with calls that follow each other joined, as trivial with stencils that assign several arrays split into stencils that each assign one. What several of them need, each computes. Kernels of small stencils need fewer registers: tune the versions where those of large ones spill.

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
	f, _ := lang.Parse(src)
	ext := filepath.Ext(src.Name)
	if ext == "" {
		ext = ".loom"
	}
	base := strings.TrimSuffix(filepath.Base(src.Name), ext)
	var list []emit.File
	add := func(version, text string) error {
		made := diag.NewSource(base+"_"+version+ext, text)
		if _, wrong := lang.Load(made); wrong.HasErrors() {
			return fmt.Errorf("the version %s of %s is wrong, which is a mistake of Gridloom:\n%s", version, src.Name,
				diag.Render(made, wrong, diag.Style{}))
		}
		list = append(list, emit.File{Name: made.Name, Text: text})
		return nil
	}
	if joints := fission.MaxFuse(f); len(joints) > 0 && c.Only != "trivial" {
		for _, j := range joints {
			fmt.Fprintf(a.stderr, "maxfuse: %s\n", j)
		}
		if err := add("maxfuse", fission.WriteFused(f, joints)); err != nil {
			return nil, err
		}
	}
	if splits := fission.Trivial(f); len(splits) > 0 && c.Only != "maxfuse" {
		for _, s := range splits {
			for _, p := range s.Parts {
				fmt.Fprintf(a.stderr, "trivial: %s assigns %s, a part of %s\n", p.Name, strings.Join(p.Outputs, ", "),
					s.Stencil)
			}
		}
		if err := add("trivial", fission.Write(f, splits)); err != nil {
			return nil, err
		}
	}
	if len(list) > 0 {
		return list, nil
	}
	const joined, split = "no calls that can be joined follow each other",
		"no stencil assigns several arrays of which one can be finished before another"
	switch c.Only {
	case "maxfuse":
		return nil, failf(exitSource, "%s: %s", src.Name, joined)
	case "trivial":
		return nil, failf(exitSource, "%s: %s", src.Name, split)
	}
	return nil, failf(exitSource, "%s: %s, and %s", src.Name, joined, split)
}

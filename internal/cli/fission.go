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
	Out  string `help:"Folder for the source files; without it the text goes to standard output." placeholder:"DIR"`
}

func (c *fissionCmd) Help() string {
	return `Writes the program anew, with stencils that assign several arrays split into stencils that each assign one. What several of them need, each computes. Kernels of small stencils need fewer registers: tune both programs where those of large ones spill. The results stay the same, to the bit.

Examples:

	gridloom fission examples/addsgd4.loom --out split
	gridloom fission examples/hypterm.loom > split.loom`
}

func (c *fissionCmd) Run(a *app) error {
	src, _, err := a.load(c.File, arith.Strict)
	if err != nil {
		return err
	}
	f, _ := lang.Parse(src)
	splits := fission.Trivial(f)
	for _, s := range splits {
		for _, p := range s.Parts {
			fmt.Fprintf(a.stderr, "%s: %s assigns %s\n", s.Stencil, p.Name, strings.Join(p.Outputs, ", "))
		}
	}
	if len(splits) == 0 {
		return failf(exitSource, "%s: no stencil assigns several arrays of which one can be finished before another",
			src.Name)
	}
	text := fission.Write(f, splits)
	ext := filepath.Ext(src.Name)
	if ext == "" {
		ext = ".loom"
	}
	name := strings.TrimSuffix(filepath.Base(src.Name), ext) + "_trivial" + ext
	if _, list := lang.Load(diag.NewSource(name, text)); list.HasErrors() {
		return fmt.Errorf("the text that fission makes of %s is wrong, which is a mistake of Gridloom:\n%s", src.Name,
			diag.Render(diag.NewSource(name, text), list, diag.Style{}))
	}
	if c.Out == "" {
		_, err := io.WriteString(a.data, text)
		return err
	}
	if err := writeTree(c.Out, []emit.File{{Name: name, Text: text}}); err != nil {
		return err
	}
	a.row("wrote %s", filepath.Join(c.Out, name))
	return nil
}

package cli

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

type checkCmd struct {
	Files []string `arg:"" name:"file" help:"Source files (.loom, or .idsl for the ancestor's rules); - reads standard input."`
	JSON  bool     `name:"json" help:"Print the diagnostics as JSON."`
	IR    bool     `name:"ir" help:"Print the checked program in its text form."`
}

func (c *checkCmd) Help() string {
	return `All errors of a file are reported at once.

Examples:
  gridloom check examples/heat3d.loom
  gridloom check --json examples/*.loom`
}

func (c *checkCmd) Run(a *app) error {
	wrong := false
	for _, path := range c.Files {
		src, err := a.read(path)
		if err != nil {
			return err
		}
		p, list := lang.Load(src)
		wrong = wrong || list.HasErrors()
		if c.JSON {
			text, err := diag.JSON(src, list)
			if err != nil {
				return trouble(err)
			}
			fmt.Fprintf(a.stdout, "%s\n", text)
			continue
		}
		a.show(src, list)
		if c.IR && !list.HasErrors() {
			fmt.Fprint(a.stdout, ir.Text(p))
		}
	}
	if wrong {
		return &failure{status: exitSource}
	}
	return nil
}

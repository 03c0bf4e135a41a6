package cli

import (
	"encoding/json"
	"io"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/engine"
)

type checkCmd struct {
	Files []string `arg:"" name:"file" help:"Source files (.loom, or .idsl for the ancestor's rules); - reads standard input."`
	JSON  bool     `name:"json" help:"Print the diagnostics as JSON, on standard output."`
	IR    bool     `name:"ir" help:"Print the checked programs in their text form."`
}

func (c *checkCmd) Help() string {
	return `All errors of a file are reported at once. A file without errors is passed in silence.

Examples:

	gridloom check examples/heat3d.loom
	gridloom check --json examples/*.loom
	gridloom check --ir examples/life.loom`
}

func (c *checkCmd) Run(a *app) error {
	if c.JSON && c.IR {
		return usage("--json and --ir exclude each other")
	}
	wrong := false
	said := []json.RawMessage{}
	for _, path := range c.Files {
		src, err := a.read(path)
		if err != nil {
			return err
		}
		p, list := engine.Parse(src)
		wrong = wrong || list.HasErrors()
		if c.JSON {
			text, err := diag.JSON(src, list)
			if err != nil {
				return err
			}
			var each []json.RawMessage
			if err := json.Unmarshal(text, &each); err != nil {
				return err
			}
			said = append(said, each...)
			continue
		}
		a.show(src, list)
		if c.IR && !list.HasErrors() {
			io.WriteString(a.data, ir.Text(p))
		}
	}
	if c.JSON {
		if err := a.printJSON(said); err != nil {
			return err
		}
	}
	if wrong {
		return &failure{status: exitSource}
	}
	return nil
}

package cli

import (
	"io"
	"os"

	"github.com/gridloom/gridloom/internal/cli/explain"
	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

type explainCmd struct {
	File    string   `arg:"" help:"Source file; - reads standard input."`
	Set     []string `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Machine string   `help:"Machine for the roofline bound: a name or a JSON file." placeholder:"NAME|FILE.json"`
	JSON    bool     `name:"json" help:"Print as JSON; docs/analysis.md describes it."`
	SVG     string   `name:"svg" help:"Draw the dependences of the statements." placeholder:"FILE" type:"path"`
}

func (c *explainCmd) Help() string {
	return `Figures that depend on sizes appear when every size has a value.

Examples:
  gridloom explain examples/heat3d.loom --machine h200
  gridloom explain examples/canny.loom --svg canny.svg`
}

func (c *explainCmd) Run(a *app) error {
	src, p, err := a.load(c.File)
	if err != nil {
		return err
	}
	var b *ir.Binding
	if len(c.Set) > 0 {
		if b, err = a.bind(src, p, c.Set); err != nil {
			return err
		}
	} else if bound, list := p.Bind(nil); !list.HasErrors() {
		b = bound
	}
	facts := analysis.Analyze(p, b)
	if c.Machine != "" {
		m, err := readMachine(c.Machine)
		if err != nil {
			return err
		}
		facts.On(m)
	}
	if c.SVG != "" {
		if err := gridio.WriteFile(c.SVG, func(w io.Writer) error { return explain.SVG(w, facts) }); err != nil {
			return trouble(err)
		}
	}
	if c.JSON {
		return trouble(explain.JSON(a.stdout, facts))
	}
	return trouble(explain.Text(a.stdout, facts))
}

// readMachine returns a built-in machine description or one from a file.
func readMachine(name string) (*machine.Machine, error) {
	m, err := machine.Builtin(name)
	if err == nil {
		return m, nil
	}
	text, ferr := os.ReadFile(name)
	if ferr != nil {
		if near := diag.Nearest(name, machine.Names()); near != "" {
			return nil, usage("--machine %s: %v; did you mean %s?", name, err, near)
		}
		return nil, usage("--machine %s: there is no such machine or file; built in are %v", name, machine.Names())
	}
	m, err = machine.Parse(text)
	if err != nil {
		return nil, failf(exitDevice, "%s: %w", name, err)
	}
	return m, nil
}

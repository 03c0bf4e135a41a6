package cli

import (
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/gridloom/gridloom/internal/cli/explain"
	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/target"
)

type explainCmd struct {
	File    string   `arg:"" help:"Source file; - reads standard input."`
	Set     []string `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Machine string   `help:"Machine for the roofline bound: a built-in one (${machines}) or a JSON file." placeholder:"NAME|FILE.json"`
	JSON    bool     `name:"json" help:"Print as JSON; docs/analysis.md describes it."`
	SVG     string   `name:"svg" help:"Draw the dependences of the statements." placeholder:"FILE"`
}

func (c *explainCmd) Help() string {
	return `Figures that depend on sizes appear when every size has a value.

Examples:

	gridloom explain examples/heat3d.loom --machine h200
	gridloom explain examples/heat3d.loom --set N=512 --json
	gridloom explain examples/canny.loom --svg canny.svg`
}

func (c *explainCmd) Run(a *app) error {
	src, p, err := a.load(c.File, arith.Contract)
	if err != nil {
		return err
	}
	var m *machine.Machine
	if c.Machine != "" {
		if m, err = readMachine(c.Machine); err != nil {
			return err
		}
	}
	var b *ir.Binding
	if len(c.Set) > 0 || sized(p) {
		if b, err = a.bindSizes(src, p, c.Set); err != nil {
			return err
		}
	}
	facts := analysis.Analyze(p, b)
	if m != nil {
		facts.On(m)
	}
	if c.SVG != "" {
		if err := gridio.WriteFile(c.SVG, func(w io.Writer) error { return explain.SVG(w, facts) }); err != nil {
			return err
		}
	}
	spans := pipeline.FactsOf(p)
	for _, f := range spans {
		if f.Forbidden != "" {
			at := src.Position(f.At.Start)
			f.Line, f.Column = at.Line, at.Col
		}
	}
	var hints []engine.TheoryHints
	if m != nil {
		hints = engine.InTheory(engine.TheoryRequest{Facts: facts, Source: src, Target: onPaper(m, p.Arithmetic)})
	}
	if c.JSON {
		if m == nil {
			return explain.JSON(a.json, facts, spans, nil)
		}
		return explain.JSON(a.json, facts, spans, hints)
	}
	if err := explain.Text(a.stdout, facts); err != nil {
		return err
	}
	if _, err = io.WriteString(a.stdout, explain.Spans(src, spans, diag.Style{})); err != nil || m == nil {
		return err
	}
	printInTheory(a, m, hints)
	return nil
}

// onPaper returns a machine as what programs are compiled for: NVIDIA's GPUs in CUDA, others in OpenCL.
func onPaper(m *machine.Machine, mode arith.Mode) *target.Target {
	name := "c"
	if m.Kind != machine.KindCPU {
		if name = "cuda"; m.Dialect(name) == nil {
			name = "opencl"
		}
	}
	return target.OnPaper(engine.Dialects[name], m, mode)
}

// printInTheory prints hints that no device has told.
func printInTheory(a *app, m *machine.Machine, list []engine.TheoryHints) {
	a.row("")
	a.row("hints in theory, by the description of %s: nothing was measured (gridloom profile measures)", m.Name)
	for _, x := range list {
		a.row("%s: %s", strings.Join(x.Calls, ", "), x.Class)
		for _, text := range x.Evidence {
			a.row("  %s", text)
		}
		for i := range x.Hints {
			h := &x.Hints[i]
			printHint(a, h)
			if h.Evidence != "" && !strings.HasSuffix(h.Evidence, x.Evidence[0]) {
				a.row("    %s", h.Evidence)
			}
		}
	}
}

// readMachine returns a built-in machine description or one from a file.
func readMachine(name string) (*machine.Machine, error) {
	m, err := machine.Builtin(name)
	if err == nil {
		return m, nil
	}
	text, err := gridio.ReadSmall(name, maxSmall)
	switch {
	case err == nil:
		if m, err = machine.Parse(text); err != nil {
			return nil, failf(exitDevice, "%s: %w", name, err)
		}
		return m, nil
	case strings.ContainsAny(name, "./"), !errors.Is(err, fs.ErrNotExist):
		return nil, gridio.Named(name, err)
	}
	bad := usage("--machine %s: there is no such machine or file", name)
	if near := diag.Nearest(name, machine.Names()); near != "" {
		return nil, bad.hintf("did you mean %s?", near)
	}
	return nil, bad.hintf("built in are %s", strings.Join(machine.Names(), ", "))
}

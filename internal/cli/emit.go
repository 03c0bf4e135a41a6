package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/engine"
)

type emitCmd struct {
	File   string   `arg:"" help:"Source file; - reads standard input."`
	Target string   `default:"c" enum:"c,cuda,opencl" help:"What the kernels are written in: c for processors, cuda or opencl for GPUs. Default: c." placeholder:"LANGUAGE"`
	Out    string   `help:"Folder for the files; without it the kernels alone go to standard output." placeholder:"DIR"`
	Set    []string `help:"Give a coefficient its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Plan   string   `help:"Settings for the kernels, such as threads=2 or block=0x64x0; @FILE reads them from a file." placeholder:"PLAN"`
	After  []string `name:"print-after" help:"Print the IR after a pass, or after all, to standard error (repeatable). An unknown name lists the passes." placeholder:"PASS" sep:"none"`
	FP     string   `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract fuses the products that sums take in, fast reorders too. Default: contract." placeholder:"MODE"`
}

func (c *emitCmd) Help() string {
	return `Writes the program as a library with interfaces for C, C++, Python and Fortran. Sizes and scalars are arguments of the library; only coefficients are fixed here. A README.md among the files tells how to build and call it.

Examples:

	gridloom emit examples/heat3d.loom --out heat3d
	gridloom emit examples/heat3d.loom --fp strict --plan threads=2 --out heat3d
	gridloom emit examples/heat3d.loom --target cuda
	gridloom emit examples/heat3d.loom --target cuda --plan cse=yes --print-after strides
	gridloom emit examples/heat3d.loom --target opencl --out heat3d`
}

func (c *emitCmd) Run(a *app) error {
	mode, err := arith.Parse(c.FP)
	if err != nil {
		return misuse("--fp", err)
	}
	src, p, err := a.load(c.File, mode)
	if err != nil {
		return err
	}
	r := engine.EmitRequest{Program: p, Source: src.Name, Dialect: engine.Dialects[c.Target], After: c.After}
	if r.Plan, err = readPlan(c.Plan); err != nil {
		return err
	}
	v, err := engine.VersionOf(src, p, r.Plan)
	if err != nil {
		return err
	}
	src, p, a.src = v.Source, v.Program, v.Source
	r.Program, r.Plan = p, v.Plan
	if r.Set, err = sets(c.Set); err != nil {
		return err
	}
	e, err := engine.Emit(r)
	if unbound, ok := errors.AsType[*engine.Unbound](err); ok {
		return a.unfit(exitUsage, src, unbound.List)
	}
	if e != nil {
		for _, s := range e.Steps {
			fmt.Fprintln(a.stderr, s)
		}
	}
	if err != nil {
		return err
	}
	a.hints(src, p, e.Options)
	for _, text := range e.SpanNotes() {
		fmt.Fprintf(a.stderr, "note: %s\n", text)
	}
	if c.Out == "" {
		_, err := io.WriteString(a.data, e.Kernels())
		return err
	}
	files, err := e.Library()
	if err != nil {
		return err
	}
	return c.write(a, files)
}

// write writes the files into the folder, which is made if need be: all of
// them or none.
func (c *emitCmd) write(a *app, files []emit.File) error {
	if err := writeTree(c.Out, files); err != nil {
		return err
	}
	for _, f := range files {
		a.row("wrote %s", filepath.Join(c.Out, f.Name))
	}
	return nil
}

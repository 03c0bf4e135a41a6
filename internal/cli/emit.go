package cli

import (
	"io"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/engine"
)

type emitCmd struct {
	File   string   `arg:"" help:"Source file; - reads standard input."`
	Target string   `default:"c" enum:"c,cuda,opencl" help:"What the kernels are written in: c for processors, cuda or opencl for GPUs. Default: c." placeholder:"LANGUAGE"`
	Out    string   `help:"Folder for the files; without it the kernels alone go to standard output." placeholder:"DIR"`
	Set    []string `help:"Give a coefficient its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Plan   string   `help:"Settings for the kernels, such as threads=2 or block=0x64x0; @FILE reads them from a file." placeholder:"PLAN"`
	FP     string   `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract fuses the products that sums take in, fast reorders too. Default: contract." placeholder:"MODE"`
}

func (c *emitCmd) Help() string {
	return `Writes the program as a library with interfaces for C, C++, Python and Fortran. Sizes and scalars are arguments of the library; only coefficients are fixed here. A README.md among the files tells how to build and call it.

Examples:

	gridloom emit examples/heat3d.loom --out heat3d
	gridloom emit examples/heat3d.loom --fp strict --plan threads=2 --out heat3d
	gridloom emit examples/heat3d.loom --target cuda
	gridloom emit examples/heat3d.loom --target opencl --out heat3d`
}

var emitDialects = map[string]*emit.Dialect{"c": emit.C, "cuda": emit.CUDA, "opencl": emit.OpenCL}

func (c *emitCmd) Run(a *app) error {
	mode, err := arith.Parse(c.FP)
	if err != nil {
		return misuse("--fp", err)
	}
	src, p, err := a.load(c.File, mode)
	if err != nil {
		return err
	}
	plan, err := readPlan(c.Plan)
	if err != nil {
		return err
	}
	b, err := c.coefficients(a, src, p)
	if err != nil {
		return err
	}
	dialect := emitDialects[c.Target]
	o := lower.Options{Plan: plan, Advise: true, AnyIntegers: plan.String() != "", Bound: b}
	if dialect != emit.C {
		o.Target = lower.GPU
		o.Machine, o.Lacks = dialect.On(nil)
	}
	m, err := lower.Program(p, o)
	if err != nil {
		return engine.BadPlan(plan, err)
	}
	for _, k := range m.Kernels {
		if err := dialect.Lacks(k); err != nil {
			return engine.BadPlan(plan, err)
		}
	}
	a.hints(src, p, o)
	if c.Out == "" {
		_, err := io.WriteString(a.data, emit.Source(dialect, m))
		return err
	}
	files, err := emit.Library(m, emit.LibraryOptions{
		Source: filepath.Base(src.Name), Plan: plan.String(), Bound: b, Dialect: dialect,
	})
	if err != nil {
		return failf(exitSource, "%w", err)
	}
	return c.write(a, files)
}

// coefficients binds the coefficients, whose values become part of the code;
// nil if there are none.
func (c *emitCmd) coefficients(a *app, src *diag.Source, p *ir.Program) (*ir.Binding, error) {
	set, err := sets(c.Set)
	if err != nil {
		return nil, err
	}
	needed := false
	for _, s := range p.Scalars {
		if value, given := set[s.Name]; given && !s.Coefficient {
			return nil, usage("--set %s=%s: it is an argument of the library, not a coefficient", s.Name, value)
		}
		needed = needed || s.Coefficient
	}
	for _, q := range p.Params {
		if value, given := set[q.Name]; given {
			return nil, usage("--set %s=%s: sizes are arguments of the library", q.Name, value)
		}
	}
	b, list := p.Coefficients(set)
	if list.HasErrors() {
		return nil, a.unfit(exitUsage, src, list)
	}
	if !needed {
		return nil, nil
	}
	return b, nil
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

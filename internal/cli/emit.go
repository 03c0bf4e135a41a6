package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

type emitCmd struct {
	File   string   `arg:"" help:"Source file; - reads standard input."`
	Target string   `default:"c" enum:"c,cuda" help:"c for a library with C, C++, Python and Fortran interfaces; cuda for the kernels alone. Default: c."`
	Out    string   `help:"Folder for the files; without it the kernels go to standard output." placeholder:"DIR" type:"path"`
	Set    []string `help:"Give a coefficient its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Plan   string   `help:"Settings for the kernels, such as threads=2 or block=0x64x0." placeholder:"PLAN"`
	FP     string   `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict, contract or fast. Default: contract."`
}

func (c *emitCmd) Help() string {
	return `Sizes and scalars are arguments of the library; only coefficients are fixed here.

Examples:
  gridloom emit examples/heat3d.loom --target c --out heat3d
  gridloom emit examples/heat3d.loom --target cuda`
}

func (c *emitCmd) Run(a *app) error {
	src, p, err := a.load(c.File)
	if err != nil {
		return err
	}
	plan, err := schedule.ParsePlan(c.Plan)
	if err != nil {
		return usage("--plan: %v", err)
	}
	b, err := c.coefficients(a, p)
	if err != nil {
		return err
	}
	o := lower.Options{Plan: plan, Bound: b, Strict: c.FP == "strict"}
	dialect := emit.C
	if c.Target == "cuda" {
		o.Target, dialect = lower.GPU, emit.CUDA
	}
	m, err := lower.Program(p, o)
	if err != nil {
		return usage("%v", err)
	}
	if c.Out == "" {
		_, err := io.WriteString(a.stdout, emit.Source(dialect, m))
		return trouble(err)
	}
	files := []emit.File{{Name: p.Name + ".cu", Text: emit.Source(dialect, m)}}
	if c.Target == "c" {
		arithmetic := map[string]emit.Arithmetic{"strict": emit.Strict, "contract": emit.Contract, "fast": emit.Fast}[c.FP]
		files, err = emit.Library(m, emit.LibraryOptions{
			Source: filepath.Base(src.Name), Plan: plan.String(), Arithmetic: arithmetic, Bound: b,
		})
		if err != nil {
			return usage("%v", err)
		}
	}
	return c.write(a, files)
}

// coefficients binds the program if it has coefficients, whose values become
// part of the code. Sizes do not: any will do here.
func (c *emitCmd) coefficients(a *app, p *ir.Program) (*ir.Binding, error) {
	set, err := sets(c.Set)
	if err != nil {
		return nil, err
	}
	needed := false
	for _, s := range p.Scalars {
		if _, given := set[s.Name]; given && !s.Coefficient {
			return nil, usage("--set %s: it is an argument of the library, not a coefficient", s.Name)
		}
		needed = needed || s.Coefficient
	}
	for _, q := range p.Params {
		if _, given := set[q.Name]; given {
			return nil, usage("--set %s: sizes are arguments of the library", q.Name)
		}
	}
	if !needed {
		if len(set) > 0 {
			return nil, usage("--set: the program has no coefficients")
		}
		return nil, nil
	}
	b, list := p.Coefficients(set)
	if list.HasErrors() {
		for _, d := range list {
			fmt.Fprintf(a.stderr, "gridloom: %s\n", d.Message)
		}
		return nil, &failure{status: exitUsage}
	}
	return b, nil
}

// write writes the files into the folder, which is made if need be.
func (c *emitCmd) write(a *app, files []emit.File) error {
	if err := os.MkdirAll(c.Out, 0o777); err != nil {
		return trouble(err)
	}
	for _, f := range files {
		path := filepath.Join(c.Out, f.Name)
		err := gridio.WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, f.Text)
			return err
		})
		if err != nil {
			return hinted(err)
		}
		fmt.Fprintf(a.stdout, "wrote %s\n", path)
	}
	return nil
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/target"
)

type emitCmd struct {
	File    string   `arg:"" help:"Source file; - reads standard input."`
	Target  string   `default:"c" enum:"c,cuda,opencl" help:"What the kernels are written in: c for processors, cuda or opencl for GPUs. Default: c." placeholder:"LANGUAGE"`
	Out     string   `help:"Folder for the files; without it the kernels alone go to standard output." placeholder:"DIR"`
	Set     []string `help:"Give a coefficient its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Plan    string   `help:"Settings for the kernels, such as threads=2 or block=0x64x0; @FILE reads them from a file." placeholder:"PLAN" xor:"plan"`
	Device  string   `short:"d" help:"Take the fastest plan that the store knows of this device, such as cpu or cuda:0, or else the one that a model of it predicts to be the fastest." placeholder:"DEVICE" xor:"plan"`
	Machine string   `help:"Take the plan that a model of this machine predicts to be the fastest: a built-in one (${machines}) or a JSON file." placeholder:"NAME|FILE.json" xor:"plan"`
	Model   string   `help:"The model of the device or the machine, as gridloom learn writes it. Default: the one that comes with gridloom." placeholder:"FILE"`
	At      []string `help:"A size or scalar to look up or to predict for (repeatable). Default: the program's." placeholder:"NAME=VALUE" sep:"none"`
	After   []string `name:"print-after" help:"Print the IR after a pass, or after all, to standard error (repeatable). An unknown name lists the passes." placeholder:"PASS" sep:"none"`
	FP      string   `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract fuses the products that sums take in, fast reorders too. Default: contract." placeholder:"MODE"`

	storeFlag `embed:""`
	NoStore   bool `name:"no-store" help:"With --device: take no plan from the store."`
}

func (c *emitCmd) Help() string {
	return `Writes the program as a library with interfaces for C, C++, Python and Fortran. Sizes and scalars are arguments of the library; only coefficients are fixed here. A README.md among the files tells how to build and call it.

Examples:

	gridloom emit examples/heat3d.loom --out heat3d
	gridloom emit examples/heat3d.loom --fp strict --plan threads=2 --out heat3d
	gridloom emit examples/heat3d.loom --target cuda
	gridloom emit examples/heat3d.loom --target cuda --plan cse=yes --print-after strides
	gridloom emit examples/heat3d.loom --device cpu --at N=512 --out heat3d
	gridloom emit examples/heat3d.loom --target cuda --machine h200 --at N=512 --out heat3d
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
	if err := c.choose(a, src, &r); err != nil {
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

// choose gives the request the plan that the store knows to be the fastest on a device, or else the one that a model of
// it, or of a machine, expects to be, if the user names one.
func (c *emitCmd) choose(a *app, src *diag.Source, r *engine.EmitRequest) error {
	if c.Device == "" && c.Machine == "" {
		switch {
		case len(c.At) > 0:
			return usage("--at %s: it is to choose a plan for, and neither --device nor --machine is named", c.At[0])
		case c.Model != "":
			return usage("--model %s: it is to choose a plan, and neither --device nor --machine is named", c.Model)
		}
		return nil
	}
	option := "--machine " + c.Machine
	if c.Device != "" {
		option = "--device " + c.Device
	}
	t, err := paperTarget(c.Device, c.Machine, c.Target, r.Program.Arithmetic)
	if err != nil {
		return err
	}
	if of := t.Dialect.Name; of != c.Target {
		return usage("%s: kernels for it are written in %s, and --target names %s", option, of, c.Target)
	}
	b, err := a.bind(src, r.Program, append(slices.Clone(c.Set), c.At...))
	if err != nil {
		return err
	}
	if c.Device != "" && !c.NoStore {
		path, err := c.path()
		if err != nil {
			return err
		}
		found, err := r.LookUp(a.ctx, b, t, path)
		if err != nil {
			return err
		}
		if found != nil {
			fmt.Fprintln(a.stderr, storedText(r.Plan, found))
			return nil
		}
	}
	return c.predict(a, src, r, b, t)
}

// predict gives the request the plan that a model expects to be the fastest.
func (c *emitCmd) predict(a *app, src *diag.Source, r *engine.EmitRequest, b *ir.Binding, t *target.Target) error {
	p, err := r.Predict(a.ctx, b, t, c.Model)
	if unbound, ok := errors.AsType[*engine.Unbound](err); ok {
		return a.unfit(exitUsage, src, unbound.List)
	}
	if err != nil || p == nil {
		return err
	}
	if p.Kernels > 0 || p.Locals.Fuse() {
		fmt.Fprintf(a.stderr, "plan by prediction: %s\n", r.Plan)
	}
	if p.Locals.Fuse() {
		fmt.Fprintf(a.stderr, "note: %s\n", localsText(p.Locals))
	}
	if p.Kernels > 0 {
		fmt.Fprintf(a.stderr, "note: nothing was measured: such plans have %s%s\n",
			expectationText(p.Expected, p.Far > 0), learnedOnText(p.LearnedOn))
	}
	if p.Far > 0 {
		fmt.Fprintf(a.stderr, "note: %s\n", farText(p))
	}
	return nil
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

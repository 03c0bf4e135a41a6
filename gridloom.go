// Package gridloom compiles stencil programs, finds their fastest kernels, runs
// them on processors and GPUs, and packages them as libraries. docs/language.md
// describes the language, docs/api.md this package by tasks.
//
//	func main() {
//		gridloom.WorkerMain()
//		p, err := gridloom.Parse("heat.loom", source)
//		o := gridloom.Options{Sizes: map[string]int{"N": 256}, Device: gridloom.CUDA(0)}
//		t, err := p.Tune(ctx, o, gridloom.TuneOptions{Budget: 20 * time.Second})
//		o.Plan = t.Plan
//		r, err := p.Run(ctx, o, gridloom.RunOptions{})
//		u := r.Grids["u"].Float64()
//		files, err := p.Emit(gridloom.EmitOptions{Language: gridloom.LanguageCUDA, Plan: t.LibraryPlan})
//	}
//
// Compilers and generated code run in worker processes, which are the calling program
// started again: see WorkerMain.
package gridloom

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// WorkerMain must be called first thing in main, and in TestMain of tests. In a process
// that Gridloom has started as a worker it serves and does not return; elsewhere it returns
// at once. Without it, only the reference executor runs programs.
func WorkerMain() { worker.Main(engine.Services()...) }

// Program is a checked stencil program. It may be used from many goroutines.
type Program struct {
	source   *diag.Source
	ir       *ir.Program
	Warnings []string // as they are shown to people, with place and caret
}

// SourceError is a source text that has no meaning. Diagnostics holds one text
// for every mistake, with place, caret and hint.
type SourceError struct{ Diagnostics []string }

// Error returns all diagnostics.
func (e *SourceError) Error() string {
	text := ""
	for _, d := range e.Diagnostics {
		text += d
	}
	return text
}

// Parse parses and checks a program. The name stands in messages; if it ends
// in .idsl, the rules of the ancestor's language apply. An error is a *SourceError.
func Parse(name, text string) (*Program, error) {
	src := diag.NewSource(name, text)
	p, list := engine.Parse(src)
	var errs, warnings []string
	for _, d := range list {
		words := diag.Render(src, diag.List{d}, diag.Style{})
		if d.Severity == diag.Error {
			errs = append(errs, words)
		} else {
			warnings = append(warnings, words)
		}
	}
	if len(errs) > 0 {
		return nil, &SourceError{errs}
	}
	return &Program{source: src, ir: p, Warnings: warnings}, nil
}

// Name returns the program's name: its file's, without folder and ending.
func (p *Program) Name() string { return p.ir.Name }

// Parameter is a size that a program can be given.
type Parameter struct {
	Name     string
	Required bool // the source gives it no value
}

// Scalar is a number of a program.
type Scalar struct {
	Name    string
	Type    string // as in the language: "double"
	Reduced bool   // the program computes it
}

// GridInfo is a grid of a program.
type GridInfo struct {
	Name    string
	Type    string // as in the language: "double"
	Rank    int
	CopyIn  bool // it is given from outside
	CopyOut bool // it is a result
}

// Parameters returns the program's sizes, in its order.
func (p *Program) Parameters() []Parameter {
	var list []Parameter
	for _, q := range p.ir.Params {
		list = append(list, Parameter{q.Name, q.Default == nil})
	}
	return list
}

// Scalars returns the program's scalars, in its order.
func (p *Program) Scalars() []Scalar {
	var list []Scalar
	for _, s := range p.ir.Scalars {
		list = append(list, Scalar{s.Name, s.Type.Word(), s.Reduced})
	}
	return list
}

// Grids returns the program's grids, in its order.
func (p *Program) Grids() []GridInfo {
	var list []GridInfo
	for _, g := range p.ir.Grids {
		list = append(list, GridInfo{g.Name, g.Type.Word(), len(g.Dims), g.CopyIn, g.CopyOut})
	}
	return list
}

// Options says what a program is compiled, run, checked or tuned for. The zero value
// is the processor, the program's own sizes and values, contract arithmetic and the usual
// plan.
type Options struct {
	Sizes      map[string]int     // {"N": 256}
	Scalars    map[string]float64 // {"alpha": 0.1}; numbers of integer types are whole, those of bool 0 or 1
	Device     Device
	Arithmetic Arithmetic
	Plan       Plan // settings for the kernels; to Tune, settings that stay as they are
}

// set returns the values as texts, which the program's types give their meaning.
func (o *Options) set(p *ir.Program) map[string]string {
	set := map[string]string{}
	for name, n := range o.Sizes {
		set[name] = strconv.Itoa(n)
	}
	for name, v := range o.Scalars {
		set[name] = scalarText(p, name, v)
	}
	return set
}

// bind gives the program its arithmetic, sizes and scalar values.
func (p *Program) bind(o *Options) (*ir.Binding, error) {
	for name := range o.Scalars {
		if _, twice := o.Sizes[name]; twice {
			return nil, fmt.Errorf("gridloom: %s is among the sizes and among the scalars", name)
		}
	}
	b, err := engine.Bind(p.ir.In(o.Arithmetic.mode()), o.set(p.ir))
	return b, worded(err)
}

// worded is an error of the engine as this package words it: every value that a program cannot
// take has its line.
func worded(err error) error {
	if err == nil {
		return nil
	}
	u, ok := errors.AsType[*engine.Unbound](err)
	if !ok {
		return fmt.Errorf("gridloom: %w", err)
	}
	var errs []error
	for _, d := range u.List {
		text := d.Message
		if d.Hint != "" {
			text += " (" + d.Hint + ")"
		}
		errs = append(errs, errors.New(text))
	}
	return fmt.Errorf("gridloom: %w", errors.Join(errs...))
}

// versionOf returns the version of the program that a plan names (fission=trivial), and its name, and takes it out of
// the plan.
func (p *Program) versionOf(plan *Plan) (*Program, string, error) {
	v, err := engine.VersionOf(p.source, p.ir, plan.plan)
	if err != nil {
		return nil, "", worded(err)
	}
	plan.plan = v.Plan
	return &Program{source: v.Source, ir: v.Program, Warnings: p.Warnings}, v.Name, nil
}

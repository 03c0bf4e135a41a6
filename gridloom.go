// Package gridloom compiles stencil programs, finds their fastest kernels, runs
// them and packages them as libraries. docs/language.md describes the language.
//
//	p, err := gridloom.Parse("heat.loom", source)
//	sizes := map[string]string{"N": "256"}
//	t, err := p.Tune(ctx, gridloom.TuneOptions{Set: sizes, Budget: 20 * time.Second})
//	r, err := p.Run(ctx, gridloom.RunOptions{Set: sizes, Plan: t.Plan})
//	u := r.Grids["u"].Float64()
//	files, err := p.Emit(gridloom.EmitOptions{Plan: t.LibraryPlan})
//
// Generated code runs in child processes, which are this program started
// again: importing the package makes it able to be one.
package gridloom

import (
	"errors"
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// A worker serves here and does not return.
func init() { worker.Main(engine.Services()...) }

// Program is a checked stencil program.
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
// in .idsl, the rules of the ancestor's language apply.
func Parse(name, text string) (*Program, error) {
	src := diag.NewSource(name, text)
	p, list := lang.Load(src)
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

// in returns the program in a mode of arithmetic; "" is contract.
func (p *Program) in(fp string) (*ir.Program, error) {
	if fp == "" {
		return p.ir.In(arith.Contract), nil
	}
	mode, err := arith.Parse(fp)
	if err != nil {
		return nil, fmt.Errorf("gridloom: %w", err)
	}
	return p.ir.In(mode), nil
}

// bind gives the program its arithmetic, sizes and scalar values.
func (p *Program) bind(set map[string]string, fp string) (*ir.Binding, error) {
	prog, err := p.in(fp)
	if err != nil {
		return nil, err
	}
	b, list := prog.Bind(set)
	if !list.HasErrors() {
		return b, nil
	}
	var errs []error
	for _, d := range list {
		text := d.Message
		if d.Hint != "" {
			text += " (" + d.Hint + ")"
		}
		errs = append(errs, errors.New(text))
	}
	return nil, fmt.Errorf("gridloom: %w", errors.Join(errs...))
}

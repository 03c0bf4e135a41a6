package engine

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/session"
	"github.com/gridloom/gridloom/internal/tune/store"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

// Dialects are the languages that code is written in, by name.
var Dialects = map[string]*emit.Dialect{"c": emit.C, "cuda": emit.CUDA, "opencl": emit.OpenCL}

// EmitRequest asks for a program as source code, for any machine that the language is
// compiled on.
type EmitRequest struct {
	Program *ir.Program // in its mode of arithmetic
	Source  string      // the name of the program's file
	Dialect *emit.Dialect
	Plan    schedule.Plan
	Set     map[string]string // the values of coefficients; all else is an argument of the code
	After   []string          // passes after which the IR is kept, or all (lower.Trace)
}

// Emission is a program that was lowered to be written as source code.
type Emission struct {
	Module  *kernel.Module
	Options lower.Options
	Steps   []lower.Step // what the passes made that the request names
	request EmitRequest
}

// Emit lowers a program whose sizes are arguments. The error is an *Unbound if
// coefficients do not get their values, and a *Fault if another value is not one of a
// coefficient, no pass has a name, or the plan does not fit: with it come the steps so far.
func Emit(r EmitRequest) (*Emission, error) {
	b, err := coefficients(r.Program, r.Set)
	if err != nil {
		return nil, err
	}
	e := &Emission{request: r}
	at := target.OnPaper(r.Dialect, nil, r.Program.Arithmetic)
	e.Options = at.Lowering(b, r.Plan)
	e.Options.NoInitial, e.Options.Sized, e.Options.Advise = false, false, true
	if len(r.After) == 0 {
		e.Module, err = lower.Program(r.Program, e.Options)
	} else {
		e.Module, e.Steps, err = lower.Trace(r.Program, e.Options, r.After...)
	}
	if _, unknown := errors.AsType[*lower.UnknownPass](err); unknown {
		return nil, requestf("print-after", "%w", err)
	}
	if err != nil {
		return e, BadPlan(r.Plan, err)
	}
	if err := at.Cannot(e.Module); err != nil {
		return nil, BadPlan(r.Plan, err)
	}
	return e, nil
}

// Kernels returns the text of the kernels alone.
func (e *Emission) Kernels() string { return emit.Source(e.request.Dialect, e.Module) }

// Library returns the files of a library. Equal requests give equal bytes.
func (e *Emission) Library() ([]emit.File, error) {
	files, err := emit.Library(e.Module, emit.LibraryOptions{
		Source: filepath.Base(e.request.Source), Plan: e.request.Plan.String(),
		Bound: e.Options.Bound, Dialect: e.request.Dialect,
	})
	if err != nil {
		return nil, &Fault{Cause: Source, Err: err}
	}
	return files, nil
}

// LookUp gives a request without a plan the fastest that the store in a file knows of the program on a target, at some
// sizes or else at the nearest, with kernels that take any size. The session that found it is nil if there is none.
func (r *EmitRequest) LookUp(ctx context.Context, at *ir.Binding, t *target.Target, path string) (
	*session.Session, error) {
	j := &Job{Bound: at, Device: &Device{Target: t}}
	s, err := j.openStore(ctx, path)
	if s == nil || err != nil {
		return nil, err
	}
	defer s.Close()
	list, err := j.stored(ctx, s)
	for _, sizes := range list {
		for _, x := range sizes.Records {
			if r.take(x) {
				return x.Session, nil
			}
		}
	}
	return nil, err
}

// take has a plan of the store be that of the request, with kernels that take any size, if the program can have it so:
// it may be of an older Gridloom.
func (r *EmitRequest) take(x store.Record) bool {
	plan, err := schedule.ParsePlan(x.Config)
	if err != nil {
		return false
	}
	one := *r
	one.After = nil
	one.Plan, _ = tuner.ForAllSizes(plan)
	if _, err := Emit(one); err != nil {
		return false
	}
	r.Plan = one.Plan
	return true
}

// Predict gives a request without a plan that of a model, from a file or the one of the machine that comes with
// Gridloom: what is expected to be the fastest for a program at some sizes among the kernels that take any. The
// prediction is nil if no kernel has a choice.
func (r *EmitRequest) Predict(ctx context.Context, at *ir.Binding, t *target.Target, model string) (
	*Prediction, error) {
	m, err := ModelOf(t, model)
	if err != nil {
		return nil, err
	}
	var any schedule.Plan
	if t.Kind() == lower.GPU { // kernels for processors always take any size
		if any, err = schedule.ParsePlan("sizes=" + schedule.SizeArguments); err != nil {
			return nil, err
		}
	}
	locals := settleLocals(at, t, &any)
	plain := *r
	if locals.Fuse() {
		plain.Plan = lower.WithLocalGrids(plain.Plan, lower.FusedGrids)
	}
	whole, err := Emit(plain)
	if err != nil {
		return nil, err
	}
	usual, err := lower.Plan(r.Program, whole.Options)
	if err != nil {
		return nil, err
	}
	plans, p, err := byModel(ctx, m, at, t, any, usual, 1, func(plan schedule.Plan) bool {
		one := *r
		one.Plan, one.After = plan, nil
		_, err := Emit(one)
		return err == nil
	})
	if p == nil || err != nil {
		return nil, err
	}
	if p.Locals = locals; p.Kernels > 0 || locals.Fuse() {
		r.Plan = plans[0]
	}
	return p, nil
}

// coefficients binds the coefficients, whose values become part of the code;
// nil if there are none.
func coefficients(p *ir.Program, set map[string]string) (*ir.Binding, error) {
	needed := false
	for _, s := range p.Scalars {
		if value, given := set[s.Name]; given && !s.Coefficient {
			return nil, requestf("set "+s.Name+"="+value, "it is an argument of the library, not a coefficient")
		}
		needed = needed || s.Coefficient
	}
	for _, q := range p.Params {
		if value, given := set[q.Name]; given {
			return nil, requestf("set "+q.Name+"="+value, "sizes are arguments of the library")
		}
	}
	b, list := p.Coefficients(set)
	switch {
	case list.HasErrors():
		return nil, &Unbound{list}
	case !needed:
		return nil, nil
	}
	return b, nil
}

package gridloom

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// EmitOptions says what library to make. The zero value makes the one in C.
type EmitOptions struct {
	Target string // "c" (the default), "cuda" or "opencl"
	FP     string // "contract" (the default), "strict" or "fast"
	Plan   string // settings for the kernels
	// Set gives coefficients their values; all else is an argument of the code.
	Set map[string]string
}

// File is one file of generated code.
type File struct{ Name, Text string }

// Emit returns the program as the source code of a library. Equal programs and options give
// equal bytes.
func (p *Program) Emit(o EmitOptions) ([]File, error) {
	plan, err := schedule.ParsePlan(o.Plan)
	if err != nil {
		return nil, err
	}
	prog, err := p.in(o.FP)
	if err != nil {
		return nil, err
	}
	lo := lower.Options{Advise: true, Plan: plan, AnyIntegers: o.Plan != ""}
	for _, s := range prog.Scalars {
		if s.Coefficient {
			b, list := prog.Coefficients(o.Set)
			if list.HasErrors() {
				return nil, fmt.Errorf("gridloom: %s", list[0].Message)
			}
			lo.Bound = b
			break
		}
	}
	dialect, ok := map[string]*emit.Dialect{"": emit.C, "c": emit.C, "cuda": emit.CUDA, "opencl": emit.OpenCL}[o.Target]
	if !ok {
		return nil, fmt.Errorf("gridloom: there is no target %q: it is c, cuda or opencl", o.Target)
	}
	if dialect != emit.C {
		lo.Target = lower.GPU
		lo.Machine, lo.Lacks = dialect.On(nil)
	}
	m, err := lower.Program(prog, lo)
	if err != nil {
		return nil, err
	}
	files, err := emit.Library(m, emit.LibraryOptions{
		Source: p.source.Name, Plan: plan.String(), Bound: lo.Bound, Dialect: dialect,
	})
	if err != nil {
		return nil, err
	}
	var out []File
	for _, f := range files {
		out = append(out, File(f))
	}
	return out, nil
}

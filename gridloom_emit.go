package gridloom

import (
	"github.com/gridloom/gridloom/internal/engine"
)

// Language is what generated code is written in.
type Language uint8

const (
	LanguageC      Language = iota // C with OpenMP, for processors
	LanguageCUDA                   // CUDA C++, for NVIDIA GPUs
	LanguageOpenCL                 // OpenCL C, for any device of OpenCL
)

var languages = [...]string{LanguageC: "c", LanguageCUDA: "cuda", LanguageOpenCL: "opencl"}

// String returns the language's name as the command line has it: "c", "cuda", "opencl".
func (l Language) String() string { return languages[l] }

// Language is what code for the device is written in.
func (d Device) Language() Language {
	switch {
	case len(d.id) > 4 && d.id[:4] == "cuda":
		return LanguageCUDA
	case len(d.id) > 6 && d.id[:6] == "opencl":
		return LanguageOpenCL
	}
	return LanguageC
}

// EmitOptions says what library to make. The zero value makes the one in C, in contract
// arithmetic, with the usual plan.
type EmitOptions struct {
	Language   Language
	Arithmetic Arithmetic
	Plan       Plan
	// Coefficients gives coefficients their values, which become part of the code. All
	// else is an argument of it.
	Coefficients map[string]float64
}

// File is one file of generated code.
type File struct{ Name, Text string }

// Emit returns the program as the source code of a library. Equal programs and options give
// equal bytes.
func (p *Program) Emit(o EmitOptions) ([]File, error) {
	p, _, err := p.versionOf(&o.Plan)
	if err != nil {
		return nil, err
	}
	set := (&Options{Scalars: o.Coefficients}).set(p.ir)
	e, err := engine.Emit(engine.EmitRequest{
		Program: p.ir.In(o.Arithmetic.mode()), Source: p.source.Name, Dialect: engine.Dialects[o.Language.String()],
		Plan: o.Plan.plan, Set: set,
	})
	if err != nil {
		return nil, worded(err)
	}
	files, err := e.Library()
	if err != nil {
		return nil, worded(err)
	}
	var out []File
	for _, f := range files {
		out = append(out, File(f))
	}
	return out, nil
}

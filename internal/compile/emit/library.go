package emit

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
)

// LibraryOptions says how a module is packaged.
type LibraryOptions struct {
	Name   string // of the library; "" for the program's
	Source string // the file that the program was read from, for comments; "" for NAME.loom
	Plan   string // canonical text of the plan, for comments
	// Dialect is CUDA or OpenCL for a module that was lowered for GPUs; nil is C.
	Dialect *Dialect
	// Bound is the binding that the module was lowered with, whose coefficients
	// are literals in its kernels; nil if there was none.
	Bound *ir.Binding
	// Variants, if there are several, are what the library picks from when it is
	// configured. One of them is the module itself.
	Variants []Variant
}

// File is one file of a package.
type File struct{ Name, Text string }

//go:embed library/*.tmpl
var libraryFiles embed.FS

var libraryTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"join":        strings.Join,
	"wrapC":       wrapC,
	"wrapF":       wrapFortran,
	"wrapP":       wrapPython,
	"wrapComment": wrapComment,
	"wrapLines":   wrapLines,
}).ParseFS(libraryFiles, "library/*.tmpl"))

// Library packages a module as a library to call from C, C++, Fortran and
// Python: header, source, build files, an example, bindings and a description.
// The module must have been lowered for the dialect's devices, and strictly if
// that is the arithmetic. docs/library.md describes the interface.
func Library(m *kernel.Module, o LibraryOptions) ([]File, error) {
	l, err := newLibrary(m, o)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, f := range []struct{ name, template string }{
		{l.Name + ".h", "header.h.tmpl"},
		{l.SourceFile(), l.sourceTemplate()},
		{"main.c", "main.c.tmpl"},
		{"CMakeLists.txt", l.buildTemplate()},
		{l.Module + ".py", "module.py.tmpl"},
		{l.Name + ".f90", "module.f90.tmpl"},
		{"README.md", "README.md.tmpl"},
	} {
		var b strings.Builder
		if err := libraryTemplates.ExecuteTemplate(&b, f.template, l); err != nil {
			return nil, fmt.Errorf("emit: %s: %w", f.name, err)
		}
		text := b.String()
		if strings.HasSuffix(f.name, ".c") || strings.HasSuffix(f.name, ".cu") || strings.HasSuffix(f.name, ".h") {
			text = wrapC(text)
		}
		if strings.HasSuffix(f.name, ".f90") {
			text = wrapFortran(text)
		}
		files = append(files, File{f.name, text})
	}
	return files, nil
}

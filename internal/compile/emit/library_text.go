package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// What follows is what the templates ask of a library: lists of parameters and
// arguments, as text.

// IsSize tells the arguments of configure apart.
func (*librarySize) IsSize() bool { return true }

// IsSize tells the arguments of configure apart.
func (*libraryScalar) IsSize() bool { return false }

// FImport is the kind of the scalar's type, for a Fortran import.
func (x *libraryScalar) FImport() string {
	_, kind, _ := strings.Cut(x.FKind, "(")
	return strings.TrimSuffix(kind, ")")
}

// MemberC is the type of the scalar in the handle, which reductions write.
func (x *libraryScalar) MemberC() string {
	if x.Result {
		return C.Memory[x.Type]
	}
	return C.Types[x.Type]
}

// IterateCast takes const away from an array that only init writes.
func (g *libraryGrid) IterateCast() string {
	if g.Initialised && !g.Written {
		return "(" + g.CType + " *)"
	}
	return ""
}

// Reversed is the shape in Fortran's order.
func (g *libraryGrid) Reversed() string {
	var list []string
	for _, e := range g.Extents {
		list = append([]string{e}, list...)
	}
	return strings.Join(list, ", ")
}

// RequiredScalars are the scalars among configure's arguments.
func (l *library) RequiredScalars() []*libraryScalar {
	return l.pick(func(x *libraryScalar) bool { return x.Required })
}

// OptionalScalars are those that have a value.
func (l *library) OptionalScalars() []*libraryScalar {
	return l.pick(func(x *libraryScalar) bool { return !x.Required && !x.Result })
}

// Results are the targets of reductions.
func (l *library) Results() []*libraryScalar {
	return l.pick(func(x *libraryScalar) bool { return x.Result })
}

func (l *library) pick(ok func(*libraryScalar) bool) []*libraryScalar {
	var list []*libraryScalar
	for _, x := range l.Scalars {
		if ok(x) {
			list = append(list, x)
		}
	}
	return list
}

// MostDims is the largest number of dimensions of any grid.
func (l *library) MostDims() int {
	n := 1
	for _, g := range l.Grids {
		n = max(n, g.Rank)
	}
	return n
}

// UsesTimes reports whether numbers of cells are multiplied.
func (l *library) UsesTimes() bool { return len(l.Scratch) > 0 }

// UsesCheckRange reports whether any range is tested.
func (l *library) UsesCheckRange() bool { return strings.Contains(l.Checks, "gl_check_range(") }

// UsesCheckIndex reports whether any index is tested.
func (l *library) UsesCheckIndex() bool { return strings.Contains(l.Checks, "gl_check_index(") }

// Exchanged reports whether the caller's grids exchange contents.
func (l *library) Exchanged() bool { return l.Exchange }

// AllWritten reports whether the time loop changes every one of the caller's
// grids, or there are none.
func (l *library) AllWritten() bool {
	return !slices.ContainsFunc(l.CallerGrids(), func(g *libraryGrid) bool { return !g.Written })
}

// Unused are lines that keep the compiler from warning of the parameters of a
// function that its body does not use.
func (*library) Unused(body string, params ...string) string {
	text := ""
	for _, p := range params {
		if !usesWord(body, p) {
			text += "    (void)" + p + ";\n"
		}
	}
	return text
}

// FirstInput is the first grid that is copied in; "" if there is none.
func (l *library) FirstInput() string {
	for _, g := range l.CallerGrids() {
		if g.CopyIn {
			return g.Name
		}
	}
	return ""
}

// CellTypes are the element types of the caller's grids.
func (l *library) CellTypes() []struct{ Word, CType string } {
	var list []struct{ Word, CType string }
	for t := types.Bool; t <= types.F64; t++ {
		for _, g := range l.CallerGrids() {
			if g.grid.Type == t {
				list = append(list, struct{ Word, CType string }{t.Word(), C.Memory[t]})
				break
			}
		}
	}
	return list
}

// SizePointers are the parameters of default_sizes.
func (l *library) SizePointers() string {
	var list []string
	for _, z := range l.Sizes {
		list = append(list, "int64_t *"+z.C)
	}
	return strings.Join(list, ", ")
}

// Defaults are the lines that give sizes their values, each after those it
// depends on.
func (l *library) Defaults() string {
	h := newHost(l, map[string]bool{})
	for i, z := range l.Sizes {
		h.printer.names[h.sizes[i]] = "*" + z.C
	}
	p := l.module.Program
	return h.body(func() {
		done := make([]bool, len(l.Sizes))
		var visit func(n int)
		visit = func(n int) {
			if done[n] || p.Params[n].Default == nil {
				return
			}
			done[n] = true
			ir.Walk(p.Params[n].Default, func(e ir.Expr) {
				if r, ok := e.(ir.ParamRef); ok {
					visit(r.Param)
				}
			})
			h.line("if (*%s == 0)", l.Sizes[n].C)
			h.line("    *%s = %s;", l.Sizes[n].C, h.expr(h.uniform(p.Params[n].Default, nil)))
		}
		for n := range l.Sizes {
			visit(n)
		}
	})
}

// ConfigureParams are the parameters of configure.
func (l *library) ConfigureParams() string {
	list := []string{l.Name + " *handle"}
	for _, a := range l.Arguments {
		switch a := a.(type) {
		case *librarySize:
			list = append(list, "int64_t "+a.C)
		case *libraryScalar:
			list = append(list, a.CType+" "+a.C)
		}
	}
	return strings.Join(list, ", ")
}

// InitParams are the parameters of init.
func (l *library) InitParams() string {
	list := []string{l.Name + " *handle", "int64_t given"}
	for _, g := range l.CallerGrids() {
		list = append(list, g.CType+" *"+g.C)
	}
	return strings.Join(list, ", ")
}

// IterateParams are the parameters of iterate.
func (l *library) IterateParams() string {
	return strings.Join(append([]string{l.Name + " *handle", "int64_t count"}, l.gridParams()...), ", ")
}

// RunParams are the parameters of run.
func (l *library) RunParams() string {
	return strings.Join(append([]string{l.Name + " *handle"}, l.gridParams()...), ", ")
}

func (l *library) gridParams() []string {
	var list []string
	for _, g := range l.CallerGrids() {
		if g.Written {
			list = append(list, g.CType+" *"+g.C)
		} else {
			list = append(list, "const "+g.CType+" *"+g.C)
		}
	}
	return list
}

// each joins what f says of every element of a list.
func each[T any](list []T, f func(int, T) string) string {
	var texts []string
	for i, x := range list {
		texts = append(texts, f(i, x))
	}
	return strings.Join(texts, ", ")
}

// after puts a comma before a list of arguments that is not empty.
func after(list string) string {
	if list == "" {
		return ""
	}
	return ", " + list
}

// ExamplePointers are the example's arguments of default_sizes.
func (l *library) ExamplePointers() string {
	return each(l.Sizes, func(i int, _ *librarySize) string { return fmt.Sprintf("&size[%d]", i) })
}

// ExampleArguments are the example's arguments of configure.
func (l *library) ExampleArguments() string {
	list := "h"
	size := 0
	for _, a := range l.Arguments {
		switch a := a.(type) {
		case *librarySize:
			list += fmt.Sprintf(", size[%d]", size)
			size++
		case *libraryScalar:
			list += fmt.Sprintf(", %s /* %s */", exampleValue(a.Type), a.Name)
		}
	}
	return list
}

func exampleValue(t types.Type) string {
	switch t {
	case types.Bool:
		return "true"
	case types.F32:
		return "0.1f"
	case types.F64:
		return "0.1"
	}
	return "1"
}

// ExampleGrids are the example's arrays.
func (l *library) ExampleGrids() string {
	return after(each(l.CallerGrids(), func(_ int, g *libraryGrid) string { return fmt.Sprintf("grid_%d", g.Index) }))
}

// ExampleSteps is how often the example iterates.
func (l *library) ExampleSteps() int {
	if l.Loop == nil {
		return 1
	}
	return 10
}

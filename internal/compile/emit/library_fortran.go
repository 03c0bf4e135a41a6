package emit

import (
	"fmt"
	"strings"
)

// What the template of the Fortran module asks of a library.

// FortranSizes are the parameters of default_sizes.
func (l *library) FortranSizes() string {
	return each(l.Sizes, func(_ int, z *librarySize) string { return z.Fortran })
}

// FortranArguments are the parameters of configure.
func (l *library) FortranArguments() string {
	return after(each(l.Arguments, func(_ int, a any) string {
		switch a := a.(type) {
		case *libraryScalar:
			return a.Fortran
		default:
			return a.(*librarySize).Fortran
		}
	}))
}

// FortranGrids are the arrays of a call.
func (l *library) FortranGrids() string {
	return after(each(l.CallerGrids(), func(_ int, g *libraryGrid) string { return g.Fortran }))
}

// FortranExample is a call in the comment at the head of the module.
func (l *library) FortranExample(call, args string) string {
	text := wrapFortran(fmt.Sprintf("status = %s_%s(h%s)", l.Name, call, args))
	return "!     " + strings.ReplaceAll(text, "\n", "\n!     ")
}

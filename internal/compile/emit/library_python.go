package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
)

// What the template of the Python module asks of a library.

// PythonExample are arguments of the Python constructor.
func (l *library) PythonExample() string {
	return each(l.Arguments, func(_ int, a any) string {
		if z, ok := a.(*librarySize); ok {
			return z.Python + "=64"
		}
		x := a.(*libraryScalar)
		value := strings.TrimSuffix(exampleValue(x.Type), "f")
		if x.Type == types.Bool {
			value = "True"
		}
		return x.Python + "=" + value
	})
}

// PythonGrids are the arrays of a Python call.
func (l *library) PythonGrids() string {
	return each(l.CallerGrids(), func(_ int, g *libraryGrid) string { return g.Python })
}

// PythonParams are the parameters of the Python constructor: those of
// configure in their order, then the other scalars. Once one has a default
// all that follow need one.
func (l *library) PythonParams() string {
	var list []string
	optional := false
	for _, a := range l.Arguments {
		name := ""
		switch a := a.(type) {
		case *librarySize:
			name = a.Python
			optional = optional || a.Default != ""
		case *libraryScalar:
			name = a.Python
		}
		if optional {
			name += "=None"
		}
		list = append(list, name)
	}
	if others := l.OptionalScalars(); len(others) > 0 {
		list = append(list, "*")
		for _, x := range others {
			list = append(list, x.Python+"=None")
		}
	}
	return after(strings.Join(list, ", "))
}

// PythonRequired are the parameters of the constructor that come after one
// with a default, but have none.
func (l *library) PythonRequired() []string {
	var list []string
	optional := false
	for _, a := range l.Arguments {
		switch a := a.(type) {
		case *librarySize:
			if a.Default != "" {
				optional = true
			} else if optional {
				list = append(list, a.Python)
			}
		case *libraryScalar:
			if optional {
				list = append(list, a.Python)
			}
		}
	}
	return list
}

// PythonPointers are the arguments of default_sizes.
func (l *library) PythonPointers() string {
	return each(l.Sizes, func(_ int, z *librarySize) string { return "ctypes.byref(" + z.Python + ")" })
}

// PythonConfigureTypes are the types of configure's arguments.
func (l *library) PythonConfigureTypes() string {
	return after(each(l.Arguments, func(_ int, a any) string {
		if x, ok := a.(*libraryScalar); ok {
			return "ctypes." + x.CTypes
		}
		return "_int64"
	}))
}

// PythonConfigure are the arguments of configure.
func (l *library) PythonConfigure() string {
	return after(each(l.Arguments, func(_ int, a any) string {
		switch a := a.(type) {
		case *libraryScalar:
			return fmt.Sprintf("_scalar(%q, %s)", a.Name, a.Python)
		default:
			return a.(*librarySize).Python
		}
	}))
}

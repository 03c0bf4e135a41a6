// Package emit prints kernels as source text. There is one printer for the
// family of C languages; what differs between C, CUDA and OpenCL is data in a
// Dialect. It also packages kernels as a library to call from other languages.
package emit

import (
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Dialect is what the printer has to know of a language.
type Dialect struct {
	Name string
	// Prelude comes first in every file.
	Prelude string
	// Head returns what precedes the name of a kernel function. HelperHead
	// precedes the name of a function that kernels call.
	Head       func(*kernel.Kernel) string
	HelperHead string
	// Restrict follows the * of a buffer argument. Spaces precede the type that
	// a pointer into a kind of memory points at.
	Restrict string
	Spaces   map[kernel.Space]string
	// Types spells the types of values, Memory those of elements in buffers and
	// Arguments those of arguments by value.
	Types, Memory, Arguments map[types.Type]string
	Infinity, NaN            string
	// Long spells an I64 literal %d that no int can hold. FloatSuffix follows
	// the names of functions of float, if they are other functions than those
	// of double.
	Long, FloatSuffix string
	// Native spells the types of C in helpers where that is not their name;
	// nil if it is.
	Native *strings.Replacer
	// Double precedes a file with double precision in it.
	Double string
	// Fma begins the name of the helper that is a fused multiply-add, before its
	// type; "" if the function of the language is.
	Fma string
	// Divide begins the name of the helper that divides in the branch that it
	// stands in, before its type; "" if compilers are not to be told.
	Divide string
	// InvSqrt begins the name of the helper that is 1 over a square root in double;
	// "" if it is written so.
	InvSqrt string
	// NegFma says whether what may be a fused multiply-add is negated by a helper,
	// because a compiler of the language takes the sign for one of its operands'.
	NegFma bool
	// SameInt is the name of the helper that clamped ints go through where they are compared, because a compiler of
	// the language compares them wrongly; "" if none does.
	SameInt string
	// Wraps says whether arithmetic on ints wraps around by itself.
	Wraps bool
	// Parallel says whether loops are shared out by OpenMP pragmas. Otherwise
	// the loops of blocks and threads become the launch's indices.
	Parallel bool
	Index    map[kernel.Tag]string // where not Parallel
	Unroll   string                // the line before a loop that is written out
	Vectors  *vectors              // nil: elements are moved one by one
	Caches   *caches               // nil: all accesses go the plain way
	Images   *images               // nil: memory is no image
	Threads  *threads              // nil: there are no threads to share memory with or wait for
	Reserved map[string]bool       // words that are no names
	// Constants precedes the type of constant memory that is declared outside of
	// kernels, where its size is known; "" where it is an argument like others.
	Constants string
}

var cTypes = map[types.Type]string{
	types.Bool: "bool", types.U8: "uint8_t", types.I32: "int32_t",
	types.I64: "int64_t", types.F32: "float", types.F64: "double",
}

var cMemory = map[types.Type]string{
	types.Bool: "uint8_t", types.U8: "uint8_t", types.I32: "int32_t",
	types.I64: "int64_t", types.F32: "float", types.F64: "double",
}

// C is C11 with OpenMP pragmas, which a compiler without OpenMP ignores.
var C = &Dialect{
	Name:        "c",
	Prelude:     "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n",
	Head:        func(*kernel.Kernel) string { return "static void " },
	HelperHead:  "static inline ",
	Restrict:    "restrict ",
	Types:       cTypes,
	Memory:      cMemory,
	Arguments:   cTypes,
	Infinity:    "INFINITY",
	NaN:         "NAN",
	Long:        "INT64_C(%d)",
	FloatSuffix: "f",
	Fma:         "fma_",
	NegFma:      true,
	Wraps:       true, // compilers are told so
	Parallel:    true,
	Reserved:    reserved(cWords),
}

// funcName spells a mathematical function of a type. All dialects follow C.
func (d *Dialect) funcName(f op.Func, t types.Type) string {
	name := f.String()
	if f == op.Abs {
		name = "fabs"
	}
	if t == types.F32 {
		name += d.FloatSuffix
	}
	return name
}

// Package emit prints kernels as source text. There is one printer for the
// family of C languages; what differs between C, CUDA and OpenCL is data in a
// Dialect. It also packages kernels as a library to call from other languages.
package emit

import (
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// Dialect is what the printer has to know of a language.
type Dialect struct {
	Name string
	// Prelude comes first in every file.
	Prelude string
	// KernelHead precedes the name of a kernel function, HelperHead that of a
	// function that kernels call.
	KernelHead, HelperHead string
	// Restrict follows the * of a buffer argument.
	Restrict string
	// Types spells the element types of values; Memory those in buffers.
	Types, Memory map[types.Type]string
	// FloatFuncs spells functions of float where they are not named as those of
	// double with an f at the end.
	Infinity, NaN string
	// Parallel says whether loops are shared out by OpenMP pragmas. Otherwise
	// the loops of blocks and threads become the launch's indices.
	Parallel bool
	Index    map[string]string // by tag name, where not Parallel
	Reserved map[string]bool   // words that are no names
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
	Name:       "c",
	Prelude:    "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n",
	KernelHead: "static void ",
	HelperHead: "static inline ",
	Restrict:   "restrict ",
	Types:      cTypes,
	Memory:     cMemory,
	Infinity:   "INFINITY",
	NaN:        "NAN",
	Parallel:   true,
	Reserved:   reserved(cWords),
}

// CUDA is CUDA C++ as NVRTC and nvcc take it.
var CUDA = &Dialect{
	Name: "cuda",
	Prelude: "#ifdef __CUDACC_RTC__\ntypedef unsigned char uint8_t;\ntypedef int int32_t;\ntypedef unsigned int uint32_t;\n" +
		"typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n#define INT64_C(x) x##LL\n#else\n#include <stdint.h>\n#endif\n",
	KernelHead: "extern \"C\" __global__ void ",
	HelperHead: "static __device__ inline ",
	Restrict:   "__restrict__ ",
	Types:      cTypes,
	Memory:     cMemory,
	Infinity:   "__longlong_as_double(0x7ff0000000000000)",
	NaN:        "__longlong_as_double(0x7ff8000000000000)",
	Index: map[string]string{
		"thread.x": "threadIdx.x", "thread.y": "threadIdx.y", "thread.z": "threadIdx.z",
		"block.x": "blockIdx.x", "block.y": "blockIdx.y", "block.z": "blockIdx.z",
	},
	Reserved: reserved(cWords + cudaWords),
}

// funcName spells a mathematical function of a type. All dialects follow C.
func funcName(f op.Func, t types.Type) string {
	name := f.String()
	if f == op.Abs {
		name = "fabs"
	}
	if t == types.F32 {
		name += "f"
	}
	return name
}

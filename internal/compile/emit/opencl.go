package emit

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

var openclMemory = map[types.Type]string{
	types.Bool: "uchar", types.U8: "uchar", types.I32: "int", types.I64: "long",
	types.F32: "float", types.F64: "double",
}

// OpenCL is OpenCL C 1.2. What it computes is right to the last bit once it
// is compiled with -cl-fp32-correctly-rounded-divide-sqrt and, where
// multiplications and additions must not be fused, after
// #pragma OPENCL FP_CONTRACT OFF. Asynchronous copies are made at once.
var OpenCL = &Dialect{
	Name:       "opencl",
	Head:       openclHead,
	HelperHead: "static inline ",
	Restrict:   "restrict ",
	Spaces: map[kernel.Space]string{
		kernel.Global: "__global ", kernel.Constant: "__constant ", kernel.Shared: "__local ",
	},
	Types: map[types.Type]string{
		types.Bool: "bool", types.U8: "uchar", types.I32: "int", types.I64: "long",
		types.F32: "float", types.F64: "double",
	},
	Memory:    openclMemory,
	Arguments: openclMemory, // kernels take no bool
	Infinity:  "INFINITY",
	NaN:       "NAN",
	Long:      "%dL",
	Native: strings.NewReplacer("uint8_t", "uchar", "uint32_t", "uint", "int32_t", "int",
		"uint64_t", "ulong", "int64_t", "long", "INT64_C(9223372036854775807)", "9223372036854775807L"),
	Double: "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
	Index: map[kernel.Tag]string{
		kernel.ThreadX: "get_local_id(0)", kernel.ThreadY: "get_local_id(1)", kernel.ThreadZ: "get_local_id(2)",
		kernel.BlockX: "get_group_id(0)", kernel.BlockY: "get_group_id(1)", kernel.BlockZ: "get_group_id(2)",
	},
	Unroll: "#pragma unroll",
	Vectors: &vectors{
		names:   openclMemory,
		pointer: "(%s *)%s",
		value:   "(%s)(%s)",
	},
	Images: openclImages,
	Threads: &threads{
		shared:   "__local ",
		aligned:  " __attribute__((aligned(16)))",
		barriers: map[kernel.Scope]string{kernel.BlockScope: "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"},
		apart:    "apart",
	},
	Reserved: reserved(cWords + openclWords),
}

// openclHelpers are what kernels need on some drivers alone.
//
// PoCL makes loops over the threads of a block between two barriers. Where a
// branch follows a barrier with nothing in between, it may begin a loop in each
// arm, and then one thread's condition decides for all: stores happen without
// their guards. Kernels do not have to read so to be compiled so, because what
// stands in between may be moved into the arms. An empty statement that cannot
// be moved keeps the two apart. SPIR-V has no such statements, and no need.
func openclHelpers() []helperText {
	return []helperText{{name: "apart", bare: true,
		text: `#if defined POCL_DEVICE_ADDRESS_BITS && !defined __SPIR__ && !defined __SPIRV__
// PoCL takes a branch right after a barrier to be one that all work-items take alike.
#define barrier(fences) do { barrier(fences); __asm__ volatile (""); } while (0)
#endif`}}
}

// openclHead tells the compiler the size of a work-group, if it is known.
func openclHead(k *kernel.Kernel) string {
	if size, known := blockSize(k); known {
		return fmt.Sprintf("__kernel __attribute__((reqd_work_group_size(%d, %d, %d))) void ",
			size[0], size[1], size[2])
	}
	return "__kernel void "
}

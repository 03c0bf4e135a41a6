package emit

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/types"
)

// CUDA is CUDA C++ as NVRTC and nvcc take it.
var CUDA = &Dialect{
	Name: "cuda",
	Prelude: "#ifdef __CUDACC_RTC__\ntypedef unsigned char uint8_t;\n" +
		"typedef int int32_t;\ntypedef unsigned int uint32_t;\n" +
		"typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n" +
		"#define INT64_C(x) x##LL\n#else\n#include <stdint.h>\n#endif\n",
	Head:        cudaHead,
	HelperHead:  "static __device__ inline ",
	Restrict:    "__restrict__ ",
	Types:       cTypes,
	Memory:      cMemory,
	Arguments:   cTypes,
	Infinity:    "__longlong_as_double(0x7ff0000000000000)",
	NaN:         "__longlong_as_double(0x7ff8000000000000)",
	Long:        "INT64_C(%d)",
	FloatSuffix: "f",
	Fma:         "fma_rn_",
	Divide:      "div_rn_",
	InvSqrt:     "invsqrt_rn_",
	SameInt:     "same_i32",
	Index: map[kernel.Tag]string{
		kernel.ThreadX: "threadIdx.x", kernel.ThreadY: "threadIdx.y", kernel.ThreadZ: "threadIdx.z",
		kernel.BlockX: "blockIdx.x", kernel.BlockY: "blockIdx.y", kernel.BlockZ: "blockIdx.z",
	},
	Unroll: "#pragma unroll",
	Vectors: &vectors{
		names: map[types.Type]string{
			types.Bool: "uchar", types.U8: "uchar", types.I32: "int", types.I64: "longlong",
			types.F32: "float", types.F64: "double",
		},
		helpers: map[string]bool{"uchar8": true},
		pointer: "reinterpret_cast<%s *>(%s)",
		value:   "make_%s(%s)",
	},
	Caches: &caches{
		loads:  map[kernel.Via]string{kernel.ReadOnly: "__ldg", kernel.Streaming: "__ldcs"},
		stores: map[kernel.Via]string{kernel.Streaming: "__stcs"},
	},
	Images:    cudaImages,
	Constants: "__constant__ ",
	Threads: &threads{
		shared:   "__shared__ __align__(ALIGN) ",
		pool:     "extern __shared__ __align__(ALIGN) unsigned char gl_pool[];",
		pointer:  "reinterpret_cast<%s *>(gl_pool + %d)",
		clusters: true,
		async:    true,
		barriers: map[kernel.Scope]string{kernel.BlockScope: "__syncthreads()", kernel.WarpScope: "__syncwarp()"},
		shuffles: map[kernel.ShuffleKind]string{
			kernel.ShuffleUp: "__shfl_up_sync", kernel.ShuffleDown: "__shfl_down_sync",
			kernel.ShuffleXor: "__shfl_xor_sync", kernel.ShuffleFrom: "__shfl_sync",
		},
	},
	Reserved: reserved(cWords + cudaWords),
}

// cudaHead tells the compiler how many threads a block has, so that it may
// give each of them as many registers as then are left, and no fewer than the
// kernel asks for.
func cudaHead(k *kernel.Kernel) string {
	head := "extern \"C\" __global__ "
	threads, known := blockThreads(k)
	switch {
	case k.MaxRegisters > 0:
		head += fmt.Sprintf("__maxnreg__(%d) ", k.MaxRegisters)
	case known && k.MinBlocks > 0:
		head += fmt.Sprintf("__launch_bounds__(%d, %d) ", threads, k.MinBlocks)
	case known:
		head += fmt.Sprintf("__launch_bounds__(%d) ", threads)
	}
	if c := clusterSize(k); c != [3]int64{} {
		head += fmt.Sprintf("__cluster_dims__(%d, %d, %d) ", c[0], c[1], c[2])
	}
	return head + "void "
}

// clusterSize returns how many blocks a cluster has along each axis, zeros in
// a kernel without clusters.
func clusterSize(k *kernel.Kernel) (size [3]int64) {
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if l, ok := s.(*kernel.Loop); ok && l.Tag.IsCluster() {
			for i, n := range size {
				size[i] = max(1, n)
			}
			size[l.Tag-kernel.ClusterX], _ = kernel.Trips(l)
		}
	}, nil)
	return size
}

// blockThreads returns the number of threads in a block, if the loops over
// them say it by literals and there are any.
func blockThreads(k *kernel.Kernel) (int64, bool) {
	size, known := blockSize(k)
	return size[0] * size[1] * size[2], known
}

// blockSize returns the number of threads along each axis likewise.
func blockSize(k *kernel.Kernel) (size [3]int64, known bool) {
	size = [3]int64{1, 1, 1}
	any, known := false, true
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if l, ok := s.(*kernel.Loop); ok && l.Tag.IsThread() {
			n, literal := kernel.Trips(l)
			known = known && literal && n > 0
			size[l.Tag-kernel.ThreadX] = n
			any = true
		}
	}, nil)
	return size, any && known
}

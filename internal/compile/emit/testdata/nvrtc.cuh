// What NVRTC knows without any header, as far as generated code needs it, for
// a compiler that has no CUDA kit beside it.
#define __CUDACC_RTC__
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
struct gl_index { unsigned x, y, z; };
#define threadIdx (gl_index{(unsigned)__nvvm_read_ptx_sreg_tid_x(), (unsigned)__nvvm_read_ptx_sreg_tid_y(), (unsigned)__nvvm_read_ptx_sreg_tid_z()})
#define blockIdx (gl_index{(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), (unsigned)__nvvm_read_ptx_sreg_ctaid_y(), (unsigned)__nvvm_read_ptx_sreg_ctaid_z()})
#define __syncthreads() __nvvm_bar0()
struct int4 { int x, y, z, w; };
#define MATH1(name) extern "C" __device__ double name(double); extern "C" __device__ float name##f(float);
#define MATH2(name) extern "C" __device__ double name(double, double); extern "C" __device__ float name##f(float, float);
MATH1(sqrt) MATH1(cbrt) MATH1(exp) MATH1(exp2) MATH1(log) MATH1(log2) MATH1(log10) MATH1(erf)
MATH1(sin) MATH1(cos) MATH1(tan) MATH1(asin) MATH1(acos) MATH1(atan) MATH1(sinh) MATH1(cosh) MATH1(tanh)
MATH1(floor) MATH1(ceil) MATH1(trunc) MATH1(round) MATH1(fabs)
MATH2(pow) MATH2(atan2) MATH2(fmod) MATH2(hypot)
static __device__ inline double __longlong_as_double(long long x) { double y; __builtin_memcpy(&y, &x, 8); return y; }

// What NVRTC knows without any header, as far as generated code needs it, for
// a compiler that has no CUDA kit beside it.
#define __CUDACC_RTC__
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(n)
#define __cluster_dims__(...)
#define __grid_constant__
struct gl_index { unsigned x, y, z; };
#define threadIdx (gl_index{(unsigned)__nvvm_read_ptx_sreg_tid_x(), (unsigned)__nvvm_read_ptx_sreg_tid_y(), (unsigned)__nvvm_read_ptx_sreg_tid_z()})
#define blockIdx (gl_index{(unsigned)__nvvm_read_ptx_sreg_ctaid_x(), (unsigned)__nvvm_read_ptx_sreg_ctaid_y(), (unsigned)__nvvm_read_ptx_sreg_ctaid_z()})
#define blockDim (gl_index{(unsigned)__nvvm_read_ptx_sreg_ntid_x(), (unsigned)__nvvm_read_ptx_sreg_ntid_y(), (unsigned)__nvvm_read_ptx_sreg_ntid_z()})
#define gridDim (gl_index{(unsigned)__nvvm_read_ptx_sreg_nctaid_x(), (unsigned)__nvvm_read_ptx_sreg_nctaid_y(), (unsigned)__nvvm_read_ptx_sreg_nctaid_z()})
#define __syncwarp() __nvvm_bar_warp_sync(0xffffffffu)
#define __threadfence() __nvvm_membar_gl()
static __device__ inline unsigned atomicAdd(unsigned *p, unsigned by) { return __nvvm_atom_add_gen_i((int *)p, (int)by); }
static __device__ inline unsigned long __cvta_generic_to_shared(const void *p) { return (unsigned long)(__attribute__((address_space(3))) const void *)p; }

#define VECTOR2(base, elem, bytes) \
	struct __align__(bytes) base##2 { elem x, y; }; \
	static __device__ inline base##2 make_##base##2(elem x, elem y) { return {x, y}; }
#define VECTOR4(base, elem, bytes) \
	struct __align__(bytes) base##4 { elem x, y, z, w; }; \
	static __device__ inline base##4 make_##base##4(elem x, elem y, elem z, elem w) { return {x, y, z, w}; }
VECTOR2(uchar, unsigned char, 2) VECTOR4(uchar, unsigned char, 4)
VECTOR2(int, int, 8) VECTOR4(int, int, 16)
VECTOR2(float, float, 8) VECTOR4(float, float, 16)
VECTOR2(longlong, long long, 16) VECTOR2(double, double, 16)

// The ways through the caches, spelled so that they are seen in the PTX.
#define SCALAR(type, suffix, letter, via) \
	static __device__ inline type __ld##via(const type *p) \
	{ type v; asm("ld.global." #via "." suffix " %0, [%1];" : "=" letter(v) : "l"(p)); return v; }
#define PAIR(type, suffix, letter, via) \
	static __device__ inline type __ld##via(const type *p) \
	{ type v; asm("ld.global." #via ".v2." suffix " {%0, %1}, [%2];" : "=" letter(v.x), "=" letter(v.y) : "l"(p)); return v; }
#define QUAD(type, suffix, letter, via) \
	static __device__ inline type __ld##via(const type *p) \
	{ type v; asm("ld.global." #via ".v4." suffix " {%0, %1, %2, %3}, [%4];" : "=" letter(v.x), "=" letter(v.y), "=" letter(v.z), "=" letter(v.w) : "l"(p)); return v; }
#define BYTES(type, via) static __device__ inline type __ld##via(const type *p) { return *p; }
#define LOADS(via) \
	SCALAR(int, "s32", "r", via) SCALAR(long long, "s64", "l", via) SCALAR(float, "f32", "f", via) SCALAR(double, "f64", "d", via) \
	PAIR(int2, "s32", "r", via) PAIR(longlong2, "s64", "l", via) PAIR(float2, "f32", "f", via) PAIR(double2, "f64", "d", via) \
	QUAD(int4, "s32", "r", via) QUAD(float4, "f32", "f", via) \
	BYTES(unsigned char, via) BYTES(uchar2, via) BYTES(uchar4, via)
LOADS(nc) LOADS(cs)
#define __ldg __ldnc
#define STORE(type) static __device__ inline void __stcs(type *p, type v) { __builtin_nontemporal_store(v, p); }
#define STORE2(type) static __device__ inline void __stcs(type *p, type v) { __stcs(&p->x, v.x); __stcs(&p->y, v.y); }
#define STORE4(type) static __device__ inline void __stcs(type *p, type v) { STORE2_OF(x, y) STORE2_OF(z, w) }
#define STORE2_OF(a, b) __stcs(&p->a, v.a); __stcs(&p->b, v.b);
STORE(unsigned char) STORE(int) STORE(long long) STORE(float) STORE(double)
STORE2(uchar2) STORE2(int2) STORE2(longlong2) STORE2(float2) STORE2(double2)
STORE4(uchar4) STORE4(int4) STORE4(float4)

#define SHUFFLE(name, builtin, clamp) \
	static __device__ inline int name(unsigned lanes, int x, int by) { return builtin(lanes, x, by, clamp); } \
	static __device__ inline float name(unsigned lanes, float x, int by) \
	{ int bits = builtin(lanes, __builtin_bit_cast(int, x), by, clamp); return __builtin_bit_cast(float, bits); } \
	static __device__ inline long long name(unsigned lanes, long long x, int by) \
	{ unsigned low = builtin(lanes, (int)x, by, clamp), high = builtin(lanes, (int)(x >> 32), by, clamp); return (long long)high << 32 | low; } \
	static __device__ inline double name(unsigned lanes, double x, int by) \
	{ long long bits = name(lanes, __builtin_bit_cast(long long, x), by); return __builtin_bit_cast(double, bits); }
SHUFFLE(__shfl_up_sync, __nvvm_shfl_sync_up_i32, 0)
SHUFFLE(__shfl_down_sync, __nvvm_shfl_sync_down_i32, 31)
SHUFFLE(__shfl_xor_sync, __nvvm_shfl_sync_bfly_i32, 31)
SHUFFLE(__shfl_sync, __nvvm_shfl_sync_idx_i32, 31)

#define MATH1(name) extern "C" __device__ double name(double); extern "C" __device__ float name##f(float);
#define MATH2(name) extern "C" __device__ double name(double, double); extern "C" __device__ float name##f(float, float);
MATH1(sqrt) MATH1(cbrt) MATH1(exp) MATH1(exp2) MATH1(log) MATH1(log2) MATH1(log10) MATH1(erf)
MATH1(sin) MATH1(cos) MATH1(tan) MATH1(asin) MATH1(acos) MATH1(atan) MATH1(sinh) MATH1(cosh) MATH1(tanh)
MATH1(floor) MATH1(ceil) MATH1(trunc) MATH1(round) MATH1(fabs)
extern "C" __device__ double fma(double, double, double);
extern "C" __device__ float fmaf(float, float, float);
MATH2(pow) MATH2(atan2) MATH2(fmod) MATH2(hypot)
typedef unsigned long long cudaTextureObject_t;
template <class T> __device__ T tex1Dfetch(cudaTextureObject_t image, int texel);
static __device__ inline double __hiloint2double(int high, int low)
{ long long bits = (long long)high << 32 | (unsigned)low; return __builtin_bit_cast(double, bits); }
static __device__ inline double __longlong_as_double(long long x) { double y; __builtin_memcpy(&y, &x, 8); return y; }

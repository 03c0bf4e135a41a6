#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT64_C(x) x##LL
#else
#include <stdint.h>
#endif

static __device__ inline int32_t gl_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
static __device__ inline int32_t gl_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
static __device__ inline int32_t gl_sub_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); } // wraps around
static __device__ inline int32_t gl_same_i32(int32_t x) // x, which the compiler does not know
{
    asm("lop3.b32 %0, %0, 0, 0, 0xf0;" : "+r"(x));
    return x;
}
static __device__ inline double gl_fma_rn_f64(double a, double b, double c)
{
    double sum;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(sum) : "d"(a), "d"(b), "d"(c));
    return sum;
}

// Ints are clamped, and compared with what they are clamped to.
// Launch: (int64_t)(((int32_t)N + 31) / 32) x (int64_t)(int32_t)N blocks (b, j) of 32 threads (t).
extern "C" __global__ __launch_bounds__(32) void clamps(const double *__restrict__ u, double *__restrict__ v,
        int32_t *__restrict__ w, int64_t N)
{
    const int32_t N_int = (int32_t)N;
    const int32_t j = blockIdx.y;
    const int32_t b = blockIdx.x;
    const int32_t t = threadIdx.x;
    const int32_t x = b * 32 + t;
    const int32_t j_at = gl_max_i32(gl_min_i32(j, N_int - 1), 0);
    const int32_t i_at = gl_max_i32(gl_min_i32(x, N_int - 1), 0);
    const int32_t at = j_at * N_int + i_at;
    const double first = (double)(gl_same_i32(j_at) == 0 ? 2 : 1) * u[(int64_t)at];
    const double last = gl_fma_rn_f64((double)(gl_same_i32(j_at) == (int32_t)N - 1 ? 2 : 1), u[(int64_t)at],
            first);
    const double left = gl_fma_rn_f64((double)(gl_same_i32(i_at) == 0 ? 2 : 1), u[(int64_t)at], last);
    const double right = gl_fma_rn_f64((double)(gl_same_i32(i_at) == (int32_t)N - 1 ? 2 : 1), u[(int64_t)at],
            left);
    if (j < N_int && x < N_int) {
        const int32_t n = w[(int64_t)at];
        const int32_t least = n < 0 ? 0 : n;
        v[(int64_t)at] = right;
        w[(int64_t)at] = gl_same_i32(gl_min_i32(least, 40)) < 40 ? n : gl_sub_i32(n, least);
    }
}

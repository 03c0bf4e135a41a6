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

static __device__ inline int32_t gl_add_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); } // wraps around

// What another lane has, of each type.
// Launch: 2 blocks (b) of 32 threads (t).
extern "C" __global__ __launch_bounds__(32) void shuffles(double *__restrict__ u, float *__restrict__ p,
        int32_t *__restrict__ n, int64_t *__restrict__ l, uint8_t *__restrict__ c, uint8_t *__restrict__ m)
{
    const int64_t b = blockIdx.x;
    const int32_t t = threadIdx.x;
    const int64_t i = b * 32 + (int64_t)t;
    const double u_left = __shfl_up_sync(0xffffffffu, u[i], 1);
    const float p_right = __shfl_down_sync(0xffffffffu, p[i], 2);
    const int32_t n_other = __shfl_xor_sync(0xffffffffu, gl_add_i32(n[i], 1), 16);
    const int64_t l_first = __shfl_sync(0xffffffffu, l[i], 0);
    const uint8_t c_left = (uint8_t)__shfl_up_sync(0xffffffffu, (int32_t)c[i], 1);
    const bool m_next = (bool)__shfl_sync(0xffffffffu, (int32_t)m[i], (t + 1) % 32);
    __syncwarp();
    u[i] = u_left;
    p[i] = p_right;
    n[i] = n_other;
    l[i] = l_first;
    c[i] = c_left;
    m[i] = m_next;
}

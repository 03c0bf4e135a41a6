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

template <int number, int count> static __device__ inline void gl_barrier() // for those of the block's threads that call it
{
    asm volatile("bar.sync %0, %1;" :: "n"(number), "n"(count) : "memory");
}

// Two warps wait for each other, the others do not.
// Launch: 1 blocks (b) of 128 threads (t).
extern "C" __global__ __launch_bounds__(128) void numbered(double *__restrict__ u)
{
    const int32_t b = blockIdx.x;
    __shared__ __align__(16) double tile[128];
    const int32_t t = threadIdx.x;
    tile[t] = u[t];
    if (t / 64 < 1) {
        gl_barrier<1, 64>();
        u[t] = tile[63 - t];
    }
    __syncthreads();
}

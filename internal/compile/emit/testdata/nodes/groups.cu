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

static __device__ inline uint32_t gl_shared_at(const void *p) // its address in shared memory
{
    return (uint32_t)__cvta_generic_to_shared(p);
}
template <int bytes, int to_bytes = 0, int from_bytes = 0> static __device__ inline void gl_copy_async(void *to, const void *from) // both so many bytes further, where 16 are copied
{
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0+%2], [%1+%3], 16;"
            :: "r"(gl_shared_at(to)), "l"(from), "n"(to_bytes), "n"(from_bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(gl_shared_at(to)), "l"(from), "n"(bytes) : "memory");
}
static __device__ inline void gl_commit_async() // ends a group of copies
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int pending> static __device__ inline void gl_wait_async() // for all groups of the thread but the latest
{
    asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}

// A tile is copied while the one before is used.
// Launch: 4 blocks (b) of 32 threads (t).
extern "C" __global__ __launch_bounds__(32) void groups(const float *__restrict__ u, float *__restrict__ v,
        int64_t N)
{
    const int64_t b = blockIdx.x;
    __shared__ __align__(16) float tile[256];
    const int64_t t = threadIdx.x;
    gl_copy_async<16>(&tile[t * 4], &u[t * 4]);
    gl_commit_async();
    for (int64_t k = 0; k < N; ++k) {
        const int64_t next = (k + 1) % 2;
        if (k + 1 < N) {
            gl_copy_async<16, 0, 512>(&tile[next * 128 + t * 4], &u[k * 128 + t * 4]);
        }
        gl_commit_async();
        gl_wait_async<1>();
        __syncthreads();
        if (k % 4 == b) {
            #pragma unroll
            for (int64_t q = 0; q < 4; ++q) {
                v[k * 128 + (q * 32 + t)] = tile[k % 2 * 128 + (127 - (q * 32 + t))];
            }
        }
        __syncthreads();
    }
    gl_copy_async<4>(&tile[t], &u[t]);
    gl_copy_async<8>(&tile[128 + t * 2], &u[t * 2]);
    gl_commit_async();
    gl_wait_async<0>();
}

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
static __device__ inline void gl_fence_async() // bulk copies come after what the thread has loaded and stored
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
static __device__ inline void gl_copy_bulk(void *to, const void *from, uint32_t bytes, int64_t *mbarrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            :: "r"(gl_shared_at(to)), "l"(from), "r"(bytes), "r"(gl_shared_at(mbarrier)) : "memory");
}
static __device__ inline void gl_mbarrier_init(int64_t *mbarrier, int32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;"
            :: "r"(gl_shared_at(mbarrier)), "r"(count) : "memory");
}
static __device__ inline void gl_mbarrier_arrive(int64_t *mbarrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(gl_shared_at(mbarrier)) : "memory");
}
static __device__ inline void gl_mbarrier_expect(int64_t *mbarrier, int32_t bytes) // arrives, and says what else is to come
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(gl_shared_at(mbarrier)), "r"(bytes) : "memory");
}
static __device__ inline void gl_mbarrier_wait(int64_t *mbarrier, int32_t parity)
{
    int32_t done;
    do
        asm volatile("{\n\t.reg .pred done;\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                "selp.s32 %0, 1, 0, done;\n\t}"
                : "=r"(done) : "r"(gl_shared_at(mbarrier)), "r"(parity) : "memory");
    while (!done);
}

// One thread asks for a run over what all have stored, all wait for its bytes.
// Launch: 2 blocks (b) of 64 threads (t).
extern "C" __global__ __launch_bounds__(64) void bulk(const double *__restrict__ u, double *__restrict__ v)
{
    const int64_t b = blockIdx.x;
    __shared__ __align__(16) double tile[256];
    __shared__ __align__(16) int64_t full[2];
    const int32_t t = threadIdx.x;
    if (t == 0) {
        gl_mbarrier_init(&full[0], 1);
        gl_mbarrier_init(&full[1], 64);
    }
    __syncthreads();
    tile[(int64_t)t] = 0.0;
    gl_fence_async();
    __syncthreads();
    if (t == 0) {
        gl_mbarrier_expect(&full[0], 2048);
        gl_copy_bulk(&tile[0], &u[b * 256], 2048, &full[0]);
    }
    gl_mbarrier_wait(&full[0], 0);
    #pragma unroll
    for (int64_t q = 0; q < 4; ++q) {
        v[b * 256 + (q * 64 + (int64_t)t)] = tile[255 - (q * 64 + (int64_t)t)];
    }
    gl_mbarrier_arrive(&full[1]);
    gl_mbarrier_wait(&full[1], 0);
}

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

static __device__ inline void gl_barrier_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
static __device__ inline uint32_t gl_shared_at(const void *p) // its address in shared memory
{
    return (uint32_t)__cvta_generic_to_shared(p);
}
static __device__ inline void gl_fence_async() // bulk copies come after what the thread has loaded and stored
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
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
static __device__ inline void gl_mbarrier_signal_remote(int64_t *mbarrier, int32_t rank) // likewise, but stores may be seen there later
{
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
            "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}"
            :: "r"(gl_shared_at(mbarrier)), "r"(rank) : "memory");
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
struct __align__(64) gl_tensor_map { uint64_t words[16]; }; // as the driver encodes it
static __device__ inline void gl_copy_tensor2_multicast(void *to, const gl_tensor_map *from, int32_t x0, int32_t x1, int64_t *mbarrier, int32_t blocks)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
            " [%0], [%1, {%3, %4}], [%2], %5;"
            :: "r"(gl_shared_at(to)), "l"(from), "r"(gl_shared_at(mbarrier)), "r"(x0), "r"(x1), "h"((unsigned short)blocks) : "memory");
}

// Each block of a cluster has boxes brought to itself and to another one, twice to the same place.
// Launch: N clusters (b) of 3 x 1 x 1 blocks of 64 threads (t).
extern "C" __global__ __launch_bounds__(64) __cluster_dims__(3, 1,
        1) void multicast(const __grid_constant__ gl_tensor_map u, double *__restrict__ v, int64_t N)
{
    const int64_t b = blockIdx.x / 3;
    const int32_t c = blockIdx.x % 3;
    __shared__ __align__(128) double tile[192];
    __shared__ __align__(128) int64_t full[1];
    __shared__ __align__(128) int64_t v_free[1];
    const int32_t t = threadIdx.x;
    if (t == 0) {
        gl_mbarrier_init(&full[0], 1);
        gl_mbarrier_init(&v_free[0], 128);
    }
    gl_barrier_cluster();
    const int32_t next = (c + 1) % 3;
    const int32_t before = (c + 2) % 3;
    for (int32_t step = 0; step < 2; ++step) {
        if (t == 0) {
            if (0 < step) {
                gl_mbarrier_wait(&v_free[0], 0);
            }
            gl_mbarrier_expect(&full[0], 1024);
            gl_copy_tensor2_multicast(&tile[(int64_t)c * 64], &u, c * 16, (int32_t)b - 1 + step * 2, &full[0],
                    (c == 0 ? 1 : (c == 1 ? 2 : 4)) + (next == 0 ? 1 : (next == 1 ? 2 : 4)));
        }
        gl_mbarrier_wait(&full[0], step);
        const double x = tile[(int64_t)c * 64 + (int64_t)t];
        const double y = tile[(int64_t)before * 64 + (int64_t)t];
        v[b * 192 + ((int64_t)c * 64 + (int64_t)t)] = 2.0 * x + y;
        gl_fence_async();
        gl_mbarrier_arrive(&v_free[0]);
        gl_mbarrier_signal_remote(&v_free[0], before);
    }
    gl_barrier_cluster();
}

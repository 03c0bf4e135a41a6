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
template <class T> static __device__ inline T *gl_remote(T *p, int32_t rank) // where the cluster's block of that rank has its own
{
    uint64_t at;
    asm("mapa.u64 %0, %1, %2;" : "=l"(at) : "l"(p), "r"(rank));
    return reinterpret_cast<T *>(at);
}
static __device__ inline uint32_t gl_shared_at(const void *p) // its address in shared memory
{
    return (uint32_t)__cvta_generic_to_shared(p);
}
static __device__ inline void gl_mbarrier_init(int64_t *mbarrier, int32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;"
            :: "r"(gl_shared_at(mbarrier)), "r"(count) : "memory");
}
static __device__ inline void gl_mbarrier_arrive_remote(int64_t *mbarrier, int32_t rank) // at that of another block of the cluster
{
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n\t}"
            :: "r"(gl_shared_at(mbarrier)), "r"(rank) : "memory");
}
static __device__ inline void gl_mbarrier_wait_cluster(int64_t *mbarrier, int32_t parity)
{
    int32_t done;
    do
        asm volatile("{\n\t.reg .pred done;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%1], %2;\n\t"
                "selp.s32 %0, 1, 0, done;\n\t}"
                : "=r"(done) : "r"(gl_shared_at(mbarrier)), "r"(parity) : "memory");
    while (!done);
}

// Each block of a cluster reads from the next one's memory and writes to that of the one before.
// Launch: N clusters (b) of 4 x 1 x 1 blocks of 64 threads (t).
extern "C" __global__ __launch_bounds__(64) __cluster_dims__(4, 1, 1) void clusters(double *__restrict__ u,
        int64_t N)
{
    const int64_t b = blockIdx.x / 4;
    const int32_t c = blockIdx.x % 4;
    __shared__ __align__(16) double tile[64];
    __shared__ __align__(16) double sent[64];
    __shared__ __align__(16) int64_t full[2];
    const int32_t t = threadIdx.x;
    const int64_t i = b * 256 + ((int64_t)c * 64 + (int64_t)t);
    if (t == 0) {
        gl_mbarrier_init(&full[0], 64);
        gl_mbarrier_init(&full[1], 1);
    }
    tile[t] = u[i];
    gl_barrier_cluster();
    const int32_t next = (c + 1) % 4;
    const int32_t last = (c + 3) % 4;
    const double x = gl_remote(tile, next)[t];
    gl_remote(sent, last)[t] = 2.0 * x;
    gl_mbarrier_arrive_remote(&full[0], last);
    if (t == 0) {
        gl_mbarrier_arrive_remote(&full[1], last);
    }
    gl_mbarrier_wait_cluster(&full[0], 0);
    gl_mbarrier_wait_cluster(&full[1], 0);
    u[i] = x + sent[t];
    gl_barrier_cluster();
}


#if defined POCL_DEVICE_ADDRESS_BITS && !defined __SPIR__ && !defined __SPIRV__
// PoCL takes a branch right after a barrier to be one that all work-items take alike.
#define barrier(fences) do { barrier(fences); __asm__ volatile (""); } while (0)
#endif

// A tile is copied while the one before is used.
// Launch: 4 blocks (b) of 32 threads (t).
__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void groups(__global const float *restrict u,
        __global float *restrict v, long N)
{
    const long b = get_group_id(0);
    __local float tile[256] __attribute__((aligned(16)));
    const long t = get_local_id(0);
    *(__local float4 *)&tile[t * 4] = *(__global const float4 *)&u[t * 4];
    for (long k = 0; k < N; ++k) {
        const long next = (k + 1) % 2;
        if (k + 1 < N) {
            *(__local float4 *)&tile[next * 128 + t * 4] =
                    *(__global const float4 *)&u[(k + 1) * 128 + t * 4];
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        if (k % 4 == b) {
            #pragma unroll
            for (long q = 0; q < 4; ++q) {
                v[k * 128 + (q * 32 + t)] = tile[k % 2 * 128 + (127 - (q * 32 + t))];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    tile[t] = u[t];
    *(__local float2 *)&tile[128 + t * 2] = *(__global const float2 *)&u[t * 2];
}

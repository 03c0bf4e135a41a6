#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#if defined POCL_DEVICE_ADDRESS_BITS && !defined __SPIR__ && !defined __SPIRV__
// PoCL takes a branch right after a barrier to be one that all work-items take alike.
#define barrier(fences) do { barrier(fences); __asm__ volatile (""); } while (0)
#endif

// Neighbours by way of shared memory, a queue in registers, a loop that is written out.
// Launch: N / 64 blocks (b) of 64 threads (t).
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void shared(__global const double *restrict u,
        __global double *restrict v, long N)
{
    const long b = get_group_id(0);
    __local double tile[66] __attribute__((aligned(16)));
    __local uchar flags[64] __attribute__((aligned(16)));
    const long t = get_local_id(0);
    double queue[3];
    const long i = b * 64 + t;
    tile[t + 1] = u[i];
    flags[t] = u[i] > 0.0;
    if (t == 0) {
        tile[0] = i > 0 ? u[i - 1] : 0.0;
        tile[65] = i + 64 < N ? u[i + 64] : 0.0;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    #pragma unroll
    for (long q = 0; q < 3; ++q) {
        queue[q] = tile[t + q];
    }
    double sum = 0.0;
    #pragma unroll
    for (long q = 0; q < 3; ++q) {
        sum = sum + queue[q];
    }
    v[i] = flags[t] ? sum : -1.0;
}

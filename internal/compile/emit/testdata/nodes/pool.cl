#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#if defined POCL_DEVICE_ADDRESS_BITS && !defined __SPIR__ && !defined __SPIRV__
// PoCL takes a branch right after a barrier to be one that all work-items take alike.
#define barrier(fences) do { barrier(fences); __asm__ volatile (""); } while (0)
#endif

// More shared memory than a text may declare.
// Launch: 2 blocks (b) of 128 threads (t).
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void pool(__global double *restrict u)
{
    const long b = get_group_id(0);
    __local uchar small[5] __attribute__((aligned(16)));
    __local double tile[6144] __attribute__((aligned(16)));
    const long t = get_local_id(0);
    for (long i = t; i < 4096; i += 128) {
        tile[i] = u[b * 4096 + i];
    }
    if (t < 5) {
        small[t] = (uchar)t;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (long i = t; i < 4096; i += 128) {
        u[b * 4096 + i] = tile[4095 - i] + (double)small[i % 5];
    }
}

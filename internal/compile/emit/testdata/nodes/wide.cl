#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#if defined POCL_DEVICE_ADDRESS_BITS && !defined __SPIR__ && !defined __SPIRV__
// PoCL takes a branch right after a barrier to be one that all work-items take alike.
#define barrier(fences) do { barrier(fences); __asm__ volatile (""); } while (0)
#endif

// Elements by two in shared memory and in registers, blocks and threads along three axes, constant memory.
// Launch: 4 x 2 x 2 blocks (bx, by, bz) of 8 x 2 x 2 threads (tx, ty, tz).
__kernel __attribute__((reqd_work_group_size(8, 2, 2))) void wide(__global double *restrict u,
        __constant const double *restrict w)
{
    const int bz = get_group_id(2);
    const int by = get_group_id(1);
    const int bx = get_group_id(0);
    __local double tile[64] __attribute__((aligned(16)));
    const int tz = get_local_id(2);
    const int ty = get_local_id(1);
    const int tx = get_local_id(0);
    double own[2];
    const int t = (tz * 2 + ty) * 8 + tx;
    const int i = ((bz * 2 + by) * 4 + bx) * 64 + t * 2;
    const double2 u_pair = *(__global double2 *)&u[i];
    const double a = u_pair.x, b = u_pair.y;
    *(__local double2 *)&tile[t * 2] = (double2)(a, b);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const double2 tile_pair = *(__local double2 *)&tile[62 - t * 2];
    const double c = tile_pair.x, d = tile_pair.y;
    own[0] = c * w[0];
    own[1] = d * w[1];
    *(__global double2 *)&u[i] = (double2)(own[1], own[0]);
}

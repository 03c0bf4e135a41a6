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

__constant__ double gl_constant_wide_w[2];
// Elements by two in shared memory and in registers, blocks and threads along three axes, constant memory.
// Launch: 4 x 2 x 2 blocks (bx, by, bz) of 8 x 2 x 2 threads (tx, ty, tz).
extern "C" __global__ __launch_bounds__(32) void wide(double *__restrict__ u)
{
    const int32_t bz = blockIdx.z;
    const int32_t by = blockIdx.y;
    const int32_t bx = blockIdx.x;
    __shared__ __align__(16) double tile[64];
    const int32_t tz = threadIdx.z;
    const int32_t ty = threadIdx.y;
    const int32_t tx = threadIdx.x;
    double own[2];
    const int32_t t = (tz * 2 + ty) * 8 + tx;
    const int32_t i = ((bz * 2 + by) * 4 + bx) * 64 + t * 2;
    const double2 u_pair = *reinterpret_cast<double2 *>(&u[i]);
    const double a = u_pair.x, b = u_pair.y;
    *reinterpret_cast<double2 *>(&tile[t * 2]) = make_double2(a, b);
    __syncthreads();
    const double2 tile_pair = *reinterpret_cast<double2 *>(&tile[62 - t * 2]);
    const double c = tile_pair.x, d = tile_pair.y;
    own[0] = c * gl_constant_wide_w[0];
    own[1] = d * gl_constant_wide_w[1];
    *reinterpret_cast<double2 *>(&u[i]) = make_double2(own[1], own[0]);
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

static inline int gl_min_i32(int a, int b) { return a < b ? a : b; }
static inline int gl_max_i32(int a, int b) { return a > b ? a : b; }
static inline int gl_sub_i32(int a, int b) { return (int)((uint)a - (uint)b); } // wraps around

// Ints are clamped, and compared with what they are clamped to.
// Launch: (long)(((int)N + 31) / 32) x (long)(int)N blocks (b, j) of 32 threads (t).
__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void clamps(__global const double *restrict u,
        __global double *restrict v, __global int *restrict w, long N)
{
    const int N_int = (int)N;
    const int j = get_group_id(1);
    const int b = get_group_id(0);
    const int t = get_local_id(0);
    const int x = b * 32 + t;
    const int j_at = gl_max_i32(gl_min_i32(j, N_int - 1), 0);
    const int i_at = gl_max_i32(gl_min_i32(x, N_int - 1), 0);
    const int at = j_at * N_int + i_at;
    const double first = (double)(j_at == 0 ? 2 : 1) * u[(long)at];
    const double last = fma((double)(j_at == (int)N - 1 ? 2 : 1), u[(long)at], first);
    const double left = fma((double)(i_at == 0 ? 2 : 1), u[(long)at], last);
    const double right = fma((double)(i_at == (int)N - 1 ? 2 : 1), u[(long)at], left);
    if (j < N_int && x < N_int) {
        const int n = w[(long)at];
        const int least = n < 0 ? 0 : n;
        v[(long)at] = right;
        w[(long)at] = gl_min_i32(least, 40) < 40 ? n : gl_sub_i32(n, least);
    }
}

#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Every way through the caches.
// Launch: ceil(N / 128) blocks (b) of 32 threads (t).
__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void ways(__global const double *restrict u,
        __global const float *restrict p, __global const int *restrict n, __global const long *restrict l,
        __global const uchar *restrict c, __global double *restrict v, __global float *restrict q,
        __global int *restrict o, __global long *restrict k, __global uchar *restrict d, long N)
{
    const long b = get_group_id(0);
    const long t = get_local_id(0);
    const long i = b * 128 + t * 4;
    if (i + 3 < N) {
        v[i] = u[i] + u[i + 1];
        v[i + 1] = u[i] + v[i];
        const double2 u_pair = *(__global const double2 *)&u[i];
        const double u0 = u_pair.x, u1 = u_pair.y;
        const double2 u_pair_2 = *(__global const double2 *)&u[i];
        const double u2 = u_pair_2.x, u3 = u_pair_2.y;
        const double2 u_pair_3 = *(__global const double2 *)&u[i];
        const double u4 = u_pair_3.x, u5 = u_pair_3.y;
        *(__global double2 *)&v[i] = (double2)(u0 + u2, u5);
        *(__global double2 *)&v[i + 2] = (double2)(u4, u1 + u3);
        const float4 p_quad = *(__global const float4 *)&p[i];
        const float p0 = p_quad.x, p1 = p_quad.y, p2 = p_quad.z, p3 = p_quad.w;
        const float4 p_quad_2 = *(__global const float4 *)&p[i];
        const float p4 = p_quad_2.x, p5 = p_quad_2.y, p6 = p_quad_2.z, p7 = p_quad_2.w;
        const float2 p_pair = *(__global const float2 *)&p[i];
        const float p8 = p_pair.x, p9 = p_pair.y;
        const float4 p_quad_3 = *(__global const float4 *)&p[i];
        const float pa = p_quad_3.x, pb = p_quad_3.y, pc = p_quad_3.z, pd = p_quad_3.w;
        *(__global float4 *)&q[i] = (float4)(p0 + p4, p1 + p5, p2 + p6, p3 + p7);
        *(__global float4 *)&q[i] = (float4)(p8 + pa, p9 + pb, pc, pd);
        *(__global float2 *)&q[i] = (float2)(p8, p9);
        q[i] = p[i];
        const int4 n_quad = *(__global const int4 *)&n[i];
        const int n0 = n_quad.x, n1 = n_quad.y, n2 = n_quad.z, n3 = n_quad.w;
        *(__global int4 *)&o[i] = (int4)(n3, n2, n1, n0);
        const int2 n_pair = *(__global const int2 *)&n[i];
        const int n4 = n_pair.x, n5 = n_pair.y;
        *(__global int2 *)&o[i] = (int2)(n5, n4);
        o[i] = n[i];
        const long2 l_pair = *(__global const long2 *)&l[i];
        const long l0 = l_pair.x, l1 = l_pair.y;
        *(__global long2 *)&k[i] = (long2)(l1, l0);
        k[i] = l[i];
        d[i] = c[i];
        d[i + 1] = c[i];
    }
}

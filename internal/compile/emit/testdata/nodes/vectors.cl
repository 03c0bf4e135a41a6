#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Elements by two, by four and by eight.
// Launch: ceil(N / 32) blocks (b) of 32 threads (t).
__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void vectors(__global const double *restrict u,
        __global double *restrict v, __global float *restrict p, __global int *restrict n,
        __global long *restrict l, __global uchar *restrict c, __global uchar *restrict m, long N)
{
    const long b = get_group_id(0);
    const long t = get_local_id(0);
    const long i = b * 32 + t;
    if (i < N) {
        const double2 u_pair = *(__global const double2 *)&u[i * 2];
        const double u0 = u_pair.x, u1 = u_pair.y;
        *(__global double2 *)&v[i * 2] = (double2)(u1, 2.0 * u0);
        const float4 p_quad = *(__global float4 *)&p[i * 4];
        const float p0 = p_quad.x, p1 = p_quad.y, p2 = p_quad.z, p3 = p_quad.w;
        *(__global float4 *)&p[i * 4] = (float4)(p3, p2, p1, p0);
        const float2 p_pair = *(__global float2 *)&p[i * 4];
        const float p4 = p_pair.x, p5 = p_pair.y;
        *(__global float2 *)&p[i * 4] = (float2)(p4 + 1.0f, p5);
        const int2 n_pair = *(__global int2 *)&n[i * 4];
        const int n0 = n_pair.x, n1 = n_pair.y;
        *(__global int2 *)&n[i * 4 + 2] = (int2)(n0, n1);
        const int4 n_quad = *(__global int4 *)&n[i * 4];
        const int n2 = n_quad.x, n3 = n_quad.y, n4 = n_quad.z, n5 = n_quad.w;
        *(__global int4 *)&n[i * 4] = (int4)(n5, n4, n3, n2);
        const long2 l_pair = *(__global long2 *)&l[i * 2];
        const long l0 = l_pair.x, l1 = l_pair.y;
        *(__global long2 *)&l[i * 2] = (long2)(l1, -l0);
        const uchar2 c_pair = *(__global uchar2 *)&c[i * 8];
        const uchar c0 = c_pair.x, c1 = c_pair.y;
        *(__global uchar2 *)&c[i * 8 + 2] = (uchar2)(c0, c1);
        const uchar4 c_quad = *(__global uchar4 *)&c[i * 8];
        const uchar c2 = c_quad.x, c3 = c_quad.y, c4 = c_quad.z, c5 = c_quad.w;
        *(__global uchar4 *)&c[i * 8 + 4] = (uchar4)(c5, c4, c3, c2);
        const uchar8 c_octet = *(__global uchar8 *)&c[i * 8];
        const uchar d0 = c_octet.s0, d1 = c_octet.s1, d2 = c_octet.s2, d3 = c_octet.s3, d4 = c_octet.s4,
                d5 = c_octet.s5, d6 = c_octet.s6, d7 = c_octet.s7;
        *(__global uchar8 *)&c[i * 8] = (uchar8)(d7, d6, d5, d4, d3, d2, d1, d0);
        const uchar8 m_octet = *(__global uchar8 *)&m[i * 8];
        const bool m0 = m_octet.s0, m1 = m_octet.s1, m2 = m_octet.s2, m3 = m_octet.s3, m4 = m_octet.s4,
                m5 = m_octet.s5, m6 = m_octet.s6, m7 = m_octet.s7;
        *(__global uchar8 *)&m[i * 8] = (uchar8)((uchar)(m0 && m1), (uchar)m2, (uchar)!m3, (uchar)m4,
                (uchar)m5, (uchar)m6, (uchar)m7, (uchar)(m0 || m7));
    }
}

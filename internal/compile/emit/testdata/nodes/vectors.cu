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

struct __align__(8) gl_uchar8 { uint8_t s0, s1, s2, s3, s4, s5, s6, s7; };

// Elements by two, by four and by eight.
// Launch: ceil(N / 32) blocks (b) of 32 threads (t).
extern "C" __global__ __launch_bounds__(32) void vectors(const double *__restrict__ u, double *__restrict__ v,
        float *__restrict__ p, int32_t *__restrict__ n, int64_t *__restrict__ l, uint8_t *__restrict__ c,
        uint8_t *__restrict__ m, int64_t N)
{
    const int64_t b = blockIdx.x;
    const int64_t t = threadIdx.x;
    const int64_t i = b * 32 + t;
    if (i < N) {
        const double2 u_pair = *reinterpret_cast<const double2 *>(&u[i * 2]);
        const double u0 = u_pair.x, u1 = u_pair.y;
        *reinterpret_cast<double2 *>(&v[i * 2]) = make_double2(u1, 2.0 * u0);
        const float4 p_quad = *reinterpret_cast<float4 *>(&p[i * 4]);
        const float p0 = p_quad.x, p1 = p_quad.y, p2 = p_quad.z, p3 = p_quad.w;
        *reinterpret_cast<float4 *>(&p[i * 4]) = make_float4(p3, p2, p1, p0);
        const float2 p_pair = *reinterpret_cast<float2 *>(&p[i * 4]);
        const float p4 = p_pair.x, p5 = p_pair.y;
        *reinterpret_cast<float2 *>(&p[i * 4]) = make_float2(p4 + 1.0f, p5);
        const int2 n_pair = *reinterpret_cast<int2 *>(&n[i * 4]);
        const int32_t n0 = n_pair.x, n1 = n_pair.y;
        *reinterpret_cast<int2 *>(&n[i * 4 + 2]) = make_int2(n0, n1);
        const int4 n_quad = *reinterpret_cast<int4 *>(&n[i * 4]);
        const int32_t n2 = n_quad.x, n3 = n_quad.y, n4 = n_quad.z, n5 = n_quad.w;
        *reinterpret_cast<int4 *>(&n[i * 4]) = make_int4(n5, n4, n3, n2);
        const longlong2 l_pair = *reinterpret_cast<longlong2 *>(&l[i * 2]);
        const int64_t l0 = l_pair.x, l1 = l_pair.y;
        *reinterpret_cast<longlong2 *>(&l[i * 2]) = make_longlong2(l1, -l0);
        const uchar2 c_pair = *reinterpret_cast<uchar2 *>(&c[i * 8]);
        const uint8_t c0 = c_pair.x, c1 = c_pair.y;
        *reinterpret_cast<uchar2 *>(&c[i * 8 + 2]) = make_uchar2(c0, c1);
        const uchar4 c_quad = *reinterpret_cast<uchar4 *>(&c[i * 8]);
        const uint8_t c2 = c_quad.x, c3 = c_quad.y, c4 = c_quad.z, c5 = c_quad.w;
        *reinterpret_cast<uchar4 *>(&c[i * 8 + 4]) = make_uchar4(c5, c4, c3, c2);
        const gl_uchar8 c_octet = *reinterpret_cast<gl_uchar8 *>(&c[i * 8]);
        const uint8_t d0 = c_octet.s0, d1 = c_octet.s1, d2 = c_octet.s2, d3 = c_octet.s3, d4 = c_octet.s4,
                d5 = c_octet.s5, d6 = c_octet.s6, d7 = c_octet.s7;
        *reinterpret_cast<gl_uchar8 *>(&c[i * 8]) = gl_uchar8{d7, d6, d5, d4, d3, d2, d1, d0};
        const gl_uchar8 m_octet = *reinterpret_cast<gl_uchar8 *>(&m[i * 8]);
        const bool m0 = m_octet.s0, m1 = m_octet.s1, m2 = m_octet.s2, m3 = m_octet.s3, m4 = m_octet.s4,
                m5 = m_octet.s5, m6 = m_octet.s6, m7 = m_octet.s7;
        *reinterpret_cast<gl_uchar8 *>(&m[i * 8]) = gl_uchar8{(uint8_t)(m0 && m1), (uint8_t)m2, (uint8_t)!m3,
                (uint8_t)m4, (uint8_t)m5, (uint8_t)m6, (uint8_t)m7, (uint8_t)(m0 || m7)};
    }
}

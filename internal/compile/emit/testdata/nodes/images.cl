#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Every kind of texel.
// Launch: 4 blocks (b) of 64 threads (t).
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void images(__read_only image1d_buffer_t f1,
        __read_only image1d_buffer_t f2, __read_only image1d_buffer_t f4, __read_only image1d_buffer_t d1,
        __read_only image1d_buffer_t d2, __read_only image1d_buffer_t n1, __read_only image1d_buffer_t n2,
        __read_only image1d_buffer_t n4, __read_only image1d_buffer_t l1, __read_only image1d_buffer_t l2,
        __read_only image1d_buffer_t c1, __read_only image1d_buffer_t c2, __read_only image1d_buffer_t c4,
        __global float *restrict f_out, __global double *restrict d_out, __global int *restrict n_out,
        __global long *restrict l_out, __global uchar *restrict c_out)
{
    const long b = get_group_id(0);
    const long t = get_local_id(0);
    const long i = b * 64 + t;
    f_out[i] = as_float(read_imagei(f1, (int)i).x);
    const float2 f2_pair = as_float2(read_imagei(f2, (int)(i / 2 * 2 / 2)).xy);
    const float f2_0 = f2_pair.x, f2_1 = f2_pair.y;
    f_out[i + 256] = i % 2 == 0 ? f2_0 : f2_1;
    const float4 f4_quad = as_float4(read_imagei(f4, (int)(i / 4 * 4 / 4)));
    const float f4_0 = f4_quad.x, f4_1 = f4_quad.y, f4_2 = f4_quad.z, f4_3 = f4_quad.w;
    f_out[i + 512] = i % 2 == 0 ? f4_0 : f4_3;
    d_out[i] = as_double(read_imagei(d1, (int)i).xy);
    const double2 d2_pair = as_double2(read_imagei(d2, (int)(i / 2 * 2 / 2)));
    const double d2_0 = d2_pair.x, d2_1 = d2_pair.y;
    d_out[i + 256] = i % 2 == 0 ? d2_0 : d2_1;
    n_out[i] = read_imagei(n1, (int)i).x;
    const int2 n2_pair = read_imagei(n2, (int)(i / 2 * 2 / 2)).xy;
    const int n2_0 = n2_pair.x, n2_1 = n2_pair.y;
    n_out[i + 256] = i % 2 == 0 ? n2_0 : n2_1;
    const int4 n4_quad = read_imagei(n4, (int)(i / 4 * 4 / 4));
    const int n4_0 = n4_quad.x, n4_1 = n4_quad.y, n4_2 = n4_quad.z, n4_3 = n4_quad.w;
    n_out[i + 512] = i % 2 == 0 ? n4_0 : n4_3;
    l_out[i] = as_long(read_imagei(l1, (int)i).xy);
    const long2 l2_pair = as_long2(read_imagei(l2, (int)(i / 2 * 2 / 2)));
    const long l2_0 = l2_pair.x, l2_1 = l2_pair.y;
    l_out[i + 256] = i % 2 == 0 ? l2_0 : l2_1;
    c_out[i] = convert_uchar(read_imageui(c1, (int)i).x);
    const uchar2 c2_pair = convert_uchar2(read_imageui(c2, (int)(i / 2 * 2 / 2)).xy);
    const uchar c2_0 = c2_pair.x, c2_1 = c2_pair.y;
    c_out[i + 256] = i % 2 == 0 ? c2_0 : c2_1;
    const uchar4 c4_quad = convert_uchar4(read_imageui(c4, (int)(i / 4 * 4 / 4)));
    const uchar c4_0 = c4_quad.x, c4_1 = c4_quad.y, c4_2 = c4_quad.z, c4_3 = c4_quad.w;
    c_out[i + 512] = i % 2 == 0 ? c4_0 : c4_3;
}

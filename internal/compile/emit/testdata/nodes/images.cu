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

static __device__ inline double gl_image_double(cudaTextureObject_t image, int texel)
{
    const int2 words = tex1Dfetch<int2>(image, texel);
    return __hiloint2double(words.y, words.x);
}
static __device__ inline double2 gl_image_double2(cudaTextureObject_t image, int texel)
{
    const int4 words = tex1Dfetch<int4>(image, texel);
    return make_double2(__hiloint2double(words.y, words.x), __hiloint2double(words.w, words.z));
}
static __device__ inline int64_t gl_image_long(cudaTextureObject_t image, int texel)
{
    const int2 words = tex1Dfetch<int2>(image, texel);
    return (int64_t)((uint64_t)(uint32_t)words.y << 32 | (uint32_t)words.x);
}
static __device__ inline longlong2 gl_image_long2(cudaTextureObject_t image, int texel)
{
    const int4 words = tex1Dfetch<int4>(image, texel);
    return make_longlong2((int64_t)((uint64_t)(uint32_t)words.y << 32 | (uint32_t)words.x),
                          (int64_t)((uint64_t)(uint32_t)words.w << 32 | (uint32_t)words.z));
}

// Every kind of texel.
// Launch: 4 blocks (b) of 64 threads (t).
extern "C" __global__ __launch_bounds__(64) void images(cudaTextureObject_t f1, cudaTextureObject_t f2,
        cudaTextureObject_t f4, cudaTextureObject_t d1, cudaTextureObject_t d2, cudaTextureObject_t n1,
        cudaTextureObject_t n2, cudaTextureObject_t n4, cudaTextureObject_t l1, cudaTextureObject_t l2,
        cudaTextureObject_t c1, cudaTextureObject_t c2, cudaTextureObject_t c4, float *__restrict__ f_out,
        double *__restrict__ d_out, int32_t *__restrict__ n_out, int64_t *__restrict__ l_out,
        uint8_t *__restrict__ c_out)
{
    const int64_t b = blockIdx.x;
    const int64_t t = threadIdx.x;
    const int64_t i = b * 64 + t;
    f_out[i] = tex1Dfetch<float>(f1, (int32_t)i);
    const float2 f2_pair = tex1Dfetch<float2>(f2, (int32_t)(i / 2 * 2 / 2));
    const float f2_0 = f2_pair.x, f2_1 = f2_pair.y;
    f_out[i + 256] = i % 2 == 0 ? f2_0 : f2_1;
    const float4 f4_quad = tex1Dfetch<float4>(f4, (int32_t)(i / 4 * 4 / 4));
    const float f4_0 = f4_quad.x, f4_1 = f4_quad.y, f4_2 = f4_quad.z, f4_3 = f4_quad.w;
    f_out[i + 512] = i % 2 == 0 ? f4_0 : f4_3;
    d_out[i] = gl_image_double(d1, (int32_t)i);
    const double2 d2_pair = gl_image_double2(d2, (int32_t)(i / 2 * 2 / 2));
    const double d2_0 = d2_pair.x, d2_1 = d2_pair.y;
    d_out[i + 256] = i % 2 == 0 ? d2_0 : d2_1;
    n_out[i] = tex1Dfetch<int>(n1, (int32_t)i);
    const int2 n2_pair = tex1Dfetch<int2>(n2, (int32_t)(i / 2 * 2 / 2));
    const int32_t n2_0 = n2_pair.x, n2_1 = n2_pair.y;
    n_out[i + 256] = i % 2 == 0 ? n2_0 : n2_1;
    const int4 n4_quad = tex1Dfetch<int4>(n4, (int32_t)(i / 4 * 4 / 4));
    const int32_t n4_0 = n4_quad.x, n4_1 = n4_quad.y, n4_2 = n4_quad.z, n4_3 = n4_quad.w;
    n_out[i + 512] = i % 2 == 0 ? n4_0 : n4_3;
    l_out[i] = gl_image_long(l1, (int32_t)i);
    const longlong2 l2_pair = gl_image_long2(l2, (int32_t)(i / 2 * 2 / 2));
    const int64_t l2_0 = l2_pair.x, l2_1 = l2_pair.y;
    l_out[i + 256] = i % 2 == 0 ? l2_0 : l2_1;
    c_out[i] = tex1Dfetch<unsigned char>(c1, (int32_t)i);
    const uchar2 c2_pair = tex1Dfetch<uchar2>(c2, (int32_t)(i / 2 * 2 / 2));
    const uint8_t c2_0 = c2_pair.x, c2_1 = c2_pair.y;
    c_out[i + 256] = i % 2 == 0 ? c2_0 : c2_1;
    const uchar4 c4_quad = tex1Dfetch<uchar4>(c4, (int32_t)(i / 4 * 4 / 4));
    const uint8_t c4_0 = c4_quad.x, c4_1 = c4_quad.y, c4_2 = c4_quad.z, c4_3 = c4_quad.w;
    c_out[i + 512] = i % 2 == 0 ? c4_0 : c4_3;
}

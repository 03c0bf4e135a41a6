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

static __device__ inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static __device__ inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static __device__ inline float gl_fma_rn_f32(float a, float b, float c)
{
    float sum;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(sum) : "f"(a), "f"(b), "f"(c));
    return sum;
}
static __device__ inline uint32_t gl_shared_at(const void *p) // its address in shared memory
{
    return (uint32_t)__cvta_generic_to_shared(p);
}
static __device__ inline void gl_fence_async() // bulk copies come after what the thread has loaded and stored
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
static __device__ inline void gl_copy_bulk(void *to, const void *from, uint32_t bytes, int64_t *mbarrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
            :: "r"(gl_shared_at(to)), "l"(from), "r"(bytes), "r"(gl_shared_at(mbarrier)) : "memory");
}
static __device__ inline void gl_mbarrier_init(int64_t *mbarrier, int32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;"
            :: "r"(gl_shared_at(mbarrier)), "r"(count) : "memory");
}
static __device__ inline void gl_mbarrier_arrive(int64_t *mbarrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(gl_shared_at(mbarrier)) : "memory");
}
static __device__ inline void gl_mbarrier_expect(int64_t *mbarrier, int32_t bytes) // arrives, and says what else is to come
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(gl_shared_at(mbarrier)), "r"(bytes) : "memory");
}
static __device__ inline void gl_mbarrier_wait(int64_t *mbarrier, int32_t parity)
{
    int32_t done;
    do
        asm volatile("{\n\t.reg .pred done;\n\tmbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                "selp.s32 %0, 1, 0, done;\n\t}"
                : "=r"(done) : "r"(gl_shared_at(mbarrier)), "r"(parity) : "memory");
    while (!done);
}

// out[k][j][i] = 0.4 * in[k][j][i] + 0.1 * (in[k][j][i-2] + in[k][j][i+2] + in[k][j-2][i] + in[k][j+2][i] +
//     in[k-1][j][i] + in[k+1][j][i])
// Launch: ceil((N - 2) / 128) x ceil((M - 4) / 4) x ceil((L - 2) / 16) blocks (i_block, j_block, k_block) of
//     32 x 5 threads (i_thread, j_thread).
extern "C" __global__ __launch_bounds__(160) void star(float *__restrict__ out, const float *__restrict__ in,
        int64_t L, int64_t M, int64_t N)
{
    const int64_t i_hi = N - 2;
    const int64_t j_hi = M - 2;
    const int64_t k_hi = L - 1;
    const int64_t k_block = blockIdx.z;
    const int64_t j_block = blockIdx.y;
    const int64_t i_block = blockIdx.x;
    __shared__ __align__(16) float in_shared[4352];
    __shared__ __align__(16) int64_t arrived[4];
    __shared__ __align__(16) int64_t v_free[4];
    const int32_t j_thread = threadIdx.y;
    const int32_t i_thread = threadIdx.x;
    const int64_t k_first = k_block * 16 + 1;
    const int64_t base = -k_first;
    const int64_t j_ = j_block * 4 + 2 + (int64_t)j_thread;
    const int64_t i_ = i_block * 128 + (int64_t)(i_thread * 4);
    const int64_t k_end = gl_min_i64(k_first + 16, k_hi);
    const int32_t lane = j_thread * 32 + i_thread;
    const int32_t issuer = lane - 128;
    const int64_t bulk0_j = gl_max_i64(gl_min_i64(j_block * 4 + 2 + (int64_t)issuer - 2, M - 1), 0);
    const int64_t in_shared_start = i_block * 128 - 4;
    const int64_t in_shared_begin = gl_max_i64(in_shared_start, 0);
    const int64_t in_shared_end = gl_min_i64(in_shared_start + 136, N + 3 - ((N + 3) % 4 + 4) % 4);
    const int64_t in_shared_brought = gl_max_i64(in_shared_end - in_shared_begin, 0);
    if (lane < 4) {
        gl_mbarrier_init(&arrived[(int64_t)lane], 8);
        gl_mbarrier_init(&v_free[(int64_t)lane], 4);
    }
    if (in_shared_start < in_shared_begin || in_shared_end < in_shared_start + 136) {
        for (int32_t cell = lane; cell < 4352; cell += 160) {
            const int64_t i_cell = in_shared_start + (int64_t)(cell % 136);
            if (i_cell < in_shared_begin || i_cell >= in_shared_end) {
                in_shared[cell] = 0.0f;
            }
        }
    }
    __syncthreads();
    const int64_t base_2 = (N + 3) / 4 * 4;
    if (j_thread < 4) {
        const int64_t v_j0 = gl_min_i64(j_, M - 1);
        const int64_t i_vector = gl_min_i64(i_, N - 1 - ((N - 1) % 4 + 4) % 4);
        const int64_t in_stride = M * base_2;
        const int64_t row_j0 = v_j0 * base_2;
        const int64_t plane_km1_first = (k_first - 1) * in_stride;
        const float4 in_quad =
                __ldg(reinterpret_cast<const float4 *>(&in[plane_km1_first + row_j0 + i_vector]));
        const float in_km1_first = in_quad.x, in_km1_ip1_first = in_quad.y, in_km1_ip2_first = in_quad.z,
                in_km1_ip3_first = in_quad.w;
        float in_km1 = in_km1_first;
        float in_km1_ip1 = in_km1_ip1_first;
        float in_km1_ip2 = in_km1_ip2_first;
        float in_km1_ip3 = in_km1_ip3_first;
        const int64_t plane_first = k_first * in_stride;
        const float4 in_quad_2 =
                __ldg(reinterpret_cast<const float4 *>(&in[plane_first + row_j0 + i_vector]));
        const float in_first = in_quad_2.x, in_ip1_first = in_quad_2.y, in_ip2_first = in_quad_2.z,
                in_ip3_first = in_quad_2.w;
        float in_2 = in_first;
        float in_ip1 = in_ip1_first;
        float in_ip2 = in_ip2_first;
        float in_ip3 = in_ip3_first;
        const int32_t base_4 = j_thread * 136 + i_thread * 4;
        const int32_t in_shared_row = base_4 + 276;
        const int32_t in_shared_row_2 = base_4 + 4;
        const int32_t in_shared_row_3 = base_4 + 548;
        const int64_t row = j_ * base_2;
        const bool inside = j_ <= M - 3 && i_ >= 2 && i_ <= N - 3;
        const bool inside_2 = j_ <= M - 3 && i_ + 1 >= 2 && i_ + 1 <= N - 3;
        const bool inside_3 = j_ <= M - 3 && i_ + 2 <= N - 3;
        const bool inside_4 = j_ <= M - 3 && i_ + 3 <= N - 3;
        const bool all_inside = j_ <= M - 3 && i_ >= 2 && i_ + 3 <= N - 3;
        const int32_t row_3 = i_thread % 32;
        int64_t at_2 = k_first * in_stride + row + i_;
        for (int64_t k_ = k_first; k_ < k_end; ++k_) {
            const int64_t step = base + k_;
            const int32_t base_step = (int32_t)(step % 4);
            gl_mbarrier_wait(&arrived[(int64_t)base_step], (int32_t)(step / 4 % 2));
            const int32_t in_shared_plane1 = (int32_t)((step + 1) % 4) * 1088;
            const float4 in_shared_quad =
                    *reinterpret_cast<float4 *>(&in_shared[in_shared_plane1 + in_shared_row]);
            const float in_kp1 = in_shared_quad.x, in_kp1_ip1 = in_shared_quad.y,
                    in_kp1_ip2 = in_shared_quad.z, in_kp1_ip3 = in_shared_quad.w;
            const int32_t in_shared_plane0 = base_step * 1088;
            const int32_t at = in_shared_plane0 + in_shared_row;
            const float4 in_shared_quad_2 = *reinterpret_cast<float4 *>(&in_shared[at - 4]);
            const float in_im4 = in_shared_quad_2.x, in_im3 = in_shared_quad_2.y, in_im2 = in_shared_quad_2.z,
                    in_im1 = in_shared_quad_2.w;
            const float4 in_shared_quad_3 = *reinterpret_cast<float4 *>(&in_shared[at + 4]);
            const float in_ip4 = in_shared_quad_3.x, in_ip5 = in_shared_quad_3.y, in_ip6 = in_shared_quad_3.z,
                    in_ip7 = in_shared_quad_3.w;
            const float4 in_shared_quad_4 =
                    *reinterpret_cast<float4 *>(&in_shared[in_shared_plane0 + in_shared_row_2]);
            const float in_jm2 = in_shared_quad_4.x, in_jm2_ip1 = in_shared_quad_4.y,
                    in_jm2_ip2 = in_shared_quad_4.z, in_jm2_ip3 = in_shared_quad_4.w;
            const float4 in_shared_quad_5 =
                    *reinterpret_cast<float4 *>(&in_shared[in_shared_plane0 + in_shared_row_3]);
            const float in_jp2 = in_shared_quad_5.x, in_jp2_ip1 = in_shared_quad_5.y,
                    in_jp2_ip2 = in_shared_quad_5.z, in_jp2_ip3 = in_shared_quad_5.w;
            const float new_out = gl_fma_rn_f32(0.1f, in_im2 + in_ip2 + in_jm2 + in_jp2 + in_km1 + in_kp1,
                    0.4f * in_2);
            const float new_out_2 = gl_fma_rn_f32(0.1f, in_im1 + in_ip3 + in_jm2_ip1 + in_jp2_ip1 + in_km1_ip1
                    + in_kp1_ip1, 0.4f * in_ip1);
            const float new_out_3 = gl_fma_rn_f32(0.1f, in_2 + in_ip4 + in_jm2_ip2 + in_jp2_ip2 + in_km1_ip2
                    + in_kp1_ip2, 0.4f * in_ip2);
            const float new_out_4 = gl_fma_rn_f32(0.1f, in_ip1 + in_ip5 + in_jm2_ip3 + in_jp2_ip3 + in_km1_ip3
                    + in_kp1_ip3, 0.4f * in_ip3);
            if (all_inside) {
                *reinterpret_cast<float4 *>(&out[at_2]) = make_float4(new_out, new_out_2, new_out_3,
                        new_out_4);
            } else {
                if (inside) {
                    out[at_2] = new_out;
                }
                if (inside_2) {
                    out[at_2 + 1] = new_out_2;
                }
                if (inside_3) {
                    out[at_2 + 2] = new_out_3;
                }
                if (inside_4) {
                    out[at_2 + 3] = new_out_4;
                }
            }
            gl_fence_async();
            __syncwarp();
            if (row_3 == 0) {
                gl_mbarrier_arrive(&v_free[(int64_t)base_step]);
            }
            in_km1 = in_2;
            in_km1_ip1 = in_ip1;
            in_km1_ip2 = in_ip2;
            in_km1_ip3 = in_ip3;
            in_2 = in_kp1;
            in_ip1 = in_kp1_ip1;
            in_ip2 = in_kp1_ip2;
            in_ip3 = in_kp1_ip3;
            at_2 = at_2 + in_stride;
        }
    } else {
        if (issuer < 8) {
            const int64_t in_stride_3 = M * base_2;
            const int64_t row_j0_2 = bulk0_j * base_2;
            gl_mbarrier_expect(&arrived[0], (int32_t)(in_shared_brought * 4 + in_shared_brought * 4));
            const int64_t at = (int64_t)(issuer * 136) + (in_shared_begin - in_shared_start);
            if (0 < in_shared_brought) {
                const int64_t plane_first_2 = k_first * in_stride_3;
                gl_copy_bulk(&in_shared[at], &in[plane_first_2 + row_j0_2 + in_shared_begin],
                        in_shared_brought * 4, &arrived[0]);
            }
            if (0 < in_shared_brought) {
                const int64_t plane_kp1_first = (k_first + 1) * in_stride_3;
                gl_copy_bulk(&in_shared[at + 1088], &in[plane_kp1_first + row_j0_2 + in_shared_begin],
                        in_shared_brought * 4, &arrived[0]);
            }
            const int32_t row_2 = (int32_t)(in_shared_brought * 4);
            int64_t plane_kp1 = (k_first + 2) * in_stride_3;
            for (int64_t k__2 = k_first + 1; k__2 < k_end; ++k__2) {
                const int64_t step_2 = base + k__2;
                if (step_2 - 3 >= 0) {
                    gl_mbarrier_wait(&v_free[(step_2 - 3) % 4], (int32_t)((step_2 - 3) / 4 % 2));
                }
                const int32_t arrived_slot = (int32_t)(step_2 % 4);
                gl_mbarrier_expect(&arrived[(int64_t)arrived_slot], row_2);
                if (0 < in_shared_brought) {
                    const int32_t in_shared_plane1_2 = (int32_t)((step_2 + 1) % 4) * 1088;
                    gl_copy_bulk(&in_shared[at + (int64_t)in_shared_plane1_2],
                            &in[plane_kp1 + row_j0_2 + in_shared_begin], in_shared_brought * 4,
                            &arrived[(int64_t)arrived_slot]);
                }
                plane_kp1 = plane_kp1 + in_stride_3;
            }
        }
    }
}

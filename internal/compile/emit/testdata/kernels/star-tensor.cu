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
static __device__ inline float gl_fma_rn_f32(float a, float b, float c)
{
    float sum;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(sum) : "f"(a), "f"(b), "f"(c));
    return sum;
}
static __device__ inline void gl_barrier_cluster()
{
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
static __device__ inline uint32_t gl_shared_at(const void *p) // its address in shared memory
{
    return (uint32_t)__cvta_generic_to_shared(p);
}
static __device__ inline void gl_fence_async() // bulk copies come after what the thread has loaded and stored
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
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
static __device__ inline void gl_mbarrier_signal_remote(int64_t *mbarrier, int32_t rank) // likewise, but stores may be seen there later
{
    asm volatile("{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
            "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}"
            :: "r"(gl_shared_at(mbarrier)), "r"(rank) : "memory");
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
struct __align__(64) gl_tensor_map { uint64_t words[16]; }; // as the driver encodes it
static __device__ inline void gl_copy_tensor3(void *to, const gl_tensor_map *from, int32_t x0, int32_t x1, int32_t x2, int64_t *mbarrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%0], [%1, {%3, %4, %5}], [%2];"
            :: "r"(gl_shared_at(to)), "l"(from), "r"(gl_shared_at(mbarrier)), "r"(x0), "r"(x1), "r"(x2) : "memory");
}
static __device__ inline void gl_copy_tensor3_multicast(void *to, const gl_tensor_map *from, int32_t x0, int32_t x1, int32_t x2, int64_t *mbarrier, int32_t blocks)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
            " [%0], [%1, {%3, %4, %5}], [%2], %6;"
            :: "r"(gl_shared_at(to)), "l"(from), "r"(gl_shared_at(mbarrier)), "r"(x0), "r"(x1), "r"(x2), "h"((unsigned short)blocks) : "memory");
}

// out[k][j][i] = 0.4 * in[k][j][i] + 0.1 * (in[k][j][i-2] + in[k][j][i+2] + in[k][j-2][i] + in[k][j+2][i] +
//     in[k-1][j][i] + in[k+1][j][i])
// Launch: ceil((N - 2) / 128) x ceil((max(M - 4, 0) + 3) / 4 / 2) x ceil((L - 2) / 16) clusters (i_block,
//     j_block, k_block) of 1 x 2 x 1 blocks of 32 x 4 threads (i_thread, j_thread).
extern "C" __global__ __launch_bounds__(128) __cluster_dims__(1, 2, 1) void star(float *__restrict__ out,
        const float *__restrict__ in, const __grid_constant__ gl_tensor_map in_box1x4x136, int64_t L,
        int64_t M, int64_t N)
{
    const int64_t i_hi = N - 2;
    const int64_t j_hi = M - 2;
    const int64_t k_hi = L - 1;
    const int64_t k_block = blockIdx.z;
    const int64_t j_block = blockIdx.y / 2;
    const int64_t i_block = blockIdx.x;
    const int32_t j_rank = blockIdx.y % 2;
    __shared__ __align__(128) float in_shared[4352];
    __shared__ __align__(128) int64_t arrived[4];
    __shared__ __align__(128) int64_t v_free[4];
    const int32_t j_thread = threadIdx.y;
    const int32_t i_thread = threadIdx.x;
    const int64_t k_first = k_block * 16 + 1;
    const int64_t j_ = (j_block * 2 + (int64_t)j_rank) * 4 + 2 + (int64_t)j_thread;
    const int64_t i_ = i_block * 128 + (int64_t)(i_thread * 4);
    const int64_t k_end = gl_min_i64(k_first + 16, k_hi);
    const bool j_odd = j_rank % 2 == 1;
    const int32_t at = j_odd ? 0 : 544;
    const int32_t base = j_odd ? 544 : 0;
    const int32_t base_2 = j_odd ? -544 : 0;
    const int32_t receivers = j_rank < 1 ? 3 : 2;
    const int32_t lane = j_thread * 32 + i_thread;
    if (lane < 4) {
        gl_mbarrier_init(&arrived[(int64_t)lane], 1);
        gl_mbarrier_init(&v_free[(int64_t)lane], j_rank < 1 ? 8 : 4);
    }
    gl_barrier_cluster();
    const int64_t base_3 = (j_block * 2 + (int64_t)j_rank) * 4;
    const int32_t base_4 = (int32_t)(i_block * 128 - 4);
    if (lane < 1) {
        gl_mbarrier_expect(&arrived[0], 8704);
        const int32_t base_5 = (int32_t)k_first;
        const int32_t base_8 = (int32_t)base_3;
        if (j_rank == 0) {
            gl_copy_tensor3(&in_shared[0], &in_box1x4x136, base_4, base_8, base_5, &arrived[0]);
        }
        const int32_t base_9 = (int32_t)(base_3 + 4);
        gl_copy_tensor3_multicast(&in_shared[at], &in_box1x4x136, base_4, base_9, base_5, &arrived[0],
                receivers);
        const int32_t base_10 = (int32_t)(k_first + 1);
        if (j_rank == 0) {
            gl_copy_tensor3(&in_shared[1088], &in_box1x4x136, base_4, base_8, base_10, &arrived[0]);
        }
        gl_copy_tensor3_multicast(&in_shared[at + 1088], &in_box1x4x136, base_4, base_9, base_10, &arrived[0],
                receivers);
    }
    if (k_first + 1 < k_end) {
        if (lane < 1) {
            gl_mbarrier_expect(&arrived[1], 4352);
            const int64_t kp2_first = gl_min_i64(k_first + 2, L - 1);
            const int32_t base_5 = (int32_t)kp2_first;
            if (j_rank == 0) {
                gl_copy_tensor3(&in_shared[2176], &in_box1x4x136, base_4, (int32_t)base_3, base_5,
                        &arrived[1]);
            }
            gl_copy_tensor3_multicast(&in_shared[at + 2176], &in_box1x4x136, base_4, (int32_t)(base_3 + 4),
                    base_5, &arrived[1], receivers);
        }
    }
    const int64_t v_j0 = gl_min_i64(j_, M - 1);
    const int64_t i_vector = gl_min_i64(i_, N - 1 - ((N - 1) % 4 + 4) % 4);
    const int64_t base_5 = (N + 3) / 4 * 4;
    const int64_t in_stride = M * base_5;
    const int64_t row_j0 = v_j0 * base_5;
    const int64_t plane_km1_first = (k_first - 1) * in_stride;
    const float4 in_quad = __ldg(reinterpret_cast<const float4 *>(&in[plane_km1_first + row_j0 + i_vector]));
    const float in_km1_first = in_quad.x, in_km1_ip1_first = in_quad.y, in_km1_ip2_first = in_quad.z,
            in_km1_ip3_first = in_quad.w;
    float in_km1 = in_km1_first;
    float in_km1_ip1 = in_km1_ip1_first;
    float in_km1_ip2 = in_km1_ip2_first;
    float in_km1_ip3 = in_km1_ip3_first;
    const int64_t plane_first = k_first * in_stride;
    const float4 in_quad_2 = __ldg(reinterpret_cast<const float4 *>(&in[plane_first + row_j0 + i_vector]));
    const float in_first = in_quad_2.x, in_ip1_first = in_quad_2.y, in_ip2_first = in_quad_2.z,
            in_ip3_first = in_quad_2.w;
    float in_2 = in_first;
    float in_ip1 = in_ip1_first;
    float in_ip2 = in_ip2_first;
    float in_ip3 = in_ip3_first;
    const int32_t in_shared_section = j_thread * 136 + (j_thread + 2 < 4 ? base : base_2);
    const int32_t in_shared_row = in_shared_section + 272 + (i_thread * 4 + 4);
    const int32_t in_shared_row_2 = j_thread * 136 + base + (i_thread * 4 + 4);
    const int32_t in_shared_row_3 = j_thread * 136 + base_2 + 544 + (i_thread * 4 + 4);
    const int64_t row = j_ * base_5;
    const bool inside = j_ <= M - 3 && i_ >= 2 && i_ <= N - 3;
    const bool inside_2 = j_ <= M - 3 && i_ + 1 >= 2 && i_ + 1 <= N - 3;
    const bool inside_3 = j_ <= M - 3 && i_ + 2 <= N - 3;
    const bool inside_4 = j_ <= M - 3 && i_ + 3 <= N - 3;
    const bool all_inside = j_ <= M - 3 && i_ >= 2 && i_ + 3 <= N - 3;
    const int64_t row_2 = -k_first;
    const int32_t row_3 = (int32_t)base_3;
    const int32_t row_6 = (int32_t)(base_3 + 4);
    const int32_t row_7 = i_thread % 32;
    const int32_t row_8 = j_rank - 1;
    int64_t at_3 = k_first * in_stride + row + i_;
    for (int64_t k_ = k_first; k_ < k_end; ++k_) {
        const int64_t step = row_2 + k_;
        const int32_t base_step = (int32_t)(step % 4);
        if (k_ + 2 < k_end) {
            if (lane < 1) {
                if (step - 1 >= 0) {
                    gl_mbarrier_wait(&v_free[(step - 1) % 4], (int32_t)((step - 1) / 4 % 2));
                }
                const int32_t arrived_slot = (int32_t)((step + 2) % 4);
                gl_mbarrier_expect(&arrived[(int64_t)arrived_slot], 4352);
                const int32_t in_shared_plane3 = (int32_t)((step + 3) % 4) * 1088;
                const int64_t kp3 = gl_min_i64(k_ + 3, L - 1);
                const int32_t base_kp3 = (int32_t)kp3;
                if (j_rank == 0) {
                    gl_copy_tensor3(&in_shared[in_shared_plane3], &in_box1x4x136, base_4, row_3, base_kp3,
                            &arrived[(int64_t)arrived_slot]);
                }
                gl_copy_tensor3_multicast(&in_shared[at + in_shared_plane3], &in_box1x4x136, base_4, row_6,
                        base_kp3, &arrived[(int64_t)arrived_slot], receivers);
            }
        }
        gl_mbarrier_wait(&arrived[(int64_t)base_step], (int32_t)(step / 4 % 2));
        const int32_t in_shared_plane1 = (int32_t)((step + 1) % 4) * 1088;
        const float4 in_shared_quad =
                *reinterpret_cast<float4 *>(&in_shared[in_shared_plane1 + in_shared_row]);
        const float in_kp1 = in_shared_quad.x, in_kp1_ip1 = in_shared_quad.y, in_kp1_ip2 = in_shared_quad.z,
                in_kp1_ip3 = in_shared_quad.w;
        const int32_t in_shared_plane0 = base_step * 1088;
        const int32_t at_2 = in_shared_plane0 + in_shared_row;
        const float4 in_shared_quad_2 = *reinterpret_cast<float4 *>(&in_shared[at_2 - 4]);
        const float in_im4 = in_shared_quad_2.x, in_im3 = in_shared_quad_2.y, in_im2 = in_shared_quad_2.z,
                in_im1 = in_shared_quad_2.w;
        const float4 in_shared_quad_3 = *reinterpret_cast<float4 *>(&in_shared[at_2 + 4]);
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
            *reinterpret_cast<float4 *>(&out[at_3]) = make_float4(new_out, new_out_2, new_out_3, new_out_4);
        } else {
            if (inside) {
                out[at_3] = new_out;
            }
            if (inside_2) {
                out[at_3 + 1] = new_out_2;
            }
            if (inside_3) {
                out[at_3 + 2] = new_out_3;
            }
            if (inside_4) {
                out[at_3 + 3] = new_out_4;
            }
        }
        gl_fence_async();
        __syncwarp();
        if (row_7 == 0) {
            gl_mbarrier_arrive(&v_free[(int64_t)base_step]);
            if (0 < j_rank) {
                gl_mbarrier_signal_remote(&v_free[(int64_t)base_step], row_8);
            }
        }
        in_km1 = in_2;
        in_km1_ip1 = in_ip1;
        in_km1_ip2 = in_ip2;
        in_km1_ip3 = in_ip3;
        in_2 = in_kp1;
        in_ip1 = in_kp1_ip1;
        in_ip2 = in_kp1_ip2;
        in_ip3 = in_kp1_ip3;
        at_3 = at_3 + in_stride;
    }
    gl_barrier_cluster();
}

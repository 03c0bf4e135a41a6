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
static __device__ inline void gl_mbarrier_init(int64_t *mbarrier, int32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n\tfence.mbarrier_init.release.cluster;"
            :: "r"(gl_shared_at(mbarrier)), "r"(count) : "memory");
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
struct __align__(64) gl_tensor_map { uint64_t words[16]; }; // as the driver encodes it
static __device__ inline void gl_copy_tensor3(void *to, const gl_tensor_map *from, int32_t x0, int32_t x1, int32_t x2, int64_t *mbarrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%0], [%1, {%3, %4, %5}], [%2];"
            :: "r"(gl_shared_at(to)), "l"(from), "r"(gl_shared_at(mbarrier)), "r"(x0), "r"(x1), "r"(x2) : "memory");
}

// out[k][j][i] = 0.4 * in[k][j][i] + 0.1 * (in[k][j][i-2] + in[k][j][i+2] + in[k][j-2][i] + in[k][j+2][i] +
//     in[k-1][j][i] + in[k+1][j][i])
// Launch: ceil((N - 2) / 128) x ceil((M - 4) / 4) x ceil((L - 2) / 16) blocks (i_block, j_block, k_block) of
//     128 threads (thread).
extern "C" __global__ __launch_bounds__(128) void star(const __grid_constant__ gl_tensor_map u_box1x8x136,
        const __grid_constant__ gl_tensor_map u_box1x4x128, const float *__restrict__ u,
        float *__restrict__ v, int64_t L, int64_t M, int64_t N)
{
    const int64_t k_block = blockIdx.z;
    const int64_t j_block = blockIdx.y;
    const int64_t i_block = blockIdx.x;
    __shared__ __align__(128) float u_tile[4352];
    __shared__ __align__(128) float u_tile_2[2048];
    __shared__ __align__(128) int64_t arrived[4];
    const int32_t thread = threadIdx.x;
    const int64_t j_tile = j_block * 4 + 2;
    const int32_t base = (int32_t)(j_tile - 2);
    const int32_t base_2 = (int32_t)j_tile;
    const int64_t i_tile = i_block * 128;
    const int32_t base_3 = (int32_t)(i_tile - 4);
    const int32_t base_4 = (int32_t)i_tile;
    const int64_t first = k_block * 16 + 1;
    const int32_t base_first = (int32_t)(first + 1);
    const int64_t to = gl_min_i64(first + 16, L - 1);
    const int32_t x = thread % 32 * 4;
    const int64_t base_x = i_tile + (int64_t)x;
    const int32_t y = thread / 32;
    const int64_t base_y = j_tile + (int64_t)y;
    if (thread < 4) {
        gl_mbarrier_init(&arrived[(int64_t)thread], 1);
    }
    __syncthreads();
    float u_held = 0.0f;
    float u_held_2 = 0.0f;
    float u_held_3 = 0.0f;
    float u_held_4 = 0.0f;
    float u_held_5 = 0.0f;
    float u_held_6 = 0.0f;
    float u_held_7 = 0.0f;
    float u_held_8 = 0.0f;
    float u_held_9 = 0.0f;
    float u_held_10 = 0.0f;
    float u_held_11 = 0.0f;
    float u_held_12 = 0.0f;
    if (thread < 1 && first < to) {
        gl_mbarrier_expect(&arrived[0], 6400);
        gl_copy_tensor3(&u_tile[0], &u_box1x8x136, base_3, base, (int32_t)first, &arrived[0]);
        gl_copy_tensor3(&u_tile_2[512], &u_box1x4x128, base_4, base_2, base_first, &arrived[0]);
    }
    if (thread < 1 && first + 1 < to) {
        gl_mbarrier_expect(&arrived[1], 6400);
        gl_copy_tensor3(&u_tile[1088], &u_box1x8x136, base_3, base, base_first, &arrived[1]);
        gl_copy_tensor3(&u_tile_2[1024], &u_box1x4x128, base_4, base_2, (int32_t)(first + 2), &arrived[1]);
    }
    const int64_t base_5 = (N + 3) / 4 * 4;
    if (first < to) {
        const int64_t base_y_2 = gl_max_i64(gl_min_i64(base_y, M - 1), 0);
        const int64_t base_x_2 = gl_max_i64(gl_min_i64(base_x, N - 1 - ((N - 1) % 4 + 4) % 4), 0);
        const float4 u_quad =
                *reinterpret_cast<const float4 *>(&u[(gl_max_i64(gl_min_i64(first, L - 1), 0) * M + base_y_2) * base_5 + base_x_2]);
        const float u_near = u_quad.x, u_near_2 = u_quad.y, u_near_3 = u_quad.z, u_near_4 = u_quad.w;
        u_held_2 = u_near;
        u_held_5 = u_near_2;
        u_held_8 = u_near_3;
        u_held_11 = u_near_4;
        const float4 u_quad_2 =
                *reinterpret_cast<const float4 *>(&u[(gl_max_i64(gl_min_i64(first - 1, L - 1), 0) * M + base_y_2) * base_5 + base_x_2]);
        const float u_near_5 = u_quad_2.x, u_near_6 = u_quad_2.y, u_near_7 = u_quad_2.z,
                u_near_8 = u_quad_2.w;
        u_held_3 = u_near_5;
        u_held_6 = u_near_6;
        u_held_9 = u_near_7;
        u_held_12 = u_near_8;
    }
    const bool inside = base_y <= M - 3 && (base_x >= 2 && base_x <= N - 3);
    const bool inside_2 = base_y <= M - 3 && (base_x + 1 >= 2 && base_x + 1 <= N - 3);
    const bool inside_3 = base_y <= M - 3 && base_x + 2 <= N - 3;
    const bool inside_4 = base_y <= M - 3 && base_x + 3 <= N - 3;
    const bool all_inside = inside && inside_4;
    const int64_t row = -first;
    const int32_t row_6 = y * 128 + x;
    const int32_t row_7 = y * 136 + x;
    const int64_t at_2_step = M * base_5;
    int64_t at_2 = (first * M + (j_tile + (int64_t)y)) * base_5 + (i_tile + (int64_t)x);
    for (int64_t step = first; step < to; ++step) {
        const int64_t number = row + step;
        if (thread < 1 && step + 2 < to) {
            const int32_t slot = (int32_t)((number + 2) & 3);
            const int32_t u_to = slot * 1088;
            const int32_t u_to_2 = (int32_t)((number + 3) & 3) * 512;
            gl_mbarrier_expect(&arrived[(int64_t)slot], 6400);
            gl_copy_tensor3(&u_tile[u_to], &u_box1x8x136, base_3, base, (int32_t)(step + 2),
                    &arrived[(int64_t)slot]);
            gl_copy_tensor3(&u_tile_2[u_to_2], &u_box1x4x128, base_4, base_2, (int32_t)(step + 3),
                    &arrived[(int64_t)slot]);
        }
        const int32_t base_step = (int32_t)(number & 3);
        gl_mbarrier_wait(&arrived[(int64_t)base_step], (int32_t)((number & 4) != 0 ? 1 : 0));
        const int32_t u_from = (int32_t)((number + 1) & 3) * 512;
        const float4 u_tile_2_quad = *reinterpret_cast<float4 *>(&u_tile_2[row_6 + u_from]);
        const float u_near = u_tile_2_quad.x, u_near_2 = u_tile_2_quad.y, u_near_3 = u_tile_2_quad.z,
                u_near_4 = u_tile_2_quad.w;
        u_held = u_near;
        u_held_4 = u_near_2;
        u_held_7 = u_near_3;
        u_held_10 = u_near_4;
        const int32_t at = row_7 + base_step * 1088;
        const float4 u_tile_quad = *reinterpret_cast<float4 *>(&u_tile[at + 272]);
        const float u_near_5 = u_tile_quad.x, u_near_6 = u_tile_quad.y, u_near_7 = u_tile_quad.z,
                u_near_8 = u_tile_quad.w;
        const float4 u_tile_quad_2 = *reinterpret_cast<float4 *>(&u_tile[at + 4]);
        const float u_near_9 = u_tile_quad_2.x, u_near_10 = u_tile_quad_2.y, u_near_11 = u_tile_quad_2.z,
                u_near_12 = u_tile_quad_2.w;
        const float4 u_tile_quad_3 = *reinterpret_cast<float4 *>(&u_tile[at + 548]);
        const float u_near_13 = u_tile_quad_3.x, u_near_14 = u_tile_quad_3.y, u_near_15 = u_tile_quad_3.z,
                u_near_16 = u_tile_quad_3.w;
        const float out_new = gl_fma_rn_f32(0.1f, u_near_7 + u_held_8 + u_near_9 + u_near_13 + u_held_3
                + u_held, 0.4f * u_held_2);
        const float out_new_2 = gl_fma_rn_f32(0.1f, u_near_8 + u_held_11 + u_near_10 + u_near_14 + u_held_6
                + u_held_4, 0.4f * u_held_5);
        const float4 u_tile_quad_4 = *reinterpret_cast<float4 *>(&u_tile[at + 280]);
        const float u_near_17 = u_tile_quad_4.x, u_near_18 = u_tile_quad_4.y, u_near_19 = u_tile_quad_4.z,
                u_near_20 = u_tile_quad_4.w;
        const float out_new_3 = gl_fma_rn_f32(0.1f, u_held_2 + u_near_17 + u_near_11 + u_near_15 + u_held_9
                + u_held_7, 0.4f * u_held_8);
        const float out_new_4 = gl_fma_rn_f32(0.1f, u_held_5 + u_near_18 + u_near_12 + u_near_16 + u_held_12
                + u_held_10, 0.4f * u_held_11);
        if (all_inside) {
            *reinterpret_cast<float4 *>(&v[at_2]) = make_float4(out_new, out_new_2, out_new_3, out_new_4);
        } else {
            if (inside) {
                v[at_2] = out_new;
            }
            if (inside_2) {
                v[at_2 + 1] = out_new_2;
            }
            if (inside_3) {
                v[at_2 + 2] = out_new_3;
            }
            if (inside_4) {
                v[at_2 + 3] = out_new_4;
            }
        }
        u_held_3 = u_held_2;
        u_held_2 = u_held;
        u_held_6 = u_held_5;
        u_held_5 = u_held_4;
        u_held_9 = u_held_8;
        u_held_8 = u_held_7;
        u_held_12 = u_held_11;
        u_held_11 = u_held_10;
        gl_fence_async();
        __syncthreads();
        at_2 = at_2 + at_2_step;
    }
}

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
template <int bytes, int to_bytes = 0, int from_bytes = 0> static __device__ inline void gl_copy_async(void *to, const void *from) // both so many bytes further, where 16 are copied
{
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0+%2], [%1+%3], 16;"
            :: "r"(gl_shared_at(to)), "l"(from), "n"(to_bytes), "n"(from_bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(gl_shared_at(to)), "l"(from), "n"(bytes) : "memory");
}
static __device__ inline void gl_commit_async() // ends a group of copies
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int pending> static __device__ inline void gl_wait_async() // for all groups of the thread but the latest
{
    asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}

// out[k][j][i] = 0.4 * in[k][j][i] + 0.1 * (in[k][j][i-2] + in[k][j][i+2] + in[k][j-2][i] + in[k][j+2][i] +
//     in[k-1][j][i] + in[k+1][j][i])
// Launch: ceil((N - 2) / 128) x ceil((M - 4) / 4) x ceil((L - 2) / 16) blocks (i_block, j_block, k_block) of
//     128 threads (thread).
extern "C" __global__ __launch_bounds__(128) void star(const float *__restrict__ u, float *__restrict__ v,
        int64_t L, int64_t M, int64_t N)
{
    const int64_t k_block = blockIdx.z;
    const int64_t j_block = blockIdx.y;
    const int64_t i_block = blockIdx.x;
    __shared__ __align__(16) float u_tile[4352];
    const int32_t thread = threadIdx.x;
    const int64_t j_tile = j_block * 4 + 2;
    const int64_t base_thread = gl_max_i64(gl_min_i64(j_tile + (int64_t)(thread / 34 - 2), M - 1), 0);
    const int64_t base_thread_2 = gl_max_i64(gl_min_i64(j_tile + (int64_t)((thread + 128) / 34 - 2), M - 1),
            0);
    const int64_t base = gl_max_i64(gl_min_i64(j_tile + 5, M - 1), 0);
    const int64_t i_tile = i_block * 128;
    const int64_t base_thread_3 = i_tile + (int64_t)(thread % 34 * 4);
    const int64_t base_thread_4 = i_tile + (int64_t)((thread + 128) % 34 * 4);
    const int64_t base_thread_5 = i_tile + (int64_t)((thread + 256) % 34 * 4);
    const int64_t first = k_block * 16 + 1;
    const int64_t base_first = gl_max_i64(gl_min_i64(first, L - 1), 0) * M;
    const int64_t to = gl_min_i64(first + 16, L - 1);
    const int32_t x = thread % 32 * 4;
    const int64_t base_x = i_tile + (int64_t)x;
    const int64_t base_2 = N - ((N - 1) % 4 + 4) % 4;
    const int64_t base_x_2 = gl_max_i64(gl_min_i64(base_x, base_2 - 1), 0);
    const int32_t y = thread / 32;
    const int64_t base_y = j_tile + (int64_t)y;
    const int64_t base_y_2 = gl_max_i64(gl_min_i64(base_y, M - 1), 0);
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
    const int64_t base_3 = (N + 3) / 4 * 4;
    const int32_t base_thread_6 = thread * 4;
    if (first < to) {
        const int64_t base_thread_7 = gl_max_i64(gl_min_i64(base_thread_3 - 4, base_2 - 1), 0);
        gl_copy_async<16>(&u_tile[base_thread_6], &u[(base_first + base_thread) * base_3 + base_thread_7]);
        const int64_t base_thread_8 = gl_max_i64(gl_min_i64(base_thread_4 - 4, base_2 - 1), 0);
        gl_copy_async<16, 2048, 0>(&u_tile[base_thread_6],
                &u[(base_first + base_thread_2) * base_3 + base_thread_8]);
        const int64_t base_thread_9 = gl_max_i64(gl_min_i64(base_thread_5 - 4, base_2 - 1), 0);
        if (thread + 256 < 272) {
            gl_copy_async<16, 4096, 0>(&u_tile[base_thread_6],
                    &u[(base_first + base) * base_3 + base_thread_9]);
        }
        gl_commit_async();
        const int64_t base_first_3 = gl_max_i64(gl_min_i64(first + 1, L - 1), 0) * M;
        gl_copy_async<16, 4352, 0>(&u_tile[base_thread_6],
                &u[(base_first_3 + base_thread) * base_3 + base_thread_7]);
        gl_copy_async<16, 6400, 0>(&u_tile[base_thread_6],
                &u[(base_first_3 + base_thread_2) * base_3 + base_thread_8]);
        if (thread + 256 < 272) {
            gl_copy_async<16, 8448, 0>(&u_tile[base_thread_6],
                    &u[(base_first_3 + base) * base_3 + base_thread_9]);
        }
        gl_commit_async();
        gl_wait_async<1>();
        __syncthreads();
    }
    if (first < to) {
        const float4 u_quad =
                *reinterpret_cast<const float4 *>(&u[(base_first + base_y_2) * base_3 + base_x_2]);
        const float u_near = u_quad.x, u_near_2 = u_quad.y, u_near_3 = u_quad.z, u_near_4 = u_quad.w;
        u_held_2 = u_near;
        u_held_5 = u_near_2;
        u_held_8 = u_near_3;
        u_held_11 = u_near_4;
        const float4 u_quad_2 =
                *reinterpret_cast<const float4 *>(&u[(gl_max_i64(gl_min_i64(first - 1, L - 1), 0) * M + base_y_2) * base_3 + base_x_2]);
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
    const int64_t row_3 = gl_max_i64(gl_min_i64(base_thread_3 - 4, base_2 - 1), 0);
    const int64_t row_threadp128 = gl_max_i64(gl_min_i64(base_thread_4 - 4, base_2 - 1), 0);
    const int64_t row_threadp256 = gl_max_i64(gl_min_i64(base_thread_5 - 4, base_2 - 1), 0);
    const int32_t row_7 = y * 136 + x;
    const int64_t at_3_step = M * base_3;
    int64_t at_3 = (first * M + (j_tile + (int64_t)y)) * base_3 + (i_tile + (int64_t)x);
    for (int64_t step = first; step < to; ++step) {
        const int64_t number = row + step;
        const int32_t u_to = (int32_t)((number + 2) & 3) * 1088;
        const int32_t at = base_thread_6 + u_to;
        const int64_t base_step = gl_max_i64(gl_min_i64(step + 2, L - 1), 0) * M;
        gl_copy_async<16>(&u_tile[at], &u[row_3 + (base_step + base_thread) * base_3]);
        gl_copy_async<16, 2048, 0>(&u_tile[at], &u[row_threadp128 + (base_step + base_thread_2) * base_3]);
        if (thread + 256 < 272) {
            gl_copy_async<16, 4096, 0>(&u_tile[at], &u[row_threadp256 + (base_step + base) * base_3]);
        }
        gl_commit_async();
        const float4 u_quad =
                *reinterpret_cast<const float4 *>(&u[base_x_2 + (base_y_2 + gl_max_i64(gl_min_i64(step + 1, L - 1), 0) * M) * base_3]);
        const float u_near = u_quad.x, u_near_2 = u_quad.y, u_near_3 = u_quad.z, u_near_4 = u_quad.w;
        u_held = u_near;
        u_held_4 = u_near_2;
        u_held_7 = u_near_3;
        u_held_10 = u_near_4;
        const int32_t u_from = (int32_t)(number & 3) * 1088;
        const int32_t at_2 = row_7 + u_from;
        const float4 u_tile_quad = *reinterpret_cast<float4 *>(&u_tile[at_2 + 272]);
        const float u_near_5 = u_tile_quad.x, u_near_6 = u_tile_quad.y, u_near_7 = u_tile_quad.z,
                u_near_8 = u_tile_quad.w;
        const float4 u_tile_quad_2 = *reinterpret_cast<float4 *>(&u_tile[at_2 + 4]);
        const float u_near_9 = u_tile_quad_2.x, u_near_10 = u_tile_quad_2.y, u_near_11 = u_tile_quad_2.z,
                u_near_12 = u_tile_quad_2.w;
        const float4 u_tile_quad_3 = *reinterpret_cast<float4 *>(&u_tile[at_2 + 548]);
        const float u_near_13 = u_tile_quad_3.x, u_near_14 = u_tile_quad_3.y, u_near_15 = u_tile_quad_3.z,
                u_near_16 = u_tile_quad_3.w;
        const float out_new = gl_fma_rn_f32(0.1f, u_near_7 + u_held_8 + u_near_9 + u_near_13 + u_held_3
                + u_held, 0.4f * u_held_2);
        const float out_new_2 = gl_fma_rn_f32(0.1f, u_near_8 + u_held_11 + u_near_10 + u_near_14 + u_held_6
                + u_held_4, 0.4f * u_held_5);
        const float4 u_tile_quad_4 = *reinterpret_cast<float4 *>(&u_tile[at_2 + 280]);
        const float u_near_17 = u_tile_quad_4.x, u_near_18 = u_tile_quad_4.y, u_near_19 = u_tile_quad_4.z,
                u_near_20 = u_tile_quad_4.w;
        const float out_new_3 = gl_fma_rn_f32(0.1f, u_held_2 + u_near_17 + u_near_11 + u_near_15 + u_held_9
                + u_held_7, 0.4f * u_held_8);
        const float out_new_4 = gl_fma_rn_f32(0.1f, u_held_5 + u_near_18 + u_near_12 + u_near_16 + u_held_12
                + u_held_10, 0.4f * u_held_11);
        if (all_inside) {
            *reinterpret_cast<float4 *>(&v[at_3]) = make_float4(out_new, out_new_2, out_new_3, out_new_4);
        } else {
            if (inside) {
                v[at_3] = out_new;
            }
            if (inside_2) {
                v[at_3 + 1] = out_new_2;
            }
            if (inside_3) {
                v[at_3 + 2] = out_new_3;
            }
            if (inside_4) {
                v[at_3 + 3] = out_new_4;
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
        gl_wait_async<1>();
        __syncthreads();
        at_3 = at_3 + at_3_step;
    }
}

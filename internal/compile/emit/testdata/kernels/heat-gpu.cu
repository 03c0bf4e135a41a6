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
static __device__ inline double gl_fma_rn_f64(double a, double b, double c)
{
    double sum;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(sum) : "d"(a), "d"(b), "d"(c));
    return sum;
}

// out[k][j][i] = in[k][j][i] + a * (in[k][j][i+1] + in[k][j][i-1] + in[k][j+1][i] + in[k][j-1][i] +
//     in[k+1][j][i] + in[k-1][j][i] - 6 * in[k][j][i])
// Launch: ceil(N / 32) x ceil(M / 8) x L blocks (i_block, j_block, k_block) of 32 x 8 threads (i_thread,
//     j_thread).
extern "C" __global__ __launch_bounds__(256) void heat(double *__restrict__ out,
        const double *__restrict__ in, int64_t L, int64_t M, int64_t N, double a, double cold)
{
    const int64_t i_in_lo = gl_min_i64(1, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 1, N), i_in_lo);
    const int64_t j_in_lo = gl_min_i64(1, M);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(M - 1, M), j_in_lo);
    const int64_t k_in_lo = gl_min_i64(1, L);
    const int64_t k_in_hi = gl_max_i64(gl_min_i64(L - 1, L), k_in_lo);
    const int64_t k_block = blockIdx.z;
    const int64_t j_block = blockIdx.y;
    const int64_t i_block = blockIdx.x;
    const int64_t j_thread = threadIdx.y;
    const int64_t i_thread = threadIdx.x;
    const int64_t i = i_block * 32 + i_thread;
    const int64_t j = j_block * 8 + j_thread;
    const int64_t k = k_block;
    if (i < N && j < M) {
        if (i >= i_in_lo && i < i_in_hi && j >= j_in_lo && j < j_in_hi && k >= k_in_lo && k < k_in_hi) {
            const int64_t row = (k * M + j) * N;
            const int64_t row_jp1 = (k * M + (j + 1)) * N;
            const int64_t row_jm1 = (k * M + (j - 1)) * N;
            const int64_t row_kp1 = ((k + 1) * M + j) * N;
            const int64_t row_km1 = ((k - 1) * M + j) * N;
            out[row + i] = gl_fma_rn_f64(a, gl_fma_rn_f64(-6.0, in[row + i], in[row + i + 1] + in[row + i - 1]
                    + in[row_jp1 + i] + in[row_jm1 + i] + in[row_kp1 + i] + in[row_km1 + i]), in[row + i]);
        } else {
            const int64_t row = (k * M + j) * N;
            const int64_t jp1 = j + 1 > M - 1 ? gl_min_i64(gl_max_i64(j + 1, 0), M - 1) : j + 1;
            const int64_t row_jp1 = (k * M + jp1) * N;
            const int64_t jm1 = j - 1 < 0 ? gl_min_i64(gl_max_i64(j - 1, 0), M - 1) : j - 1;
            const int64_t row_jm1 = (k * M + jm1) * N;
            const bool kp1_above = k + 1 > L - 1;
            const int64_t kp1 = k + 1 > L - 1 ? 0 : k + 1;
            const int64_t row_kp1 = (kp1 * M + j) * N;
            const bool km1_below = k - 1 < 0;
            const int64_t km1 = k - 1 < 0 ? 0 : k - 1;
            const int64_t row_km1 = (km1 * M + j) * N;
            const int64_t ip1 = i + 1 > N - 1 ? ((i + 1) % N + N) % N : i + 1;
            const int64_t im1 = i - 1 < 0 ? ((i - 1) % N + N) % N : i - 1;
            out[row + i] = gl_fma_rn_f64(a, gl_fma_rn_f64(-6.0, in[row + i], in[row + ip1] + in[row + im1]
                    + in[row_jp1 + i] + in[row_jm1 + i] + (kp1_above ? cold / 2.0 : in[row_kp1 + i])
                    + (km1_below ? cold / 2.0 : in[row_km1 + i])), in[row + i]);
        }
    }
}

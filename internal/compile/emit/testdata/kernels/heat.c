#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// out[k][j][i] = in[k][j][i] + a * (in[k][j][i+1] + in[k][j][i-1] + in[k][j+1][i] + in[k][j-1][i] +
//     in[k+1][j][i] + in[k-1][j][i] - 6 * in[k][j][i])
static void heat(double *restrict out, const double *restrict in, int64_t L, int64_t M, int64_t N, double a,
        double cold)
{
    const int64_t k_in_lo = gl_min_i64(1, L);
    const int64_t k_in_hi = gl_max_i64(gl_min_i64(L - 1, L), k_in_lo);
    const int64_t j_in_lo = gl_min_i64(1, M);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(M - 1, M), j_in_lo);
    const int64_t i_in_lo = gl_min_i64(1, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 1, N), i_in_lo);
    #pragma omp parallel for schedule(static) if(L * M * N >= 13798)
    for (int64_t k = 0; k < L; ++k) {
        for (int64_t j = 0; j < M; ++j) {
            if (k >= k_in_lo && k < k_in_hi && j >= j_in_lo && j < j_in_hi) {
                const int64_t row = (k * M + j) * N;
                const int64_t row_jp1 = (k * M + (j + 1)) * N;
                const int64_t row_jm1 = (k * M + (j - 1)) * N;
                const int64_t row_kp1 = ((k + 1) * M + j) * N;
                const int64_t row_km1 = ((k - 1) * M + j) * N;
                if (0 < i_in_lo) {
                    const int64_t i = 0;
                    const int64_t ip1 = i + 1 > N - 1 ? i + 1 - N : i + 1;
                    const int64_t im1 = i - 1 < 0 ? i - 1 + N : i - 1;
                    out[row + i] = in[row + i] + a * (in[row + ip1] + in[row + im1] + in[row_jp1 + i]
                            + in[row_jm1 + i] + in[row_kp1 + i] + in[row_km1 + i] - 6.0 * in[row + i]);
                }
                #pragma omp simd
                for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                    out[row + i] = in[row + i] + a * (in[row + i + 1] + in[row + i - 1] + in[row_jp1 + i]
                            + in[row_jm1 + i] + in[row_kp1 + i] + in[row_km1 + i] - 6.0 * in[row + i]);
                }
                if (i_in_hi < N) {
                    const int64_t i = i_in_hi;
                    const int64_t ip1 = i + 1 > N - 1 ? i + 1 - N : i + 1;
                    const int64_t im1 = i - 1 < 0 ? i - 1 + N : i - 1;
                    out[row + i] = in[row + i] + a * (in[row + ip1] + in[row + im1] + in[row_jp1 + i]
                            + in[row_jm1 + i] + in[row_kp1 + i] + in[row_km1 + i] - 6.0 * in[row + i]);
                }
            } else {
                const int64_t row = (k * M + j) * N;
                const int64_t jp1 = j + 1 > M - 1 ? M - 1 : j + 1;
                const int64_t row_jp1 = (k * M + jp1) * N;
                const int64_t jm1 = j - 1 < 0 ? 0 : j - 1;
                const int64_t row_jm1 = (k * M + jm1) * N;
                const bool kp1_above = k + 1 > L - 1;
                const int64_t kp1 = k + 1 > L - 1 ? 0 : k + 1;
                const int64_t row_kp1 = (kp1 * M + j) * N;
                const bool km1_below = k - 1 < 0;
                const int64_t km1 = k - 1 < 0 ? 0 : k - 1;
                const int64_t row_km1 = (km1 * M + j) * N;
                if (0 < i_in_lo) {
                    const int64_t i = 0;
                    const int64_t ip1 = i + 1 > N - 1 ? i + 1 - N : i + 1;
                    const int64_t im1 = i - 1 < 0 ? i - 1 + N : i - 1;
                    out[row + i] = in[row + i] + a * (in[row + ip1] + in[row + im1] + in[row_jp1 + i]
                            + in[row_jm1 + i] + (kp1_above ? cold / 2.0 : in[row_kp1 + i]) + (km1_below
                            ? cold / 2.0 : in[row_km1 + i]) - 6.0 * in[row + i]);
                }
                #pragma omp simd
                for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                    out[row + i] = in[row + i] + a * (in[row + i + 1] + in[row + i - 1] + in[row_jp1 + i]
                            + in[row_jm1 + i] + (kp1_above ? cold / 2.0 : in[row_kp1 + i]) + (km1_below
                            ? cold / 2.0 : in[row_km1 + i]) - 6.0 * in[row + i]);
                }
                if (i_in_hi < N) {
                    const int64_t i = i_in_hi;
                    const int64_t ip1 = i + 1 > N - 1 ? i + 1 - N : i + 1;
                    const int64_t im1 = i - 1 < 0 ? i - 1 + N : i - 1;
                    out[row + i] = in[row + i] + a * (in[row + ip1] + in[row + im1] + in[row_jp1 + i]
                            + in[row_jm1 + i] + (kp1_above ? cold / 2.0 : in[row_kp1 + i]) + (km1_below
                            ? cold / 2.0 : in[row_km1 + i]) - 6.0 * in[row + i]);
                }
            }
        }
    }
}

void gl_heat(void **args)
{
    heat(*(double **)args[0], *(const double **)args[1], *(int64_t *)args[2], *(int64_t *)args[3],
            *(int64_t *)args[4], *(double *)args[5], *(double *)args[6]);
}

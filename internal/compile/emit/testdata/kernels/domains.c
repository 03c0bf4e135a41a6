#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline double gl_min_f64(double a, double b) { return a < b || a != a ? a : b; } // NaN propagates

// left = u[j][i] - u[j][i-1]
// right = u[j][i+1] - u[j][i]
// slope = left * right > 0 ? min(left, right) : 0
// slope.2 = 2 * slope
// v[j][i] = slope.2
// v[j][i] = v[j][i] + 1
// w[j][i] = u[j][i] * 3
// w[j][i] = w[j][i] - 0.5
// v[j][i] = u[3][i]
// v[j][i] = u[j][2] * j
static void steps(const double *restrict u, double *restrict v, double *restrict w, int64_t M, int64_t N)
{
    const int64_t j_hi = gl_max_i64(gl_max_i64(gl_max_i64(M - 3, M - 1), gl_min_i64(M, 0)), gl_min_i64(1, M
            - 1)) + 1;
    const int64_t j_in_lo = gl_min_i64(2, j_hi);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(gl_min_i64(M - 3, 0) + 1, j_hi), j_in_lo);
    const int64_t i_hi = gl_max_i64(gl_max_i64(N - 3, N - 1), gl_min_i64(4, N - 1)) + 1;
    const int64_t i_in_lo = gl_min_i64(4, i_hi);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(gl_min_i64(N - 3, 4) + 1, i_hi), i_in_lo);
    #pragma omp parallel for schedule(static) if(j_hi * i_hi >= 7711)
    for (int64_t j = 0; j < j_hi; ++j) {
        if (j >= j_in_lo && j < j_in_hi) {
            const int64_t row = j * N;
            const int64_t w_row = j * (N + 2) + 1;
            const int64_t row_at3 = N * 3;
            for (int64_t i = 0; i < i_in_lo; ++i) {
                double left = 0.0;
                if (i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (i >= 2 && i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (i >= 2 && i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (i >= 4 && i <= gl_min_i64(4, N - 1)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                const double left = u[row + i] - u[row + i - 1];
                const double right = u[row + i + 1] - u[row + i];
                const double slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                const double slope_2 = 2.0 * slope;
                v[row + i] = slope_2;
                v[row + i] = v[row + i] + 1.0;
                w[w_row + i] = u[row + i] * 3.0;
                w[w_row + i] = w[w_row + i] - 0.5;
                v[row + i] = u[row_at3 + i];
                v[row + i] = u[j * N + 2] * (double)(int32_t)j;
            }
            for (int64_t i = i_in_hi; i < i_hi; ++i) {
                double left = 0.0;
                if (i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (i >= 2 && i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (i >= 2 && i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (i >= 4 && i <= gl_min_i64(4, N - 1)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
        } else {
            const int64_t row = j * N;
            const int64_t w_row = j * (N + 2) + 1;
            const int64_t row_at3 = N * 3;
            for (int64_t i = 0; i < i_in_lo; ++i) {
                double left = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (j <= M - 1 && i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (j >= 2 && j <= M - 3 && i >= 2 && i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (j >= 2 && j <= M - 3 && i >= 2 && i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (j >= 2 && j <= M - 3 && i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (j <= M - 1 && i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (j <= gl_min_i64(M, 0) && i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (j >= 1 && j <= gl_min_i64(1, M - 1) && i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (j <= M - 1 && i >= 4 && i <= gl_min_i64(4, N - 1)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                double left = 0.0;
                if (j <= M - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (j <= M - 1) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (j <= M - 1) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (j >= 2 && j <= M - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (j >= 2 && j <= M - 3) {
                    v[row + i] = slope_2;
                }
                if (j >= 2 && j <= M - 3) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (j <= M - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (j <= gl_min_i64(M, 0)) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (j >= 1 && j <= gl_min_i64(1, M - 1)) {
                    v[row + i] = u[row_at3 + i];
                }
                if (j <= M - 1) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
            for (int64_t i = i_in_hi; i < i_hi; ++i) {
                double left = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (j <= M - 1 && i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (j >= 2 && j <= M - 3 && i >= 2 && i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (j >= 2 && j <= M - 3 && i >= 2 && i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (j >= 2 && j <= M - 3 && i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (j <= M - 1 && i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (j <= gl_min_i64(M, 0) && i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (j >= 1 && j <= gl_min_i64(1, M - 1) && i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (j <= M - 1 && i >= 4 && i <= gl_min_i64(4, N - 1)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
        }
    }
}

void gl_steps(void **args)
{
    steps(*(const double **)args[0], *(double **)args[1], *(double **)args[2], *(int64_t *)args[3],
            *(int64_t *)args[4]);
}

// left = u[j][i] - u[j][i-1]
// right = u[j][i+1] - u[j][i]
// slope = left * right > 0 ? min(left, right) : 0
// slope.2 = 2 * slope
// v[j][i] = slope.2
// v[j][i] = v[j][i] + 1
// w[j][i] = u[j][i] * 3
// w[j][i] = w[j][i] - 0.5
// v[j][i] = u[3][i]
// v[j][i] = u[j][2] * j
static void steps_2(const double *restrict u, double *restrict v, double *restrict w, int64_t M, int64_t N)
{
    const int64_t j_hi = gl_max_i64(gl_max_i64(M - 3, gl_min_i64(M - 3, 0)), gl_min_i64(M - 3, 1)) + 1;
    const int64_t j_in_lo = gl_min_i64(2, j_hi);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(gl_min_i64(M - 3, 0) + 1, j_hi), j_in_lo);
    const int64_t i_hi = gl_max_i64(gl_max_i64(N - 3, N - 1), gl_min_i64(N - 1, 4)) + 1;
    const int64_t i_in_lo = gl_min_i64(4, i_hi);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(gl_min_i64(N - 3, 4) + 1, i_hi), i_in_lo);
    #pragma omp parallel for schedule(static) if(j_hi * (i_hi - 2) >= 7711)
    for (int64_t j = 0; j < j_hi; ++j) {
        if (j >= j_in_lo && j < j_in_hi) {
            const int64_t row = j * N;
            const int64_t w_row = j * (N + 2) + 1;
            const int64_t row_at3 = N * 3;
            for (int64_t i = 2; i < i_in_lo; ++i) {
                double left = 0.0;
                if (i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (i >= 0 && i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (i >= 4 && i <= gl_min_i64(N - 1, 4)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                const double left = u[row + i] - u[row + i - 1];
                const double right = u[row + i + 1] - u[row + i];
                const double slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                const double slope_2 = 2.0 * slope;
                v[row + i] = slope_2;
                v[row + i] = v[row + i] + 1.0;
                w[w_row + i] = u[row + i] * 3.0;
                w[w_row + i] = w[w_row + i] - 0.5;
                v[row + i] = u[row_at3 + i];
                v[row + i] = u[j * N + 2] * (double)(int32_t)j;
            }
            for (int64_t i = i_in_hi; i < i_hi; ++i) {
                double left = 0.0;
                if (i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (i >= 0 && i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (i >= 4 && i <= gl_min_i64(N - 1, 4)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
        } else {
            const int64_t row = j * N;
            const int64_t w_row = j * (N + 2) + 1;
            const int64_t row_at3 = N * 3;
            for (int64_t i = 2; i < i_in_lo; ++i) {
                double left = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (j <= M - 1 && i >= 0 && i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (j >= 2 && j <= M - 3 && i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (j >= 2 && j <= M - 3 && i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (j <= M - 3 && i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (j <= M - 3 && i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (j <= gl_min_i64(M - 3, 0) && i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (j >= 1 && j <= gl_min_i64(M - 3, 1) && i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (j <= M - 3 && i >= 4 && i <= gl_min_i64(N - 1, 4)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                double left = 0.0;
                if (j <= M - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (j <= M - 1) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (j <= M - 1) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (j >= 2 && j <= M - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (j >= 2 && j <= M - 3) {
                    v[row + i] = slope_2;
                }
                if (j <= M - 3) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (j <= M - 3) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (j <= gl_min_i64(M - 3, 0)) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (j >= 1 && j <= gl_min_i64(M - 3, 1)) {
                    v[row + i] = u[row_at3 + i];
                }
                if (j <= M - 3) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
            for (int64_t i = i_in_hi; i < i_hi; ++i) {
                double left = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 1) {
                    left = u[row + i] - u[row + i - 1];
                }
                double right = 0.0;
                if (j <= M - 1 && i >= 0 && i <= N - 2) {
                    right = u[row + i + 1] - u[row + i];
                }
                double slope = 0.0;
                if (j <= M - 1 && i >= 1 && i <= N - 2) {
                    slope = left * right > 0.0 ? gl_min_f64(left, right) : 0.0;
                }
                double slope_2 = 0.0;
                if (j >= 2 && j <= M - 3 && i <= N - 3) {
                    slope_2 = 2.0 * slope;
                }
                if (j >= 2 && j <= M - 3 && i <= N - 3) {
                    v[row + i] = slope_2;
                }
                if (j <= M - 3 && i <= N - 1) {
                    v[row + i] = v[row + i] + 1.0;
                }
                if (j <= M - 3 && i <= N - 1) {
                    w[w_row + i] = u[row + i] * 3.0;
                }
                if (j <= gl_min_i64(M - 3, 0) && i <= N - 1) {
                    w[w_row + i] = w[w_row + i] - 0.5;
                }
                if (j >= 1 && j <= gl_min_i64(M - 3, 1) && i <= N - 1) {
                    v[row + i] = u[row_at3 + i];
                }
                if (j <= M - 3 && i >= 4 && i <= gl_min_i64(N - 1, 4)) {
                    v[row + i] = u[j * N + 2] * (double)(int32_t)j;
                }
            }
        }
    }
}

void gl_steps_2(void **args)
{
    steps_2(*(const double **)args[0], *(double **)args[1], *(double **)args[2], *(int64_t *)args[3],
            *(int64_t *)args[4]);
}

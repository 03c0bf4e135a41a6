#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// out[i] = a[i-3] + 2 * a[i+5] + b[i-3] - 3 * b[i+5] + c[i-3] - c[i+5] + d[i-3] + 4 * d[i+5] + e[i-3] -
//     e[i+5] + f[i-3] + f[i+5] + g[i-1]
static void reach(double *restrict out, const double *restrict a, const double *restrict b,
        const double *restrict c, const double *restrict d, const double *restrict e,
        const double *restrict f, const double *restrict g, int64_t N)
{
    const int64_t i_in_lo = gl_min_i64(4, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 7, N), i_in_lo);
    #pragma omp parallel for schedule(static) if(N >= 8457)
    for (int64_t i_tile = 0; i_tile < N; i_tile += 16384) {
        const int64_t i_end = gl_min_i64(i_tile + 16384, N);
        const int64_t i_from = gl_min_i64(gl_max_i64(i_in_lo, i_tile), i_end);
        const int64_t i_to = gl_max_i64(gl_min_i64(i_in_hi, i_end), i_from);
        for (int64_t i = i_tile; i < i_from; ++i) {
            const int64_t im3 = i - 3 < 0 ? (-1 - (i - 3) <= N - 1 ? -1 - (i - 3) : (((i - 3) % (N * 2)
                    + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i - 3) % (N * 2) + N * 2) % (N * 2) : ((i
                    - 3) % (N * 2) + N * 2) % (N * 2))) : i - 3;
            const int64_t ip5 = i + 5 > N - 1 ? (N * 2 - 1 - (i + 5) >= 0 ? N * 2 - 1 - (i + 5) : (((i
                    + 5) % (N * 2) + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i + 5) % (N * 2) + N * 2) % (N * 2)
                    : ((i + 5) % (N * 2) + N * 2) % (N * 2))) : i + 5;
            const int64_t im3_2 = i - 3 < 0 ? (0 - (i - 3) <= N - 1 ? 0 - (i - 3) : (((i - 3) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                    ? gl_max_i64((N - 1) * 2, 1) - ((i - 3) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                    - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 3) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 3;
            const int64_t ip5_2 = i + 5 > N - 1 ? ((N - 1) * 2 - (i + 5) >= 0 ? (N - 1) * 2 - (i + 5) : (((i
                    + 5) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                    - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i + 5) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i + 5) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i + 5;
            const int64_t im3_3 = i - 3 < 0 ? (-1 - (i - 3) <= N - 1 ? -1 - (i - 3) : (((i - 3) % (N * 2)
                    + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i - 3) % (N * 2) + N * 2) % (N * 2) : ((i
                    - 3) % (N * 2) + N * 2) % (N * 2))) : i - 3;
            const bool im3_neg = i - 3 < 0 && (-1 - (i - 3) <= N - 1 || ((i - 3) % (N * 2)
                    + N * 2) % (N * 2) >= N);
            const int64_t ip5_3 = i + 5 > N - 1 ? (N * 2 - 1 - (i + 5) >= 0 ? N * 2 - 1 - (i + 5) : (((i
                    + 5) % (N * 2) + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i + 5) % (N * 2) + N * 2) % (N * 2)
                    : ((i + 5) % (N * 2) + N * 2) % (N * 2))) : i + 5;
            const bool ip5_neg = i + 5 > N - 1 && (N * 2 - 1 - (i + 5) >= 0 || ((i + 5) % (N * 2)
                    + N * 2) % (N * 2) >= N);
            const int64_t im3_4 = i - 3 < 1 ? (2 - (i - 3) <= N ? 2 - (i - 3) : (((i - 4) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                    ? gl_max_i64((N - 1) * 2, 1) - ((i - 4) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                    - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 4) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1)) + 1) : i - 3;
            const bool im3_neg_2 = i - 3 < 1 && (2 - (i - 3) <= N || (N > 1 && ((gl_max_i64(1 - (i - 3), i - 3
                    - N) + (gl_max_i64(N - 1, 1) - 1)) / gl_max_i64(N - 1, 1) % 2 == 1)));
            const int64_t ip5_4 = i + 5 > N ? (N * 2 - (i + 5) >= 1 ? N * 2 - (i + 5) : (((i
                    + 4) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                    - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i + 4) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i + 4) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1)) + 1) : i + 5;
            const bool ip5_neg_2 = i + 5 > N && (N * 2 - (i + 5) >= 1 || (N > 1 && ((gl_max_i64(1 - (i + 5), i
                    + 5 - N) + (gl_max_i64(N - 1, 1) - 1)) / gl_max_i64(N - 1, 1) % 2 == 1)));
            const int64_t im3_5 = i - 3 < -2 ? -2 : i - 3;
            const bool ip5_above = i + 5 > N - 3;
            const int64_t ip5_5 = i + 5 > N - 3 ? -2 : i + 5;
            const int64_t im3_6 = i - 3 < 0 ? (i - 3 + N >= 0 ? i - 3 + N : ((i - 3) % N + N) % N) : i - 3;
            const int64_t ip5_6 = i + 5 > N - 1 ? (i + 5 - N <= N - 1 ? i + 5 - N : ((i + 5) % N + N) % N) : i
                    + 5;
            const bool im1_below = i - 1 < 0;
            const int64_t im1 = i - 1 < 0 ? 0 : i - 1;
            out[i] = a[im3] + 2.0 * a[ip5] + b[im3_2] - 3.0 * b[ip5_2] + (im3_neg ? -c[im3_3] : c[im3_3])
                    - (ip5_neg ? -c[ip5_3] : c[ip5_3]) + (im3_neg_2 ? -d[im3_4 - 1] : d[im3_4 - 1])
                    + 4.0 * (ip5_neg_2 ? -d[ip5_4 - 1] : d[ip5_4 - 1]) + e[im3_5 + 2] - (ip5_above ? 0.5
                    : e[ip5_5 + 2]) + f[im3_6] + f[ip5_6] + (im1_below ? 2.0 : g[im1]);
        }
        #pragma omp simd
        for (int64_t i = i_from; i < i_to; ++i) {
            out[i] = a[i - 3] + 2.0 * a[i + 5] + b[i - 3] - 3.0 * b[i + 5] + c[i - 3] - c[i + 5] + d[i - 4]
                    + 4.0 * d[i + 4] + e[i - 1] - e[i + 7] + f[i - 3] + f[i + 5] + g[i - 1];
        }
        for (int64_t i = i_to; i < i_end; ++i) {
            const int64_t im3 = i - 3 < 0 ? (-1 - (i - 3) <= N - 1 ? -1 - (i - 3) : (((i - 3) % (N * 2)
                    + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i - 3) % (N * 2) + N * 2) % (N * 2) : ((i
                    - 3) % (N * 2) + N * 2) % (N * 2))) : i - 3;
            const int64_t ip5 = i + 5 > N - 1 ? (N * 2 - 1 - (i + 5) >= 0 ? N * 2 - 1 - (i + 5) : (((i
                    + 5) % (N * 2) + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i + 5) % (N * 2) + N * 2) % (N * 2)
                    : ((i + 5) % (N * 2) + N * 2) % (N * 2))) : i + 5;
            const int64_t im3_2 = i - 3 < 0 ? (0 - (i - 3) <= N - 1 ? 0 - (i - 3) : (((i - 3) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                    ? gl_max_i64((N - 1) * 2, 1) - ((i - 3) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                    - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 3) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 3;
            const int64_t ip5_2 = i + 5 > N - 1 ? ((N - 1) * 2 - (i + 5) >= 0 ? (N - 1) * 2 - (i + 5) : (((i
                    + 5) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                    - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i + 5) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i + 5) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i + 5;
            const int64_t im3_3 = i - 3 < 0 ? (-1 - (i - 3) <= N - 1 ? -1 - (i - 3) : (((i - 3) % (N * 2)
                    + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i - 3) % (N * 2) + N * 2) % (N * 2) : ((i
                    - 3) % (N * 2) + N * 2) % (N * 2))) : i - 3;
            const bool im3_neg = i - 3 < 0 && (-1 - (i - 3) <= N - 1 || ((i - 3) % (N * 2)
                    + N * 2) % (N * 2) >= N);
            const int64_t ip5_3 = i + 5 > N - 1 ? (N * 2 - 1 - (i + 5) >= 0 ? N * 2 - 1 - (i + 5) : (((i
                    + 5) % (N * 2) + N * 2) % (N * 2) >= N ? N * 2 - 1 - ((i + 5) % (N * 2) + N * 2) % (N * 2)
                    : ((i + 5) % (N * 2) + N * 2) % (N * 2))) : i + 5;
            const bool ip5_neg = i + 5 > N - 1 && (N * 2 - 1 - (i + 5) >= 0 || ((i + 5) % (N * 2)
                    + N * 2) % (N * 2) >= N);
            const int64_t im3_4 = i - 3 < 1 ? (2 - (i - 3) <= N ? 2 - (i - 3) : (((i - 4) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                    ? gl_max_i64((N - 1) * 2, 1) - ((i - 4) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                    - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 4) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1)) + 1) : i - 3;
            const bool im3_neg_2 = i - 3 < 1 && (2 - (i - 3) <= N || (N > 1 && ((gl_max_i64(1 - (i - 3), i - 3
                    - N) + (gl_max_i64(N - 1, 1) - 1)) / gl_max_i64(N - 1, 1) % 2 == 1)));
            const int64_t ip5_4 = i + 5 > N ? (N * 2 - (i + 5) >= 1 ? N * 2 - (i + 5) : (((i
                    + 4) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                    - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i + 4) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i + 4) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1)) + 1) : i + 5;
            const bool ip5_neg_2 = i + 5 > N && (N * 2 - (i + 5) >= 1 || (N > 1 && ((gl_max_i64(1 - (i + 5), i
                    + 5 - N) + (gl_max_i64(N - 1, 1) - 1)) / gl_max_i64(N - 1, 1) % 2 == 1)));
            const int64_t im3_5 = i - 3 < -2 ? -2 : i - 3;
            const bool ip5_above = i + 5 > N - 3;
            const int64_t ip5_5 = i + 5 > N - 3 ? -2 : i + 5;
            const int64_t im3_6 = i - 3 < 0 ? (i - 3 + N >= 0 ? i - 3 + N : ((i - 3) % N + N) % N) : i - 3;
            const int64_t ip5_6 = i + 5 > N - 1 ? (i + 5 - N <= N - 1 ? i + 5 - N : ((i + 5) % N + N) % N) : i
                    + 5;
            const bool im1_below = i - 1 < 0;
            const int64_t im1 = i - 1 < 0 ? 0 : i - 1;
            out[i] = a[im3] + 2.0 * a[ip5] + b[im3_2] - 3.0 * b[ip5_2] + (im3_neg ? -c[im3_3] : c[im3_3])
                    - (ip5_neg ? -c[ip5_3] : c[ip5_3]) + (im3_neg_2 ? -d[im3_4 - 1] : d[im3_4 - 1])
                    + 4.0 * (ip5_neg_2 ? -d[ip5_4 - 1] : d[ip5_4 - 1]) + e[im3_5 + 2] - (ip5_above ? 0.5
                    : e[ip5_5 + 2]) + f[im3_6] + f[ip5_6] + (im1_below ? 2.0 : g[im1]);
        }
    }
}

void gl_reach(void **args)
{
    reach(*(double **)args[0], *(const double **)args[1], *(const double **)args[2],
            *(const double **)args[3], *(const double **)args[4], *(const double **)args[5],
            *(const double **)args[6], *(const double **)args[7], *(int64_t *)args[8]);
}

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// diagonal = 1.5 + abs(bj[j][i]) + abs(bj[j+1][i]) + abs(bi[j][i]) + abs(bi[j][i+1])
// x[j][i] = x[j][i] + (f[j][i] + bj[j][i] * (x[j-1][i] - x[j][i]) + bj[j+1][i] * (x[j+1][i] - x[j][i]) +
//     bi[j][i] * (x[j][i-1] - x[j][i]) + bi[j][i+1] * (x[j][i+1] - x[j][i])) / diagonal
static void relax_1(double *restrict x, const double *restrict bj, const double *restrict bi,
        const double *restrict f, int64_t M, int64_t N)
{
    const int64_t j_in_lo = gl_min_i64(1, M);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(M - 1, M), j_in_lo);
    const int64_t i_in_lo = gl_min_i64(1, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 1, N), i_in_lo);
    #pragma omp parallel for schedule(static) if(M * N >= 2149)
    for (int64_t j = 0; j < M; ++j) {
        if (j >= j_in_lo && j < j_in_hi) {
            const int64_t row = j * N;
            const int64_t row_jp1 = (j + 1) * N;
            const int64_t bi_row = j * (N + 1);
            const int64_t row_jm1 = (j - 1) * N;
            const int64_t first = ((0 - j) % 2 + 2) % 2;
            const int64_t first_2 = i_in_lo + ((0 - j - i_in_lo) % 2 + 2) % 2;
            const int64_t first_3 = i_in_hi + ((0 - j - i_in_hi) % 2 + 2) % 2;
            if (first < i_in_lo) {
                const int64_t i = first;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * (x[row_jm1 + i] - x[row + i])
                        + bj[row_jp1 + i] * (x[row_jp1 + i] - x[row + i]) + bi[bi_row + i] * ((im1_neg
                        ? -x[row + im1] : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg
                        ? -x[row + ip1] : x[row + ip1]) - x[row + i])) / diagonal;
            }
            for (int64_t i = first_2; i < i_in_hi; i += 2) {
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * (x[row_jm1 + i] - x[row + i])
                        + bj[row_jp1 + i] * (x[row_jp1 + i] - x[row + i]) + bi[bi_row + i] * (x[row + i - 1]
                        - x[row + i]) + bi[bi_row + i + 1] * (x[row + i + 1] - x[row + i])) / diagonal;
            }
            if (first_3 < N) {
                const int64_t i = first_3;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * (x[row_jm1 + i] - x[row + i])
                        + bj[row_jp1 + i] * (x[row_jp1 + i] - x[row + i]) + bi[bi_row + i] * ((im1_neg
                        ? -x[row + im1] : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg
                        ? -x[row + ip1] : x[row + ip1]) - x[row + i])) / diagonal;
            }
        } else {
            const int64_t row = j * N;
            const int64_t row_jp1 = (j + 1) * N;
            const int64_t bi_row = j * (N + 1);
            const int64_t jm1 = j - 1 < 0 ? -1 - (j - 1) : j - 1;
            const bool jm1_neg = j - 1 < 0;
            const int64_t row_jm1 = jm1 * N;
            const int64_t jp1 = j + 1 > M - 1 ? M * 2 - 1 - (j + 1) : j + 1;
            const bool jp1_neg = j + 1 > M - 1;
            const int64_t row_jp1_2 = jp1 * N;
            const int64_t first = ((0 - j) % 2 + 2) % 2;
            const int64_t first_2 = i_in_lo + ((0 - j - i_in_lo) % 2 + 2) % 2;
            const int64_t first_3 = i_in_hi + ((0 - j - i_in_hi) % 2 + 2) % 2;
            if (first < i_in_lo) {
                const int64_t i = first;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * ((jm1_neg ? -x[row_jm1 + i]
                        : x[row_jm1 + i]) - x[row + i]) + bj[row_jp1 + i] * ((jp1_neg ? -x[row_jp1_2 + i]
                        : x[row_jp1_2 + i]) - x[row + i]) + bi[bi_row + i] * ((im1_neg ? -x[row + im1]
                        : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg ? -x[row + ip1]
                        : x[row + ip1]) - x[row + i])) / diagonal;
            }
            for (int64_t i = first_2; i < i_in_hi; i += 2) {
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * ((jm1_neg ? -x[row_jm1 + i]
                        : x[row_jm1 + i]) - x[row + i]) + bj[row_jp1 + i] * ((jp1_neg ? -x[row_jp1_2 + i]
                        : x[row_jp1_2 + i]) - x[row + i]) + bi[bi_row + i] * (x[row + i - 1] - x[row + i])
                        + bi[bi_row + i + 1] * (x[row + i + 1] - x[row + i])) / diagonal;
            }
            if (first_3 < N) {
                const int64_t i = first_3;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * ((jm1_neg ? -x[row_jm1 + i]
                        : x[row_jm1 + i]) - x[row + i]) + bj[row_jp1 + i] * ((jp1_neg ? -x[row_jp1_2 + i]
                        : x[row_jp1_2 + i]) - x[row + i]) + bi[bi_row + i] * ((im1_neg ? -x[row + im1]
                        : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg ? -x[row + ip1]
                        : x[row + ip1]) - x[row + i])) / diagonal;
            }
        }
    }
}

void gl_relax_1(void **args)
{
    relax_1(*(double **)args[0], *(const double **)args[1], *(const double **)args[2],
            *(const double **)args[3], *(int64_t *)args[4], *(int64_t *)args[5]);
}

// diagonal = 1.5 + abs(bj[j][i]) + abs(bj[j+1][i]) + abs(bi[j][i]) + abs(bi[j][i+1])
// x[j][i] = x[j][i] + (f[j][i] + bj[j][i] * (x[j-1][i] - x[j][i]) + bj[j+1][i] * (x[j+1][i] - x[j][i]) +
//     bi[j][i] * (x[j][i-1] - x[j][i]) + bi[j][i+1] * (x[j][i+1] - x[j][i])) / diagonal
static void relax_2(double *restrict x, const double *restrict bj, const double *restrict bi,
        const double *restrict f, int64_t M, int64_t N)
{
    const int64_t j_in_lo = gl_min_i64(1, M);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(M - 1, M), j_in_lo);
    const int64_t i_in_lo = gl_min_i64(1, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 1, N), i_in_lo);
    #pragma omp parallel for schedule(static) if(M * N >= 2149)
    for (int64_t j = 0; j < M; ++j) {
        if (j >= j_in_lo && j < j_in_hi) {
            const int64_t row = j * N;
            const int64_t row_jp1 = (j + 1) * N;
            const int64_t bi_row = j * (N + 1);
            const int64_t row_jm1 = (j - 1) * N;
            const int64_t first = ((1 - j) % 2 + 2) % 2;
            const int64_t first_2 = i_in_lo + ((1 - j - i_in_lo) % 2 + 2) % 2;
            const int64_t first_3 = i_in_hi + ((1 - j - i_in_hi) % 2 + 2) % 2;
            if (first < i_in_lo) {
                const int64_t i = first;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * (x[row_jm1 + i] - x[row + i])
                        + bj[row_jp1 + i] * (x[row_jp1 + i] - x[row + i]) + bi[bi_row + i] * ((im1_neg
                        ? -x[row + im1] : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg
                        ? -x[row + ip1] : x[row + ip1]) - x[row + i])) / diagonal;
            }
            for (int64_t i = first_2; i < i_in_hi; i += 2) {
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * (x[row_jm1 + i] - x[row + i])
                        + bj[row_jp1 + i] * (x[row_jp1 + i] - x[row + i]) + bi[bi_row + i] * (x[row + i - 1]
                        - x[row + i]) + bi[bi_row + i + 1] * (x[row + i + 1] - x[row + i])) / diagonal;
            }
            if (first_3 < N) {
                const int64_t i = first_3;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * (x[row_jm1 + i] - x[row + i])
                        + bj[row_jp1 + i] * (x[row_jp1 + i] - x[row + i]) + bi[bi_row + i] * ((im1_neg
                        ? -x[row + im1] : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg
                        ? -x[row + ip1] : x[row + ip1]) - x[row + i])) / diagonal;
            }
        } else {
            const int64_t row = j * N;
            const int64_t row_jp1 = (j + 1) * N;
            const int64_t bi_row = j * (N + 1);
            const int64_t jm1 = j - 1 < 0 ? -1 - (j - 1) : j - 1;
            const bool jm1_neg = j - 1 < 0;
            const int64_t row_jm1 = jm1 * N;
            const int64_t jp1 = j + 1 > M - 1 ? M * 2 - 1 - (j + 1) : j + 1;
            const bool jp1_neg = j + 1 > M - 1;
            const int64_t row_jp1_2 = jp1 * N;
            const int64_t first = ((1 - j) % 2 + 2) % 2;
            const int64_t first_2 = i_in_lo + ((1 - j - i_in_lo) % 2 + 2) % 2;
            const int64_t first_3 = i_in_hi + ((1 - j - i_in_hi) % 2 + 2) % 2;
            if (first < i_in_lo) {
                const int64_t i = first;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * ((jm1_neg ? -x[row_jm1 + i]
                        : x[row_jm1 + i]) - x[row + i]) + bj[row_jp1 + i] * ((jp1_neg ? -x[row_jp1_2 + i]
                        : x[row_jp1_2 + i]) - x[row + i]) + bi[bi_row + i] * ((im1_neg ? -x[row + im1]
                        : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg ? -x[row + ip1]
                        : x[row + ip1]) - x[row + i])) / diagonal;
            }
            for (int64_t i = first_2; i < i_in_hi; i += 2) {
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * ((jm1_neg ? -x[row_jm1 + i]
                        : x[row_jm1 + i]) - x[row + i]) + bj[row_jp1 + i] * ((jp1_neg ? -x[row_jp1_2 + i]
                        : x[row_jp1_2 + i]) - x[row + i]) + bi[bi_row + i] * (x[row + i - 1] - x[row + i])
                        + bi[bi_row + i + 1] * (x[row + i + 1] - x[row + i])) / diagonal;
            }
            if (first_3 < N) {
                const int64_t i = first_3;
                const double diagonal = 1.5 + fabs(bj[row + i]) + fabs(bj[row_jp1 + i]) + fabs(bi[bi_row + i])
                        + fabs(bi[bi_row + i + 1]);
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const bool im1_neg = i - 1 < 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const bool ip1_neg = i + 1 > N - 1;
                x[row + i] = x[row + i] + (f[row + i] + bj[row + i] * ((jm1_neg ? -x[row_jm1 + i]
                        : x[row_jm1 + i]) - x[row + i]) + bj[row_jp1 + i] * ((jp1_neg ? -x[row_jp1_2 + i]
                        : x[row_jp1_2 + i]) - x[row + i]) + bi[bi_row + i] * ((im1_neg ? -x[row + im1]
                        : x[row + im1]) - x[row + i]) + bi[bi_row + i + 1] * ((ip1_neg ? -x[row + ip1]
                        : x[row + ip1]) - x[row + i])) / diagonal;
            }
        }
    }
}

void gl_relax_2(void **args)
{
    relax_2(*(double **)args[0], *(const double **)args[1], *(const double **)args[2],
            *(const double **)args[3], *(int64_t *)args[4], *(int64_t *)args[5]);
}

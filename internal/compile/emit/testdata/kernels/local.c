#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// lap[j][i] = in[j][i+1] + in[j][i-1] + in[j+1][i] + in[j-1][i] - 4 * in[j][i]
static void twice_1(const float *restrict in, float *restrict lap, int64_t M, int64_t N)
{
    const int64_t j_hi = M - 1;
    const int64_t i_hi = N - 1;
    #pragma omp parallel for schedule(static) if((j_hi - 1) * (i_hi - 1) >= 23832)
    for (int64_t j = 1; j < j_hi; ++j) {
        const int64_t row = j * N;
        const int64_t row_jp1 = (j + 1) * N;
        const int64_t row_jm1 = (j - 1) * N;
        #pragma omp simd
        for (int64_t i = 1; i < i_hi; ++i) {
            lap[row + i] = in[row + i + 1] + in[row + i - 1] + in[row_jp1 + i] + in[row_jm1 + i]
                    - 4.0f * in[row + i];
        }
    }
}

void gl_twice_1(void **args)
{
    twice_1(*(const float **)args[0], *(float **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// flux[j][i] = lap[j][i+1] - lap[j][i]
static void twice_2(const float *restrict lap, float *restrict flux, int64_t M, int64_t N)
{
    const int64_t j_in_lo = gl_min_i64(1, M);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(M - 1, M), j_in_lo);
    const int64_t i_in_lo = gl_min_i64(1, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 2, N), i_in_lo);
    #pragma omp parallel for schedule(static) if(M * N >= 87382)
    for (int64_t j = 0; j < M; ++j) {
        if (j >= j_in_lo && j < j_in_hi) {
            const int64_t row = j * N;
            if (0 < i_in_lo) {
                const int64_t i = 0;
                const int64_t ip1 = i + 1 > N - 2 ? ((N - 1) * 2 - 1 - (i + 1) >= 1 ? (N - 1) * 2 - 1 - (i
                        + 1) : ((i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) >= N - 2 ? (N - 2) * 2 - 1
                        - (i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) : (i % ((N - 2) * 2) + (N
                        - 2) * 2) % ((N - 2) * 2)) + 1) : i + 1;
                const int64_t i0 = i < 1 ? 1 - i : (i > N - 2 ? (N - 1) * 2 - 1 - i : i);
                flux[row + i] = lap[row + ip1] - lap[row + i0];
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                flux[row + i] = lap[row + i + 1] - lap[row + i];
            }
            for (int64_t i = i_in_hi; i < N; ++i) {
                const int64_t ip1 = i + 1 > N - 2 ? ((N - 1) * 2 - 1 - (i + 1) >= 1 ? (N - 1) * 2 - 1 - (i
                        + 1) : ((i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) >= N - 2 ? (N - 2) * 2 - 1
                        - (i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) : (i % ((N - 2) * 2) + (N
                        - 2) * 2) % ((N - 2) * 2)) + 1) : i + 1;
                const int64_t i0 = i < 1 ? 1 - i : (i > N - 2 ? (N - 1) * 2 - 1 - i : i);
                flux[row + i] = lap[row + ip1] - lap[row + i0];
            }
        } else {
            const int64_t v_j0 = j < 1 ? 1 - j : (j > M - 2 ? (M - 1) * 2 - 1 - j : j);
            const int64_t row_j0 = v_j0 * N;
            const int64_t row = j * N;
            if (0 < i_in_lo) {
                const int64_t i = 0;
                const int64_t ip1 = i + 1 > N - 2 ? ((N - 1) * 2 - 1 - (i + 1) >= 1 ? (N - 1) * 2 - 1 - (i
                        + 1) : ((i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) >= N - 2 ? (N - 2) * 2 - 1
                        - (i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) : (i % ((N - 2) * 2) + (N
                        - 2) * 2) % ((N - 2) * 2)) + 1) : i + 1;
                const int64_t i0 = i < 1 ? 1 - i : (i > N - 2 ? (N - 1) * 2 - 1 - i : i);
                flux[row + i] = lap[row_j0 + ip1] - lap[row_j0 + i0];
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                flux[row + i] = lap[row_j0 + i + 1] - lap[row_j0 + i];
            }
            for (int64_t i = i_in_hi; i < N; ++i) {
                const int64_t ip1 = i + 1 > N - 2 ? ((N - 1) * 2 - 1 - (i + 1) >= 1 ? (N - 1) * 2 - 1 - (i
                        + 1) : ((i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) >= N - 2 ? (N - 2) * 2 - 1
                        - (i % ((N - 2) * 2) + (N - 2) * 2) % ((N - 2) * 2) : (i % ((N - 2) * 2) + (N
                        - 2) * 2) % ((N - 2) * 2)) + 1) : i + 1;
                const int64_t i0 = i < 1 ? 1 - i : (i > N - 2 ? (N - 1) * 2 - 1 - i : i);
                flux[row + i] = lap[row_j0 + ip1] - lap[row_j0 + i0];
            }
        }
    }
}

void gl_twice_2(void **args)
{
    twice_2(*(const float **)args[0], *(float **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// out[j][i] = in[j][i] - 0.1 * (flux[j][i] - flux[j][i-1]) - 0.1 * (lap[j+1][i] + lap[j-2][i] - 2 *
//     lap[j][i])
static void twice_3(float *restrict out, const float *restrict in, const float *restrict lap,
        const float *restrict flux, int64_t M, int64_t N)
{
    const int64_t j_in_lo = gl_min_i64(3, M);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(M - 2, M), j_in_lo);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 1, N), 1);
    #pragma omp parallel for schedule(static) if(M * (N - 1) >= 15421)
    for (int64_t j = 0; j < M; ++j) {
        if (j >= j_in_lo && j < j_in_hi) {
            const int64_t row = j * N;
            const int64_t row_jp1 = (j + 1) * N;
            const int64_t row_jm2 = (j - 2) * N;
            #pragma omp simd
            for (int64_t i = 1; i < i_in_hi; ++i) {
                out[row + i] = in[row + i] - 0.1f * (flux[row + i] - flux[row + i - 1])
                        - 0.1f * (lap[row_jp1 + i] + lap[row_jm2 + i] - 2.0f * lap[row + i]);
            }
            if (i_in_hi < N) {
                const int64_t i = i_in_hi;
                const int64_t i0 = i > N - 2 ? (N - 1) * 2 - 1 - i : i;
                out[row + i] = in[row + i] - 0.1f * (flux[row + i] - flux[row + i - 1])
                        - 0.1f * (lap[row_jp1 + i0] + lap[row_jm2 + i0] - 2.0f * lap[row + i0]);
            }
        } else {
            const int64_t row = j * N;
            const int64_t jp1 = j + 1 > M - 2 ? ((M - 1) * 2 - 1 - (j + 1) >= 1 ? (M - 1) * 2 - 1 - (j + 1)
                    : ((j % ((M - 2) * 2) + (M - 2) * 2) % ((M - 2) * 2) >= M - 2 ? (M - 2) * 2 - 1 - (j % ((M
                    - 2) * 2) + (M - 2) * 2) % ((M - 2) * 2) : (j % ((M - 2) * 2) + (M - 2) * 2) % ((M
                    - 2) * 2)) + 1) : j + 1;
            const int64_t row_jp1 = jp1 * N;
            const int64_t jm2 = j - 2 < 1 ? (1 - (j - 2) <= M - 2 ? 1 - (j - 2) : (((j - 3) % ((M - 2) * 2)
                    + (M - 2) * 2) % ((M - 2) * 2) >= M - 2 ? (M - 2) * 2 - 1 - ((j - 3) % ((M - 2) * 2) + (M
                    - 2) * 2) % ((M - 2) * 2) : ((j - 3) % ((M - 2) * 2) + (M - 2) * 2) % ((M - 2) * 2)) + 1)
                    : j - 2;
            const int64_t row_jm2 = jm2 * N;
            const int64_t v_j0 = j < 1 ? 1 - j : (j > M - 2 ? (M - 1) * 2 - 1 - j : j);
            const int64_t row_j0 = v_j0 * N;
            #pragma omp simd
            for (int64_t i = 1; i < i_in_hi; ++i) {
                out[row + i] = in[row + i] - 0.1f * (flux[row + i] - flux[row + i - 1])
                        - 0.1f * (lap[row_jp1 + i] + lap[row_jm2 + i] - 2.0f * lap[row_j0 + i]);
            }
            if (i_in_hi < N) {
                const int64_t i = i_in_hi;
                const int64_t i0 = i > N - 2 ? (N - 1) * 2 - 1 - i : i;
                out[row + i] = in[row + i] - 0.1f * (flux[row + i] - flux[row + i - 1])
                        - 0.1f * (lap[row_jp1 + i0] + lap[row_jm2 + i0] - 2.0f * lap[row_j0 + i0]);
            }
        }
    }
}

void gl_twice_3(void **args)
{
    twice_3(*(float **)args[0], *(const float **)args[1], *(const float **)args[2], *(const float **)args[3],
            *(int64_t *)args[4], *(int64_t *)args[5]);
}

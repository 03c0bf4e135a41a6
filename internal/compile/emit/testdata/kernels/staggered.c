#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

// fu[j][i] = 0.5 * (h[j][i-1] + h[j][i]) * u[j][i] * x[i]
// q[j][i] = (v[j][i] - v[j][i-1] - u[j][i] + u[j-1][i]) * y[j]
static void advance_1(const double *restrict h, const double *restrict u, const double *restrict v,
        double *restrict q, const double *restrict x, const double *restrict y, double *restrict fu,
        int64_t M, int64_t N)
{
    const int64_t j_in_lo = gl_min_i64(1, M);
    const int64_t i_hi = N + 1;
    const int64_t i_in_lo = gl_min_i64(1, i_hi);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N, i_hi), i_in_lo);
    #pragma omp parallel for schedule(static) if(M * i_hi >= 14564)
    for (int64_t j = 0; j < M; ++j) {
        if (j >= j_in_lo) {
            const int64_t row = j * N;
            const int64_t u_row = j * (N + 1);
            const int64_t u_row_jm1 = (j - 1) * (N + 1);
            if (0 < i_in_lo) {
                const int64_t i = 0;
                const int64_t im1 = i - 1 < 0 ? (0 - (i - 1) <= N - 1 ? 0 - (i - 1) : (((i
                        - 1) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                        - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i - 1) % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 1) % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 1;
                const int64_t i0 = i > N - 1 ? ((N - 1) * 2 - i >= 0 ? (N - 1) * 2 - i : ((i % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                        ? gl_max_i64((N - 1) * 2, 1) - (i % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                        - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : (i % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i;
                fu[u_row + i] = 0.5 * (h[row + im1] + h[row + i0]) * u[u_row + i] * x[i];
                if (i >= 1 && i <= N - 1) {
                    q[u_row + i] = (v[row + i] - v[row + i - 1] - u[u_row + i] + u[u_row_jm1 + i]) * y[j];
                }
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                fu[u_row + i] = 0.5 * (h[row + i - 1] + h[row + i]) * u[u_row + i] * x[i];
                q[u_row + i] = (v[row + i] - v[row + i - 1] - u[u_row + i] + u[u_row_jm1 + i]) * y[j];
            }
            if (i_in_hi < i_hi) {
                const int64_t i = i_in_hi;
                const int64_t im1 = i - 1 < 0 ? (0 - (i - 1) <= N - 1 ? 0 - (i - 1) : (((i
                        - 1) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                        - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i - 1) % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 1) % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 1;
                const int64_t i0 = i > N - 1 ? ((N - 1) * 2 - i >= 0 ? (N - 1) * 2 - i : ((i % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                        ? gl_max_i64((N - 1) * 2, 1) - (i % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                        - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : (i % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i;
                fu[u_row + i] = 0.5 * (h[row + im1] + h[row + i0]) * u[u_row + i] * x[i];
                if (i >= 1 && i <= N - 1) {
                    q[u_row + i] = (v[row + i] - v[row + i - 1] - u[u_row + i] + u[u_row_jm1 + i]) * y[j];
                }
            }
        } else {
            const int64_t row = j * N;
            const int64_t u_row = j * (N + 1);
            const int64_t u_row_jm1 = (j - 1) * (N + 1);
            if (0 < i_in_lo) {
                const int64_t i = 0;
                const int64_t im1 = i - 1 < 0 ? (0 - (i - 1) <= N - 1 ? 0 - (i - 1) : (((i
                        - 1) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                        - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i - 1) % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 1) % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 1;
                const int64_t i0 = i > N - 1 ? ((N - 1) * 2 - i >= 0 ? (N - 1) * 2 - i : ((i % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                        ? gl_max_i64((N - 1) * 2, 1) - (i % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                        - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : (i % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i;
                fu[u_row + i] = 0.5 * (h[row + im1] + h[row + i0]) * u[u_row + i] * x[i];
                if (j >= 1 && i >= 1 && i <= N - 1) {
                    q[u_row + i] = (v[row + i] - v[row + i - 1] - u[u_row + i] + u[u_row_jm1 + i]) * y[j];
                }
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                fu[u_row + i] = 0.5 * (h[row + i - 1] + h[row + i]) * u[u_row + i] * x[i];
                if (j >= 1) {
                    q[u_row + i] = (v[row + i] - v[row + i - 1] - u[u_row + i] + u[u_row_jm1 + i]) * y[j];
                }
            }
            if (i_in_hi < i_hi) {
                const int64_t i = i_in_hi;
                const int64_t im1 = i - 1 < 0 ? (0 - (i - 1) <= N - 1 ? 0 - (i - 1) : (((i
                        - 1) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                        - 1) * 2, 1) >= N ? gl_max_i64((N - 1) * 2, 1) - ((i - 1) % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 1) % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 1;
                const int64_t i0 = i > N - 1 ? ((N - 1) * 2 - i >= 0 ? (N - 1) * 2 - i : ((i % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                        ? gl_max_i64((N - 1) * 2, 1) - (i % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                        - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : (i % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i;
                fu[u_row + i] = 0.5 * (h[row + im1] + h[row + i0]) * u[u_row + i] * x[i];
                if (j >= 1 && i >= 1 && i <= N - 1) {
                    q[u_row + i] = (v[row + i] - v[row + i - 1] - u[u_row + i] + u[u_row_jm1 + i]) * y[j];
                }
            }
        }
    }
}

void gl_advance_1(void **args)
{
    advance_1(*(const double **)args[0], *(const double **)args[1], *(const double **)args[2],
            *(double **)args[3], *(const double **)args[4], *(const double **)args[5], *(double **)args[6],
            *(int64_t *)args[7], *(int64_t *)args[8]);
}

// h[j][i] = h[j][i] - 0.1 * (fu[j][i+1] - fu[j][i] + v[j+1][i] - v[j][i])
// u[j][i] = u[j][i] + (0.01 * q[j+1][i] * x[i-1] + x[0])
static void advance_2(double *restrict h, double *restrict u, const double *restrict v,
        const double *restrict q, const double *restrict x, const double *restrict fu, int64_t M, int64_t N)
{
    const int64_t i_hi = N + 1;
    const int64_t i_in_lo = gl_min_i64(1, i_hi);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N, i_hi), i_in_lo);
    #pragma omp parallel for schedule(static) if(M * i_hi >= 13108)
    for (int64_t j = 0; j < M; ++j) {
        const int64_t row = j * N;
        const int64_t fu_row = j * (N + 1);
        const int64_t row_jp1 = (j + 1) * N;
        const int64_t q_row_jp1 = (j + 1) * (N + 1);
        if (0 < i_in_lo) {
            const int64_t i = 0;
            if (i <= N - 1) {
                const int64_t i0 = i > N - 1 ? ((N - 1) * 2 - i >= 0 ? (N - 1) * 2 - i : ((i % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                        ? gl_max_i64((N - 1) * 2, 1) - (i % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                        - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : (i % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i;
                h[row + i] = h[row + i0] - 0.1 * (fu[fu_row + i + 1] - fu[fu_row + i] + v[row_jp1 + i]
                        - v[row + i]);
            }
            if (i >= 1) {
                u[fu_row + i] = u[fu_row + i] + (0.01 * q[q_row_jp1 + i] * x[i - 1] + x[0]);
            }
        }
        #pragma omp simd
        for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
            h[row + i] = h[row + i] - 0.1 * (fu[fu_row + i + 1] - fu[fu_row + i] + v[row_jp1 + i]
                    - v[row + i]);
            u[fu_row + i] = u[fu_row + i] + (0.01 * q[q_row_jp1 + i] * x[i - 1] + x[0]);
        }
        if (i_in_hi < i_hi) {
            const int64_t i = i_in_hi;
            if (i <= N - 1) {
                const int64_t i0 = i > N - 1 ? ((N - 1) * 2 - i >= 0 ? (N - 1) * 2 - i : ((i % gl_max_i64((N
                        - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                        ? gl_max_i64((N - 1) * 2, 1) - (i % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                        - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : (i % gl_max_i64((N - 1) * 2, 1)
                        + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i;
                h[row + i] = h[row + i0] - 0.1 * (fu[fu_row + i + 1] - fu[fu_row + i] + v[row_jp1 + i]
                        - v[row + i]);
            }
            if (i >= 1) {
                u[fu_row + i] = u[fu_row + i] + (0.01 * q[q_row_jp1 + i] * x[i - 1] + x[0]);
            }
        }
    }
}

void gl_advance_2(void **args)
{
    advance_2(*(double **)args[0], *(double **)args[1], *(const double **)args[2], *(const double **)args[3],
            *(const double **)args[4], *(const double **)args[5], *(int64_t *)args[6], *(int64_t *)args[7]);
}

// x[i] = 0.5 * x[i] + i
static void advance_3(double *restrict x, int64_t N)
{
    const int64_t i_hi = N + 1;
    #pragma omp parallel for schedule(static) if(i_hi >= 43691)
    for (int64_t i_tile = 0; i_tile < i_hi; i_tile += 16384) {
        const int64_t i_end = gl_min_i64(i_tile + 16384, i_hi);
        #pragma omp simd
        for (int64_t i = i_tile; i < i_end; ++i) {
            x[i] = 0.5 * x[i] + (double)(int32_t)i;
        }
    }
}

void gl_advance_3(void **args)
{
    advance_3(*(double **)args[0], *(int64_t *)args[1]);
}

// z[j] = y[j-1] + u[j-1][3]
static void advance_4(const double *restrict u, const double *restrict y, double *restrict z, int64_t M,
        int64_t N)
{
    const int64_t j_hi = M + 1;
    #pragma omp parallel for schedule(static) if(j_hi - 1 >= 87382)
    for (int64_t j_tile = 1; j_tile < j_hi; j_tile += 16384) {
        const int64_t j_end = gl_min_i64(j_tile + 16384, j_hi);
        #pragma omp simd
        for (int64_t j = j_tile; j < j_end; ++j) {
            z[j - 1] = y[j - 1] + u[(j - 1) * (N + 1) + 3];
        }
    }
}

void gl_advance_4(void **args)
{
    advance_4(*(const double **)args[0], *(const double **)args[1], *(double **)args[2], *(int64_t *)args[3],
            *(int64_t *)args[4]);
}

// y[j] = h[j][2]
static void advance_5(const double *restrict h, double *restrict y, int64_t M, int64_t N)
{
    #pragma omp parallel for schedule(static) if(M >= 262144)
    for (int64_t j_tile = 0; j_tile < M; j_tile += 16384) {
        const int64_t j_end = gl_min_i64(j_tile + 16384, M);
        const int64_t at2 = 2 > N - 1 ? ((N - 1) * 2 - 2 >= 0 ? (N - 1) * 2 - 2 : ((2 % gl_max_i64((N
                - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N ? gl_max_i64((N
                - 1) * 2, 1) - (2 % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                - 1) * 2, 1) : (2 % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N
                - 1) * 2, 1))) : 2;
        #pragma omp simd
        for (int64_t j = j_tile; j < j_end; ++j) {
            y[j] = h[j * N + at2];
        }
    }
}

void gl_advance_5(void **args)
{
    advance_5(*(const double **)args[0], *(double **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// s = sum over cells of x[i] * y[j]
static void advance_6(const double *restrict x, const double *restrict y, double *restrict s_parts, int64_t M,
        int64_t N)
{
    const int64_t i_hi = N + 1;
    const int64_t s_segments = (N + 32) / 32;
    #pragma omp parallel for schedule(static) if(M * i_hi >= 87382)
    for (int64_t j = 0; j < M; ++j) {
        for (int64_t i_segment = 0; i_segment < i_hi; i_segment += 32) {
            double s_values[32];
            if (i_segment >= 0 && i_segment + 32 <= i_hi) {
                #pragma omp simd
                for (int64_t cell = 0; cell < 32; ++cell) {
                    const int64_t i = i_segment + cell;
                    s_values[i - i_segment] = x[i] * y[j];
                }
            } else {
                const int64_t i_begin = gl_max_i64(i_segment, 0);
                const int64_t i_end = gl_min_i64(i_segment + 32, i_hi);
                #pragma omp simd
                for (int64_t i = i_begin; i < i_end; ++i) {
                    s_values[i - i_segment] = x[i] * y[j];
                }
                for (int64_t absent = 0; absent < i_begin - i_segment; ++absent) {
                    s_values[absent] = -0.0;
                }
                for (int64_t absent_2 = i_end - i_segment; absent_2 < 32; ++absent_2) {
                    s_values[absent_2] = -0.0;
                }
            }
            #pragma omp simd
            for (int64_t cell = 0; cell < 16; ++cell) {
                s_values[cell] = s_values[cell] + s_values[cell + 16];
            }
            #pragma omp simd
            for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                s_values[cell_2] = s_values[cell_2] + s_values[cell_2 + 8];
            }
            #pragma omp simd
            for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                s_values[cell_3] = s_values[cell_3] + s_values[cell_3 + 4];
            }
            const double part = s_values[0] + s_values[2];
            const double part_2 = s_values[1] + s_values[3];
            const double part_3 = part + part_2;
            s_parts[j * s_segments + i_segment / 32] = part_3;
        }
    }
}

void gl_advance_6(void **args)
{
    advance_6(*(const double **)args[0], *(const double **)args[1], *(double **)args[2], *(int64_t *)args[3],
            *(int64_t *)args[4]);
}

// s = sum of the partial results, over a fixed binary tree
static void advance_sum(double *restrict s_parts, double *restrict s, int64_t M, int64_t N)
{
    const int64_t count = M * ((N + 32) / 32);
    #pragma omp parallel for schedule(static) if(count >= 131072)
    for (int64_t chunk = 0; chunk < count; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count);
        const int64_t tail = chunk_end - (chunk_end - chunk) % 8;
        for (int64_t first = chunk; first < tail; first += 8) {
            s_parts[first] = s_parts[first] + s_parts[first + 1] + (s_parts[first + 2] + s_parts[first + 3])
                    + (s_parts[first + 4] + s_parts[first + 5] + (s_parts[first + 6] + s_parts[first + 7]));
        }
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 8) {
                for (int64_t left = tail; left < chunk_end - width; left += width * 2) {
                    s_parts[left] = s_parts[left] + s_parts[left + width];
                }
                width = width * 2;
            }
        }
        int64_t width_2 = 8;
        for (int64_t level_2 = 0; level_2 < 62; ++level_2) {
            if (width_2 < 4096) {
                for (int64_t left_2 = chunk; left_2 < chunk_end - width_2; left_2 += width_2 * 2) {
                    s_parts[left_2] = s_parts[left_2] + s_parts[left_2 + width_2];
                }
                width_2 = width_2 * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < count) {
            for (int64_t left = 0; left < count - width; left += width * 2) {
                s_parts[left] = s_parts[left] + s_parts[left + width];
            }
            width = width * 2;
        }
    }
    s[0] = s_parts[0];
}

void gl_advance_sum(void **args)
{
    advance_sum(*(double **)args[0], *(double **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline double gl_max_f64(double a, double b) { return a > b || a != a ? a : b; } // NaN propagates

// u[i] = v[1]
static void ends_1(double *restrict u, const double *restrict v, int64_t N)
{
    const int64_t i_hi = gl_min_i64(0, N - 1) + 1;
    #pragma omp parallel for schedule(static) if(i_hi >= 262144)
    for (int64_t i_tile = 0; i_tile < i_hi; i_tile += 16384) {
        const int64_t i_end = gl_min_i64(i_tile + 16384, i_hi);
        #pragma omp simd
        for (int64_t i = i_tile; i < i_end; ++i) {
            u[i] = v[1];
        }
    }
}

void gl_ends_1(void **args)
{
    ends_1(*(double **)args[0], *(const double **)args[1], *(int64_t *)args[2]);
}

// u[i] = 2 * u[0]
static void ends_2(double *restrict u, int64_t N)
{
    const int64_t i_hi = gl_min_i64(5, N - 1) + 1;
    #pragma omp parallel for schedule(static) if(i_hi - 5 >= 87382)
    for (int64_t i_tile = 5; i_tile < i_hi; i_tile += 16384) {
        const int64_t i_end = gl_min_i64(i_tile + 16384, i_hi);
        #pragma omp simd
        for (int64_t i = i_tile; i < i_end; ++i) {
            u[i] = 2.0 * u[0];
        }
    }
}

void gl_ends_2(void **args)
{
    ends_2(*(double **)args[0], *(int64_t *)args[1]);
}

// u[i] = 3 * u[0] + 0.5 * step
// most = max over cells of u[i] - v[1]
static void ends_3(double *restrict u, const double *restrict v, double *restrict most_parts, int64_t N,
        int32_t step)
{
    const int64_t i_hi = gl_max_i64(gl_min_i64(0, N - 1), gl_min_i64(N - 1, 3)) + 1;
    const int64_t i_in_lo = gl_min_i64(3, i_hi);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(gl_min_i64(0, N - 1) + 1, i_hi), i_in_lo);
    #pragma omp parallel for schedule(static) if(i_hi >= 23832)
    for (int64_t i_tile = 0; i_tile < i_hi; i_tile += 16384) {
        const int64_t i_tile_end = gl_min_i64(i_tile + 16384, i_hi);
        for (int64_t i_segment = i_tile; i_segment < i_tile_end; i_segment += 32) {
            double most_values[32];
            if (i_segment >= i_in_lo && i_segment + 32 <= i_in_hi) {
                #pragma omp simd
                for (int64_t cell = 0; cell < 32; ++cell) {
                    const int64_t i = i_segment + cell;
                    u[i] = 3.0 * u[0] + 0.5 * (double)step;
                    most_values[i - i_segment] = u[i] - v[1];
                }
            } else {
                const int64_t i_begin = gl_max_i64(i_segment, 0);
                const int64_t i_end = gl_min_i64(gl_min_i64(i_segment + 32, i_hi), i_tile_end);
                const int64_t i_from = gl_min_i64(gl_max_i64(i_in_lo, i_begin), i_end);
                const int64_t i_to = gl_max_i64(gl_min_i64(i_in_hi, i_end), i_from);
                for (int64_t i = i_begin; i < i_from; ++i) {
                    if (i <= gl_min_i64(0, N - 1)) {
                        u[i] = 3.0 * u[0] + 0.5 * (double)step;
                    }
                    if (i >= 3 && i <= gl_min_i64(N - 1, 3)) {
                        most_values[i - i_segment] = u[i] - v[1];
                    }
                }
                #pragma omp simd
                for (int64_t i = i_from; i < i_to; ++i) {
                    u[i] = 3.0 * u[0] + 0.5 * (double)step;
                    most_values[i - i_segment] = u[i] - v[1];
                }
                for (int64_t i = i_to; i < i_end; ++i) {
                    if (i <= gl_min_i64(0, N - 1)) {
                        u[i] = 3.0 * u[0] + 0.5 * (double)step;
                    }
                    if (i >= 3 && i <= gl_min_i64(N - 1, 3)) {
                        most_values[i - i_segment] = u[i] - v[1];
                    }
                }
                if (gl_max_i64(i_begin, 3) < gl_min_i64(i_end, gl_min_i64(N - 1, 3) + 1)) {
                    for (int64_t absent = 0; absent < gl_max_i64(i_begin, 3) - i_segment; ++absent) {
                        most_values[absent] = (double)(-INFINITY);
                    }
                    for (int64_t absent_2 = gl_min_i64(i_end, gl_min_i64(N - 1, 3) + 1)
                            - i_segment; absent_2 < 32; ++absent_2) {
                        most_values[absent_2] = (double)(-INFINITY);
                    }
                }
            }
            const int64_t i_begin = gl_max_i64(i_segment, 0);
            const int64_t i_end = gl_min_i64(gl_min_i64(i_segment + 32, i_hi), i_tile_end);
            if (gl_max_i64(i_begin, 3) < gl_min_i64(i_end, gl_min_i64(N - 1, 3) + 1)) {
                #pragma omp simd
                for (int64_t cell = 0; cell < 16; ++cell) {
                    most_values[cell] = gl_max_f64(most_values[cell], most_values[cell + 16]);
                }
                #pragma omp simd
                for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                    most_values[cell_2] = gl_max_f64(most_values[cell_2], most_values[cell_2 + 8]);
                }
                #pragma omp simd
                for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                    most_values[cell_3] = gl_max_f64(most_values[cell_3], most_values[cell_3 + 4]);
                }
                const double part = gl_max_f64(most_values[0], most_values[2]);
                const double part_2 = gl_max_f64(most_values[1], most_values[3]);
                const double part_3 = gl_max_f64(part, part_2);
                most_parts[i_segment / 32] = part_3;
            }
        }
    }
}

void gl_ends_3(void **args)
{
    ends_3(*(double **)args[0], *(const double **)args[1], *(double **)args[2], *(int64_t *)args[3],
            *(int32_t *)args[4]);
}

// most = max of the partial results, over a fixed binary tree
static void ends_max(double *restrict most_parts, double *restrict most, int64_t N)
{
    const int64_t count = (gl_min_i64(N - 1, 3) + 32) / 32;
    #pragma omp parallel for schedule(static) if(count >= 131072)
    for (int64_t chunk = 0; chunk < count; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count);
        const int64_t tail = chunk_end - (chunk_end - chunk) % 8;
        for (int64_t first = chunk; first < tail; first += 8) {
            most_parts[first] =
                    gl_max_f64(gl_max_f64(gl_max_f64(most_parts[first], most_parts[first + 1]), gl_max_f64(most_parts[first + 2], most_parts[first + 3])),
                    gl_max_f64(gl_max_f64(most_parts[first + 4], most_parts[first + 5]), gl_max_f64(most_parts[first + 6], most_parts[first + 7])));
        }
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 8) {
                for (int64_t left = tail; left < chunk_end - width; left += width * 2) {
                    most_parts[left] = gl_max_f64(most_parts[left], most_parts[left + width]);
                }
                width = width * 2;
            }
        }
        int64_t width_2 = 8;
        for (int64_t level_2 = 0; level_2 < 62; ++level_2) {
            if (width_2 < 4096) {
                for (int64_t left_2 = chunk; left_2 < chunk_end - width_2; left_2 += width_2 * 2) {
                    most_parts[left_2] = gl_max_f64(most_parts[left_2], most_parts[left_2 + width_2]);
                }
                width_2 = width_2 * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < count) {
            for (int64_t left = 0; left < count - width; left += width * 2) {
                most_parts[left] = gl_max_f64(most_parts[left], most_parts[left + width]);
            }
            width = width * 2;
        }
    }
    most[0] = most_parts[0];
}

void gl_ends_max(void **args)
{
    ends_max(*(double **)args[0], *(double **)args[1], *(int64_t *)args[2]);
}

// v[i] = most + N
// v[i] = v[i] * 2
static void ends_4(double *restrict v, const double *restrict most, int64_t N)
{
    const int64_t i_hi = gl_max_i64(gl_min_i64(2, N - 1), gl_min_i64(N - 1, 1)) + 1;
    const int64_t i_in_lo = gl_min_i64(2, i_hi);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(gl_min_i64(N - 1, 1) + 1, i_hi), i_in_lo);
    #pragma omp parallel for schedule(static) if(i_hi - 1 >= 37450)
    for (int64_t i_tile = 1; i_tile < i_hi; i_tile += 16384) {
        const int64_t i_end = gl_min_i64(i_tile + 16384, i_hi);
        const int64_t i_from = gl_min_i64(gl_max_i64(i_in_lo, i_tile), i_end);
        const int64_t i_to = gl_max_i64(gl_min_i64(i_in_hi, i_end), i_from);
        if (i_tile < i_from) {
            const int64_t i = i_tile;
            if (i >= 2 && i <= gl_min_i64(2, N - 1)) {
                v[i] = most[0] + (double)(int32_t)N;
            }
            if (i <= gl_min_i64(N - 1, 1)) {
                v[i] = v[i] * 2.0;
            }
        }
        #pragma omp simd
        for (int64_t i = i_from; i < i_to; ++i) {
            v[i] = most[0] + (double)(int32_t)N;
            v[i] = v[i] * 2.0;
        }
        for (int64_t i = i_to; i < i_end; ++i) {
            if (i >= 2 && i <= gl_min_i64(2, N - 1)) {
                v[i] = most[0] + (double)(int32_t)N;
            }
            if (i <= gl_min_i64(N - 1, 1)) {
                v[i] = v[i] * 2.0;
            }
        }
    }
}

void gl_ends_4(void **args)
{
    ends_4(*(double **)args[0], *(const double **)args[1], *(int64_t *)args[2]);
}

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int32_t gl_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline float gl_min_f32(float a, float b) { return a < b || a != a ? a : b; } // NaN propagates
static inline double gl_max_f64(double a, double b) { return a > b || a != a ? a : b; } // NaN propagates

// d = in[j][i+1] - in[j][i-1]
// sum = sum over cells of d * d
// most = max over cells of d
// least = min over cells of w[j][i]
// count = sum over cells of n[j][i]
// top = max over cells of int(b[j][i])
static void measure_1(const double *restrict in, const float *restrict w, const int32_t *restrict n,
        const uint8_t *restrict b, double *restrict sum_parts, double *restrict most_parts,
        float *restrict least_parts, int32_t *restrict count_parts, int32_t *restrict top_parts, int64_t M,
        int64_t N)
{
    const int64_t j_in_lo = gl_min_i64(1, M);
    const int64_t j_in_hi = gl_max_i64(gl_min_i64(M - 1, M), j_in_lo);
    const int64_t i_in_lo = gl_min_i64(1, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 1, N), i_in_lo);
    const int64_t sum_segments = (N + 31) / 32;
    const int64_t most_segments = (N + 31) / 32;
    const int64_t least_segments = (N + 31) / 32;
    #pragma omp parallel for schedule(static) if(M * N >= 23832)
    for (int64_t j = 0; j < M; ++j) {
        int32_t count_row = 0;
        int32_t top_row = (-2147483647 - 1);
        if (j >= j_in_lo && j < j_in_hi) {
            for (int64_t i_segment = 0; i_segment < N; i_segment += 32) {
                double sum_values[32];
                double most_values[32];
                float least_values[32];
                const int64_t row = j * N;
                if (i_segment >= i_in_lo && i_segment + 32 <= i_in_hi) {
                    #pragma omp simd reduction(+ : count_row) reduction(max : top_row)
                    for (int64_t cell = 0; cell < 32; ++cell) {
                        const int64_t i = i_segment + cell;
                        const double d = in[row + i + 1] - in[row + i - 1];
                        sum_values[i - i_segment] = d * d;
                        most_values[i - i_segment] = d;
                        least_values[i - i_segment] = w[row + i];
                        count_row = count_row + n[row + i];
                        top_row = gl_max_i32(top_row, (int32_t)b[row + i]);
                    }
                } else {
                    const int64_t i_begin = gl_max_i64(i_segment, 0);
                    const int64_t i_end = gl_min_i64(i_segment + 32, N);
                    const int64_t i_from = gl_min_i64(gl_max_i64(i_in_lo, i_begin), i_end);
                    const int64_t i_to = gl_max_i64(gl_min_i64(i_in_hi, i_end), i_from);
                    if (i_begin < i_from) {
                        const int64_t i = i_begin;
                        const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                        const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                        const double d = in[row + ip1] - in[row + im1];
                        sum_values[i - i_segment] = d * d;
                        most_values[i - i_segment] = d;
                        least_values[i - i_segment] = w[row + i];
                        count_row = count_row + n[row + i];
                        top_row = gl_max_i32(top_row, (int32_t)b[row + i]);
                    }
                    #pragma omp simd reduction(+ : count_row) reduction(max : top_row)
                    for (int64_t i = i_from; i < i_to; ++i) {
                        const double d = in[row + i + 1] - in[row + i - 1];
                        sum_values[i - i_segment] = d * d;
                        most_values[i - i_segment] = d;
                        least_values[i - i_segment] = w[row + i];
                        count_row = count_row + n[row + i];
                        top_row = gl_max_i32(top_row, (int32_t)b[row + i]);
                    }
                    if (i_to < i_end) {
                        const int64_t i = i_to;
                        const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                        const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                        const double d = in[row + ip1] - in[row + im1];
                        sum_values[i - i_segment] = d * d;
                        most_values[i - i_segment] = d;
                        least_values[i - i_segment] = w[row + i];
                        count_row = count_row + n[row + i];
                        top_row = gl_max_i32(top_row, (int32_t)b[row + i]);
                    }
                    for (int64_t absent = 0; absent < i_begin - i_segment; ++absent) {
                        sum_values[absent] = -0.0;
                    }
                    for (int64_t absent_2 = i_end - i_segment; absent_2 < 32; ++absent_2) {
                        sum_values[absent_2] = -0.0;
                    }
                    for (int64_t absent = 0; absent < i_begin - i_segment; ++absent) {
                        most_values[absent] = (double)(-INFINITY);
                    }
                    for (int64_t absent_2 = i_end - i_segment; absent_2 < 32; ++absent_2) {
                        most_values[absent_2] = (double)(-INFINITY);
                    }
                    for (int64_t absent = 0; absent < i_begin - i_segment; ++absent) {
                        least_values[absent] = (float)(INFINITY);
                    }
                    for (int64_t absent_2 = i_end - i_segment; absent_2 < 32; ++absent_2) {
                        least_values[absent_2] = (float)(INFINITY);
                    }
                }
                #pragma omp simd
                for (int64_t cell = 0; cell < 16; ++cell) {
                    sum_values[cell] = sum_values[cell] + sum_values[cell + 16];
                }
                #pragma omp simd
                for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                    sum_values[cell_2] = sum_values[cell_2] + sum_values[cell_2 + 8];
                }
                #pragma omp simd
                for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                    sum_values[cell_3] = sum_values[cell_3] + sum_values[cell_3 + 4];
                }
                const double part = sum_values[0] + sum_values[2];
                const double part_2 = sum_values[1] + sum_values[3];
                const double part_3 = part + part_2;
                sum_parts[j * sum_segments + i_segment / 32] = part_3;
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
                const double part_4 = gl_max_f64(most_values[0], most_values[2]);
                const double part_5 = gl_max_f64(most_values[1], most_values[3]);
                const double part_6 = gl_max_f64(part_4, part_5);
                most_parts[j * most_segments + i_segment / 32] = part_6;
                const int64_t row_2 = j - 1;
                #pragma omp simd
                for (int64_t cell = 0; cell < 16; ++cell) {
                    least_values[cell] = gl_min_f32(least_values[cell], least_values[cell + 16]);
                }
                #pragma omp simd
                for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                    least_values[cell_2] = gl_min_f32(least_values[cell_2], least_values[cell_2 + 8]);
                }
                #pragma omp simd
                for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                    least_values[cell_3] = gl_min_f32(least_values[cell_3], least_values[cell_3 + 4]);
                }
                const float part_7 = gl_min_f32(least_values[0], least_values[2]);
                const float part_8 = gl_min_f32(least_values[1], least_values[3]);
                const float part_9 = gl_min_f32(part_7, part_8);
                least_parts[row_2 * least_segments + i_segment / 32] = part_9;
            }
        } else {
            for (int64_t i_strip = 0; i_strip < N; i_strip += 1024) {
                double sum_values[1024];
                double most_values[1024];
                float least_values[1024];
                const int64_t i_begin = gl_max_i64(i_strip, 0);
                const int64_t i_end = gl_min_i64(i_strip + 1024, N);
                const int64_t i_from = gl_min_i64(gl_max_i64(i_in_lo, i_begin), i_end);
                const int64_t i_to = gl_max_i64(gl_min_i64(i_in_hi, i_end), i_from);
                const int64_t row = j * N;
                if (i_begin < i_from) {
                    const int64_t i = i_begin;
                    const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                    const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                    const double d = in[row + ip1] - in[row + im1];
                    sum_values[i - i_strip] = d * d;
                    most_values[i - i_strip] = d;
                    if (j >= 1 && j <= M - 2) {
                        least_values[i - i_strip] = w[row + i];
                    }
                    count_row = count_row + n[row + i];
                    top_row = gl_max_i32(top_row, (int32_t)b[row + i]);
                }
                #pragma omp simd reduction(+ : count_row) reduction(max : top_row)
                for (int64_t i = i_from; i < i_to; ++i) {
                    const double d = in[row + i + 1] - in[row + i - 1];
                    sum_values[i - i_strip] = d * d;
                    most_values[i - i_strip] = d;
                    if (j >= 1 && j <= M - 2) {
                        least_values[i - i_strip] = w[row + i];
                    }
                    count_row = count_row + n[row + i];
                    top_row = gl_max_i32(top_row, (int32_t)b[row + i]);
                }
                if (i_to < i_end) {
                    const int64_t i = i_to;
                    const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                    const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                    const double d = in[row + ip1] - in[row + im1];
                    sum_values[i - i_strip] = d * d;
                    most_values[i - i_strip] = d;
                    if (j >= 1 && j <= M - 2) {
                        least_values[i - i_strip] = w[row + i];
                    }
                    count_row = count_row + n[row + i];
                    top_row = gl_max_i32(top_row, (int32_t)b[row + i]);
                }
                const int64_t i_first = i_begin - i_strip;
                const int64_t i_count = i_end - i_strip;
                const int64_t i_from_segment = i_first - i_first % 32;
                const int64_t i_to_segment = (i_count + 31) / 32 * 32;
                for (int64_t absent = i_from_segment; absent < i_first; ++absent) {
                    sum_values[absent] = -0.0;
                }
                for (int64_t absent_2 = i_count; absent_2 < i_to_segment; ++absent_2) {
                    sum_values[absent_2] = -0.0;
                }
                const int64_t base = j * sum_segments + i_strip / 32;
                for (int64_t segment = i_from_segment; segment < i_to_segment; segment += 32) {
                    #pragma omp simd
                    for (int64_t cell = 0; cell < 16; ++cell) {
                        sum_values[segment + cell] = sum_values[segment + cell]
                                + sum_values[segment + cell + 16];
                    }
                    #pragma omp simd
                    for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                        sum_values[segment + cell_2] = sum_values[segment + cell_2]
                                + sum_values[segment + cell_2 + 8];
                    }
                    #pragma omp simd
                    for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                        sum_values[segment + cell_3] = sum_values[segment + cell_3]
                                + sum_values[segment + cell_3 + 4];
                    }
                    const double part = sum_values[segment] + sum_values[segment + 2];
                    const double part_2 = sum_values[segment + 1] + sum_values[segment + 3];
                    const double part_3 = part + part_2;
                    sum_parts[base + segment / 32] = part_3;
                }
                const int64_t i_first_2 = i_begin - i_strip;
                const int64_t i_count_2 = i_end - i_strip;
                const int64_t i_from_segment_2 = i_first_2 - i_first_2 % 32;
                const int64_t i_to_segment_2 = (i_count_2 + 31) / 32 * 32;
                for (int64_t absent = i_from_segment_2; absent < i_first_2; ++absent) {
                    most_values[absent] = (double)(-INFINITY);
                }
                for (int64_t absent_2 = i_count_2; absent_2 < i_to_segment_2; ++absent_2) {
                    most_values[absent_2] = (double)(-INFINITY);
                }
                const int64_t base_2 = j * most_segments + i_strip / 32;
                for (int64_t segment = i_from_segment_2; segment < i_to_segment_2; segment += 32) {
                    #pragma omp simd
                    for (int64_t cell = 0; cell < 16; ++cell) {
                        most_values[segment + cell] = gl_max_f64(most_values[segment + cell],
                                most_values[segment + cell + 16]);
                    }
                    #pragma omp simd
                    for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                        most_values[segment + cell_2] = gl_max_f64(most_values[segment + cell_2],
                                most_values[segment + cell_2 + 8]);
                    }
                    #pragma omp simd
                    for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                        most_values[segment + cell_3] = gl_max_f64(most_values[segment + cell_3],
                                most_values[segment + cell_3 + 4]);
                    }
                    const double part = gl_max_f64(most_values[segment], most_values[segment + 2]);
                    const double part_2 = gl_max_f64(most_values[segment + 1], most_values[segment + 3]);
                    const double part_3 = gl_max_f64(part, part_2);
                    most_parts[base_2 + segment / 32] = part_3;
                }
                if (j >= 1 && j <= M - 2) {
                    const int64_t i_first_3 = i_begin - i_strip;
                    const int64_t i_count_3 = i_end - i_strip;
                    const int64_t i_from_segment_3 = i_first_3 - i_first_3 % 32;
                    const int64_t i_to_segment_3 = (i_count_3 + 31) / 32 * 32;
                    for (int64_t absent = i_from_segment_3; absent < i_first_3; ++absent) {
                        least_values[absent] = (float)(INFINITY);
                    }
                    for (int64_t absent_2 = i_count_3; absent_2 < i_to_segment_3; ++absent_2) {
                        least_values[absent_2] = (float)(INFINITY);
                    }
                    const int64_t row_2 = j - 1;
                    const int64_t base_3 = row_2 * least_segments + i_strip / 32;
                    for (int64_t segment = i_from_segment_3; segment < i_to_segment_3; segment += 32) {
                        #pragma omp simd
                        for (int64_t cell = 0; cell < 16; ++cell) {
                            least_values[segment + cell] = gl_min_f32(least_values[segment + cell],
                                    least_values[segment + cell + 16]);
                        }
                        #pragma omp simd
                        for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                            least_values[segment + cell_2] = gl_min_f32(least_values[segment + cell_2],
                                    least_values[segment + cell_2 + 8]);
                        }
                        #pragma omp simd
                        for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                            least_values[segment + cell_3] = gl_min_f32(least_values[segment + cell_3],
                                    least_values[segment + cell_3 + 4]);
                        }
                        const float part = gl_min_f32(least_values[segment], least_values[segment + 2]);
                        const float part_2 = gl_min_f32(least_values[segment + 1], least_values[segment + 3]);
                        const float part_3 = gl_min_f32(part, part_2);
                        least_parts[base_3 + segment / 32] = part_3;
                    }
                }
            }
        }
        count_parts[j] = count_row;
        top_parts[j] = top_row;
    }
}

void gl_measure_1(void **args)
{
    measure_1(*(const double **)args[0], *(const float **)args[1], *(const int32_t **)args[2],
            *(const uint8_t **)args[3], *(double **)args[4], *(double **)args[5], *(float **)args[6],
            *(int32_t **)args[7], *(int32_t **)args[8], *(int64_t *)args[9], *(int64_t *)args[10]);
}

// sum = sum of the partial results, over a fixed binary tree
static void measure_sum(double *restrict sum_parts, double *restrict sum, int64_t M, int64_t N)
{
    const int64_t count_ = M * ((N + 31) / 32);
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
        const int64_t tail = chunk_end - (chunk_end - chunk) % 8;
        for (int64_t first = chunk; first < tail; first += 8) {
            sum_parts[first] = sum_parts[first] + sum_parts[first + 1] + (sum_parts[first + 2]
                    + sum_parts[first + 3]) + (sum_parts[first + 4] + sum_parts[first + 5]
                    + (sum_parts[first + 6] + sum_parts[first + 7]));
        }
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 8) {
                for (int64_t left = tail; left < chunk_end - width; left += width * 2) {
                    sum_parts[left] = sum_parts[left] + sum_parts[left + width];
                }
                width = width * 2;
            }
        }
        int64_t width_2 = 8;
        for (int64_t level_2 = 0; level_2 < 62; ++level_2) {
            if (width_2 < 4096) {
                for (int64_t left_2 = chunk; left_2 < chunk_end - width_2; left_2 += width_2 * 2) {
                    sum_parts[left_2] = sum_parts[left_2] + sum_parts[left_2 + width_2];
                }
                width_2 = width_2 * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < count_) {
            for (int64_t left = 0; left < count_ - width; left += width * 2) {
                sum_parts[left] = sum_parts[left] + sum_parts[left + width];
            }
            width = width * 2;
        }
    }
    sum[0] = sum_parts[0];
}

void gl_measure_sum(void **args)
{
    measure_sum(*(double **)args[0], *(double **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// most = max of the partial results, over a fixed binary tree
static void measure_max(double *restrict most_parts, double *restrict most, int64_t M, int64_t N)
{
    const int64_t count_ = M * ((N + 31) / 32);
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
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
        if (width < count_) {
            for (int64_t left = 0; left < count_ - width; left += width * 2) {
                most_parts[left] = gl_max_f64(most_parts[left], most_parts[left + width]);
            }
            width = width * 2;
        }
    }
    most[0] = most_parts[0];
}

void gl_measure_max(void **args)
{
    measure_max(*(double **)args[0], *(double **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// least = min of the partial results, over a fixed binary tree
static void measure_min(float *restrict least_parts, float *restrict least, int64_t M, int64_t N)
{
    const int64_t count_ = (M - 2) * ((N + 31) / 32);
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
        const int64_t tail = chunk_end - (chunk_end - chunk) % 8;
        for (int64_t first = chunk; first < tail; first += 8) {
            least_parts[first] =
                    gl_min_f32(gl_min_f32(gl_min_f32(least_parts[first], least_parts[first + 1]), gl_min_f32(least_parts[first + 2], least_parts[first + 3])),
                    gl_min_f32(gl_min_f32(least_parts[first + 4], least_parts[first + 5]), gl_min_f32(least_parts[first + 6], least_parts[first + 7])));
        }
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 8) {
                for (int64_t left = tail; left < chunk_end - width; left += width * 2) {
                    least_parts[left] = gl_min_f32(least_parts[left], least_parts[left + width]);
                }
                width = width * 2;
            }
        }
        int64_t width_2 = 8;
        for (int64_t level_2 = 0; level_2 < 62; ++level_2) {
            if (width_2 < 4096) {
                for (int64_t left_2 = chunk; left_2 < chunk_end - width_2; left_2 += width_2 * 2) {
                    least_parts[left_2] = gl_min_f32(least_parts[left_2], least_parts[left_2 + width_2]);
                }
                width_2 = width_2 * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < count_) {
            for (int64_t left = 0; left < count_ - width; left += width * 2) {
                least_parts[left] = gl_min_f32(least_parts[left], least_parts[left + width]);
            }
            width = width * 2;
        }
    }
    least[0] = least_parts[0];
}

void gl_measure_min(void **args)
{
    measure_min(*(float **)args[0], *(float **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// count = sum of the partial results, over a fixed binary tree
static void measure_sum_2(int32_t *restrict count_parts, int32_t *restrict count, int64_t M)
{
    #pragma omp parallel for schedule(static) if(M >= 131072)
    for (int64_t chunk = 0; chunk < M; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, M);
        const int64_t tail = chunk_end - (chunk_end - chunk) % 8;
        for (int64_t first = chunk; first < tail; first += 8) {
            count_parts[first] = count_parts[first] + count_parts[first + 1] + (count_parts[first + 2]
                    + count_parts[first + 3]) + (count_parts[first + 4] + count_parts[first + 5]
                    + (count_parts[first + 6] + count_parts[first + 7]));
        }
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 8) {
                for (int64_t left = tail; left < chunk_end - width; left += width * 2) {
                    count_parts[left] = count_parts[left] + count_parts[left + width];
                }
                width = width * 2;
            }
        }
        int64_t width_2 = 8;
        for (int64_t level_2 = 0; level_2 < 62; ++level_2) {
            if (width_2 < 4096) {
                for (int64_t left_2 = chunk; left_2 < chunk_end - width_2; left_2 += width_2 * 2) {
                    count_parts[left_2] = count_parts[left_2] + count_parts[left_2 + width_2];
                }
                width_2 = width_2 * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < M) {
            for (int64_t left = 0; left < M - width; left += width * 2) {
                count_parts[left] = count_parts[left] + count_parts[left + width];
            }
            width = width * 2;
        }
    }
    count[0] = count_parts[0];
}

void gl_measure_sum_2(void **args)
{
    measure_sum_2(*(int32_t **)args[0], *(int32_t **)args[1], *(int64_t *)args[2]);
}

// top = max of the partial results, over a fixed binary tree
static void measure_max_2(int32_t *restrict top_parts, int32_t *restrict top, int64_t M)
{
    #pragma omp parallel for schedule(static) if(M >= 131072)
    for (int64_t chunk = 0; chunk < M; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, M);
        const int64_t tail = chunk_end - (chunk_end - chunk) % 8;
        for (int64_t first = chunk; first < tail; first += 8) {
            top_parts[first] =
                    gl_max_i32(gl_max_i32(gl_max_i32(top_parts[first], top_parts[first + 1]), gl_max_i32(top_parts[first + 2], top_parts[first + 3])),
                    gl_max_i32(gl_max_i32(top_parts[first + 4], top_parts[first + 5]), gl_max_i32(top_parts[first + 6], top_parts[first + 7])));
        }
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 8) {
                for (int64_t left = tail; left < chunk_end - width; left += width * 2) {
                    top_parts[left] = gl_max_i32(top_parts[left], top_parts[left + width]);
                }
                width = width * 2;
            }
        }
        int64_t width_2 = 8;
        for (int64_t level_2 = 0; level_2 < 62; ++level_2) {
            if (width_2 < 4096) {
                for (int64_t left_2 = chunk; left_2 < chunk_end - width_2; left_2 += width_2 * 2) {
                    top_parts[left_2] = gl_max_i32(top_parts[left_2], top_parts[left_2 + width_2]);
                }
                width_2 = width_2 * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < M) {
            for (int64_t left = 0; left < M - width; left += width * 2) {
                top_parts[left] = gl_max_i32(top_parts[left], top_parts[left + width]);
            }
            width = width * 2;
        }
    }
    top[0] = top_parts[0];
}

void gl_measure_max_2(void **args)
{
    measure_max_2(*(int32_t **)args[0], *(int32_t **)args[1], *(int64_t *)args[2]);
}

// out[j][i] = in[j][i] + 0.01 * sum + most
// sum = sum over cells of out[j][i]
static void measure_2(double *restrict out, const double *restrict in, double *restrict sum_parts,
        const double *restrict sum, const double *restrict most, int64_t M, int64_t N)
{
    const int64_t sum_segments = (N + 31) / 32;
    #pragma omp parallel for schedule(static) if(M * N >= 32768)
    for (int64_t j = 0; j < M; ++j) {
        for (int64_t i_segment = 0; i_segment < N; i_segment += 32) {
            double sum_values[32];
            const int64_t row = j * N;
            if (i_segment >= 0 && i_segment + 32 <= N) {
                #pragma omp simd
                for (int64_t cell = 0; cell < 32; ++cell) {
                    const int64_t i = i_segment + cell;
                    out[row + i] = in[row + i] + 0.01 * sum[0] + most[0];
                    sum_values[i - i_segment] = ((j + i) % 3 + 3) % 3 == 0 ? out[row + i] : 0.0;
                }
            } else {
                const int64_t i_begin = gl_max_i64(i_segment, 0);
                const int64_t i_end = gl_min_i64(i_segment + 32, N);
                #pragma omp simd
                for (int64_t i = i_begin; i < i_end; ++i) {
                    out[row + i] = in[row + i] + 0.01 * sum[0] + most[0];
                    sum_values[i - i_segment] = ((j + i) % 3 + 3) % 3 == 0 ? out[row + i] : 0.0;
                }
                for (int64_t absent = 0; absent < i_begin - i_segment; ++absent) {
                    sum_values[absent] = -0.0;
                }
                for (int64_t absent_2 = i_end - i_segment; absent_2 < 32; ++absent_2) {
                    sum_values[absent_2] = -0.0;
                }
            }
            #pragma omp simd
            for (int64_t cell = 0; cell < 16; ++cell) {
                sum_values[cell] = sum_values[cell] + sum_values[cell + 16];
            }
            #pragma omp simd
            for (int64_t cell_2 = 0; cell_2 < 8; ++cell_2) {
                sum_values[cell_2] = sum_values[cell_2] + sum_values[cell_2 + 8];
            }
            #pragma omp simd
            for (int64_t cell_3 = 0; cell_3 < 4; ++cell_3) {
                sum_values[cell_3] = sum_values[cell_3] + sum_values[cell_3 + 4];
            }
            const double part = sum_values[0] + sum_values[2];
            const double part_2 = sum_values[1] + sum_values[3];
            const double part_3 = part + part_2;
            sum_parts[j * sum_segments + i_segment / 32] = part_3;
        }
    }
}

void gl_measure_2(void **args)
{
    measure_2(*(double **)args[0], *(const double **)args[1], *(double **)args[2], *(const double **)args[3],
            *(const double **)args[4], *(int64_t *)args[5], *(int64_t *)args[6]);
}

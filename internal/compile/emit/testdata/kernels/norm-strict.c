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
    #pragma omp parallel for schedule(static) if(M * N >= 23832)
    for (int64_t j = 0; j < M; ++j) {
        if (j >= j_in_lo && j < j_in_hi) {
            const int64_t row = j * N;
            if (0 < i_in_lo) {
                const int64_t i = 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const double d = in[row + ip1] - in[row + im1];
                sum_parts[j * N + i] = d * d;
                most_parts[j * N + i] = d;
                least_parts[(j - 1) * N + i] = w[row + i];
                count_parts[j * N + i] = n[row + i];
                top_parts[j * N + i] = (int32_t)b[row + i];
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                const double d = in[row + i + 1] - in[row + i - 1];
                sum_parts[j * N + i] = d * d;
                most_parts[j * N + i] = d;
                least_parts[(j - 1) * N + i] = w[row + i];
                count_parts[j * N + i] = n[row + i];
                top_parts[j * N + i] = (int32_t)b[row + i];
            }
            if (i_in_hi < N) {
                const int64_t i = i_in_hi;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const double d = in[row + ip1] - in[row + im1];
                sum_parts[j * N + i] = d * d;
                most_parts[j * N + i] = d;
                least_parts[(j - 1) * N + i] = w[row + i];
                count_parts[j * N + i] = n[row + i];
                top_parts[j * N + i] = (int32_t)b[row + i];
            }
        } else {
            const int64_t row = j * N;
            if (0 < i_in_lo) {
                const int64_t i = 0;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const double d = in[row + ip1] - in[row + im1];
                sum_parts[j * N + i] = d * d;
                most_parts[j * N + i] = d;
                if (j >= 1 && j <= M - 2) {
                    least_parts[(j - 1) * N + i] = w[row + i];
                }
                count_parts[j * N + i] = n[row + i];
                top_parts[j * N + i] = (int32_t)b[row + i];
            }
            #pragma omp simd
            for (int64_t i = i_in_lo; i < i_in_hi; ++i) {
                const double d = in[row + i + 1] - in[row + i - 1];
                sum_parts[j * N + i] = d * d;
                most_parts[j * N + i] = d;
                if (j >= 1 && j <= M - 2) {
                    least_parts[(j - 1) * N + i] = w[row + i];
                }
                count_parts[j * N + i] = n[row + i];
                top_parts[j * N + i] = (int32_t)b[row + i];
            }
            if (i_in_hi < N) {
                const int64_t i = i_in_hi;
                const int64_t ip1 = i + 1 > N - 1 ? N * 2 - 1 - (i + 1) : i + 1;
                const int64_t im1 = i - 1 < 0 ? -1 - (i - 1) : i - 1;
                const double d = in[row + ip1] - in[row + im1];
                sum_parts[j * N + i] = d * d;
                most_parts[j * N + i] = d;
                if (j >= 1 && j <= M - 2) {
                    least_parts[(j - 1) * N + i] = w[row + i];
                }
                count_parts[j * N + i] = n[row + i];
                top_parts[j * N + i] = (int32_t)b[row + i];
            }
        }
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
    const int64_t count_ = M * N;
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 4096) {
                for (int64_t left = chunk; left < chunk_end - width; left += width * 2) {
                    sum_parts[left] = sum_parts[left] + sum_parts[left + width];
                }
                width = width * 2;
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
    const int64_t count_ = M * N;
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 4096) {
                for (int64_t left = chunk; left < chunk_end - width; left += width * 2) {
                    most_parts[left] = gl_max_f64(most_parts[left], most_parts[left + width]);
                }
                width = width * 2;
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
    const int64_t count_ = (M - 2) * N;
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 4096) {
                for (int64_t left = chunk; left < chunk_end - width; left += width * 2) {
                    least_parts[left] = gl_min_f32(least_parts[left], least_parts[left + width]);
                }
                width = width * 2;
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
static void measure_sum_2(int32_t *restrict count_parts, int32_t *restrict count, int64_t M, int64_t N)
{
    const int64_t count_ = M * N;
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 4096) {
                for (int64_t left = chunk; left < chunk_end - width; left += width * 2) {
                    count_parts[left] = count_parts[left] + count_parts[left + width];
                }
                width = width * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < count_) {
            for (int64_t left = 0; left < count_ - width; left += width * 2) {
                count_parts[left] = count_parts[left] + count_parts[left + width];
            }
            width = width * 2;
        }
    }
    count[0] = count_parts[0];
}

void gl_measure_sum_2(void **args)
{
    measure_sum_2(*(int32_t **)args[0], *(int32_t **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// top = max of the partial results, over a fixed binary tree
static void measure_max_2(int32_t *restrict top_parts, int32_t *restrict top, int64_t M, int64_t N)
{
    const int64_t count_ = M * N;
    #pragma omp parallel for schedule(static) if(count_ >= 131072)
    for (int64_t chunk = 0; chunk < count_; chunk += 4096) {
        const int64_t chunk_end = gl_min_i64(chunk + 4096, count_);
        int64_t width = 1;
        for (int64_t level = 0; level < 62; ++level) {
            if (width < 4096) {
                for (int64_t left = chunk; left < chunk_end - width; left += width * 2) {
                    top_parts[left] = gl_max_i32(top_parts[left], top_parts[left + width]);
                }
                width = width * 2;
            }
        }
    }
    int64_t width = 4096;
    for (int64_t level = 0; level < 62; ++level) {
        if (width < count_) {
            for (int64_t left = 0; left < count_ - width; left += width * 2) {
                top_parts[left] = gl_max_i32(top_parts[left], top_parts[left + width]);
            }
            width = width * 2;
        }
    }
    top[0] = top_parts[0];
}

void gl_measure_max_2(void **args)
{
    measure_max_2(*(int32_t **)args[0], *(int32_t **)args[1], *(int64_t *)args[2], *(int64_t *)args[3]);
}

// out[j][i] = in[j][i] + 0.01 * sum + most
// sum = sum over cells of out[j][i]
static void measure_2(double *restrict out, const double *restrict in, double *restrict sum_parts,
        const double *restrict sum, const double *restrict most, int64_t M, int64_t N)
{
    #pragma omp parallel for schedule(static) if(M * N >= 32768)
    for (int64_t j = 0; j < M; ++j) {
        const int64_t row = j * N;
        #pragma omp simd
        for (int64_t i = 0; i < N; ++i) {
            out[row + i] = in[row + i] + 0.01 * sum[0] + most[0];
            sum_parts[j * N + i] = ((j + i) % 3 + 3) % 3 == 0 ? out[row + i] : 0.0;
        }
    }
}

void gl_measure_2(void **args)
{
    measure_2(*(double **)args[0], *(const double **)args[1], *(double **)args[2], *(const double **)args[3],
            *(const double **)args[4], *(int64_t *)args[5], *(int64_t *)args[6]);
}

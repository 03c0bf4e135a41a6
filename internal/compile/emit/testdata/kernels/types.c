#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline int64_t gl_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gl_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline float gl_min_f32(float a, float b) { return a < b || a != a ? a : b; } // NaN propagates
static inline double gl_max_f64(double a, double b) { return a > b || a != a ? a : b; } // NaN propagates
static inline int32_t gl_int_f64(double x) // towards zero, saturating; NaN is 0
{
    return x != x ? 0 : x <= -2147483648.0 ? -2147483647 - 1 : x >= 2147483647.0 ? 2147483647 : (int32_t)x;
}
static inline int32_t gl_div_i32(int32_t a, int32_t b) // x / 0 is 0
{
    return b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}
static inline int32_t gl_rem_i32(int32_t a, int32_t b) { return b == 0 || b == -1 ? 0 : a % b; } // x % 0 is 0
static inline int32_t gl_abs_i32(int32_t a) { return a < 0 ? (int32_t)(0u - (uint32_t)a) : a; }

// c[i] = byte(int(b[i-1]) + 200 * int(b[i+1]))
// k = n[i-1] % m[i] + n[i] / (m[i] - 3) + abs(n[i]) - big
// m[i] = k^3 + (k & 255 | 1)
// q[i] = p[i] && n[i] > 0 || int(!p[i]) == int(int(b[i]) < 100)
// f[i] = q[i] ? f[i]^2 - 1.5 : f[i]^-3
// d[i] = max(max(f[i], d[i]), min(0.1, f[i])) * 1e+300 + fmod(d[i], 0.3) + floor(d[i]) + step
static void mix_1(uint8_t *restrict c, const uint8_t *restrict b, const int32_t *restrict n,
        int32_t *restrict m, uint8_t *restrict q, const uint8_t *restrict p, float *restrict f,
        double *restrict d, int64_t N, int32_t big, int32_t step)
{
    const int64_t i_in_lo = gl_min_i64(1, N);
    const int64_t i_in_hi = gl_max_i64(gl_min_i64(N - 1, N), i_in_lo);
    #pragma omp parallel for schedule(static) if(N >= 1703)
    for (int64_t i_tile = 0; i_tile < N; i_tile += 16384) {
        const int64_t i_end = gl_min_i64(i_tile + 16384, N);
        const int64_t i_from = gl_min_i64(gl_max_i64(i_in_lo, i_tile), i_end);
        const int64_t i_to = gl_max_i64(gl_min_i64(i_in_hi, i_end), i_from);
        if (i_tile < i_from) {
            const int64_t i = i_tile;
            const int64_t im1 = i - 1 < 0 ? 0 : i - 1;
            const int64_t ip1 = i + 1 > N - 1 ? N - 1 : i + 1;
            c[i] = (uint8_t)((int32_t)b[im1] + (int32_t)b[ip1] * 200);
            const int64_t im1_2 = i - 1 < 0 ? (0 - (i - 1) <= N - 1 ? 0 - (i - 1) : (((i - 1) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                    ? gl_max_i64((N - 1) * 2, 1) - ((i - 1) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                    - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 1) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 1;
            const bool im1_neg = i - 1 < 0 && (0 - (i - 1) <= N - 1 || (N > 1 && ((gl_max_i64(0 - (i - 1), i
                    - 1 - (N - 1)) + (gl_max_i64(N - 1, 1) - 1)) / gl_max_i64(N - 1, 1) % 2 == 1)));
            const int32_t k = gl_rem_i32(im1_neg ? -n[im1_2] : n[im1_2], m[i]) + gl_div_i32(n[i], m[i] - 3)
                    + gl_abs_i32(n[i]) - big;
            m[i] = k * k * k + ((k & 255) | 1);
            q[i] = (p[i] && n[i] > 0) || ((int32_t)!p[i] == (int32_t)((int32_t)b[i] < 100));
            const float base = f[i];
            const float base_2 = f[i];
            f[i] = q[i] ? base * base - 1.5f : 1.0f / (base_2 * base_2 * base_2);
            d[i] = gl_max_f64(gl_max_f64((double)f[i], d[i]), (double)gl_min_f32(0.1f, f[i])) * 1e+300
                    + fmod(d[i], 0.3) + floor(d[i]) + (double)step;
        }
        #pragma omp simd
        for (int64_t i = i_from; i < i_to; ++i) {
            c[i] = (uint8_t)((int32_t)b[i - 1] + (int32_t)b[i + 1] * 200);
            const int32_t k = gl_rem_i32(n[i - 1], m[i]) + gl_div_i32(n[i], m[i] - 3) + gl_abs_i32(n[i])
                    - big;
            m[i] = k * k * k + ((k & 255) | 1);
            q[i] = (p[i] && n[i] > 0) || ((int32_t)!p[i] == (int32_t)((int32_t)b[i] < 100));
            const float base = f[i];
            const float base_2 = f[i];
            f[i] = q[i] ? base * base - 1.5f : 1.0f / (base_2 * base_2 * base_2);
            d[i] = gl_max_f64(gl_max_f64((double)f[i], d[i]), (double)gl_min_f32(0.1f, f[i])) * 1e+300
                    + fmod(d[i], 0.3) + floor(d[i]) + (double)step;
        }
        if (i_to < i_end) {
            const int64_t i = i_to;
            const int64_t im1 = i - 1 < 0 ? 0 : i - 1;
            const int64_t ip1 = i + 1 > N - 1 ? N - 1 : i + 1;
            c[i] = (uint8_t)((int32_t)b[im1] + (int32_t)b[ip1] * 200);
            const int64_t im1_2 = i - 1 < 0 ? (0 - (i - 1) <= N - 1 ? 0 - (i - 1) : (((i - 1) % gl_max_i64((N
                    - 1) * 2, 1) + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) >= N
                    ? gl_max_i64((N - 1) * 2, 1) - ((i - 1) % gl_max_i64((N - 1) * 2, 1) + gl_max_i64((N
                    - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1) : ((i - 1) % gl_max_i64((N - 1) * 2, 1)
                    + gl_max_i64((N - 1) * 2, 1)) % gl_max_i64((N - 1) * 2, 1))) : i - 1;
            const bool im1_neg = i - 1 < 0 && (0 - (i - 1) <= N - 1 || (N > 1 && ((gl_max_i64(0 - (i - 1), i
                    - 1 - (N - 1)) + (gl_max_i64(N - 1, 1) - 1)) / gl_max_i64(N - 1, 1) % 2 == 1)));
            const int32_t k = gl_rem_i32(im1_neg ? -n[im1_2] : n[im1_2], m[i]) + gl_div_i32(n[i], m[i] - 3)
                    + gl_abs_i32(n[i]) - big;
            m[i] = k * k * k + ((k & 255) | 1);
            q[i] = (p[i] && n[i] > 0) || ((int32_t)!p[i] == (int32_t)((int32_t)b[i] < 100));
            const float base = f[i];
            const float base_2 = f[i];
            f[i] = q[i] ? base * base - 1.5f : 1.0f / (base_2 * base_2 * base_2);
            d[i] = gl_max_f64(gl_max_f64((double)f[i], d[i]), (double)gl_min_f32(0.1f, f[i])) * 1e+300
                    + fmod(d[i], 0.3) + floor(d[i]) + (double)step;
        }
    }
}

void gl_mix_1(void **args)
{
    mix_1(*(uint8_t **)args[0], *(const uint8_t **)args[1], *(const int32_t **)args[2], *(int32_t **)args[3],
            *(uint8_t **)args[4], *(const uint8_t **)args[5], *(float **)args[6], *(double **)args[7],
            *(int64_t *)args[8], *(int32_t *)args[9], *(int32_t *)args[10]);
}

// n[i] = int(d[i])
// b[i] = byte(d[i] * 1e-290)
// p[i] = bool(d[i] - f[i])
static void mix_2(uint8_t *restrict b, int32_t *restrict n, uint8_t *restrict p, const float *restrict f,
        const double *restrict d, int64_t N)
{
    #pragma omp parallel for schedule(static) if(N >= 23832)
    for (int64_t i_tile = 0; i_tile < N; i_tile += 16384) {
        const int64_t i_end = gl_min_i64(i_tile + 16384, N);
        #pragma omp simd
        for (int64_t i = i_tile; i < i_end; ++i) {
            n[i] = gl_int_f64(d[i]);
            b[i] = (uint8_t)gl_int_f64(d[i] * 1e-290);
            p[i] = d[i] - (double)f[i] != 0;
        }
    }
}

void gl_mix_2(void **args)
{
    mix_2(*(uint8_t **)args[0], *(int32_t **)args[1], *(uint8_t **)args[2], *(const float **)args[3],
            *(const double **)args[4], *(int64_t *)args[5]);
}

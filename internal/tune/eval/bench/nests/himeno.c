// The Himeno sweep as one writes it by hand: one loop nest, OpenMP, restrict.
#include <stddef.h>
#include <stdint.h>

#define A(n) (*(const float **)args[n])

void gl_nest(void **args)
{
    float *restrict out = *(float **)args[0];
    const float *restrict p = A(1), *restrict a0 = A(2), *restrict a1 = A(3), *restrict a2 = A(4), *restrict a3 = A(5);
    const float *restrict b0 = A(6), *restrict b1 = A(7), *restrict b2 = A(8);
    const float *restrict c0 = A(9), *restrict c1 = A(10), *restrict c2 = A(11), *restrict wrk1 = A(12), *restrict bnd = A(13);
    float *gosa = *(float **)args[14];
    const int L = (int)*(int64_t *)args[15], M = (int)*(int64_t *)args[16], N = (int)*(int64_t *)args[17];
    const float omega = *(float *)args[18];
    const ptrdiff_t y = N, z = (ptrdiff_t)M * N;
    float sum = 0.0f;
#pragma omp parallel for schedule(SCHEDULE) collapse(COLLAPSE) reduction(+ : sum)
    for (int k = 1; k < L - 1; ++k)
        for (int j = 1; j < M - 1; ++j)
#pragma omp simd reduction(+ : sum)
            for (int i = 1; i < N - 1; ++i) {
                const ptrdiff_t c = k * z + j * y + i;
                const float s0 = a0[c] * p[c + z] + a1[c] * p[c + y] + a2[c] * p[c + 1]
                    + b0[c] * (p[c + z + y] - p[c + z - y] - p[c - z + y] + p[c - z - y])
                    + b1[c] * (p[c + y + 1] - p[c - y + 1] - p[c + y - 1] + p[c - y - 1])
                    + b2[c] * (p[c + z + 1] - p[c - z + 1] - p[c + z - 1] + p[c - z - 1])
                    + c0[c] * p[c - z] + c1[c] * p[c - y] + c2[c] * p[c - 1] + wrk1[c];
                const float ss = (s0 * a3[c] - p[c]) * bnd[c];
                sum += ss * ss;
                out[c] = p[c] + omega * ss;
            }
    *gosa = sum;
}

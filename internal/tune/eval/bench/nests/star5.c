// The 2D 5-point star as one writes it by hand: one loop nest, OpenMP, restrict.
#include <stddef.h>
#include <stdint.h>

void gl_nest(void **args)
{
    float *restrict out = *(float **)args[0];
    const float *restrict in = *(const float **)args[1];
    const int M = (int)*(int64_t *)args[2], N = (int)*(int64_t *)args[3];
    const float c0 = *(float *)args[4], c1 = *(float *)args[5], c2 = *(float *)args[6], c3 = *(float *)args[7], c4 = *(float *)args[8];
    const ptrdiff_t row = N;
#pragma omp parallel for schedule(SCHEDULE) collapse(COLLAPSE)
    for (int j = 1; j < M - 1; ++j)
        for (int i = 1; i < N - 1; ++i) {
            const ptrdiff_t c = j * row + i;
            out[c] = c0 * in[c] + c1 * in[c - 1] + c2 * in[c + 1] + c3 * in[c - row] + c4 * in[c + row];
        }
}

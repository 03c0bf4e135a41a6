// The 7-point star as one writes it by hand: one loop nest, OpenMP, restrict.
#include <stddef.h>
#include <stdint.h>

void gl_nest(void **args)
{
    double *restrict out = *(double **)args[0];
    const double *restrict in = *(const double **)args[1];
    const int L = (int)*(int64_t *)args[2], M = (int)*(int64_t *)args[3], N = (int)*(int64_t *)args[4];
    const double c0 = *(double *)args[5], c1 = *(double *)args[6];
    const ptrdiff_t row = N, plane = (ptrdiff_t)M * N;
#pragma omp parallel for schedule(SCHEDULE) collapse(COLLAPSE)
    for (int k = 1; k < L - 1; ++k)
        for (int j = 1; j < M - 1; ++j)
            for (int i = 1; i < N - 1; ++i) {
                const ptrdiff_t c = k * plane + j * row + i;
                out[c] = c0 * in[c] + c1 * (in[c - 1] + in[c + 1] + in[c - row] + in[c + row] + in[c - plane] + in[c + plane]);
            }
}

// examples/heat3d.loom as one writes it by hand: three loops, the rows around a row looked up once, the two cells at the walls
// along i apart, so that compilers can make vectors of the rest.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static void heat(double *restrict next, const double *restrict u, int L, int M, int N, double a)
{
    const ptrdiff_t row = N, plane = (ptrdiff_t)M * N;
    double *cold = calloc(N, sizeof *cold); // beyond the floor and the ceiling
#pragma omp parallel for
    for (int k = 0; k < L; k++)
        for (int j = 0; j < M; j++) {
            const double *c = u + k * plane + j * row;
            const double *north = j > 0 ? c - row : c, *south = j < M - 1 ? c + row : c;
            const double *below = k > 0 ? c - plane : cold, *above = k < L - 1 ? c + plane : cold;
            double *out = next + k * plane + j * row;
            for (int i = 1; i < N - 1; i++)
                out[i] = c[i] + a * (c[i + 1] + c[i - 1] + south[i] + north[i] + above[i] + below[i] - 6 * c[i]);
            for (int i = 0; i < N; i += N > 1 ? N - 1 : 1) {
                const int east = i < N - 1 ? i + 1 : 0, west = i > 0 ? i - 1 : N - 1;
                out[i] = c[i] + a * (c[east] + c[west] + south[i] + north[i] + above[i] + below[i] - 6 * c[i]);
            }
        }
    free(cold);
}

void gl_heat(void **args)
{
    heat(*(double **)args[0], *(const double **)args[1], *(int64_t *)args[2], *(int64_t *)args[3], *(int64_t *)args[4],
         *(double *)args[5]);
}

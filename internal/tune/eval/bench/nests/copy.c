// Two copies: by the loop that a compiler makes of it, and by the C library.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#else
#define omp_get_num_threads() 1
#define omp_get_thread_num() 0
#endif

void gl_copy_loop(void **args)
{
    double *restrict out = *(double **)args[0];
    const double *restrict in = *(const double **)args[1];
    const int64_t n = *(int64_t *)args[2];
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; ++i)
        out[i] = in[i];
}

void gl_copy_libc(void **args)
{
    double *out = *(double **)args[0];
    const double *in = *(const double **)args[1];
    const int64_t n = *(int64_t *)args[2];
#pragma omp parallel
    {
        const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        const int64_t from = n * me / team, to = n * (me + 1) / team;
        memcpy(out + from, in + from, (size_t)(to - from) * sizeof *out);
    }
}

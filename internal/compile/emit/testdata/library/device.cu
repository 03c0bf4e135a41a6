// Runs the library heat on arrays of the host and on the GPU's memory, on a
// stream of its own, and says where the results differ and what is refused.
#include "heat.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *call, int status, const heat *h)
{
    printf("%s: %s: %s\n", call, heat_message(status), heat_error(h));
}

int main()
{
    const int64_t L = 5, M = 7, N = 12, cells = L * M * N;
    const size_t bytes = cells * sizeof(double);
    double *u = (double *)malloc(bytes), *v = (double *)malloc(bytes), *d = NULL;
    for (int64_t n = 0; n < cells; ++n)
        u[n] = v[n] = (double)(n * 37 % 101) / 64;
    heat *h = NULL;
    cudaStream_t stream;
    int status = heat_new(&h) || heat_configure(h, L, M, N, 0.125);
    status = status || heat_init(h, HEAT_GIVEN_u, u) || heat_iterate(h, 3, u) || heat_iterate(h, 4, u);
    if (status)
        say("arrays of the host", status, h);
    if (cudaStreamCreate(&stream) || cudaMalloc((void **)&d, bytes + 16) || cudaMemcpyAsync(d, v, bytes, cudaMemcpyHostToDevice, stream)) {
        puts("there is no memory on the GPU");
        return 1;
    }
    status = heat_stream(h, stream) || heat_init_device(h, HEAT_GIVEN_u, d) || heat_iterate_device(h, 3, d) || heat_iterate_device(h, 4, d);
    if (status) {
        say("memory of the GPU", status, h);
    } else {
        cudaMemcpyAsync(v, d, bytes, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        puts(memcmp(u, v, bytes) ? "the results differ" : "the results are the same");
    }
    say("no memory", heat_iterate_device(h, 1, NULL), h);
    say("half an element", heat_iterate_device(h, 1, d + 1), h);
    setenv("PRETENDED_NO_MEMORY", "1", 1);
    say("an array", heat_iterate_device(h, 1, v), h);
    unsetenv("PRETENDED_NO_MEMORY");
    say("another stream", heat_stream(h, NULL), h);
    say("sizes without padding", heat_configure(h, 1, 1, 3, 0.125), h);
    say("rows of 3", heat_init_device(h, HEAT_NONE_GIVEN, d), h);
    heat_exit(&h);
    cudaFree(d);
    cudaStreamDestroy(stream);
    free(u);
    free(v);
    return 0;
}

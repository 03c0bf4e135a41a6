// Runs the library heat on arrays of the host and on memory objects, in a
// queue of its own, and says where the results differ and what is refused.
#include "heat.h"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *call, int status, const heat *h)
{
    printf("%s: %s: %s\n", call, heat_message(status), heat_error(h));
}

int main(void)
{
    const int64_t L = 5, M = 7, N = 12, cells = L * M * N;
    const size_t bytes = (size_t)cells * sizeof(double);
    double *u = malloc(bytes), *v = malloc(bytes);
    for (int64_t n = 0; n < cells; ++n)
        u[n] = v[n] = (double)(n * 37 % 101) / 64;
    heat *h = NULL;
    int status = heat_new(&h) || heat_device(h, 0) || heat_configure(h, L, M, N, 0.125);
    status = status || heat_init(h, HEAT_GIVEN_u, u) || heat_iterate(h, 3, u) || heat_iterate(h, 4, u);
    if (status)
        say("arrays of the host", status, h);

    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, NULL) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
        puts("there is no device");
        return 1;
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);
    cl_mem d = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, v, NULL);
    status = heat_queue(h, queue) || heat_configure(h, L, M, N, 0.125);
    status = status || heat_init_device(h, HEAT_GIVEN_u, d) || heat_iterate_device(h, 3, d) || heat_iterate_device(h, 4, d);
    if (status) {
        say("memory objects", status, h);
    } else {
        clEnqueueReadBuffer(queue, d, CL_TRUE, 0, bytes, v, 0, NULL, NULL);
        puts(memcmp(u, v, bytes) ? "the results differ" : "the results are the same");
    }
    say("no memory", heat_iterate_device(h, 1, NULL), h);
    say("larger sizes", heat_configure(h, L, M, N + 1, 0.125), h);
    say("a small object", heat_init_device(h, HEAT_NONE_GIVEN, d), h);
    say("sizes without padding", heat_configure(h, 1, 1, 3, 0.125), h);
    say("rows of 3", heat_init_device(h, HEAT_NONE_GIVEN, d), h);
    heat_device(h, 99);
    say("no such device", heat_configure(h, 1, 1, 3, 0.125), h);
    say("no number", heat_device(h, -2), h);
    heat_exit(&h);
    clReleaseMemObject(d);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(u);
    free(v);
    return 0;
}

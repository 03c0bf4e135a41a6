// Lets a C++ compiler take bench/rivals/simplest.cu: kernels run a thread after
// the other, and every batch takes 30 ms. What needs more than one thread, the
// sum over a block, gives nonsense.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__
#define __host__
#define __device__
#define __shared__ static

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
static dim3 blockIdx, blockDim, threadIdx;

typedef int cudaError_t;
typedef int *cudaEvent_t;
enum { cudaSuccess, cudaMemcpyDeviceToHost };

inline const char *cudaGetErrorString(int) { return ""; }
inline int cudaGetLastError() { return 0; }
inline int cudaDeviceSynchronize() { return 0; }
inline int cudaEventCreate(cudaEvent_t *) { return 0; }
inline int cudaEventRecord(cudaEvent_t) { return 0; }
inline int cudaEventSynchronize(cudaEvent_t) { return 0; }
inline int cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) { return *ms = 30, 0; }
inline int cudaMalloc(void **p, size_t n) { return *p = malloc(n), 0; }
inline int cudaMemset(void *p, int v, size_t n) { return memset(p, v, n), 0; }
inline int cudaMemsetAsync(void *p, int v, size_t n) { return memset(p, v, n), 0; }
inline int cudaMemcpy(void *to, const void *from, size_t n, int) { return memcpy(to, from, n), 0; }

template <class T> T __shfl_down_sync(unsigned, T v, int) { return 0 * v; }
template <class T> void atomicAdd(T *p, T v) { *p += v; }
inline void __syncthreads() {}

template <class... A, size_t... I> void invoke(void (*f)(A...), void **p, std::index_sequence<I...>) { f(*(A *)p[I]...); }
template <class... A> void invoke(void (*f)(A...), void **p) { invoke(f, p, std::index_sequence_for<A...>()); }

inline int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t, int)
{
    blockDim = block;
    for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
    for (threadIdx.z = 0; threadIdx.z < block.z; threadIdx.z++)
    for (threadIdx.y = 0; threadIdx.y < block.y; threadIdx.y++)
    for (threadIdx.x = 0; threadIdx.x < block.x; threadIdx.x++)
        ((void (*)(void **))f)(args);
    return 0;
}

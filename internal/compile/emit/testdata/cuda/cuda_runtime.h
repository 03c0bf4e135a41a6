// A CUDA runtime that runs kernels on the processor, for libraries that are
// tested where there is no GPU: a block's threads are coroutines, which change
// places where they wait for each other. Memory of the GPU is other memory of
// the host, filled with ones before it is handed out.
#ifndef PRETENDED_CUDA_RUNTIME_H
#define PRETENDED_CUDA_RUNTIME_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __constant__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)

struct uint3 { unsigned x, y, z; };
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#define PRETENDED_VECTORS(name, type, align) \
    struct alignas(2 * align) name##2 { type x, y; }; \
    struct alignas(4 * align > 16 ? 16 : 4 * align) name##4 { type x, y, z, w; }; \
    static inline name##2 make_##name##2(type x, type y) { return { x, y }; } \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return { x, y, z, w }; }
PRETENDED_VECTORS(uchar, unsigned char, 1)
PRETENDED_VECTORS(int, int, 4)
PRETENDED_VECTORS(longlong, long long, 8)
PRETENDED_VECTORS(float, float, 4)
PRETENDED_VECTORS(double, double, 8)

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static inline double __hiloint2double(int high, int low) { return __longlong_as_double((long long)high << 32 | (unsigned)low); }

// ---- threads ----

namespace pretended {

enum waiting { nothing, block, warp, done };

struct thread {
    ucontext_t context;
    char *stack;
    waiting at;
};

static constexpr int most = 1024, warp_size = 32;
static constexpr size_t stack_size = 64 << 10;
static thread threads[most];
static ucontext_t scheduler;
static int count, current;
static unsigned char slots[most][8]; // values on their way to other lanes
static void (*body)();

static void wait_for(waiting whom)
{
    threads[current].at = whom;
    swapcontext(&threads[current].context, &scheduler);
}

static void start()
{
    body();
    wait_for(done);
}

// Whether all of some threads wait for the same, or are done.
static bool all(int from, int to, waiting whom)
{
    bool any = false;
    for (int n = from; n < to; ++n) {
        if (threads[n].at != whom && threads[n].at != done)
            return false;
        any = any || threads[n].at == whom;
    }
    return any;
}

static void release(int from, int to)
{
    for (int n = from; n < to; ++n)
        if (threads[n].at != done)
            threads[n].at = nothing;
}

} // namespace pretended

static uint3 gridDim, blockDim, blockIdx;
static uint3 pretended_index[pretended::most];
#define threadIdx (pretended_index[pretended::current])

static inline void __syncthreads() { pretended::wait_for(pretended::block); }
static inline void __syncwarp() { pretended::wait_for(pretended::warp); }

namespace pretended {

template <class T> static T exchange(T x, int lane)
{
    const int first = current / warp_size * warp_size;
    memcpy(slots[current], &x, sizeof x);
    wait_for(warp);
    if (lane >= 0 && lane < warp_size)
        memcpy(&x, slots[first + lane], sizeof x);
    wait_for(warp);
    return x;
}

} // namespace pretended

template <class T> static T __shfl_up_sync(unsigned, T x, int by)
{
    const int lane = pretended::current % 32;
    return pretended::exchange(x, lane - by < 0 ? lane : lane - by);
}
template <class T> static T __shfl_down_sync(unsigned, T x, int by)
{
    const int lane = pretended::current % 32;
    return pretended::exchange(x, lane + by > 31 ? lane : lane + by);
}
template <class T> static T __shfl_xor_sync(unsigned, T x, int by) { return pretended::exchange(x, pretended::current % 32 ^ by); }
template <class T> static T __shfl_sync(unsigned, T x, int from) { return pretended::exchange(x, from & 31); }

// ---- the runtime ----

typedef enum { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorLaunchFailure = 719 } cudaError_t;
typedef enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 } cudaMemcpyKind;
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
typedef struct CUstream_st *cudaStream_t;

// Images: memory with the size and the number of its channels.
typedef enum { cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat } cudaChannelFormatKind;
struct cudaChannelFormatDesc { int x, y, z, w; cudaChannelFormatKind f; };
static inline cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) { return { x, y, z, w, f }; }
enum cudaResourceType { cudaResourceTypeArray, cudaResourceTypeMipmappedArray, cudaResourceTypeLinear };
struct cudaResourceDesc {
    cudaResourceType resType;
    struct { struct { void *devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear; } res;
};
enum cudaTextureReadMode { cudaReadModeElementType, cudaReadModeNormalizedFloat };
struct cudaTextureDesc { cudaTextureReadMode readMode; };
typedef unsigned long long cudaTextureObject_t;
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxTexture1DLinearWidth = 69 };
namespace pretended {
struct image { const char *at; size_t bytes, texel; };
}
static inline cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
static inline cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr what, int)
{
    if (what == cudaDevAttrMultiProcessorCount) {
        *v = 1;
        return cudaSuccess;
    }
    const char *most = getenv("PRETENDED_TEXELS");
    *v = most ? atoi(most) : 1 << 27;
    return cudaSuccess;
}
static inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t *t, const cudaResourceDesc *r, const cudaTextureDesc *, const void *)
{
    const cudaChannelFormatDesc &d = r->res.linear.desc;
    if (r->resType != cudaResourceTypeLinear || (d.y && d.y != d.x) || d.z != d.w || (d.z && d.z != d.y) || (d.f == cudaChannelFormatKindFloat && d.x != 32))
        return cudaErrorInvalidValue;
    *t = (cudaTextureObject_t) new pretended::image{ (const char *)r->res.linear.devPtr, r->res.linear.sizeInBytes, size_t(d.x + d.y + d.z + d.w) / 8 };
    return cudaSuccess;
}
static inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t t) { delete (pretended::image *)t; return cudaSuccess; }
template <class T> static inline T tex1Dfetch(cudaTextureObject_t t, int i)
{
    const pretended::image *image = (const pretended::image *)t;
    T v = {};
    if (image->texel != sizeof v)
        abort();
    if (i >= 0 && (i + 1) * sizeof v <= image->bytes)
        memcpy(&v, image->at + i * sizeof v, sizeof v);
    return v;
}
template <class T, size_t n>
static inline cudaError_t cudaMemcpyToSymbolAsync(T (&symbol)[n], const void *from, size_t bytes, size_t at, cudaMemcpyKind, cudaStream_t)
{
    memcpy((char *)symbol + at, from, bytes);
    return cudaSuccess;
}

static inline const char *cudaGetErrorName(cudaError_t e)
{
    return e == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : e ? "cudaErrorInvalidValue" : "cudaSuccess";
}
static inline const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaErrorMemoryAllocation ? "out of memory" : e ? "invalid argument" : "no error";
}
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline cudaError_t cudaMalloc(void **p, size_t bytes)
{
    const char *most = getenv("PRETENDED_MEMORY"); // of one piece
    *p = most && bytes > strtoull(most, NULL, 10) ? NULL : aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*p)
        return cudaErrorMemoryAllocation;
    memset(*p, 0xff, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaFree(void *p) { free(p); return cudaSuccess; }
static inline cudaError_t cudaStreamCreate(cudaStream_t *s) { *s = (cudaStream_t)malloc(1); return cudaSuccess; }
static inline cudaError_t cudaStreamDestroy(cudaStream_t s) { free(s); return cudaSuccess; }
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
static inline cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t) { memset(p, v, n); return cudaSuccess; }
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind, cudaStream_t)
{
    memcpy(to, from, n);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
        cudaMemcpyKind, cudaStream_t)
{
    if (width > to_pitch || width > from_pitch)
        return cudaErrorInvalidValue;
    for (size_t n = 0; n < rows; ++n)
        memcpy((char *)to + n * to_pitch, (const char *)from + n * from_pitch, width);
    return cudaSuccess;
}
typedef enum { cudaMemoryTypeUnregistered = 0, cudaMemoryTypeDevice = 2 } cudaMemoryType;
struct cudaPointerAttributes { cudaMemoryType type; };
// All memory is the GPU's, unless a test says that none is.
static inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *a, const void *p)
{
    const char *none = getenv("PRETENDED_NO_MEMORY");
    a->type = p && !none ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    return cudaSuccess;
}
template <class T> static cudaError_t cudaFuncSetAttribute(T *, int, int) { return cudaSuccess; }
// Kernels have spilled nothing, unless a test says that all have.
struct cudaFuncAttributes { size_t sharedSizeBytes, constSizeBytes, localSizeBytes; };
template <class T> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, T *)
{
    const char *spilled = getenv("PRETENDED_SPILLED");
    a->localSizeBytes = spilled ? strtoull(spilled, NULL, 10) : 0;
    return cudaSuccess;
}

template <class... P> struct pretended_call {
    static void (*kernel)(P...);
    static void **args;
    template <size_t... N> struct numbers {};
    template <size_t N, size_t... M> struct count_up : count_up<N - 1, N - 1, M...> {};
    template <size_t... M> struct count_up<0, M...> { typedef numbers<M...> list; };
    template <size_t... N> static void with(numbers<N...>) { kernel(*(P *)args[N]...); }
    static void run() { with(typename count_up<sizeof...(P)>::list()); }
};
template <class... P> void (*pretended_call<P...>::kernel)(P...);
template <class... P> void **pretended_call<P...>::args;

namespace pretended {

static cudaError_t launch(dim3 grid, dim3 size)
{
    count = (int)(size.x * size.y * size.z);
    if (count < 1 || count > most || size.z > 64 || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidValue;
    gridDim = { grid.x, grid.y, grid.z };
    blockDim = { size.x, size.y, size.z };
    for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
        for (int n = 0; n < count; ++n) {
            pretended_index[n] = { n % size.x, n / size.x % size.y, n / (size.x * size.y) };
            if (!threads[n].stack)
                threads[n].stack = (char *)malloc(stack_size);
            getcontext(&threads[n].context);
            threads[n].context.uc_stack.ss_sp = threads[n].stack;
            threads[n].context.uc_stack.ss_size = stack_size;
            makecontext(&threads[n].context, start, 0);
            threads[n].at = nothing;
        }
        for (bool go = true; go;) {
            for (current = 0; current < count; ++current)
                if (threads[current].at == nothing)
                    swapcontext(&scheduler, &threads[current].context);
            go = false;
            for (int n = 0; n < count; n += warp_size) {
                const int end = n + warp_size < count ? n + warp_size : count;
                if (all(n, end, warp)) {
                    release(n, end);
                    go = true;
                }
            }
            if (!go && all(0, count, block)) {
                release(0, count);
                go = true;
            }
        }
        for (int n = 0; n < count; ++n)
            if (threads[n].at != done)
                return cudaErrorLaunchFailure; // it waits for others that do not come
    }
    return cudaSuccess;
}

} // namespace pretended

template <class... P>
static cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 size, void **args, size_t, cudaStream_t)
{
    pretended_call<P...>::kernel = kernel;
    pretended_call<P...>::args = args;
    pretended::body = pretended_call<P...>::run;
    return pretended::launch(grid, size);
}

static inline void __threadfence() {}
static inline unsigned atomicAdd(unsigned *p, unsigned by)
{
    const unsigned before = *p;
    *p += by;
    return before;
}

// The GPU holds one block.
template <class... P>
static cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*)(P...), int, size_t)
{
    *blocks = 1;
    return cudaSuccess;
}

template <class... P>
static cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 size, void **args, size_t shared, cudaStream_t s)
{
    return grid.x * grid.y * grid.z == 1 ? cudaLaunchKernel(kernel, grid, size, args, shared, s) : cudaErrorInvalidValue;
}

#endif

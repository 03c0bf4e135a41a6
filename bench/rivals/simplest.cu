// The simplest CUDA kernels: one thread a cell, scalar accesses, no shared
// memory, as a first version is written. Eight block shapes, the best counts.
//
//     simplest CASE double|float 512x512x512 [--batches 7] [--cells 5,17] [--serve]
//
// Output and the words that --serve reads are those of rival.py.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#define CUDA(call)                                                                                    \
    do {                                                                                              \
        cudaError_t e = (call);                                                                       \
        if (e != cudaSuccess) {                                                                       \
            printf("{\"failed\": \"%s: %s\"}\n", #call, cudaGetErrorString(e));                       \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

// Random values in [0, 1) by the number of the cell and the seed.
static __host__ __device__ uint64_t scramble(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

template <class T> __host__ __device__ T number(uint64_t cell, uint64_t seed)
{
    uint64_t z = scramble(cell + scramble(seed));
    return sizeof(T) == 8 ? T(z >> 11) / T(9007199254740992.0) : T(z >> 40) / T(16777216.0);
}

template <class T> __global__ void fill(T *u, int64_t n, uint64_t seed)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        u[i] = number<T>(i, seed);
}

// The weights, as the rivals in Python have them.
#define STAR7 {0.08, 0.07, 0.13, 0.12, 0.11, 0.09}
#define STAR13 {{0.035, 0.065}, {0.09, 0.05}, {0.08, 0.04}, {0.07, 0.03}, {0.055, 0.085}, {0.045, 0.075}}
#define STAR25                                                                                        \
    {{0.0168, 0.0228, 0.0288, 0.036}, {0.042, 0.018, 0.024, 0.0312}, {0.0372, 0.0432, 0.0192, 0.0252}, \
     {0.0324, 0.0384, 0.0444, 0.0204}, {0.0264, 0.0336, 0.0396, 0.0156}, {0.0216, 0.0276, 0.0348, 0.0408}}
#define STAR5 {0.13, 0.17, 0.19, 0.11}
#define BOX27                                                                                         \
    {{{0.006, 0.016, 0.026}, {0.038, 0.048, 0.004}, {0.014, 0.024, 0.036}},                           \
     {{0.046, 0.056, 0.012}, {0.022, 0.22, 0.034}, {0.044, 0.054, 0.01}},                             \
     {{0.02, 0.032, 0.042}, {0.052, 0.008, 0.018}, {0.028, 0.04, 0.05}}}
#define BOX9 {{0.035, 0.125, 0.065}, {0.02, 0.36, 0.11}, {0.05, 0.14, 0.095}}
#define BOX25                                                                                         \
    {{0.008, 0.018, 0.028, 0.04, 0.05}, {0.01, 0.02, 0.032, 0.042, 0.052}, {0.012, 0.022, 0.28, 0.034, 0.044}, \
     {0.054, 0.014, 0.024, 0.036, 0.046}, {0.006, 0.016, 0.026, 0.038, 0.048}}
#define WAVE {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560}

#define CELL3(rk, rj, ri)                                                                             \
    int i = blockIdx.x * blockDim.x + threadIdx.x + (ri);                                             \
    int j = blockIdx.y * blockDim.y + threadIdx.y + (rj);                                             \
    int k = blockIdx.z * blockDim.z + threadIdx.z + (rk);                                             \
    if (i >= N - (ri) || j >= M - (rj) || k >= L - (rk))                                              \
        return;                                                                                       \
    int p = (k * M + j) * N + i, y = N, z = M * N;

#define CELL2(rj, ri)                                                                                 \
    int i = blockIdx.x * blockDim.x + threadIdx.x + (ri);                                             \
    int j = blockIdx.y * blockDim.y + threadIdx.y + (rj);                                             \
    if (i >= N - (ri) || j >= M - (rj))                                                               \
        return;                                                                                       \
    int p = j * N + i, y = N;

template <class T> __global__ void star7(const T *__restrict__ u, T *__restrict__ out, int L, int M, int N)
{
    CELL3(1, 1, 1)
    const T c = 0.4, w[6] = STAR7;
    out[p] = c * u[p] + w[0] * u[p - 1] + w[1] * u[p + 1] + w[2] * u[p - y] + w[3] * u[p + y] + w[4] * u[p - z] + w[5] * u[p + z];
}

template <class T> __global__ void star13(const T *__restrict__ u, T *__restrict__ out, int L, int M, int N)
{
    CELL3(2, 2, 2)
    const T c = 0.28, w[6][2] = STAR13;
    T s = c * u[p];
#pragma unroll
    for (int r = 1; r <= 2; r++)
        s += w[0][r - 1] * u[p - r] + w[1][r - 1] * u[p + r] + w[2][r - 1] * u[p - r * y] + w[3][r - 1] * u[p + r * y]
            + w[4][r - 1] * u[p - r * z] + w[5][r - 1] * u[p + r * z];
    out[p] = s;
}

template <class T> __global__ void star25(const T *__restrict__ u, T *__restrict__ out, int L, int M, int N)
{
    CELL3(4, 4, 4)
    const T c = 0.28, w[6][4] = STAR25;
    T s = c * u[p];
#pragma unroll
    for (int r = 1; r <= 4; r++)
        s += w[0][r - 1] * u[p - r] + w[1][r - 1] * u[p + r] + w[2][r - 1] * u[p - r * y] + w[3][r - 1] * u[p + r * y]
            + w[4][r - 1] * u[p - r * z] + w[5][r - 1] * u[p + r * z];
    out[p] = s;
}

template <class T> __global__ void box27(const T *__restrict__ u, T *__restrict__ out, int L, int M, int N)
{
    CELL3(1, 1, 1)
    const T w[3][3][3] = BOX27;
    T s = 0;
#pragma unroll
    for (int c = -1; c <= 1; c++)
#pragma unroll
        for (int b = -1; b <= 1; b++)
#pragma unroll
            for (int a = -1; a <= 1; a++)
                s += w[c + 1][b + 1][a + 1] * u[p + c * z + b * y + a];
    out[p] = s;
}

template <class T> __global__ void star5(const T *__restrict__ u, T *__restrict__ out, int M, int N)
{
    CELL2(1, 1)
    const T c = 0.4, w[4] = STAR5;
    out[p] = c * u[p] + w[0] * u[p - 1] + w[1] * u[p + 1] + w[2] * u[p - y] + w[3] * u[p + y];
}

template <class T> __global__ void box9(const T *__restrict__ u, T *__restrict__ out, int M, int N)
{
    CELL2(1, 1)
    const T w[3][3] = BOX9;
    T s = 0;
#pragma unroll
    for (int b = -1; b <= 1; b++)
#pragma unroll
        for (int a = -1; a <= 1; a++)
            s += w[b + 1][a + 1] * u[p + b * y + a];
    out[p] = s;
}

template <class T> __global__ void box25(const T *__restrict__ u, T *__restrict__ out, int M, int N)
{
    CELL2(2, 2)
    const T w[5][5] = BOX25;
    T s = 0;
#pragma unroll
    for (int b = -2; b <= 2; b++)
#pragma unroll
        for (int a = -2; a <= 2; a++)
            s += w[b + 2][a + 2] * u[p + b * y + a];
    out[p] = s;
}

template <class T>
__global__ void wave(const T *__restrict__ u, const T *__restrict__ prev, const T *__restrict__ v2, T *__restrict__ out, int L, int M, int N)
{
    CELL3(4, 4, 4)
    const T w[5] = WAVE;
    T lap = 3 * w[0] * u[p];
#pragma unroll
    for (int r = 1; r <= 4; r++)
        lap += w[r] * (u[p - r] + u[p + r] + u[p - r * y] + u[p + r * y] + u[p - r * z] + u[p + r * z]);
    out[p] = 2 * u[p] - prev[p] + v2[p] * lap;
}

// The residual is summed over a warp, a block, and atomically over the blocks.
template <class T>
__global__ void himeno(const T *__restrict__ q, const T *__restrict__ wrk1, const T *__restrict__ bnd, const T *__restrict__ a0,
    const T *__restrict__ a1, const T *__restrict__ a2, const T *__restrict__ a3, const T *__restrict__ b0, const T *__restrict__ b1,
    const T *__restrict__ b2, const T *__restrict__ c0, const T *__restrict__ c1, const T *__restrict__ c2, T *__restrict__ out,
    T *__restrict__ total, int L, int M, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int k = blockIdx.z * blockDim.z + threadIdx.z + 1;
    T square = 0;
    if (i < N - 1 && j < M - 1 && k < L - 1) {
        int y = N, z = M * N, p = k * z + j * y + i;
        T s0 = a0[p] * q[p + z] + a1[p] * q[p + y] + a2[p] * q[p + 1]
            + b0[p] * (q[p + z + y] - q[p + z - y] - q[p - z + y] + q[p - z - y])
            + b1[p] * (q[p + y + 1] - q[p - y + 1] - q[p + y - 1] + q[p - y - 1])
            + b2[p] * (q[p + z + 1] - q[p - z + 1] - q[p + z - 1] + q[p - z - 1])
            + c0[p] * q[p - z] + c1[p] * q[p - y] + c2[p] * q[p - 1] + wrk1[p];
        T ss = (s0 * a3[p] - q[p]) * bnd[p];
        out[p] = q[p] + T(0.8) * ss;
        square = ss * ss;
    }
    __shared__ T parts[32];
    for (int d = 16; d; d /= 2)
        square += __shfl_down_sync(0xffffffffu, square, d);
    int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    if (t % 32 == 0)
        parts[t / 32] = square;
    __syncthreads();
    if (t == 0) {
        T sum = 0;
        for (int n = 0; n < int(blockDim.x * blockDim.y * blockDim.z) / 32; n++)
            sum += parts[n];
        atomicAdd(total, sum);
    }
}

template <class T>
__global__ void grayscott(const T *__restrict__ u, const T *__restrict__ v, T *__restrict__ unext, T *__restrict__ vnext, int L, int M, int N)
{
    CELL3(1, 1, 1)
    const T feed = 0.037, kill = 0.06, du = 0.12, dv = 0.06;
    T lu = u[p - 1] + u[p + 1] + u[p - y] + u[p + y] + u[p - z] + u[p + z] - 6 * u[p];
    T lv = v[p - 1] + v[p + 1] + v[p - y] + v[p + y] + v[p - z] + v[p + z] - 6 * v[p];
    T uvv = u[p] * v[p] * v[p];
    unext[p] = u[p] + du * lu - uvv + feed * (1 - u[p]);
    vnext[p] = v[p] + dv * lv + uvv - (feed + kill) * v[p];
}

template <class T> __global__ void hotspot(const T *__restrict__ t, const T *__restrict__ power, T *__restrict__ out, int M, int N)
{
    CELL2(1, 1)
    const T rate = 0.34, gx = 0.23, gy = 0.31, gz = 0.05, ambient = 0.8;
    out[p] = t[p] + rate * (power[p] + gy * (t[p + y] + t[p - y] - 2 * t[p]) + gx * (t[p + 1] + t[p - 1] - 2 * t[p]) + gz * (ambient - t[p]));
}

template <class T> __device__ T laplacian(const T *__restrict__ u, int p, int y)
{
    return u[p - 1] + u[p + 1] + u[p - y] + u[p + y] - 4 * u[p];
}

template <class T> __global__ void hdiff(const T *__restrict__ u, const T *__restrict__ rate, T *__restrict__ out, int L, int M, int N)
{
    CELL3(0, 2, 2)
    (void)z;
    T c = laplacian(u, p, y);
    T fx1 = laplacian(u, p + 1, y) - c, fx0 = c - laplacian(u, p - 1, y);
    T fy1 = laplacian(u, p + y, y) - c, fy0 = c - laplacian(u, p - y, y);
    fx1 = fx1 * (u[p + 1] - u[p]) > 0 ? T(0) : fx1;
    fx0 = fx0 * (u[p] - u[p - 1]) > 0 ? T(0) : fx0;
    fy1 = fy1 * (u[p + y] - u[p]) > 0 ? T(0) : fy1;
    fy0 = fy0 * (u[p] - u[p - y]) > 0 ? T(0) : fy0;
    out[p] = u[p] - rate[p] * (fx1 - fx0 + fy1 - fy0);
}

// The reference: one cell in double precision, with the grids read by number
// and offset.
typedef std::function<double(int grid, int dk, int dj, int di)> Read;
typedef std::function<double(const Read &)> Formula;

static double arms(const Read &u, int rank, int radius, double centre, const double *w)
{
    double s = centre * u(0, 0, 0, 0);
    for (int arm = 0; arm < 2 * rank; arm++)
        for (int r = 1; r <= radius; r++) {
            int at[3] = {0, 0, 0};
            at[2 - arm / 2] = arm % 2 ? r : -r;
            s += w[arm * radius + r - 1] * u(0, at[0], at[1], at[2]);
        }
    return s;
}

static double window(const Read &u, int rank, int radius, const double *w)
{
    double s = 0;
    int depth = rank == 3 ? radius : 0;
    for (int c = -depth; c <= depth; c++)
        for (int b = -radius; b <= radius; b++)
            for (int a = -radius; a <= radius; a++)
                s += *w++ * u(0, c, b, a);
    return s;
}

static double waveCell(const Read &g)
{
    const double w[5] = WAVE;
    double lap = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int r = -4; r <= 4; r++)
            lap += w[abs(r)] * g(0, axis == 0 ? r : 0, axis == 1 ? r : 0, axis == 2 ? r : 0);
    return 2 * g(0, 0, 0, 0) - g(1, 0, 0, 0) + g(2, 0, 0, 0) * lap;
}

// Grids: p, wrk1, bnd, a0 to a3, b0 to b2, c0 to c2.
static double himenoCell(const Read &g)
{
    auto p = [&](int k, int j, int i) { return g(0, k, j, i); };
    auto here = [&](int n) { return g(n, 0, 0, 0); };
    double s0 = here(1);
    for (int axis = 0; axis < 3; axis++) {
        int e[3] = {axis == 0, axis == 1, axis == 2};
        s0 += here(3 + axis) * p(e[0], e[1], e[2]) + here(10 + axis) * p(-e[0], -e[1], -e[2]);
    }
    for (int s = -1; s <= 1; s += 2)
        for (int t = -1; t <= 1; t += 2)
            s0 += s * t * (here(7) * p(s, t, 0) + here(8) * p(0, s, t) + here(9) * p(s, 0, t));
    return here(0) + 0.8 * (s0 * here(6) - here(0)) * here(2);
}

static double grayscottCell(const Read &g)
{
    double lap = -6 * g(0, 0, 0, 0);
    for (int s = -1; s <= 1; s += 2)
        lap += g(0, s, 0, 0) + g(0, 0, s, 0) + g(0, 0, 0, s);
    double u = g(0, 0, 0, 0), v = g(1, 0, 0, 0);
    return u + 0.12 * lap - u * v * v + 0.037 * (1 - u);
}

static double hotspotCell(const Read &g)
{
    double t = g(0, 0, 0, 0);
    return t + 0.34 * (g(1, 0, 0, 0) + 0.31 * (g(0, 0, 1, 0) + g(0, 0, -1, 0) - 2 * t)
        + 0.23 * (g(0, 0, 0, 1) + g(0, 0, 0, -1) - 2 * t) + 0.05 * (0.8 - t));
}

static double hdiffCell(const Read &g)
{
    auto u = [&](int j, int i) { return g(0, 0, j, i); };
    auto lap = [&](int j, int i) { return u(j, i - 1) + u(j, i + 1) + u(j - 1, i) + u(j + 1, i) - 4 * u(j, i); };
    double sum = 0;
    for (int axis = 0; axis < 2; axis++)
        for (int back = 0; back <= 1; back++) {
            int j1 = axis == 0 ? 1 - back : 0, i1 = axis == 1 ? 1 - back : 0, j0 = axis == 0 ? -back : 0, i0 = axis == 1 ? -back : 0;
            double flux = lap(j1, i1) - lap(j0, i0);
            if (flux * (u(j1, i1) - u(j0, i0)) <= 0)
                sum += back ? -flux : flux;
        }
    return u(0, 0) - g(1, 0, 0, 0) * sum;
}

struct Case {
    const char *name;
    int rank, inputs, outputs;
    std::vector<int> seeds, rim; // of the inputs; of the axes
    bool sum;
    const void *kernel64, *kernel32;
    Formula cell;
};

#define KERNELS(name) (const void *)name<double>, (const void *)name<float>

static std::vector<Case> cases()
{
    static const double s7[6] = STAR7, s13[6][2] = STAR13, s25[6][4] = STAR25, s5[4] = STAR5, b27[3][3][3] = BOX27, b9[3][3] = BOX9, b25[5][5] = BOX25;
    return {
        {"star7", 3, 1, 1, {1}, {1, 1, 1}, false, KERNELS(star7), [](const Read &u) { return arms(u, 3, 1, 0.4, s7); }},
        {"star13", 3, 1, 1, {1}, {2, 2, 2}, false, KERNELS(star13), [](const Read &u) { return arms(u, 3, 2, 0.28, s13[0]); }},
        {"star25", 3, 1, 1, {1}, {4, 4, 4}, false, KERNELS(star25), [](const Read &u) { return arms(u, 3, 4, 0.28, s25[0]); }},
        {"box27", 3, 1, 1, {1}, {1, 1, 1}, false, KERNELS(box27), [](const Read &u) { return window(u, 3, 1, b27[0][0]); }},
        {"star5", 2, 1, 1, {1}, {1, 1}, false, KERNELS(star5), [](const Read &u) { return arms(u, 2, 1, 0.4, s5); }},
        {"box9", 2, 1, 1, {1}, {1, 1}, false, KERNELS(box9), [](const Read &u) { return window(u, 2, 1, b9[0]); }},
        {"box25", 2, 1, 1, {1}, {2, 2}, false, KERNELS(box25), [](const Read &u) { return window(u, 2, 2, b25[0]); }},
        {"wave", 3, 3, 1, {1, 2, 3}, {4, 4, 4}, false, KERNELS(wave), waveCell},
        {"himeno", 3, 13, 1, {1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, {1, 1, 1}, true, KERNELS(himeno), himenoCell},
        {"grayscott", 3, 2, 2, {1, 2}, {1, 1, 1}, false, KERNELS(grayscott), grayscottCell},
        {"hotspot", 2, 2, 1, {1, 2}, {1, 1}, false, KERNELS(hotspot), hotspotCell},
        {"hdiff", 3, 2, 1, {1, 2}, {0, 2, 2}, false, KERNELS(hdiff), hdiffCell},
    };
}

static const dim3 shapes3[8] = {{32, 4, 1}, {32, 8, 1}, {64, 4, 1}, {128, 2, 1}, {256, 1, 1}, {32, 4, 2}, {32, 4, 4}, {64, 2, 4}};
static const dim3 shapes2[8] = {{32, 4, 1}, {32, 8, 1}, {32, 16, 1}, {64, 4, 1}, {64, 8, 1}, {128, 2, 1}, {128, 4, 1}, {256, 1, 1}};

static const double least = 0.02; // seconds of a batch

struct Problem {
    const Case *c;
    size_t size; // of a value
    int n[3];    // cells on each axis; the first is 1 in two dimensions
    std::vector<void *> grids; // inputs, outputs, the sum
    int shape = 0, steps = 1;
    cudaEvent_t start, end;

    int64_t cells() const { return (int64_t)n[0] * n[1] * n[2]; }

    int rim(int axis) const { return c->rank == 3 ? c->rim[axis] : axis ? c->rim[axis - 1] : 0; }

    double points() const
    {
        double p = 1;
        for (int d = 0; d < 3; d++)
            p *= n[d] - 2 * rim(d);
        return p;
    }

    dim3 block(int s) const { return c->rank == 3 ? shapes3[s] : shapes2[s]; }

    void step()
    {
        dim3 b = block(shape);
        auto blocks = [](int cells, unsigned size) { return (unsigned)((cells + size - 1) / size); };
        dim3 grid(blocks(n[2] - 2 * rim(2), b.x), blocks(n[1] - 2 * rim(1), b.y), blocks(n[0] - 2 * rim(0), b.z));
        std::vector<void *> args;
        for (void *&g : grids)
            args.push_back(&g);
        for (int d = 3 - c->rank; d < 3; d++)
            args.push_back(&n[d]);
        if (c->sum)
            CUDA(cudaMemsetAsync(grids.back(), 0, size));
        CUDA(cudaLaunchKernel(size == 8 ? c->kernel64 : c->kernel32, grid, b, args.data(), 0, 0));
    }

    double time(int count)
    {
        CUDA(cudaEventRecord(start));
        for (int s = 0; s < count; s++)
            step();
        CUDA(cudaEventRecord(end));
        CUDA(cudaEventSynchronize(end));
        float ms;
        CUDA(cudaEventElapsedTime(&ms, start, end));
        return ms / 1000;
    }

    // batch returns the seconds of one step.
    double batch(double enough = least)
    {
        for (;;) {
            double took = time(steps);
            if (took >= enough)
                return took / steps;
            steps = std::max(steps + 1, int(1.2 * steps * enough / std::max(took, 1e-6)));
        }
    }

    void tune()
    {
        int best = 0;
        double fastest = INFINITY;
        for (shape = 0; shape < 8; shape++) {
            steps = 1;
            batch(least / 4);
            for (int n = 0; n < 3; n++) {
                double t = batch(least / 4);
                if (t < fastest)
                    fastest = t, best = shape;
            }
        }
        shape = best;
        steps = 1;
        batch();
    }

    std::string label() const
    {
        dim3 b = block(shape);
        return std::to_string(b.x) + "x" + std::to_string(b.y) + (c->rank == 3 ? "x" + std::to_string(b.z) : "");
    }

    double value(int64_t cell) const
    {
        char bytes[8];
        CUDA(cudaMemcpy(bytes, (char *)grids[c->inputs] + cell * size, size, cudaMemcpyDeviceToHost));
        return size == 8 ? *(double *)bytes : *(float *)bytes;
    }

    double input(int grid, int64_t cell) const
    {
        return size == 8 ? number<double>(cell, c->seeds[grid]) : number<float>(cell, c->seeds[grid]);
    }

    // error is the largest difference from the reference over cells at random
    // and the corners of the interior.
    double error()
    {
        std::mt19937 random(1);
        double worst = 0;
        for (int s = 0; s < 2048; s++) {
            int at[3];
            for (int d = 0; d < 3; d++) {
                int lo = rim(d), hi = n[d] - 1 - rim(d);
                at[d] = s < 8 ? (s >> d & 1 ? hi : lo) : lo + int(random() % (hi - lo + 1));
            }
            auto cell = [&](int k, int j, int i) { return ((int64_t)(at[0] + k) * n[1] + at[1] + j) * n[2] + at[2] + i; };
            double want = c->cell([&](int grid, int k, int j, int i) { return input(grid, cell(k, j, i)); });
            double e = std::abs(value(cell(0, 0, 0)) - want);
            if (!(e <= worst))
                worst = e;
            if (std::isnan(e))
                break;
        }
        return worst;
    }
};

static std::vector<int64_t> numbers(const std::string &s, char between)
{
    std::vector<int64_t> list;
    std::stringstream in(s);
    for (std::string part; std::getline(in, part, between);)
        list.push_back(atoll(part.c_str()));
    return list;
}

int main(int argc, char **argv)
{
    int batches = 7;
    bool serve = false;
    std::string cellList;
    std::vector<std::string> words;
    for (int i = 1; i < argc; i++) {
        std::string a = argv[i];
        if (a == "--serve")
            serve = true;
        else if (a == "--batches" && i + 1 < argc)
            batches = atoi(argv[++i]);
        else if (a == "--cells" && i + 1 < argc)
            cellList = argv[++i];
        else
            words.push_back(a);
    }
    std::vector<Case> all = cases();
    auto c = std::find_if(all.begin(), all.end(), [&](const Case &c) { return words.size() == 3 && words[0] == c.name; });
    std::vector<int64_t> grid = words.size() == 3 ? numbers(words[2], 'x') : std::vector<int64_t>();
    if (c == all.end() || (words[1] != "double" && words[1] != "float") || (int)grid.size() != c->rank) {
        fprintf(stderr, "usage: simplest CASE double|float 512x512x512 [--batches 7] [--cells 5,17] [--serve]\n");
        return 2;
    }
    Problem p;
    p.c = &*c;
    p.size = words[1] == "double" ? 8 : 4;
    for (int d = 0; d < 3; d++)
        p.n[d] = d < 3 - c->rank ? 1 : int(grid[d - (3 - c->rank)]);
    CUDA(cudaEventCreate(&p.start));
    CUDA(cudaEventCreate(&p.end));
    for (int g = 0; g < c->inputs + c->outputs + c->sum; g++) {
        void *m;
        CUDA(cudaMalloc(&m, p.cells() * p.size));
        CUDA(cudaMemset(m, 0xFF, p.cells() * p.size));
        unsigned blocks = unsigned((p.cells() + 255) / 256);
        if (g < c->inputs && p.size == 8)
            fill<<<blocks, 256>>>((double *)m, p.cells(), c->seeds[g]);
        else if (g < c->inputs)
            fill<<<blocks, 256>>>((float *)m, p.cells(), c->seeds[g]);
        CUDA(cudaGetLastError());
        p.grids.push_back(m);
    }
    double worst = 0;
    for (p.shape = 0; p.shape < 8; p.shape++) {
        CUDA(cudaMemset(p.grids[c->inputs], 0xFF, p.cells() * p.size));
        p.step();
        CUDA(cudaDeviceSynchronize());
        double e = p.error();
        if (!(e <= (p.size == 8 ? 1e-12 : 1e-4))) {
            printf("{\"failed\": \"block %s is wrong by %g\"}\n", p.label().c_str(), e);
            return 1;
        }
        worst = std::max(worst, e);
    }
    p.shape = 0;
    printf("{\"rival\": \"simplest CUDA\", \"case\": \"%s\", \"dtype\": \"%s\", \"grid\": \"%s\", \"tried\": 8, \"faults\": [], \"largest_error\": %g, \"values\": [",
        c->name, words[1].c_str(), words[2].c_str(), worst);
    const char *comma = "";
    for (int64_t cell : numbers(cellList, ',')) {
        printf("%s%.17g", comma, p.value(cell));
        comma = ", ";
    }
    printf("]");
    if (!serve) {
        p.tune();
        p.batch();
        std::vector<double> rates;
        for (int b = 0; b < batches; b++)
            rates.push_back(p.points() / p.batch() / 1e9);
        printf(", \"variant\": \"%s\", \"samples\": [", p.label().c_str());
        for (size_t b = 0; b < rates.size(); b++)
            printf("%s%.6g", b ? ", " : "", rates[b]);
        std::sort(rates.begin(), rates.end());
        printf("], \"gstencils\": %.6g}\n", (rates[rates.size() / 2] + rates[(rates.size() - 1) / 2]) / 2);
        return 0;
    }
    printf("}\n");
    fflush(stdout);
    for (std::string word; std::getline(std::cin, word);) {
        if (word == "tune") {
            p.tune();
            printf("{\"variant\": \"%s\"}\n", p.label().c_str());
        } else if (word == "batch") {
            printf("{\"seconds\": %.9g}\n", p.batch());
        } else {
            printf("{\"failed\": \"no such word\"}\n");
        }
        fflush(stdout);
    }
}

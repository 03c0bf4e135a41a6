// What kernels are compiled with: the words of CUDA C++ for a processor.
//
// The blocks of a grid run one after the other. So do a block's threads, unless
// they wait for each other: then each has a stack of its own, and all are
// taken in turn from barrier to barrier.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)

struct uint3 { unsigned x, y, z; };
static uint3 gridDim, blockDim, blockIdx, threadIdx;

#define VECTORS(type, name) \
	struct alignas(2 * sizeof(type)) name##2 { type x, y; }; \
	struct alignas(sizeof(type) < 8 ? 4 * sizeof(type) : 16) name##4 { type x, y, z, w; }; \
	static inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
	static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
VECTORS(unsigned char, uchar)
VECTORS(int, int)
VECTORS(unsigned, uint)
VECTORS(long long, longlong)
VECTORS(float, float)
VECTORS(double, double)

static inline double __longlong_as_double(long long x)
{
	double y;
	memcpy(&y, &x, 8);
	return y;
}
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
static inline void __threadfence() {}

// gate is a barrier for some of a block's threads.
struct gate {
	unsigned members, here;
	unsigned long turn;
};

struct thread {
	ucontext_t at;
	uint3 index;
	unsigned number;
	bool done;
};

static std::vector<thread> threads;
static std::vector<gate> gates; // of the block, and of each warp
static std::vector<unsigned long long> lanes; // what threads offer to others of their warp
static thread *running;
static ucontext_t scheduler;
static bool moved; // since all threads were looked at

static void pass(gate &g)
{
	unsigned long turn = g.turn;
	if (++g.here == g.members) {
		g.here = 0;
		g.turn++;
		moved = true;
		return;
	}
	while (g.turn == turn)
		swapcontext(&running->at, &scheduler);
}

static void __syncthreads() { pass(gates[0]); }
static void __syncwarp(unsigned = ~0u) { pass(gates[1 + running->number / 32]); }

template <class T> static T shuffle(T v, int lane)
{
	unsigned first = running->number / 32 * 32;
	memcpy(&lanes[running->number], &v, sizeof v);
	__syncwarp();
	if (lane >= 0 && lane < 32 && first + lane < lanes.size())
		memcpy(&v, &lanes[first + lane], sizeof v);
	__syncwarp();
	return v;
}
static int lane() { return int(running->number % 32); }
template <class T> static T __shfl_sync(unsigned, T v, int from) { return shuffle(v, from); }
template <class T> static T __shfl_up_sync(unsigned, T v, int by) { return shuffle(v, lane() - by); }
template <class T> static T __shfl_down_sync(unsigned, T v, int by) { return shuffle(v, lane() + by); }
template <class T> static T __shfl_xor_sync(unsigned, T v, int by) { return shuffle(v, lane() ^ by); }

template <class... A, size_t... I>
static void invoke(void (*f)(A...), void **p, std::index_sequence<I...>) { f(*(A *)p[I]...); }
template <class... A>
static void invoke(void (*f)(A...), void **p) { invoke(f, p, std::index_sequence_for<A...>()); }
template <class... A>
static constexpr int arguments(void (*)(A...)) { return sizeof...(A); }

template <class F> static F entry;
static void **given;

template <class F>
static void begin()
{
	invoke(entry<F>, given);
	running->done = moved = true;
	swapcontext(&running->at, &scheduler);
}

// together runs a block whose threads wait for each other. It reports whether
// all come to their ends.
template <class F>
static bool together(F f, void **args)
{
	static const size_t stack = 64 << 10;
	static std::vector<char> stacks;
	unsigned n = blockDim.x * blockDim.y * blockDim.z;
	if (stacks.size() < n * stack)
		stacks.resize(n * stack);
	entry<F> = f;
	given = args;
	threads.assign(n, {});
	lanes.assign(n, 0);
	gates.assign(1, {n, 0, 0});
	for (unsigned i = 0; i < n; i += 32)
		gates.push_back({n - i < 32 ? n - i : 32, 0, 0});
	for (unsigned i = 0; i < n; i++) {
		thread &t = threads[i];
		t.number = i;
		t.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
		getcontext(&t.at);
		t.at.uc_stack.ss_sp = &stacks[i * stack];
		t.at.uc_stack.ss_size = stack;
		makecontext(&t.at, begin<F>, 0);
	}
	for (unsigned left = n; left > 0;) {
		moved = false;
		left = 0;
		for (thread &t : threads) {
			if (t.done)
				continue;
			running = &t;
			threadIdx = t.index;
			swapcontext(&scheduler, &t.at);
			left += !t.done;
		}
		if (left > 0 && !moved)
			return false; // they wait for threads that never come
	}
	return true;
}

// grid runs a kernel. It reports whether all threads come to their ends.
template <class F>
static bool grid(F f, bool waits, void **args, const unsigned *n)
{
	gridDim = {n[0], n[1], n[2]};
	blockDim = {n[3], n[4], n[5]};
	for (blockIdx.z = 0; blockIdx.z < n[2]; blockIdx.z++)
	for (blockIdx.y = 0; blockIdx.y < n[1]; blockIdx.y++)
	for (blockIdx.x = 0; blockIdx.x < n[0]; blockIdx.x++) {
		if (waits) {
			if (!together(f, args))
				return false;
			continue;
		}
		for (threadIdx.z = 0; threadIdx.z < n[5]; threadIdx.z++)
		for (threadIdx.y = 0; threadIdx.y < n[4]; threadIdx.y++)
		for (threadIdx.x = 0; threadIdx.x < n[3]; threadIdx.x++)
			invoke(f, args);
	}
	return true;
}

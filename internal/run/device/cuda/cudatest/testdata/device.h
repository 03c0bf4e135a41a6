// What kernels are compiled with: the words of CUDA C++ for a processor.
//
// The blocks of a grid run one after the other. So do a block's threads, unless
// they wait for each other: then each has a stack of its own, and all are
// taken in turn from barrier to barrier.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
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

// What the printed text says in PTX has these words instead: numbered barriers,
// accesses with a cache policy, and copies that arrive as late as they may.

static std::map<int, gate> numbered;

template <int number, int count> static void gl_barrier()
{
	gate &g = numbered[number];
	g.members = count;
	pass(g);
}

#define RESIDENT(type) \
	static inline type gl_load_resident_##type(const type *p) { return *p; } \
	static inline void gl_store_resident_##type(type *p, type v) { *p = v; }
RESIDENT(float) RESIDENT(float2) RESIDENT(float4) RESIDENT(double) RESIDENT(double2)
RESIDENT(int32_t) RESIDENT(int2) RESIDENT(int4) RESIDENT(int64_t) RESIDENT(longlong2)

struct copy {
	void *to;
	const void *from;
	size_t bytes;
	int64_t *mbarrier;
};

// issue spoils the copy's target until arrive brings what is meant to be there.
static copy issue(void *to, const void *from, size_t bytes, int64_t *mbarrier = nullptr)
{
	memset(to, 0xAB, bytes);
	return {to, from, bytes, mbarrier};
}
static void arrive(const copy &c) { memcpy(c.to, c.from, c.bytes); }

// The copies of each thread, in groups, the last of which is still open.
static std::vector<std::deque<std::vector<copy>>> groups;

static std::deque<std::vector<copy>> &mine()
{
	std::deque<std::vector<copy>> &g = groups[running->number];
	if (g.empty())
		g.emplace_back();
	return g;
}
template <int bytes> static void gl_copy_async(void *to, const void *from) { mine().back().push_back(issue(to, from, bytes)); }
static void gl_commit_async() { mine().emplace_back(); }
template <int pending> static void gl_wait_async()
{
	while (mine().size() > pending + 1) {
		for (const copy &c : mine().front())
			arrive(c);
		mine().pop_front();
	}
}

struct phases {
	int count, missing;
	long bytes; // that are to come
	unsigned done;
};

static std::map<int64_t *, phases> mbarriers;
static std::vector<copy> bulk; // under way

static void settle(phases &p)
{
	if (p.missing > 0 || p.bytes != 0)
		return;
	p.missing = p.count;
	p.done++;
	moved = true;
}
static void gl_mbarrier_init(int64_t *m, int32_t count) { mbarriers[m] = {count, count, 0, 0}; }
static void gl_mbarrier_expect(int64_t *m, int32_t bytes)
{
	phases &p = mbarriers.at(m);
	p.bytes += bytes;
	p.missing--;
	settle(p);
}
static void gl_mbarrier_arrive(int64_t *m) { gl_mbarrier_expect(m, 0); }
static void gl_mbarrier_wait(int64_t *m, int32_t parity)
{
	while ((mbarriers.at(m).done & 1) == unsigned(parity))
		swapcontext(&running->at, &scheduler);
}
static void gl_copy_bulk(void *to, const void *from, uint32_t bytes, int64_t *m) { bulk.push_back(issue(to, from, bytes, m)); }

// engine carries out the bulk copies, after all threads had their turn.
static void engine()
{
	std::vector<copy> now;
	now.swap(bulk);
	for (const copy &c : now) {
		arrive(c);
		phases &p = mbarriers.at(c.mbarrier);
		p.bytes -= c.bytes;
		moved = true;
		settle(p);
	}
}

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
	groups.assign(n, {});
	numbered.clear();
	mbarriers.clear();
	bulk.clear();
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
		engine();
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

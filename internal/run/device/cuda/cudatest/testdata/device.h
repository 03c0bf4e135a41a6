// What kernels are compiled with: the words of CUDA C++ for a processor.
//
// The blocks of a grid run one after the other. So do a block's threads, unless
// they wait for each other: then each has a stack of its own, and all are
// taken in turn from barrier to barrier.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <setjmp.h>
#include <ucontext.h>
#include <utility>
#include <stdlib.h>

#define __global__
#define __device__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __constant__
#define __grid_constant__

// What is not a word of CUDA, nor of the printed helpers, has a namespace: any
// other name may be a kernel's.
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
static inline double __hiloint2double(int high, int low)
{
	return __longlong_as_double((long long)high << 32 | (unsigned)low);
}

// An image is memory with the size of its texels. What lies beyond it is zeros.
typedef unsigned long long cudaTextureObject_t;
namespace pretended {
struct texture { const char *at; size_t bytes, texel; };
}
template <class T> static inline T tex1Dfetch(cudaTextureObject_t image, int i)
{
	const pretended::texture *t = (const pretended::texture *)image;
	T v = {};
	if (t->texel != sizeof v)
		abort();
	if (i >= 0 && (i + 1) * sizeof v <= t->bytes)
		memcpy(&v, t->at + i * sizeof v, sizeof v);
	return v;
}

namespace pretended {

// gate is a barrier for some of a block's threads.
struct gate {
	unsigned members, here;
	unsigned long turn;
};

struct thread {
	ucontext_t start;
	jmp_buf at;
	bool started;
	uint3 index;
	unsigned number;
	bool done;
};

enum { mostThreads = 1024, mostWarps = mostThreads / 32 };

static thread threads[mostThreads];
static unsigned count; // of them
static gate gates[1 + mostWarps]; // of the block, and of each warp
static unsigned long long lanes[mostThreads]; // what threads offer to others of their warp
static thread *running;
static jmp_buf scheduler;
static bool moved; // since all threads were looked at

// rest gives the turn back, and returns when it comes again. Jumps keep the
// signal mask as it is, which makes them much faster than switching contexts.
static __attribute__((noinline)) void rest()
{
	if (!_setjmp(running->at))
		_longjmp(scheduler, 1);
}

// turn lets a thread go on until it rests.
static __attribute__((noinline)) void turn(thread &t)
{
	if (_setjmp(scheduler))
		return;
	if (t.started)
		_longjmp(t.at, 1);
	t.started = true;
	setcontext(&t.start);
}

static void pass(gate &g, unsigned as = 1)
{
	unsigned long now = g.turn;
	if ((g.here += as) == g.members) {
		g.here = 0;
		g.turn++;
		moved = true;
		return;
	}
	while (g.turn == now)
		rest();
}

static void warp() { pass(gates[1 + running->number / 32]); }

template <class T> static T shuffle(T v, int lane)
{
	unsigned first = running->number / 32 * 32;
	memcpy(&lanes[running->number], &v, sizeof v);
	warp();
	if (lane >= 0 && lane < 32 && first + lane < count)
		memcpy(&v, &lanes[first + lane], sizeof v);
	warp();
	return v;
}
static int lane() { return int(running->number % 32); }

}

static void __syncthreads() { pretended::pass(pretended::gates[0]); }
static void __syncwarp(unsigned = ~0u) { pretended::warp(); }
template <class T> static T __shfl_sync(unsigned, T v, int from) { return pretended::shuffle(v, from); }
template <class T> static T __shfl_up_sync(unsigned, T v, int by) { return pretended::shuffle(v, pretended::lane() - by); }
template <class T> static T __shfl_down_sync(unsigned, T v, int by) { return pretended::shuffle(v, pretended::lane() + by); }
template <class T> static T __shfl_xor_sync(unsigned, T v, int by) { return pretended::shuffle(v, pretended::lane() ^ by); }

// What the printed text says in PTX has these words instead: fused multiply-adds,
// divisions, numbered barriers, accesses with a cache policy, and copies that arrive
// as late as they may.

static inline float gl_fma_rn_f32(float a, float b, float c) { return fmaf(a, b, c); }
static inline double gl_fma_rn_f64(double a, double b, double c) { return fma(a, b, c); }
static inline float gl_div_rn_f32(float a, float b) { return a / b; }
static inline double gl_div_rn_f64(double a, double b) { return a / b; }
static inline int32_t gl_same_i32(int32_t x) { return x; }
static inline uint32_t gl_high_f64(double x) { uint64_t bits; memcpy(&bits, &x, 8); return uint32_t(bits >> 32); }
static inline uint32_t gl_low_f64(double x) { uint64_t bits; memcpy(&bits, &x, 8); return uint32_t(bits); }
static inline double gl_invsqrt_plain_f64(double x) { return 1 / sqrt(x); }
static inline double gl_rsqrt_seed_f64(double x) // to the upper word, by the upper word
{
	uint64_t bits;
	memcpy(&bits, &x, 8);
	bits &= ~0xffffffffull;
	memcpy(&x, &bits, 8);
	x = 1 / sqrt(x);
	memcpy(&bits, &x, 8);
	bits &= ~0xffffffffull;
	memcpy(&x, &bits, 8);
	return x;
}

#define RESIDENT(type) \
	static inline type gl_load_resident_##type(const type *p) { return *p; } \
	static inline void gl_store_resident_##type(type *p, type v) { *p = v; }
RESIDENT(float) RESIDENT(float2) RESIDENT(float4) RESIDENT(double) RESIDENT(double2)
RESIDENT(int32_t) RESIDENT(int2) RESIDENT(int4) RESIDENT(int64_t) RESIDENT(longlong2)

namespace pretended {

static gate numbered[16];

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

// The copies of a thread that are under way, each with the number of its group.
struct pending {
	struct { copy what; unsigned group; } list[256];
	unsigned count, group;
};

static pending copies[mostThreads];

static pending &mine() { return copies[running->number]; }

// wait lets the copies of all groups but so many arrive.
static void wait(pending &p, unsigned others)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < p.count; i++) {
		if (p.list[i].group + others < p.group)
			arrive(p.list[i].what);
		else
			p.list[kept++] = p.list[i];
	}
	p.count = kept;
}

// A tensor map, as the driver's cuTensorMapEncodeTiled makes it.
struct tensorMap {
	uint32_t mark, axes, size;
	const char *at;
	uint32_t extents[5], box[5];
	uint64_t strides[5];
};

// box copies a box to memory, with zeros where it is outside.
static void box(char *to, const tensorMap *m, const int32_t *corner)
{
	size_t elements = 1;
	for (uint32_t d = 0; d < m->axes; d++)
		elements *= m->box[d];
	for (size_t e = 0; e < elements; e++, to += m->size) {
		const char *from = m->at;
		size_t left = e;
		bool inside = true;
		for (uint32_t d = 0; d < m->axes; d++) {
			long x = long(corner[d]) + long(left % m->box[d]);
			left /= m->box[d];
			inside = inside && x >= 0 && x < long(m->extents[d]);
			from += x * long(m->strides[d]);
		}
		if (inside)
			memcpy(to, from, m->size);
		else
			memset(to, 0, m->size);
	}
}

struct phases {
	int64_t *mbarrier;
	int count, missing;
	long bytes; // that are to come
	unsigned done;
};

static phases mbarriers[256];
static unsigned mbarrierCount;
static copy bulk[256]; // under way
static unsigned bulkCount;

static phases &of(int64_t *m)
{
	for (unsigned i = 0; i < mbarrierCount; i++)
		if (mbarriers[i].mbarrier == m)
			return mbarriers[i];
	if (mbarrierCount == sizeof mbarriers / sizeof *mbarriers)
		abort();
	mbarriers[mbarrierCount] = {m, 0, 0, 0, 0};
	return mbarriers[mbarrierCount++];
}

static void settle(phases &p)
{
	if (p.missing > 0 || p.bytes != 0)
		return;
	p.missing = p.count;
	p.done++;
	moved = true;
}

// engine carries out the bulk copies, after all threads had their turn.
static void engine()
{
	for (unsigned i = 0; i < bulkCount; i++) {
		arrive(bulk[i]);
		phases &p = of(bulk[i].mbarrier);
		p.bytes -= bulk[i].bytes;
		moved = true;
		settle(p);
	}
	bulkCount = 0;
}

}

template <int number, int count> static void gl_barrier()
{
	pretended::gate &g = pretended::numbered[number];
	g.members = count;
	// Warps are what it counts, so the last thread stands for those that the
	// last warp lacks.
	unsigned missing = (32 - pretended::count % 32) % 32;
	pass(g, pretended::running->number + 1 == pretended::count ? 1 + missing : 1);
}
template <int bytes, int to_bytes = 0, int from_bytes = 0> static void gl_copy_async(void *to, const void *from)
{
	pretended::pending &p = pretended::mine();
	if (p.count == sizeof p.list / sizeof *p.list)
		abort();
	p.list[p.count].group = p.group;
	p.list[p.count++].what = pretended::issue((char *)to + to_bytes, (const char *)from + from_bytes, bytes);
}
static void gl_fence_async() {}
static void gl_prefetch(const void *) {}
static void gl_commit_async() { pretended::mine().group++; }
template <int others> static void gl_wait_async() { wait(pretended::mine(), others); }
static void gl_mbarrier_init(int64_t *m, int32_t count) { pretended::of(m) = {m, count, count, 0, 0}; }
static void gl_mbarrier_expect(int64_t *m, int32_t bytes)
{
	pretended::phases &p = pretended::of(m);
	p.bytes += bytes;
	p.missing--;
	settle(p);
}
static void gl_mbarrier_arrive(int64_t *m) { gl_mbarrier_expect(m, 0); }
static void gl_mbarrier_wait(int64_t *m, int32_t parity)
{
	while ((pretended::of(m).done & 1) == unsigned(parity))
		pretended::rest();
}
static void gl_copy_bulk(void *to, const void *from, uint32_t bytes, int64_t *m) {
	if (pretended::bulkCount == sizeof pretended::bulk / sizeof *pretended::bulk)
		abort();
	pretended::bulk[pretended::bulkCount++] = pretended::issue(to, from, bytes, m);
}

// A tensor map is defined by the printed text, if there is one.
struct gl_tensor_map;
namespace pretended {

static char boxes[256][227 << 10]; // of the copies under way

template <class... X> static void tensor(void *to, const gl_tensor_map *from, int64_t *m, X... x)
{
	const tensorMap *map = (const tensorMap *)from;
	const int32_t corner[] = {x...};
	size_t bytes = map->size;
	for (uint32_t d = 0; d < map->axes; d++)
		bytes *= map->box[d];
	if (map->mark != 0x7e50 || map->axes != sizeof...(x) || (uintptr_t)from % 64 || (uintptr_t)to % 128 ||
	    bulkCount == sizeof bulk / sizeof *bulk || bytes > sizeof *boxes)
		abort();
	box(boxes[bulkCount], map, corner);
	bulk[bulkCount] = issue(to, boxes[bulkCount], bytes, m);
	bulkCount++;
}

}
static void gl_copy_tensor1(void *to, const gl_tensor_map *from, int32_t x, int64_t *m) { pretended::tensor(to, from, m, x); }
static void gl_copy_tensor2(void *to, const gl_tensor_map *from, int32_t x, int32_t y, int64_t *m)
{
	pretended::tensor(to, from, m, x, y);
}
static void gl_copy_tensor3(void *to, const gl_tensor_map *from, int32_t x, int32_t y, int32_t z, int64_t *m)
{
	pretended::tensor(to, from, m, x, y, z);
}
static void gl_copy_tensor4(void *to, const gl_tensor_map *from, int32_t x, int32_t y, int32_t z, int32_t w, int64_t *m)
{
	pretended::tensor(to, from, m, x, y, z, w);
}

namespace pretended {

template <class... A, size_t... I>
static void invoke(void (*f)(A...), void **p, std::index_sequence<I...>) { f(*(A *)p[I]...); }
template <class... A>
static void invoke(void (*f)(A...), void **p) { invoke(f, p, std::index_sequence_for<A...>()); }
// counted is the number of a kernel's arguments, and the bytes of each.
template <size_t n> struct counted { int count, bytes[n + 1]; };
template <class... A>
static constexpr counted<sizeof...(A)> arguments(void (*)(A...)) { return {sizeof...(A), {int(sizeof(A))..., 0}}; }

template <class F> static F entry;
static void **given;

template <class F>
static void begin()
{
	invoke(entry<F>, given);
	running->done = moved = true;
	rest();
}

// together runs a block whose threads wait for each other. It reports whether
// all come to their ends.
template <class F>
static bool together(F f, void **args)
{
	static const size_t stack = 64 << 10;
	static char *const stacks = (char *)malloc(mostThreads * stack);
	unsigned n = blockDim.x * blockDim.y * blockDim.z;
	entry<F> = f;
	given = args;
	count = n;
	memset(lanes, 0, sizeof lanes);
	memset(numbered, 0, sizeof numbered);
	mbarrierCount = bulkCount = 0;
	gates[0] = {n, 0, 0};
	for (unsigned i = 0; i < n; i += 32)
		gates[1 + i / 32] = {n - i < 32 ? n - i : 32, 0, 0};
	for (unsigned i = 0; i < n; i++) {
		thread &t = threads[i];
		t.number = i;
		t.started = t.done = false;
		copies[i].count = copies[i].group = 0;
		t.index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
		getcontext(&t.start);
		t.start.uc_stack.ss_sp = &stacks[i * stack];
		t.start.uc_stack.ss_size = stack;
		makecontext(&t.start, begin<F>, 0);
	}
	for (unsigned left = n; left > 0;) {
		moved = false;
		left = 0;
		for (unsigned i = 0; i < n; i++) {
			thread &t = threads[i];
			if (t.done)
				continue;
			running = &t;
			threadIdx = t.index;
			turn(t);
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

}

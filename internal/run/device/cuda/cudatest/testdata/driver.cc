// A pretended NVIDIA driver, compiler and management library: the functions
// that package cuda binds, carried out on the processor.
//
// Launches are carried out when something waits for them, with the arguments
// that they were given. Kernels whose names begin with wild_ spoil the context,
// as an access outside memory does, those that begin with hang_ never end, and
// those that begin with fat_ take so many registers that a block has 256
// threads at most. The environment brings about what goes wrong elsewhere:
//
//	CUDATEST_NO_DEVICE      no GPU is visible
//	CUDATEST_BUSY           another process has the GPU for itself
//	CUDATEST_MEMORY=N       bytes of memory
//	CUDATEST_OLD_DRIVER     code of this compiler cannot be loaded
//	CUDATEST_CLUSTERS       the GPU says that it has clusters of blocks; it runs
//	                        none of their kernels
//	CUDATEST_NO_GRAPHS      launch graphs are refused
//	CUDATEST_WILD=N         kernels of N threads a block are wild
//	CUDATEST_HANG=N         kernels of N threads a block hang
//	CUDATEST_COMPILER=WORD  the compiler hangs (hang), takes all memory (eat) or
//	                        crashes (crash)
//	CUDATEST_LOG=FILE       a line for every launch and every graph that is
//	                        launched
//
// A profiler sees a launch only in a process that it has entered: one that has
// a function cudatest_launched, see profiler.c.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum {
	SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
	DEVICE_UNAVAILABLE = 46, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, UNSUPPORTED_PTX_VERSION = 222, NOT_FOUND = 500,
	ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701, LAUNCH_FAILED = 719, COOPERATIVE_LAUNCH_TOO_LARGE = 720, NOT_SUPPORTED = 801
};

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *v = getenv(name);
	return v && *v ? strtoull(v, nullptr, 10) : otherwise;
}

static bool asked(const char *name)
{
	const char *v = getenv(name);
	return v && *v;
}

static const uint64_t memory = number("CUDATEST_MEMORY", uint64_t(1) << 30);
static const int processors = 4;
static bool started;
static thread_local int current;
static uint64_t used;
static std::map<CUdeviceptr, uint64_t> blocks;
static std::map<CUdeviceptr, uint64_t> globals; // of modules
static CUresult broken;

// ready reports whether the calling thread can use the context: it is current
// in the thread that made it so, and in no other.
static CUresult ready()
{
	if (!started)
		return NOT_INITIALIZED;
	return current ? broken : INVALID_CONTEXT;
}

// inside reports whether a run of bytes lies in one allocation.
static bool inside(CUdeviceptr p, uint64_t bytes)
{
	auto g = globals.find(p);
	if (g != globals.end() && bytes <= g->second)
		return true;
	auto b = blocks.upper_bound(p);
	if (b == blocks.begin())
		return false;
	--b;
	return p + bytes <= b->first + b->second;
}

typedef bool kernel(void **args, const unsigned *size);

struct function {
	std::string name;
	kernel *run;
	std::vector<int> args; // bytes of each
	int dynamic;      // bytes of shared memory that a launch may ask for
	bool clusters;    // of more than 8 blocks
};

static bool starts(const std::string &s, const char *with) { return s.compare(0, strlen(with), with) == 0; }

static int threads(function *f) { return starts(f->name, "fat_") ? 256 : 1024; }

static int registers(const std::string &kernel) { return starts(kernel, "fat_") ? 255 : 32; }

// A launch, with a copy of its arguments.
struct launch {
	function *f;
	unsigned size[6];
	unsigned shared;
	struct alignas(64) argument { char bytes[128]; };
	std::vector<argument> args;
	unsigned cluster[3];
	bool cooperative;

	launch(function *f, const unsigned *n, unsigned shared, void **from) : f(f), shared(shared), cluster{0, 0, 0}, cooperative(false)
	{
		memcpy(size, n, sizeof size);
		take(from);
	}
	void take(void **from)
	{
		args.clear();
		for (size_t i = 0; from && i < f->args.size(); i++) {
			argument a = {};
			memcpy(a.bytes, from[i], f->args[i]);
			args.push_back(a);
		}
	}
	unsigned threadsOfBlock() const { return size[3] * size[4] * size[5]; }
	int occupancy() const
	{
		unsigned t = threadsOfBlock(), n = 2048 / t;
		n = std::min(n, 65536 / (t * registers(f->name)));
		return shared ? std::min(n, unsigned(228 << 10) / (shared + 1024)) : n;
	}
	CUresult check() const
	{
		unsigned long long blocks = 1, together = 1;
		for (int i = 0; i < 3; i++) {
			if (!size[i] || !size[3 + i] || (cluster[i] && size[i] % cluster[i]))
				return INVALID_VALUE;
			blocks *= size[i];
			together *= cluster[i] ? cluster[i] : 1;
		}
		if (shared > unsigned(f->dynamic) || together > (f->clusters ? 16 : 8))
			return INVALID_VALUE;
		if (threadsOfBlock() > unsigned(threads(f)))
			return LAUNCH_OUT_OF_RESOURCES;
		return cooperative && blocks > (unsigned long long)occupancy() * processors ? COOPERATIVE_LAUNCH_TOO_LARGE : SUCCESS;
	}
	void carryOut()
	{
		static const uint64_t wild = number("CUDATEST_WILD", 0), hang = number("CUDATEST_HANG", 0);
		if (starts(f->name, "wild_") || threadsOfBlock() == wild) {
			broken = ILLEGAL_ADDRESS;
			return;
		}
		while (starts(f->name, "hang_") || threadsOfBlock() == hang)
			pause();
		std::vector<void *> at;
		for (argument &a : args)
			at.push_back(a.bytes);
		if (!f->run(at.data(), size))
			broken = LAUNCH_FAILED; // some threads wait at a barrier for others that never come
	}
};

// What was launched and not yet carried out.
static std::deque<launch> queue;

static CUresult enqueue(const launch &l)
{
	queue.push_back(l);
	return SUCCESS;
}

static void note(const std::string &line)
{
	if (asked("CUDATEST_LOG"))
		std::ofstream(getenv("CUDATEST_LOG"), std::ios::app) << line << "\n";
}

static bool profiling;

// launched tells of a launch: those who read the log, and a profiler in this process.
static void launched(const function *f)
{
	note("launch " + f->name);
	static auto watch = (void (*)(const char *, int))dlsym(RTLD_DEFAULT, "cudatest_launched");
	if (watch)
		watch(f->name.c_str(), profiling);
}

// rest carries out everything launched.
static CUresult rest()
{
	if (CUresult r = ready())
		return r;
	while (!queue.empty() && !broken) {
		launch l = queue.front();
		queue.pop_front();
		l.carryOut();
	}
	queue.clear();
	return ready();
}

extern "C" {

CUresult cuInit(unsigned flags)
{
	if (flags)
		return INVALID_VALUE;
	if (asked("CUDATEST_NO_DEVICE"))
		return NO_DEVICE;
	started = true;
	return SUCCESS;
}

CUresult cuDriverGetVersion(int *v)
{
	*v = 13020;
	return SUCCESS;
}

static const std::map<int, std::pair<const char *, const char *>> errors = {
	{1, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
	{2, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
	{3, {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"}},
	{100, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
	{101, {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"}},
	{46, {"CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"}},
	{222, {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."}},
	{719, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
	{720, {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks in cooperative launch"}},
	{801, {"CUDA_ERROR_NOT_SUPPORTED", "operation not supported"}},
	{200, {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"}},
	{201, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
	{500, {"CUDA_ERROR_NOT_FOUND", "named symbol not found"}},
	{700, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
	{701, {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"}},
};

CUresult cuGetErrorName(CUresult r, const char **text)
{
	auto e = errors.find(r);
	if (e == errors.end())
		return INVALID_VALUE;
	*text = e->second.first;
	return SUCCESS;
}

CUresult cuGetErrorString(CUresult r, const char **text)
{
	auto e = errors.find(r);
	if (e == errors.end())
		return INVALID_VALUE;
	*text = e->second.second;
	return SUCCESS;
}

CUresult cuDeviceGetCount(int *n)
{
	*n = 1;
	return started ? SUCCESS : NOT_INITIALIZED;
}

CUresult cuDeviceGet(int *device, int ordinal)
{
	*device = 7;
	return ordinal == 0 ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, size, "Pretended GPU");
	return device == 7 ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceTotalMem_v2(uint64_t *bytes, int device)
{
	*bytes = memory;
	return device == 7 ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetAttribute(int *v, int which, int device)
{
	static const std::map<int, int> attributes = {
		{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535},
		{10, 32}, {13, 1980000}, {16, processors}, {20, 0}, {36, 3201000}, {37, 6144}, {38, 1 << 20}, {39, 2048}, {69, 1 << 20}, {75, 9}, {76, 0},
		{81, 228 << 10}, {82, 65536}, {95, 1}, {97, 227 << 10}, {106, 32}, {120, asked("CUDATEST_CLUSTERS")},
	};
	auto a = attributes.find(which);
	if (device != 7 || a == attributes.end())
		return INVALID_VALUE;
	*v = a->second;
	return SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *id, int size, int)
{
	snprintf(id, size, "0000:01:00.0");
	return SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(void **context, int device)
{
	*context = &current;
	if (asked("CUDATEST_BUSY"))
		return DEVICE_UNAVAILABLE;
	return started && device == 7 ? SUCCESS : INVALID_DEVICE;
}

static unsigned primary_flags;

CUresult cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
	primary_flags = flags;
	return started && device == 7 ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	*flags = primary_flags;
	*active = 1;
	return started && device == 7 ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRelease_v2(int)
{
	broken = SUCCESS;
	return SUCCESS;
}

CUresult cuCtxSetCurrent(void *context)
{
	current = context != nullptr;
	return SUCCESS;
}

CUresult cuCtxSynchronize() { return rest(); }

CUresult cuProfilerStart()
{
	profiling = true;
	return ready();
}

CUresult cuProfilerStop()
{
	profiling = false;
	return ready();
}

CUresult cuMemGetInfo_v2(uint64_t *free, uint64_t *total)
{
	*free = memory - used;
	*total = memory;
	return ready();
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, uint64_t bytes)
{
	if (CUresult r = ready())
		return r;
	if (bytes == 0)
		return INVALID_VALUE;
	if (bytes > memory - used)
		return OUT_OF_MEMORY;
	*p = CUdeviceptr(aligned_alloc(256, (bytes + 255) / 256 * 256));
	memset((void *)*p, 0xAB, bytes);
	blocks[*p] = bytes;
	used += bytes;
	return SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
	if (rest() == INVALID_CONTEXT)
		return INVALID_CONTEXT;
	auto b = blocks.find(p);
	if (b == blocks.end())
		return INVALID_VALUE;
	used -= b->second;
	blocks.erase(b);
	free((void *)p);
	return broken;
}

CUresult cuMemsetD8_v2(CUdeviceptr p, unsigned char value, uint64_t bytes)
{
	if (CUresult r = rest())
		return r;
	if (!inside(p, bytes))
		return INVALID_VALUE;
	memset((void *)p, value, bytes);
	return SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, uint64_t bytes)
{
	if (CUresult r = rest())
		return r;
	if (!inside(to, bytes))
		return INVALID_VALUE;
	memcpy((void *)to, from, bytes);
	return SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, uint64_t bytes)
{
	if (CUresult r = rest())
		return r;
	if (!inside(from, bytes))
		return INVALID_VALUE;
	memcpy(to, (void *)from, bytes);
	return SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, void *)
{
	if (CUresult r = rest())
		return r;
	if (!inside(from, bytes) || !inside(to, bytes))
		return INVALID_VALUE;
	memcpy((void *)to, (void *)from, bytes);
	return SUCCESS;
}

struct rectangle {
	uint64_t fromX, fromY;
	uint32_t fromKind;
	const char *fromHost;
	CUdeviceptr fromDevice;
	void *fromArray;
	uint64_t fromPitch, toX, toY;
	uint32_t toKind;
	char *toHost;
	CUdeviceptr toDevice;
	void *toArray;
	uint64_t toPitch, width, height;
};

CUresult cuMemcpy2DUnaligned_v2(const rectangle *c)
{
	if (CUresult r = rest())
		return r;
	enum { host = 1, device = 2 };
	if (c->fromX || c->fromY || c->toX || c->toY || c->fromKind + c->toKind != host + device || c->width > c->fromPitch || c->width > c->toPitch)
		return INVALID_VALUE;
	for (uint64_t i = 0; i < c->height; i++) {
		CUdeviceptr own = c->fromKind == device ? c->fromDevice + i * c->fromPitch : c->toDevice + i * c->toPitch;
		if (!inside(own, c->width))
			return INVALID_VALUE;
		if (c->fromKind == device)
			memcpy(c->toHost + i * c->toPitch, (void *)own, c->width);
		else
			memcpy((void *)own, c->fromHost + i * c->fromPitch, c->width);
	}
	return SUCCESS;
}

// Modules are the shared objects that nvrtcCompileProgram makes; their code is
// a mark and the object's path.
static const char mark[] = "pretended:";

CUresult cuModuleLoadData(void **module, const char *image)
{
	if (CUresult r = ready())
		return r;
	if (strncmp(image, mark, strlen(mark)))
		return INVALID_IMAGE;
	if (asked("CUDATEST_OLD_DRIVER"))
		return UNSUPPORTED_PTX_VERSION;
	*module = dlopen(image + strlen(mark), RTLD_NOW | RTLD_LOCAL);
	return *module ? SUCCESS : INVALID_IMAGE;
}

static std::map<std::pair<void *, std::string>, function *> functions;

CUresult cuModuleUnload(void *module)
{
	if (rest() == INVALID_CONTEXT)
		return INVALID_CONTEXT;
	for (auto f = functions.begin(); f != functions.end();) {
		if (f->first.first == module) {
			delete f->second;
			f = functions.erase(f);
		} else
			++f;
	}
	return dlclose(module) ? INVALID_VALUE : SUCCESS;
}

CUresult cuModuleGetFunction(function **f, void *module, const char *name)
{
	if (CUresult r = ready())
		return r;
	kernel *run = (kernel *)dlsym(module, (std::string("run_") + name).c_str());
	int *args = (int *)dlsym(module, (std::string("args_") + name).c_str());
	if (!run || !args)
		return NOT_FOUND;
	function *&known = functions[{module, name}];
	if (!known)
		known = new function{name, run, std::vector<int>(args + 1, args + 1 + *args), 48 << 10, false};
	*f = known;
	return SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, void *module, const char *name)
{
	if (CUresult r = ready())
		return r;
	void *p = dlsym(module, name);
	Dl_info info;
	const Elf64_Sym *symbol;
	if (!p || !dladdr1(p, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return NOT_FOUND;
	*at = CUdeviceptr(p);
	*bytes = symbol->st_size;
	globals[*at] = *bytes;
	return SUCCESS;
}

// A tensor map holds what it was made of, for the words of device.h. The rules are those of the driver's manual.
struct alignas(64) tensorMap {
	uint32_t mark, axes, size;
	const char *at;
	uint32_t extents[5], box[5];
	uint64_t strides[5];
};
static_assert(sizeof(tensorMap) == 128, "as large as CUtensorMap");

CUresult cuTensorMapEncodeTiled(tensorMap *m, int kind, uint32_t axes, CUdeviceptr at, const uint64_t *extents,
	const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill)
{
	if (CUresult e = ready())
		return e;
	static const int sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8};
	if (uintptr_t(m) % 64 || kind < 0 || kind > 8 || axes < 1 || axes > 5 || at % 16 || interleave || swizzle ||
	    promotion < 0 || promotion > 3 || fill)
		return INVALID_VALUE;
	*m = {0x7e50, axes, uint32_t(sizes[kind]), (const char *)at, {}, {}, {}};
	uint64_t bytes = m->size;
	for (uint32_t i = 0; i < axes; i++) {
		m->strides[i] = i ? strides[i - 1] : m->size;
		if (!extents[i] || extents[i] > uint64_t(1) << 32 || !box[i] || box[i] > 256 || steps[i] != 1 ||
		    (i && (m->strides[i] % 16 || m->strides[i] < bytes)))
			return INVALID_VALUE;
		bytes = m->strides[i] * extents[i];
		m->extents[i] = extents[i];
		m->box[i] = box[i];
	}
	if (box[0] * m->size % 16 || !inside(at, bytes))
		return INVALID_VALUE;
	note("tensor map of " + std::to_string(axes) + " axes");
	return SUCCESS;
}

struct texture { const char *at; size_t bytes, texel; };
struct resource { uint32_t kind; CUdeviceptr at; uint32_t format, channels; size_t bytes; };

CUresult cuTexObjectCreate(uint64_t *t, const resource *r, const uint32_t *use, const void *view)
{
	if (CUresult e = ready())
		return e;
	bool number = r->format == 0x20;
	size_t each = r->format == 0x01 ? 1 : number || r->format == 0x0a ? 4 : 0, texel = each * r->channels;
	if (r->kind != 2 || !texel || (r->channels & (r->channels - 1)) || r->channels > 4 || (use[4] == 0) != number || view ||
	    r->at % 256 || !inside(r->at, r->bytes) || r->bytes / texel > (1 << 20))
		return INVALID_VALUE;
	*t = (uint64_t)new texture{(const char *)r->at, r->bytes, texel};
	return SUCCESS;
}

CUresult cuTexObjectDestroy(uint64_t t)
{
	if (rest() == INVALID_CONTEXT)
		return INVALID_CONTEXT;
	delete (texture *)t;
	return broken;
}

CUresult cuFuncGetAttribute(int *v, int which, function *f)
{
	if (CUresult r = ready())
		return r;
	switch (which) {
	case 0:
		*v = threads(f);
		return SUCCESS;
	case 1:
		*v = 0;
		return SUCCESS;
	case 3:
		*v = starts(f->name, "spilled") ? 64 : 0;
		return SUCCESS;
	case 4:
		*v = registers(f->name);
		return SUCCESS;
	}
	return INVALID_VALUE;
}

CUresult cuFuncSetAttribute(function *f, int which, int v)
{
	if (CUresult r = ready())
		return r;
	enum { dynamicShared = 8, clusters = 14 };
	if (which == dynamicShared && v <= 227 << 10)
		f->dynamic = v;
	else if (which == clusters)
		f->clusters = v;
	else
		return INVALID_VALUE;
	return SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, function *f, int blockSize, size_t shared)
{
	if (CUresult r = ready())
		return r;
	const unsigned size[] = {1, 1, 1, unsigned(blockSize), 1, 1};
	launch l(f, size, unsigned(shared), nullptr);
	if (CUresult r = l.check())
		return r;
	*n = l.occupancy();
	return SUCCESS;
}

CUresult cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **args, void **extra)
{
	if (CUresult r = ready())
		return r;
	if (stream || extra)
		return INVALID_VALUE;
	const unsigned size[] = {gx, gy, gz, bx, by, bz};
	launch l(f, size, shared, args);
	if (CUresult r = l.check())
		return r;
	launched(f);
	return enqueue(l);
}

struct attribute {
	uint32_t id, padding;
	union {
		uint32_t cluster[3];
		int cooperative;
		char bytes[64];
	} value;
};

struct config {
	unsigned size[6], shared;
	void *stream;
	attribute *attributes;
	unsigned count;
};

static CUresult ask(launch &l, uint32_t id, const void *value)
{
	enum { cooperative = 2, cluster = 4 };
	if (id == cooperative)
		l.cooperative = *(const int *)value;
	else if (id == cluster)
		memcpy(l.cluster, value, sizeof l.cluster);
	else
		return INVALID_VALUE;
	return SUCCESS;
}

CUresult cuLaunchKernelEx(const config *c, function *f, void **args, void **extra)
{
	if (CUresult r = ready())
		return r;
	if (c->stream || extra)
		return INVALID_VALUE;
	launch l(f, c->size, c->shared, args);
	for (unsigned i = 0; i < c->count; i++)
		if (CUresult r = ask(l, c->attributes[i].id, &c->attributes[i].value))
			return r;
	if (CUresult r = l.check())
		return r;
	launched(f);
	return enqueue(l);
}

// Graphs. Nodes are carried out in the order of their making turned round, as
// far as their dependences let them, so that one that is missing shows.

struct graph;

struct node {
	graph *of;
	launch what;
	std::vector<node *> after;
};

struct graph {
	std::vector<node *> nodes;
};

struct instance {
	std::vector<std::pair<node *, launch>> order;
};

struct nodeParams {
	function *f;
	unsigned size[6], shared;
	void **args, **extra;
};

CUresult cuGraphCreate(graph **g, unsigned flags)
{
	if (flags)
		return INVALID_VALUE;
	if (asked("CUDATEST_NO_GRAPHS"))
		return NOT_SUPPORTED;
	*g = new graph;
	return ready();
}

CUresult cuGraphDestroy(graph *g)
{
	for (node *n : g->nodes)
		delete n;
	delete g;
	return SUCCESS;
}

CUresult cuGraphAddKernelNode(node **n, graph *g, node *const *after, size_t count, const nodeParams *p)
{
	if (CUresult r = ready())
		return r;
	if (p->extra)
		return INVALID_VALUE;
	launch l(p->f, p->size, p->shared, p->args);
	if (CUresult r = l.check())
		return r;
	*n = new node{g, l, std::vector<node *>(after, after + count)};
	for (node *a : (*n)->after)
		if (a->of != g)
			return INVALID_VALUE;
	g->nodes.push_back(*n);
	return SUCCESS;
}

CUresult cuGraphKernelNodeSetAttribute(node *n, uint32_t id, const void *value)
{
	return ask(n->what, id, value);
}

CUresult cuGraphInstantiateWithFlags(instance **e, graph *g, unsigned long long flags)
{
	if (flags)
		return INVALID_VALUE;
	*e = new instance;
	std::set<node *> done;
	while (done.size() < g->nodes.size()) {
		for (size_t i = g->nodes.size(); i-- > 0;) {
			node *n = g->nodes[i];
			bool free = !done.count(n);
			for (node *a : n->after)
				free = free && done.count(a);
			if (!free)
				continue;
			if (CUresult r = n->what.check())
				return r;
			done.insert(n);
			(*e)->order.push_back({n, n->what});
			break;
		}
	}
	return SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(instance *e, node *n, const nodeParams *p)
{
	for (auto &o : e->order) {
		if (o.first != n)
			continue;
		if (p->f != o.second.f || memcmp(p->size, o.second.size, sizeof p->size) || p->shared != o.second.shared || p->extra)
			return INVALID_VALUE; // more could change, and nothing here wants it to
		o.second.take(p->args);
		return SUCCESS;
	}
	return INVALID_VALUE;
}

CUresult cuGraphLaunch(instance *e, void *stream)
{
	if (stream)
		return INVALID_VALUE;
	if (CUresult r = ready())
		return r;
	note("graph of " + std::to_string(e->order.size()));
	for (auto &o : e->order)
		enqueue(o.second);
	return SUCCESS;
}

CUresult cuGraphExecDestroy(instance *e)
{
	delete e;
	return SUCCESS;
}

typedef std::chrono::steady_clock::time_point event;

CUresult cuEventCreate(event **e, unsigned)
{
	if (CUresult r = ready())
		return r;
	*e = new event;
	return SUCCESS;
}

CUresult cuEventDestroy_v2(event *e)
{
	delete e;
	return SUCCESS;
}

CUresult cuEventRecord(event *e, void *)
{
	CUresult r = rest();
	*e = std::chrono::steady_clock::now();
	return r;
}

CUresult cuEventSynchronize(event *) { return rest(); }

CUresult cuEventElapsedTime(float *ms, event *from, event *to)
{
	*ms = std::chrono::duration<float, std::milli>(*to - *from).count();
	return SUCCESS;
}

// NVRTC.

struct program {
	std::string source, object, log;
};

int nvrtcVersion(int *major, int *minor)
{
	*major = 13, *minor = 2;
	return 0;
}

const char *nvrtcGetErrorString(int code) { return code == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR"; }

static const std::vector<int> archs = {90, 75, 100};

int nvrtcGetNumSupportedArchs(int *n)
{
	*n = int(archs.size());
	return 0;
}

int nvrtcGetSupportedArchs(int *list)
{
	for (size_t i = 0; i < archs.size(); i++)
		list[i] = archs[i];
	return 0;
}

int nvrtcCreateProgram(program **p, const char *source, const char *, int headers, void *, void *)
{
	*p = new program{source, "", ""};
	return headers;
}

int nvrtcDestroyProgram(program **p)
{
	delete *p;
	*p = nullptr;
	return 0;
}

static void misbehave()
{
	const char *how = getenv("CUDATEST_COMPILER");
	std::string word = how ? how : "";
	while (word == "hang")
		pause();
	while (word == "eat") {
		void *p = malloc(16 << 20);
		if (!p) {
			fputs("virtual memory exhausted\n", stderr);
			abort();
		}
	}
	if (word == "crash")
		abort();
}

int nvrtcCompileProgram(program *p, int count, const char **options)
{
	static std::atomic<int> made; // processes and threads compile at the same time
	std::string base = std::string(getenv("CUDATEST_DIR")) + "/program" + std::to_string(getpid()) + "_" + std::to_string(made++);
	misbehave();
	// Where nothing forbids it, a processor with fused multiply-adds uses them.
	// GCC 12 makes wrong code of some kernels when it joins their statements to AVX-512's.
	std::string flags = "-march=native -ffp-contract=fast -fno-tree-slp-vectorize";
	bool target = false, verbose = false;
	for (int i = 0; i < count; i++) {
		std::string o = options[i];
		if (o == "--fmad=false")
			flags = "-ffp-contract=off";
		else if (o == "--gpu-architecture=sm_90" || o == "--gpu-architecture=sm_90a")
			target = true;
		else if (o == "--ptxas-options=-v")
			verbose = true;
		else if (o != "--std=c++17") {
			p->log = "unknown option " + o + "\n";
			return 5;
		}
	}
	if (!target)
		return 5;
	// Shared memory that a launch brings is declared like the rest.
	std::string text = p->source;
	const std::string before = "extern __shared__ ", pool = " unsigned char gl_pool[];";
	for (size_t at; (at = text.find(before)) != std::string::npos;) {
		size_t end = text.find(pool, at);
		if (end == std::string::npos)
			return 6;
		text.replace(end, pool.size(), " unsigned char gl_pool[227 << 10];");
		text.erase(at, strlen("extern "));
	}
	// Helper functions in PTX are there already, in the words of a processor.
	const std::string helper = "static __device__ inline ", end = "\n}\n";
	for (size_t at = 0; (at = text.find(helper, at)) != std::string::npos;) {
		size_t from = text.rfind('\n', at) + 1, to = text.find(end, at);
		size_t line = text.find('\n', at);
		if (to == std::string::npos || text.compare(line, 3, "\n{\n")) {
			at = line; // a function of one line
			continue;
		}
		to += end.size();
		if (text.substr(from, to - from).find("asm") == std::string::npos && text.find("__cvta", from) > to) {
			at = to;
			continue;
		}
		text.erase(from, to - from);
		at = from;
	}
	std::ofstream f(base + ".cc");
	f << "#include \"device.h\"\n" << text;
	std::string report;
	const std::string head = "__global__ ", type = "void ";
	for (size_t at = text.find(head); at != std::string::npos;) {
		size_t next = text.find(head, at + 1);
		size_t from = text.find(type, at) + type.size();
		std::string name = text.substr(from, text.find('(', from) - from);
		report += "ptxas info    : Compiling entry function '" + name + "' for 'sm_90'\nptxas info    : Used " +
			std::to_string(registers(name)) + " registers\n";
		std::string body = text.substr(from, next - from);
		bool waits = body.find("__sync") != std::string::npos || body.find("__shfl") != std::string::npos || body.find("gl_barrier") != std::string::npos ||
			body.find("gl_mbarrier") != std::string::npos || body.find("_async") != std::string::npos;
		f << "extern \"C\" bool run_" << name << "(void **args, const unsigned *size) { return pretended::grid(::" << name << ", " << waits << ", args, size); }\n"
		  << "extern \"C\" const auto args_" << name << " = pretended::arguments(::" << name << ");\n";
		at = next;
	}
	f.close();
	p->object = base + ".so";
	std::string command = "c++ -std=c++17 -O2 -fno-strict-aliasing -U_FORTIFY_SOURCE -w -shared -fPIC -Wl,-Bsymbolic -I" + std::string(getenv("CUDATEST_DIR")) + " " + flags + " -o " + p->object + " " + base + ".cc 2>" + base + ".log";
	int status = system(command.c_str());
	std::stringstream log;
	log << std::ifstream(base + ".log").rdbuf();
	p->log = log.str() + (verbose && !status ? report : "");
	return status ? 6 : 0;
}

int nvrtcGetProgramLogSize(program *p, uint64_t *n)
{
	*n = p->log.size() + 1;
	return 0;
}

int nvrtcGetProgramLog(program *p, char *text)
{
	strcpy(text, p->log.c_str());
	return 0;
}

int nvrtcGetCUBINSize(program *p, uint64_t *n)
{
	*n = strlen(mark) + p->object.size() + 1;
	return 0;
}

int nvrtcGetCUBIN(program *p, char *code)
{
	strcpy(code, (mark + p->object).c_str());
	return 0;
}

int nvrtcGetPTXSize(program *, uint64_t *) { return 11; }

int nvrtcGetPTX(program *, char *) { return 11; }

// NVML.

int nvmlInit_v2() { return 0; }

int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	snprintf(text, size, "999.1");
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	*device = (void *)1;
	return strcmp(bus, "0000:01:00.0");
}

int nvmlDeviceGetClockInfo(void *, int which, unsigned *v)
{
	*v = which == 1 ? 1980 : 3201;
	return 0;
}

int nvmlDeviceGetTemperature(void *, int, unsigned *v)
{
	*v = 45;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *, unsigned *v)
{
	*v = 123456;
	return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *, unsigned *v)
{
	*v = 700000;
	return 0;
}

int nvmlDeviceGetMemoryInfo(void *, uint64_t *v)
{
	v[0] = memory;
	v[1] = memory - (3 << 20);
	v[2] = 3 << 20;
	return 0;
}

int nvmlDeviceGetUtilizationRates(void *, unsigned *v)
{
	v[0] = 17;
	v[1] = 5;
	return 0;
}

}

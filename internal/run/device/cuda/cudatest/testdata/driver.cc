// A pretended NVIDIA driver, compiler and management library: the functions
// that package cuda binds, carried out on the processor.
//
// Kernels whose names begin with wild_ spoil the context, as an access outside
// memory does, and those that begin with fat_ take so many registers that a
// block has 256 threads at most.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>
#include <unistd.h>

typedef int CUresult;
typedef uint64_t CUdeviceptr;

enum {
	SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
	INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_OUT_OF_RESOURCES = 701
};

static const uint64_t memory = uint64_t(1) << 30;
static bool started;
static thread_local int current;
static uint64_t used;
static std::map<CUdeviceptr, uint64_t> blocks;
static CUresult broken;

static CUresult ready()
{
	if (!started)
		return NOT_INITIALIZED;
	return current ? broken : INVALID_CONTEXT;
}

// inside reports whether a run of bytes lies in one allocation.
static bool inside(CUdeviceptr p, uint64_t bytes)
{
	auto b = blocks.upper_bound(p);
	if (b == blocks.begin())
		return false;
	--b;
	return p + bytes <= b->first + b->second;
}

extern "C" {

CUresult cuInit(unsigned flags)
{
	if (flags)
		return INVALID_VALUE;
	if (getenv("CUDATEST_NO_DEVICE"))
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
		{13, 1980000}, {16, 4}, {20, 0}, {36, 3201000}, {38, 1 << 20}, {75, 9}, {76, 0},
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

CUresult cuCtxSynchronize() { return ready(); }

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
	if (CUresult r = ready())
		return r;
	if (!inside(p, bytes))
		return INVALID_VALUE;
	memset((void *)p, value, bytes);
	return SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, uint64_t bytes)
{
	if (CUresult r = ready())
		return r;
	if (!inside(to, bytes))
		return INVALID_VALUE;
	memcpy((void *)to, from, bytes);
	return SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, uint64_t bytes)
{
	if (CUresult r = ready())
		return r;
	if (!inside(from, bytes))
		return INVALID_VALUE;
	memcpy(to, (void *)from, bytes);
	return SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, uint64_t bytes, void *)
{
	if (CUresult r = ready())
		return r;
	if (!inside(from, bytes) || !inside(to, bytes))
		return INVALID_VALUE;
	memcpy((void *)to, (void *)from, bytes);
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
	*module = dlopen(image + strlen(mark), RTLD_NOW | RTLD_LOCAL);
	return *module ? SUCCESS : INVALID_IMAGE;
}

CUresult cuModuleUnload(void *module) { return dlclose(module) ? INVALID_VALUE : SUCCESS; }

typedef void kernel(void **args, const unsigned *size);

struct function {
	std::string name;
	kernel *run;
};

CUresult cuModuleGetFunction(function **f, void *module, const char *name)
{
	kernel *run = (kernel *)dlsym(module, (std::string("run_") + name).c_str());
	if (!run)
		return NOT_FOUND;
	*f = new function{name, run}; // lives as long as the process
	return SUCCESS;
}

static bool starts(const std::string &s, const char *with) { return s.compare(0, strlen(with), with) == 0; }

static int threads(function *f) { return starts(f->name, "fat_") ? 256 : 1024; }

CUresult cuFuncGetAttribute(int *v, int which, function *f)
{
	switch (which) {
	case 0:
		*v = threads(f);
		return SUCCESS;
	case 1:
	case 3:
		*v = 0;
		return SUCCESS;
	case 4:
		*v = starts(f->name, "fat_") ? 255 : 32;
		return SUCCESS;
	}
	return INVALID_VALUE;
}

CUresult cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
	unsigned shared, void *stream, void **args, void **extra)
{
	if (CUresult r = ready())
		return r;
	if (!gx || !gy || !gz || !bx || !by || !bz || shared || stream || extra)
		return INVALID_VALUE;
	if (bx * by * bz > unsigned(threads(f)))
		return LAUNCH_OUT_OF_RESOURCES;
	if (starts(f->name, "wild_")) {
		broken = ILLEGAL_ADDRESS;
		return SUCCESS; // it comes out later
	}
	const unsigned size[] = {gx, gy, gz, bx, by, bz};
	f->run(args, size);
	return SUCCESS;
}

typedef std::chrono::steady_clock::time_point event;

CUresult cuEventCreate(event **e, unsigned)
{
	*e = new event;
	return ready();
}

CUresult cuEventDestroy_v2(event *e)
{
	delete e;
	return SUCCESS;
}

CUresult cuEventRecord(event *e, void *)
{
	*e = std::chrono::steady_clock::now();
	return ready();
}

CUresult cuEventSynchronize(event *) { return ready(); }

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

static const char before[] = R"(
#include <cmath>
#include <cstdint>
#include <cstddef>
#include <utility>
#define __global__
#define __device__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
struct uint3 { unsigned x, y, z; };
struct int4 { int x, y, z, w; };
static uint3 gridDim, blockDim, blockIdx, threadIdx;
static inline double __longlong_as_double(long long x) { double y; __builtin_memcpy(&y, &x, 8); return y; }
)";

static const char after[] = R"(
template <class... A, size_t... I>
static void invoke(void (*f)(A...), void **p, std::index_sequence<I...>) { f(*(A *)p[I]...); }
template <class... A>
static void invoke(void (*f)(A...), void **p) { invoke(f, p, std::index_sequence_for<A...>()); }
template <class F>
static void grid(F f, void **args, const unsigned *n)
{
	gridDim = {n[0], n[1], n[2]};
	blockDim = {n[3], n[4], n[5]};
	for (blockIdx.z = 0; blockIdx.z < n[2]; blockIdx.z++)
	for (blockIdx.y = 0; blockIdx.y < n[1]; blockIdx.y++)
	for (blockIdx.x = 0; blockIdx.x < n[0]; blockIdx.x++)
	for (threadIdx.z = 0; threadIdx.z < n[5]; threadIdx.z++)
	for (threadIdx.y = 0; threadIdx.y < n[4]; threadIdx.y++)
	for (threadIdx.x = 0; threadIdx.x < n[3]; threadIdx.x++)
		invoke(f, args);
}
)";

int nvrtcCompileProgram(program *p, int count, const char **options)
{
	static std::atomic<int> made; // processes and threads compile at the same time
	std::string base = std::string(getenv("CUDATEST_DIR")) + "/program" + std::to_string(getpid()) + "_" + std::to_string(made++);
	// Where nothing forbids it, a processor with fused multiply-adds uses them.
	std::string flags = "-march=native -ffp-contract=fast";
	bool target = false;
	for (int i = 0; i < count; i++) {
		std::string o = options[i];
		if (o == "--fmad=false")
			flags = "-ffp-contract=off";
		else if (o == "--gpu-architecture=sm_90")
			target = true;
		else if (o != "--std=c++17") {
			p->log = "unknown option " + o + "\n";
			return 5;
		}
	}
	if (!target)
		return 5;
	std::ofstream f(base + ".cc");
	f << before << p->source << after;
	const std::string head = "__global__ ", type = "void ";
	for (size_t at = p->source.find(head); at != std::string::npos; at = p->source.find(head, at + 1)) {
		size_t from = p->source.find(type, at) + type.size();
		std::string name = p->source.substr(from, p->source.find('(', from) - from);
		f << "extern \"C\" void run_" << name << "(void **args, const unsigned *size) { grid(" << name << ", args, size); }\n";
	}
	f.close();
	p->object = base + ".so";
	std::string command = "c++ -std=c++17 -O2 -w -shared -fPIC " + flags + " -o " + p->object + " " + base + ".cc 2>" + base + ".log";
	int status = system(command.c_str());
	std::stringstream log;
	log << std::ifstream(base + ".log").rdbuf();
	p->log = log.str();
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

}

package cuda

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/run/sharedlib"
)

// result is a CUresult.
type result int32

// pointer is an address in a device's memory.
type pointer uint64

// handle is one of the driver's objects: a context, module, function, event.
type handle uintptr

// driver is libcuda: the functions used here.
type driver struct {
	path string

	Init          func(flags uint32) result                          `symbol:"cuInit"`
	DriverVersion func(version *int32) result                        `symbol:"cuDriverGetVersion"`
	ErrorName     func(code result, text **byte) result              `symbol:"cuGetErrorName"`
	ErrorString   func(code result, text **byte) result              `symbol:"cuGetErrorString"`
	DeviceCount   func(count *int32) result                          `symbol:"cuDeviceGetCount"`
	DeviceGet     func(device *int32, ordinal int32) result          `symbol:"cuDeviceGet"`
	DeviceName    func(name *byte, size int32, device int32) result  `symbol:"cuDeviceGetName"`
	TotalMem      func(bytes *uint64, device int32) result           `symbol:"cuDeviceTotalMem_v2"`
	Attribute     func(v *int32, which int32, device int32) result   `symbol:"cuDeviceGetAttribute"`
	PCIBusID      func(id *byte, size int32, device int32) result    `symbol:"cuDeviceGetPCIBusId"`
	RetainPrimary func(context *handle, device int32) result         `symbol:"cuDevicePrimaryCtxRetain"`
	ReleasePrim   func(device int32) result                          `symbol:"cuDevicePrimaryCtxRelease_v2"`
	SetCurrent    func(context handle) result                        `symbol:"cuCtxSetCurrent"`
	Synchronize   func() result                                      `symbol:"cuCtxSynchronize"`
	MemInfo       func(free, total *uint64) result                   `symbol:"cuMemGetInfo_v2"`
	MemAlloc      func(p *pointer, bytes uint64) result              `symbol:"cuMemAlloc_v2"`
	MemFree       func(p pointer) result                             `symbol:"cuMemFree_v2"`
	MemsetD8      func(p pointer, value byte, bytes uint64) result   `symbol:"cuMemsetD8_v2"`
	CopyHtoD      func(to pointer, from *byte, bytes uint64) result  `symbol:"cuMemcpyHtoD_v2"`
	CopyDtoH      func(to *byte, from pointer, bytes uint64) result  `symbol:"cuMemcpyDtoH_v2"`
	ModuleLoad    func(module *handle, image *byte) result           `symbol:"cuModuleLoadData"`
	ModuleUnload  func(module handle) result                         `symbol:"cuModuleUnload"`
	Function      func(f *handle, module handle, name string) result `symbol:"cuModuleGetFunction"`
	FuncAttribute func(v *int32, which int32, f handle) result       `symbol:"cuFuncGetAttribute"`
	EventCreate   func(event *handle, flags uint32) result           `symbol:"cuEventCreate"`
	EventDestroy  func(event handle) result                          `symbol:"cuEventDestroy_v2"`
	EventRecord   func(event handle, stream handle) result           `symbol:"cuEventRecord"`
	EventSync     func(event handle) result                          `symbol:"cuEventSynchronize"`
	EventElapsed  func(ms *float32, from, to handle) result          `symbol:"cuEventElapsedTime"`
	Copy2D        func(c *copy2D) result                             `symbol:"cuMemcpy2DUnaligned_v2"`

	ModuleGlobal   func(at *pointer, bytes *uint64, module handle, name string) result  `symbol:"cuModuleGetGlobal_v2"`
	TextureCreate  func(t *texture, of *resource, how *textureUse, view uintptr) result `symbol:"cuTexObjectCreate"`
	TextureDestroy func(t texture) result                                               `symbol:"cuTexObjectDestroy"`

	SetFuncAttribute func(f handle, which, v int32) result                                   `symbol:"cuFuncSetAttribute"`
	Occupancy        func(blocks *int32, f handle, threads int32, sharedBytes uint64) result `symbol:"cuOccupancyMaxActiveBlocksPerMultiprocessor"`

	// Drivers before CUDA 12 lack some of these.
	SetFlags         func(device int32, flags uint32) result                                         `symbol:"cuDevicePrimaryCtxSetFlags_v2,optional"`
	GraphCreate      func(g *handle, flags uint32) result                                            `symbol:"cuGraphCreate,optional"`
	GraphDestroy     func(g handle) result                                                           `symbol:"cuGraphDestroy,optional"`
	GraphAddKernel   func(node *handle, g handle, after *handle, count uint64, p *kernelNode) result `symbol:"cuGraphAddKernelNode,optional"`
	GraphAttribute   func(node handle, which uint32, v *attributeValue) result                       `symbol:"cuGraphKernelNodeSetAttribute,optional"`
	GraphInstantiate func(exec *handle, g handle, flags uint64) result                               `symbol:"cuGraphInstantiateWithFlags,optional"`
	GraphSetKernel   func(exec, node handle, p *kernelNode) result                                   `symbol:"cuGraphExecKernelNodeSetParams,optional"`
	GraphExecDestroy func(exec handle) result                                                        `symbol:"cuGraphExecDestroy,optional"`

	EncodeTensor func(m *tensorMap, kind int32, axes uint32, at pointer, extents, strides *uint64, box, steps *uint32, interleave, swizzle, promotion, fill int32) result `symbol:"cuTensorMapEncodeTiled,optional"`

	ProfilerStart func() result `symbol:"cuProfilerStart,optional"`
	ProfilerStop  func() result `symbol:"cuProfilerStop,optional"`

	// In timed loops, through SyscallN.
	Launch      uintptr `symbol:"cuLaunchKernel"`
	LaunchEx    uintptr `symbol:"cuLaunchKernelEx,optional"`
	GraphLaunch uintptr `symbol:"cuGraphLaunch,optional"`
	CopyDtoD    uintptr `symbol:"cuMemcpyDtoDAsync_v2"`
}

var driverPlace = sharedlib.Place{
	Env:   "GRIDLOOM_LIBCUDA",
	Names: []string{"libcuda.so.1", "libcuda.so"},
	Folders: []string{
		"/usr/local/nvidia/lib64", "/usr/local/nvidia/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/usr/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib",
	},
}

// openDriver returns the driver, started.
var openDriver = sync.OnceValues(startDriver)

func startDriver() (*driver, error) {
	library, path, err := driverPlace.Open()
	if err != nil {
		return nil, fmt.Errorf(
			"no NVIDIA driver was found: %w (install the driver; a container has to be started with the GPUs, as "+
				"with --gpus all)", err)
	}
	d := &driver{path: path}
	if err := sharedlib.Bind(library, d); err != nil {
		return nil, fmt.Errorf("the NVIDIA driver %s cannot be used: %w", path, err)
	}
	if r := d.Init(0); r != 0 {
		return nil, d.fail(r, "cuInit", "the NVIDIA driver %s does not start", path)
	}
	return d, nil
}

// Error is a refusal by the driver.
type Error struct {
	Doing string // what failed: "8.0 GiB of GPU memory cannot be had"
	Call  string // the function that refused
	Code  int
	Name  string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text  string // the driver's own words
}

// Error prints all of it, with the likely cause where the driver's words do
// not tell it.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: %s (%d)", e.Doing, e.Call, e.Name, e.Code)
	if e.Text != "" {
		s += ": " + e.Text
	}
	if cause := causes[e.Code]; cause != "" {
		s += "; " + cause
	}
	return s
}

// Lost reports whether the error has spoilt the context: every later call
// fails in the same way, until the process is started anew.
func (e *Error) Lost() bool {
	switch e.Code {
	case 214, 700, 702, 710, 714, 715, 716, 717, 718, 719:
		return true
	}
	return false
}

const lost = "a kernel accessed memory outside its arrays; this process can no longer use the GPU"

// causes are the likely reasons of the driver's errors, by code.
var causes = map[int]string{
	2:   "the grids are too large for this GPU, or other programs use it (nvidia-smi lists them)",
	34:  "a stub for linking was loaded: remove the folder stubs from LD_LIBRARY_PATH",
	46:  "another program has the GPU for itself, or it is in compute mode Prohibited",
	100: "no GPU is visible: see nvidia-smi and the environment variable CUDA_VISIBLE_DEVICES",
	200: "the code was compiled for another GPU, or the file is damaged",
	201: "the device belongs to the thread that opened it",
	209: "the code was compiled for another GPU",
	214: "the GPU's memory has an error that could not be corrected",
	222: "NVRTC is newer than the driver: update the driver, or name an older NVRTC with GRIDLOOM_NVRTC",
	700: lost,
	701: "the kernel needs more registers or shared memory than a block can have: choose a smaller block",
	702: "the kernel ran for longer than the display's driver allows",
	716: lost,
	720: "its blocks wait for each other, and they cannot all run at once: choose fewer or smaller blocks",
	912: "its blocks in a cluster cannot run together on this GPU: choose a smaller cluster or less shared memory",
	717: lost,
	718: lost,
	719: lost,
	802: "the fabric manager of the GPUs' switches does not run",
	803: "the driver's library and its kernel module have different versions: restart the machine or the container",
	804: "the forward compatibility package does not support this GPU",
	999: "often the kernel module is not loaded, or the container has no access to /dev/nvidia*",
}

// fail returns the error for a result.
func (d *driver) fail(r result, call, doing string, args ...any) error {
	e := &Error{Doing: fmt.Sprintf(doing, args...), Call: call, Code: int(r), Name: "CUDA error"}
	var text *byte
	if d.ErrorName(r, &text) == 0 && text != nil {
		e.Name = unix.BytePtrToString(text)
	}
	if text = nil; d.ErrorString(r, &text) == 0 && text != nil {
		e.Text = unix.BytePtrToString(text)
	}
	if r == 100 && os.Getenv("CUDA_VISIBLE_DEVICES") != "" {
		e.Text += fmt.Sprintf(" (CUDA_VISIBLE_DEVICES=%s)", os.Getenv("CUDA_VISIBLE_DEVICES"))
	}
	return e
}

// Attributes of a device.
const (
	maxThreadsPerBlock         = 1
	maxBlockX                  = 2 // y and z follow
	maxGridX                   = 5 // y and z follow
	warpSize                   = 10
	clockKHz                   = 13
	multiprocessors            = 16
	computeMode                = 20
	memoryClockKHz             = 36
	memoryBusBits              = 37
	l2Bytes                    = 38
	threadsPerMultiprocessor   = 39
	linearTexels               = 69 // of a texture of linear memory
	capabilityMajor            = 75
	capabilityMinor            = 76
	sharedPerMultiprocessor    = 81
	registersPerMultiprocessor = 82
	cooperativeLaunch          = 95
	sharedPerBlockAtMost       = 97 // with an attribute of the function
	blocksPerMultiprocessor    = 106
	clusterLaunch              = 120
)

// Attributes of a function.
const (
	functionMaxThreads = 0
	functionShared     = 1
	functionLocal      = 3
	functionRegisters  = 4
	functionDynamic    = 8  // bytes of shared memory that a launch may ask for
	functionClusters   = 14 // of more blocks than every GPU with clusters takes
)

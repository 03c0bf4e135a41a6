package opencl

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"github.com/gridloom/gridloom/internal/run/sharedlib"
)

// code is what a function returns: 0, or an error.
type code int32

// handle is one of the driver's objects: a platform, device, context, queue,
// buffer, program, kernel, event.
type handle uintptr

// info is the shape of all functions that tell something of an object.
type info = func(of handle, which uint32, size uintptr, to unsafe.Pointer, need *uintptr) code

// rect is the shape of the functions that copy rows.
type rect = func(queue, buffer handle, block uint32, at, hostAt, size *uintptr, pitch, slice, hostPitch,
	hostSlice uintptr, host *byte, waits uint32, list, event uintptr) code

// api is libOpenCL: the functions used here.
type api struct {
	path string

	Platforms      func(most uint32, list *handle, count *uint32) code                                                                             `symbol:"clGetPlatformIDs"`
	PlatformInfo   info                                                                                                                            `symbol:"clGetPlatformInfo"`
	Devices        func(platform handle, kind uint64, most uint32, list *handle, count *uint32) code                                               `symbol:"clGetDeviceIDs"`
	DeviceInfo     info                                                                                                                            `symbol:"clGetDeviceInfo"`
	CreateContext  func(properties *uintptr, count uint32, devices *handle, notify, data uintptr, err *code) handle                                `symbol:"clCreateContext"`
	ReleaseContext func(context handle) code                                                                                                       `symbol:"clReleaseContext"`
	CreateQueue    func(context, device handle, properties uint64, err *code) handle                                                               `symbol:"clCreateCommandQueue"`
	ReleaseQueue   func(queue handle) code                                                                                                         `symbol:"clReleaseCommandQueue"`
	Finish         func(queue handle) code                                                                                                         `symbol:"clFinish"`
	CreateBuffer   func(context handle, flags uint64, bytes uintptr, host unsafe.Pointer, err *code) handle                                        `symbol:"clCreateBuffer"`
	CreateImage    func(context handle, flags uint64, format *imageFormat, shape *imageShape, host uintptr, err *code) handle                      `symbol:"clCreateImage,optional"`
	ReleaseMemory  func(buffer handle) code                                                                                                        `symbol:"clReleaseMemObject"`
	Migrate        func(queue handle, count uint32, list *handle, flags uint64, waits uint32, list2, event uintptr) code                           `symbol:"clEnqueueMigrateMemObjects"`
	Write          func(queue, to handle, block uint32, at, bytes uintptr, from *byte, waits uint32, list, event uintptr) code                     `symbol:"clEnqueueWriteBuffer"`
	Read           func(queue, from handle, block uint32, at, bytes uintptr, to *byte, waits uint32, list, event uintptr) code                     `symbol:"clEnqueueReadBuffer"`
	WriteRect      rect                                                                                                                            `symbol:"clEnqueueWriteBufferRect"`
	ReadRect       rect                                                                                                                            `symbol:"clEnqueueReadBufferRect"`
	Fill           func(queue, to handle, pattern *byte, size, at, bytes uintptr, waits uint32, list, event uintptr) code                          `symbol:"clEnqueueFillBuffer"`
	Map            func(queue, buffer handle, block uint32, flags uint64, at, bytes uintptr, waits uint32, list, event uintptr, err *code) uintptr `symbol:"clEnqueueMapBuffer"`
	Unmap          func(queue, buffer handle, at uintptr, waits uint32, list, event uintptr) code                                                  `symbol:"clEnqueueUnmapMemObject"`
	FromSource     func(context handle, count uint32, texts **byte, sizes *uintptr, err *code) handle                                              `symbol:"clCreateProgramWithSource"`
	FromBinary     func(context handle, count uint32, devices *handle, sizes *uintptr, codes **byte, status, err *code) handle                     `symbol:"clCreateProgramWithBinary"`
	Build          func(program handle, count uint32, devices *handle, options string, notify, data uintptr) code                                  `symbol:"clBuildProgram"`
	ProgramInfo    info                                                                                                                            `symbol:"clGetProgramInfo"`
	BuildInfo      func(program, device handle, which uint32, size uintptr, to unsafe.Pointer, need *uintptr) code                                 `symbol:"clGetProgramBuildInfo"`
	ReleaseProgram func(program handle) code                                                                                                       `symbol:"clReleaseProgram"`
	CreateKernel   func(program handle, name string, err *code) handle                                                                             `symbol:"clCreateKernel"`
	ReleaseKernel  func(kernel handle) code                                                                                                        `symbol:"clReleaseKernel"`
	KernelInfo     info                                                                                                                            `symbol:"clGetKernelInfo"`
	WorkGroupInfo  func(kernel, device handle, which uint32, size uintptr, to unsafe.Pointer, need *uintptr) code                                  `symbol:"clGetKernelWorkGroupInfo"`
	ProfilingInfo  info                                                                                                                            `symbol:"clGetEventProfilingInfo"`

	// In timed loops, through SyscallN.
	SetArg       uintptr `symbol:"clSetKernelArg"`
	Launch       uintptr `symbol:"clEnqueueNDRangeKernel"`
	Copy         uintptr `symbol:"clEnqueueCopyBuffer"`
	ReleaseEvent uintptr `symbol:"clReleaseEvent"`
}

var loaderPlace = sharedlib.Place{
	Env:   "GRIDLOOM_LIBOPENCL",
	Names: []string{"libOpenCL.so.1", "libOpenCL.so"},
	Folders: []string{
		"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib",
		"/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/usr/local/nvidia/lib64", "/opt/rocm/lib",
		"/opt/intel/oneapi/compiler/latest/lib",
	},
}

// openLoader returns the loader.
var openLoader = sync.OnceValues(findLoader)

func findLoader() (*api, error) {
	library, path, err := loaderPlace.Open()
	if err != nil {
		return nil, fmt.Errorf(
			"no OpenCL was found: %w (install its loader, on Debian and Ubuntu with: apt-get install "+
				"ocl-icd-libopencl1)", err)
	}
	a := &api{path: path}
	if err := sharedlib.Bind(library, a); err != nil {
		return nil, fmt.Errorf("the OpenCL loader %s cannot be used: %w", path, err)
	}
	return a, nil
}

const drivers = "install the driver's OpenCL part; for processors, on Debian and Ubuntu: apt-get install " +
	"pocl-opencl-icd"

// platforms returns the platforms in the loader's order.
func (a *api) platforms() ([]handle, error) {
	var count uint32
	const noneFound = -1001
	r := a.Platforms(0, nil, &count)
	if r == noneFound || r == 0 && count == 0 {
		where := "/etc/OpenCL/vendors"
		if named := os.Getenv("OCL_ICD_VENDORS"); named != "" {
			where = fmt.Sprintf("%s (named by OCL_ICD_VENDORS)", named)
		}
		return nil, fmt.Errorf(
			"the OpenCL loader %s finds no platform: no driver is registered in %s, or none starts (%s)", a.path,
			where, drivers)
	}
	if r != 0 {
		return nil, fail(r, "clGetPlatformIDs", "the OpenCL platforms cannot be counted")
	}
	list := make([]handle, count)
	if r := a.Platforms(count, &list[0], nil); r != 0 {
		return nil, fail(r, "clGetPlatformIDs", "the OpenCL platforms cannot be listed")
	}
	return list, nil
}

// devices returns a platform's devices in its order; none is no error.
func (a *api) devices(platform handle) ([]handle, error) {
	var count uint32
	const all, notFound = 0xFFFFFFFF, -1
	r := a.Devices(platform, all, 0, nil, &count)
	if r == notFound || r == 0 && count == 0 {
		return nil, nil
	}
	if r != 0 {
		return nil, fail(r, "clGetDeviceIDs", "its devices cannot be counted")
	}
	list := make([]handle, count)
	if r := a.Devices(platform, all, count, &list[0], nil); r != 0 {
		return nil, fail(r, "clGetDeviceIDs", "its devices cannot be listed")
	}
	return list, nil
}

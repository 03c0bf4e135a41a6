package opencl

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// Properties are what the driver says of a device.
type Properties struct {
	Ordinal  int
	Name     string
	Vendor   string
	Kind     string // "cpu", "gpu", "accelerator", "device"
	Driver   string // the version of its driver
	Version  string // "OpenCL 3.0 CUDA"
	C        string // "OpenCL C 1.2 "
	Platform string // "NVIDIA CUDA"
	Release  string // the platform's version

	ComputeUnits  int
	Clock         int   // the highest, in MHz; 0 if not known
	Memory        int64 // bytes of global memory
	LargestBuffer int64
	Cache         int64 // of global memory
	Constant      int64 // the largest constant buffer
	Texels        int64 // of the largest image of a buffer; 0 if there are none
	Local         int64 // bytes a work-group
	MaxThreads    int64 // of a work-group
	MaxBlock      [3]int64
	Alignment     int64 // of buffers, in bytes
	Float, Double int   // preferred widths of vectors; no Double, no arithmetic in it

	CorrectFloat bool // float's division and root can be rounded correctly
	Denormals    bool // of float
	Unified      bool // it works in the host's memory
	Available    bool
	Compiler     bool
	Extensions   []string // in the driver's order
	Told         map[string]int64

	platform, device handle
}

// Has reports whether the device has an extension.
func (p *Properties) Has(extension string) bool { return slices.Contains(p.Extensions, extension) }

// Queries of a platform.
const (
	platformVersion = 0x0901
	platformName    = 0x0902
)

// Queries of a device.
const (
	deviceType          = 0x1000
	maxComputeUnits     = 0x1002
	maxWorkGroupSize    = 0x1004
	maxWorkItemSizes    = 0x1005
	preferredFloat      = 0x100A
	preferredDouble     = 0x100B
	maxClock            = 0x100C
	maxMemAlloc         = 0x1010
	memBaseAddrAlign    = 0x1019
	singleFPConfig      = 0x101B
	globalCacheSize     = 0x101E
	globalSize          = 0x101F
	maxConstantBuffer   = 0x1020
	localSize           = 0x1023
	deviceAvailable     = 0x1027
	compilerAvailable   = 0x1028
	deviceName          = 0x102B
	deviceVendor        = 0x102C
	driverVersion       = 0x102D
	deviceVersion       = 0x102F
	deviceExtensions    = 0x1030
	doubleFPConfig      = 0x1032
	imageSupport        = 0x1016
	imageTexels         = 0x1040
	hostUnifiedMemory   = 0x1035
	deviceOpenCLVersion = 0x103D
)

// asker asks an object questions and keeps the first verdict.
type asker struct {
	ask  info
	of   handle
	call string
	name string // of the object, for the error
	err  error
}

func (a *asker) failed(r code, which uint32) {
	if r != 0 && a.err == nil {
		a.err = fail(r, a.call, "%s does not tell its property 0x%04X", a.name, which)
	}
}

func (a *asker) text(which uint32) string {
	var n uintptr
	if r := a.ask(a.of, which, 0, nil, &n); r != 0 || n == 0 {
		a.failed(r, which)
		return ""
	}
	text := make([]byte, n)
	a.failed(a.ask(a.of, which, n, unsafe.Pointer(&text[0]), nil), which)
	before, _, _ := strings.Cut(string(text), "\x00")
	return strings.TrimSpace(before)
}

// number reads a property of 4 or 8 bytes.
func number[T uint32 | uint64 | uintptr](a *asker, which uint32) T {
	var v T
	a.failed(a.ask(a.of, which, unsafe.Sizeof(v), unsafe.Pointer(&v), nil), which)
	return v
}

// properties asks a device for everything that there is to know.
func (a *api) properties(platform, device handle) (Properties, error) {
	p := Properties{platform: platform, device: device}
	of := &asker{ask: a.PlatformInfo, of: platform, call: "clGetPlatformInfo", name: "the platform"}
	p.Platform, p.Release = of.text(platformName), of.text(platformVersion)
	q := &asker{ask: a.DeviceInfo, of: device, call: "clGetDeviceInfo", name: "a device of the platform " + p.Platform}
	p.Name = q.text(deviceName)
	p.Vendor = q.text(deviceVendor)
	p.Driver = q.text(driverVersion)
	p.Version = q.text(deviceVersion)
	p.C = q.text(deviceOpenCLVersion)
	p.Extensions = strings.Fields(q.text(deviceExtensions))
	p.Kind = kind(number[uint64](q, deviceType))
	p.ComputeUnits = int(number[uint32](q, maxComputeUnits))
	p.Clock = int(number[uint32](q, maxClock))
	p.Memory = int64(number[uint64](q, globalSize))
	p.LargestBuffer = int64(number[uint64](q, maxMemAlloc))
	p.Cache = int64(number[uint64](q, globalCacheSize))
	p.Constant = int64(number[uint64](q, maxConstantBuffer))
	p.Local = int64(number[uint64](q, localSize))
	p.MaxThreads = int64(number[uintptr](q, maxWorkGroupSize))
	p.Alignment = int64(number[uint32](q, memBaseAddrAlign)) / 8
	p.Float = int(number[uint32](q, preferredFloat))
	p.Available = number[uint32](q, deviceAvailable) != 0
	p.Compiler = number[uint32](q, compilerAvailable) != 0
	p.Unified = number[uint32](q, hostUnifiedMemory) != 0
	const denormals, correct = 1 << 0, 1 << 7
	single := number[uint64](q, singleFPConfig)
	p.Denormals, p.CorrectFloat = single&denormals != 0, single&correct != 0
	// A device may have more dimensions than three, but not fewer.
	sizes := make([]uintptr, 16)
	var n uintptr
	r := a.DeviceInfo(device, maxWorkItemSizes, unsafe.Sizeof(sizes[0])*uintptr(len(sizes)), unsafe.Pointer(&sizes[0]),
		&n)
	q.failed(r, maxWorkItemSizes)
	for i := range p.MaxBlock {
		p.MaxBlock[i] = int64(sizes[i])
	}
	if q.err == nil {
		q.err = of.err
	}
	if q.err != nil {
		return p, q.err
	}
	// Devices without double may not know these.
	if number[uint64](q, doubleFPConfig) != 0 && q.err == nil {
		p.Double = max(1, int(number[uint32](q, preferredDouble)))
	}
	if q.err = nil; number[uint32](q, imageSupport) != 0 {
		// PoCL says that it has images, and refuses to make them of buffers.
		if n := int64(number[uintptr](q, imageTexels)); q.err == nil && p.Platform != pocl {
			p.Texels = n
		}
	}
	p.Told = a.told(device)
	p.Told["EXTENSIONS"] = int64(len(p.Extensions)) // a text: how many it names
	return p, nil
}

func kind(bits uint64) string {
	switch {
	case bits&(1<<2) != 0:
		return "gpu"
	case bits&(1<<1) != 0:
		return "cpu"
	case bits&(1<<3) != 0:
		return "accelerator"
	}
	return "device"
}

// unusable says why nothing can be run on the device; "" if something can.
func (p *Properties) unusable() string {
	switch {
	case !p.Available:
		return "the driver says that it is not available: another program may have it for itself"
	case !p.Compiler:
		return "its driver has no compiler"
	}
	return ""
}

// limits says what the device cannot do that programs may ask for.
func (p *Properties) limits() []string {
	var list []string
	if p.Double == 0 {
		list = append(list, "no double precision: programs with double grids or scalars do not run on it")
	}
	var inexact []string
	if !p.CorrectFloat {
		inexact = append(inexact, "rounds float divisions and roots otherwise than other devices do")
	}
	if !p.Denormals {
		inexact = append(inexact, "takes the smallest floats for 0")
	}
	if inexact != nil {
		list = append(list, fmt.Sprintf("it %s: --fp strict is exact in double only", strings.Join(inexact, " and ")))
	}
	return list
}

package device

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/worker"
)

// Kind is a kind of device. All that depends on the kind stands in its package;
// package target lists the kinds.
type Kind struct {
	Name     string // "cuda"
	Numbered bool   // devices are cuda:0, cuda:1 and so on; else there is one, which has the kind's name
	// Dialect is what kernels are written in. It is nil for the reference executor,
	// which runs programs without kernels.
	Dialect *emit.Dialect
	// Describe describes all devices of the kind to people, or says in one
	// description why there is none.
	Describe func(context.Context, *toolchain.Cache) ([]Info, error)
	// Find looks a device up without opening it.
	Find func(ordinal int) (Properties, error)
	// Open opens a device, in a worker process.
	Open func(ordinal int, o OpenOptions) (Device, error)
	// Services are those of the workers that its compilers start.
	Services []worker.Service
}

// OpenOptions says how to open a device.
type OpenOptions struct {
	// Sleep lets the host's thread sleep while it waits for the device: compilers
	// need the processor meanwhile. What is timed is timed by the device.
	Sleep bool
}

// ID returns what --device calls a device of the kind: "cuda:0".
func (k *Kind) ID(ordinal int) string {
	if !k.Numbered {
		return k.Name
	}
	return k.Name + ":" + strconv.Itoa(ordinal)
}

// ParseID returns the number of the device that a text names, if it is one of the
// kind: "cuda" is the first.
func (k *Kind) ParseID(text string) (ordinal int, ok bool) {
	if text == k.Name {
		return 0, true
	}
	number, ok := strings.CutPrefix(text, k.Name+":")
	n, err := strconv.Atoi(number)
	return n, ok && k.Numbered && err == nil && n >= 0
}

// Properties are what is known of a device that is not open.
type Properties struct {
	Name   string // "NVIDIA H200"
	Units  int    // multiprocessors or compute units; threads of a processor
	Driver string // its version; "" if there is none
	// Memory is the bytes that the device has of its own; 0 if kernels work in
	// the host's memory.
	Memory int64
	// Shared says that kernels and compilers run on the same processors.
	Shared     bool
	CacheBytes int64            // what stays in a cache between two sweeps over a grid; 0 if not known
	Machine    *machine.Machine // its limits; nil if nothing is known of them
	// Told is what an OpenCL driver says of the device in numbers, by the names of its properties after CL_DEVICE_. The
	// compiler goes by Machine, which is a GPU for any such device, since kernels are lowered for it as for one.
	Told map[string]int64
	// ThreadsOfMulti is how many threads a multiprocessor holds at once; 0 if not known.
	ThreadsOfMulti int64
	// Fits says why the device cannot launch a kernel over a grid of blocks; nil if
	// there are no limits.
	Fits    func(kernel string, g kernel.Geometry) error
	Details Details
	// Compiler finds what compiles for the device.
	Compiler func(context.Context, CompilerOptions) (Compiler, error)
}

// Details are what else is known of a device. Measurements are stored with them.
type Details struct {
	Vendor        string
	Architecture  string // sm_90, amd64
	Platform      string // of OpenCL, with its version
	Memory        int64  // bytes, the host's included
	Clock         int    // the highest, in MHz
	MemoryClock   int    // likewise
	Constant      int64  // bytes of the largest constant buffer
	LargestBuffer int64  // bytes
	Extensions    []string
}

// CompilerOptions says how to compile.
type CompilerOptions struct {
	Cache   *toolchain.Cache // of what was compiled before
	Workers int              // sources that may be compiled at the same time; 0 is one a processor
	Limit   time.Duration    // for one source; 0 is the compiler's own
	Memory  int64            // bytes that compiling one source may take; 0 is the compiler's own limit
}

// Compiler compiles kernels for a device. Its methods may be called from any
// goroutine.
type Compiler interface {
	// Version names the compiler and its version: "NVRTC 13.0".
	Version() string
	// Options are those that sources are compiled with in an arithmetic.
	Options(arith.Mode) []string
	// Fused reports whether code has fused multiply-adds. Without, products are
	// rounded before they are added (docs/language.md, "Arithmetic").
	Fused() bool
	// Workers is how many sources are compiled at the same time.
	Workers() int
	// Compile compiles a source, or finds what was compiled before. An error of the
	// reason verdict.Compiler blames the source.
	Compile(context.Context, Source) (Binary, error)
	// Close ends what compiles.
	Close()
}

// Source is something to compile. With the compiler's version, its fields are all
// that the code depends on.
type Source struct {
	Text       string
	Arithmetic arith.Mode
	// Plain asks for the code that a user gets who knows of nothing but -O3 and
	// -fopenmp. It has a meaning for processors alone.
	Plain bool
}

// Binary is compiled code.
type Binary struct {
	Path    string
	Cached  bool           // it was compiled before
	Took    time.Duration  // to compile, now or then
	Kernels []KernelReport // what the compiler tells of each kernel, if it does
}

// KernelReport is what a compiler tells of a kernel.
type KernelReport struct {
	Kernel      string // its symbol
	Registers   int    // a thread
	Stack       int    // bytes a thread
	SpillStores int    // bytes a thread stores because registers do not suffice
	SpillLoads  int    // and loads
	Shared      int    // bytes a block that the code declares
}

// Timer measures on a device's own clock.
type Timer interface {
	// Time returns how long the device works on what f launches. It waits for it.
	Time(f func() error) (time.Duration, error)
}

// Timed is a Device with a clock of its own. On others a launch returns when its
// kernel has finished, and the host's clock tells.
type Timed interface {
	Device
	Clock() (Timer, error) // it lives until the device is closed
}

// Profiled is a Device that tells a profiler, which watches this process, what is of interest.
type Profiled interface {
	Device
	// Profile has a profiler watch what f launches, and waits for it. Without a profiler it only calls f.
	Profile(f func() error) error
}

// Condition is the state that a device is in. What is zero is not known.
type Condition struct {
	Clock       int // MHz
	MemoryClock int // MHz
	Temperature int // degrees Celsius
	Power       int // W
	PowerLimit  int // W, above which clocks are lowered
}

// Conditioned is a Device that tells the state that it is in: clocks, power,
// temperature.
type Conditioned interface {
	Device
	Condition() Condition // zero if it is not known
}

package opencl

import (
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"github.com/gridloom/gridloom/internal/compile/emit"
)

// Resources are what a compiled kernel takes.
type Resources struct {
	Local      int64 // bytes a work-group
	Private    int64 // bytes a thread, as far as the driver tells
	MaxThreads int64 // that a work-group of it may have
	Multiple   int64 // work-groups of so many threads waste none
	Registers  int   // a thread; 0 where the driver does not tell
	Spilled    int   // bytes a thread stores for want of registers, and loads
}

// Resources returns what a kernel takes.
func (l *Library) Resources(name string) (Resources, error) {
	k, err := l.kernel(name)
	if err != nil {
		return Resources{}, err
	}
	defer l.device.api.ReleaseKernel(k)
	return l.resources(name, k)
}

func (l *Library) resources(name string, k handle) (Resources, error) {
	d := l.device
	ask := func(of handle, which uint32, size uintptr, to unsafe.Pointer, need *uintptr) code {
		return d.api.WorkGroupInfo(of, d.Properties.device, which, size, to, need)
	}
	q := &asker{ask: ask, of: k, call: "clGetKernelWorkGroupInfo", name: "the kernel " + name}
	const workGroupSize, localMemory, multiple, privateMemory = 0x11B0, 0x11B2, 0x11B3, 0x11B4
	r := Resources{
		Local:      int64(number[uint64](q, localMemory)),
		Private:    int64(number[uint64](q, privateMemory)),
		MaxThreads: int64(number[uintptr](q, workGroupSize)),
		Multiple:   int64(number[uintptr](q, multiple)),
	}
	symbol := emit.OpenCL.Symbol(name)
	if r.Registers, r.Spilled = assembled(l.program.log(&d.Properties), symbol); r.Registers == 0 {
		r.Registers, r.Spilled = assembled(l.program.said, symbol)
	}
	return r, q.err
}

// verbose makes NVIDIA's assembler tell what kernels take, in the log.
const verbose, verboseExtension = "-cl-nv-verbose", "cl_nv_compiler_options"

var (
	entryPoint = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	spills     = regexp.MustCompile(`(\d+) bytes spill stores, (\d+) bytes spill loads`)
	registers  = regexp.MustCompile(`Used (\d+) registers`)
)

// assembled finds in an assembler's log what a kernel takes. Functions that are
// not inlined have entries of their own, which do not count here.
func assembled(log, kernel string) (regs, spilled int) {
	current := ""
	for line := range strings.SplitSeq(log, "\n") {
		if m := entryPoint.FindStringSubmatch(line); m != nil {
			current = m[1]
		}
		if current != kernel {
			continue
		}
		if m := spills.FindStringSubmatch(line); m != nil && spilled == 0 {
			stores, _ := strconv.Atoi(m[1])
			loads, _ := strconv.Atoi(m[2])
			spilled = stores + loads
		}
		if m := registers.FindStringSubmatch(line); m != nil && regs == 0 {
			regs, _ = strconv.Atoi(m[1])
		}
	}
	return regs, spilled
}

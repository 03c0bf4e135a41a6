package lower

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// Estimate is what a kernel takes of a GPU, as far as its text alone tells.
type Estimate struct {
	Threads int64 // of a block
	Shared  int64 // bytes of a block
	// Registers of a thread, between those that its values take if loads are
	// early and if they are late. A compiler may compute some anew, and does not
	// keep to the order of the text: of 22 kernels for an H200 the estimate was
	// from 0.7 to 1.6 times what NVRTC made of them.
	Registers int64
	Least     int64 // if loads are late
	// Most is the number of registers that the kernel lets the compiler use.
	Most int64
}

// Resources estimates what a GPU kernel takes.
func Resources(k *kernel.Kernel) Estimate {
	early, late := liveRegisters(k)
	threads, shared := blockOf(k)
	return Estimate{
		Threads: threads, Shared: shared, Registers: baseRegisters + (early+late)/2, Least: baseRegisters + late,
		Most: int64(k.MaxRegisters),
	}
}

// blockOf returns the threads of a block and the bytes of shared memory that it
// takes, which the text tells exactly.
func blockOf(k *kernel.Kernel) (threads, shared int64) {
	sides := [3]int64{1, 1, 1}
	kernel.WalkStmts(k.Body, func(s kernel.Stmt) {
		if l, ok := s.(*kernel.Loop); ok && l.Tag.IsThread() {
			if n, ok := kernel.Trips(l); ok {
				sides[l.Tag-kernel.ThreadX] = n
			}
		}
	}, nil)
	threads = 1
	for _, n := range sides {
		threads *= n
	}
	_, shared = kernel.SharedOffsets(k)
	return threads, shared
}

// baseRegisters are those that a thread has for itself: where it stands, the
// addresses that it is about to use, what calls and divisions need.
const baseRegisters = 14

// capped returns the registers that the kernel has once the compiler keeps to
// its limits.
func (e Estimate) capped(gpu *machine.GPU) int64 {
	n := min(max(e.Registers, 16), int64(gpu.RegistersPerThread))
	if e.Most > 0 {
		n = min(n, e.Most)
	}
	return n
}

// Available returns how many registers a thread can have where a multiprocessor holds one block.
func (e Estimate) Available(gpu *machine.GPU) int64 {
	warps := unitsOf(unitsOf(max(1, e.Threads), int64(gpu.Warp))/int64(gpu.Warp), registerFiles)
	each := int64(gpu.Registers) / warps / registerUnit * registerUnit / int64(gpu.Warp)
	n := min(max(1, each), int64(gpu.RegistersPerThread))
	if e.Most > 0 {
		n = min(n, e.Most)
	}
	return n
}

// BlocksPerMultiprocessor returns how many blocks a multiprocessor holds at
// once, 0 if not one.
func (e Estimate) BlocksPerMultiprocessor(gpu *machine.GPU) int64 {
	return residentBlocks(gpu, e.Threads, e.capped(gpu), e.Shared)
}

// Occupancy returns the part of a multiprocessor's threads that are resident.
func (e Estimate) Occupancy(gpu *machine.GPU) float64 {
	return float64(e.BlocksPerMultiprocessor(gpu)*e.Threads) / float64(gpu.ThreadsPerUnit)
}

// How a multiprocessor gives out registers and shared memory: registers of a
// warp in units of 256, shared memory in units of 128 bytes, and 1 KB of it to
// every block for the system (CUDA C++ Programming Guide, compute capabilities;
// the occupancy calculator of NVIDIA's Nsight Compute).
const (
	registerUnit   = 256
	registerFiles  = 4 // of a multiprocessor, each with a quarter of the warps: NVRTC gives 10 warps what it gives 12
	sharedUnit     = 128
	reservedShared = 1 << 10
)

// residentBlocks returns how many blocks of so many threads, registers a thread
// and bytes of shared memory a multiprocessor holds.
func residentBlocks(gpu *machine.GPU, threads, registers, shared int64) int64 {
	if threads < 1 || threads > int64(gpu.ThreadsPerBlock) || shared > gpu.SharedPerBlock {
		return 0
	}
	warp := int64(gpu.Warp)
	warps := unitsOf(threads, warp) / warp
	blocks := min(int64(gpu.BlocksPerUnit), int64(gpu.ThreadsPerUnit)/(warps*warp))
	if registers > 0 {
		blocks = min(blocks, int64(gpu.Registers)/unitsOf(registers*warp, registerUnit)/warps)
	}
	if shared > 0 {
		blocks = min(blocks, gpu.SharedPerUnit/(unitsOf(shared, sharedUnit)+reservedShared))
	}
	return blocks
}

func unitsOf(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// ResourceLimit is a kernel that asks for more than a block of threads can have. Its
// configuration is legal, and refused before anything is compiled.
type ResourceLimit struct {
	Kernel, What string
	Need, Have   int64
	Of           string // what has so much: "a block"
}

func (e *ResourceLimit) Error() string {
	return fmt.Sprintf("the kernel %s takes %d %s, and %s has %d", e.Kernel, e.Need, e.What, e.Of, e.Have)
}

// Spilling is how far the least estimate of registers is beyond what a thread
// can have where a kernel is sure to spill. Streams that are unrolled were seen to fit at 1.4
// times as many.
const Spilling = 1.75

// Spills reports whether a kernel is sure to spill, as far as that can be known
// before it is compiled. Such kernels are legal, and seldom fast.
func (e Estimate) Spills(gpu *machine.GPU) bool {
	return float64(e.Least) > Spilling*float64(gpu.RegistersPerThread)
}

// fits returns an error if a kernel takes more than a block of a GPU has. What it
// takes of registers is only estimated: the compiler knows what it can do without,
// and spills the rest, so that the estimate orders a search and refuses nothing.
func fits(k *kernel.Kernel, gpu *machine.GPU) error {
	threads, shared := blockOf(k)
	switch {
	case threads > int64(gpu.ThreadsPerBlock):
		return &ResourceLimit{k.Name, "threads a block", threads, int64(gpu.ThreadsPerBlock), "a block"}
	case shared > gpu.SharedPerBlock:
		return &ResourceLimit{k.Name, "bytes of shared memory a block", shared, gpu.SharedPerBlock, "a block"}
	}
	return nil
}

// gpu returns the limits that kernels have to keep.
func (o *Options) gpu() *machine.GPU { return o.machine().GPU }

// machine returns the GPU that kernels are for.
func (o *Options) machine() *machine.Machine {
	if o.Machine != nil && o.Machine.GPU != nil {
		return o.Machine
	}
	return usualGPU
}

// usualGPU is the GPU that kernels are for if nobody says otherwise.
var usualGPU = func() *machine.Machine {
	m, err := machine.Builtin("h200")
	if err != nil {
		panic(err)
	}
	return m
}()

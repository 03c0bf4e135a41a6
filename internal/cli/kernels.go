package cli

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// kernelResult is what a kernel takes of a GPU, as --json prints it.
type kernelResult struct {
	Name      string  `json:"name"`
	Threads   int64   `json:"threads_per_block"`
	Registers int     `json:"registers"`
	Local     int     `json:"local_bytes"` // a thread: spilled registers, arrays
	Spills    int     `json:"spill_bytes"` // stored and loaded, a thread
	Shared    int     `json:"shared_bytes"`
	Blocks    int     `json:"blocks_per_multiprocessor"`
	Occupancy float64 `json:"occupancy"` // of the threads that a multiprocessor can hold
}

// results brings together what the device and the compiler tell of kernels.
func (i image) results(used []exec.KernelUsage) []kernelResult {
	var list []kernelResult
	for _, u := range used {
		k := kernelResult{Name: u.Kernel, Threads: u.Threads, Registers: u.Registers, Local: u.Local, Shared: u.Shared, Blocks: u.Blocks}
		if i.limits != nil && i.limits.ThreadsOfMulti > 0 {
			k.Occupancy = float64(int64(u.Blocks)*u.Threads) / float64(i.limits.ThreadsOfMulti)
		}
		symbol := emit.CUDA.Symbol(u.Kernel)
		if at := slices.IndexFunc(i.kernels, func(r cuda.Report) bool { return r.Kernel == symbol }); at >= 0 {
			k.Spills = i.kernels[at].SpillStores + i.kernels[at].SpillLoads
		}
		list = append(list, k)
	}
	return list
}

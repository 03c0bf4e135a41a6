package cli

import (
	"slices"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// kernelResult is what a kernel takes of a GPU, as --json prints it.
type kernelResult struct {
	Name      string  `json:"name"`
	Threads   int64   `json:"threads_per_block"`
	Registers int     `json:"registers"`
	Stack     int     `json:"stack_bytes"`
	Spills    int     `json:"spill_bytes"` // stored and loaded, a thread
	Shared    int64   `json:"shared_bytes"`
	Blocks    int     `json:"blocks_per_multiprocessor"`
	Occupancy float64 `json:"occupancy"` // of the threads that a multiprocessor can hold
}

// results brings together what the compiler tells of kernels and how a script
// launches them.
func (i image) results(s *exec.Script) []kernelResult {
	var list []kernelResult
	for n, name := range s.Kernels {
		at := slices.IndexFunc(i.kernels, func(r cuda.Report) bool { return r.Kernel == emit.CUDA.Symbol(name) })
		if at < 0 {
			continue
		}
		r, g := i.kernels[at], geometry(s, n)
		threads := g.Threads[0] * g.Threads[1] * g.Threads[2]
		blocks := i.limits.Occupancy(r, g)
		list = append(list, kernelResult{
			Name: name, Threads: threads, Registers: r.Registers, Stack: r.Stack, Spills: r.SpillStores + r.SpillLoads,
			Shared: int64(r.Shared) + g.Shared, Blocks: blocks, Occupancy: float64(int64(blocks)*threads) / float64(max(1, i.limits.ThreadsOfMulti)),
		})
	}
	return list
}

// geometry returns that of a kernel's first launch.
func geometry(s *exec.Script, n int) kernel.Geometry {
	for _, st := range s.Stages {
		for _, l := range st.Launches {
			if l.Kernel == n {
				return l.Geometry
			}
		}
	}
	return kernel.Geometry{}
}

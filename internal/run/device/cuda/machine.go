package cuda

import "github.com/gridloom/gridloom/internal/compile/machine"

// Machine describes the GPU's limits to the compiler, which refuses kernels
// that ask for more; nil if the driver tells too little.
func (g *GPU) Machine() *machine.Machine {
	l := &g.Limits
	for _, n := range []int64{int64(l.Warp), l.Threads, l.Shared, l.ThreadsOfMulti, l.SharedOfMulti, l.RegistersOfMulti,
		l.BlocksOfMulti} {
		if n <= 0 {
			return nil
		}
	}
	m := &machine.Machine{Name: g.Name, Kind: machine.KindGPU, Units: g.Multiprocessors, GPU: &machine.GPU{
		Warp: l.Warp, Registers: int(l.RegistersOfMulti), RegistersPerThread: mostRegisters,
		SharedPerUnit: l.SharedOfMulti, SharedPerBlock: l.Shared,
		ThreadsPerBlock: int(l.Threads), ThreadsPerUnit: int(l.ThreadsOfMulti), BlocksPerUnit: int(l.BlocksOfMulti),
		MaxGrid: l.Grid, ImageTexels: l.Texels,
	}, Dialects: []machine.Dialect{{Name: "cuda", Has: g.capabilities()}}}
	for i, n := range l.Block {
		m.GPU.MaxBlock[i] = int(n)
	}
	return m
}

// capabilities are what kernels may use beyond the core of the language, by
// compute capability.
func (g *GPU) capabilities() []machine.Capability {
	list := []machine.Capability{
		machine.Double, machine.FMA, machine.Shared, machine.Shuffle, machine.Constant, machine.ReadOnly, machine.Image,
		machine.Vector, machine.GridBarrier,
	}
	if g.Major >= 8 {
		list = append(list, machine.AsyncCopy)
	}
	if g.Major >= 9 {
		list = append(list, machine.BulkCopy, machine.TensorCopy, machine.Mbarrier)
		if g.Limits.Clusters {
			list = append(list, machine.Cluster)
		}
	}
	return list
}

// mostRegisters is what a thread can have on every GPU that CUDA 12 and 13 know.
const mostRegisters = 255

package opencl

import "github.com/gridloom/gridloom/internal/compile/machine"

// Machine describes the device's limits to the compiler, which refuses kernels
// that ask for more and leaves out what they cannot have. OpenCL tells nothing of
// registers, nor of what several work-groups share: there the figures are those
// of a usual GPU, and serve estimates alone.
func (p *Properties) Machine() *machine.Machine {
	const warp, threads, blocks, registers, each = 32, 2048, 32, 64 << 10, 255
	d := machine.Dialect{Name: "opencl", Has: []machine.Capability{machine.FMA, machine.Shared, machine.Constant,
		machine.Vector}}
	if p.Double > 0 {
		d.Has = append(d.Has, machine.Double)
	}
	if p.Texels > 0 {
		d.Has = append(d.Has, machine.Image)
	}
	m := &machine.Machine{Name: p.Name, Kind: machine.KindGPU, Units: p.ComputeUnits, GPU: &machine.GPU{
		Warp: warp, Registers: registers, RegistersPerThread: each, SharedPerUnit: p.Local, SharedPerBlock: p.Local,
		ThreadsPerBlock: int(p.MaxThreads), ThreadsPerUnit: max(threads, int(p.MaxThreads)), BlocksPerUnit: blocks,
		ImageTexels: p.Texels,
	}, Dialects: []machine.Dialect{d}}
	for i, n := range p.MaxBlock {
		m.GPU.MaxBlock[i] = int(n)
	}
	return m
}

package cuda

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/memory"
)

// GPU is what the driver says of a device.
type GPU struct {
	Ordinal         int
	Name            string
	Major, Minor    int // compute capability
	Memory          int64
	Multiprocessors int
	L2              int64
	Clock           int // the highest, in MHz; 0 if not known
	MemoryClock     int
	Bus             string // PCI address
	Driver          string // "580.159.04 (CUDA 13.0)"
	Prohibited      bool   // its owner lets nobody compute on it

	Limits Limits
}

// Limits are what a GPU's launches have to keep to. 0 is for what the driver
// does not tell, or the GPU does not have.
type Limits struct {
	Warp             int
	Threads          int64 // of a block
	Block, Grid      [3]int64
	Shared           int64 // bytes that a block can have
	ThreadsOfMulti   int64 // of the blocks that a multiprocessor holds at once
	SharedOfMulti    int64 // bytes, likewise
	RegistersOfMulti int64
	BlocksOfMulti    int64
	BusBits          int64 // of the memory
	Texels           int64 // of an image
	Cooperative      bool  // blocks can wait for each other
	Clusters         bool
}

// Arch is the compute capability as NVRTC writes it: 90 for 9.0.
func (g *GPU) Arch() int { return 10*g.Major + g.Minor }

// GPUs returns the GPUs that the driver shows to this process.
func GPUs() ([]GPU, error) {
	d, err := openDriver()
	if err != nil {
		return nil, err
	}
	var count int32
	if r := d.DeviceCount(&count); r != 0 {
		return nil, d.fail(r, "cuDeviceGetCount", "the GPUs cannot be counted")
	}
	if count == 0 {
		return nil, errors.New(
			"the NVIDIA driver shows no GPU: see nvidia-smi and the environment variable CUDA_VISIBLE_DEVICES")
	}
	var list []GPU
	for i := range count {
		g, err := d.gpu(int(i))
		if err != nil {
			return nil, err
		}
		list = append(list, g)
	}
	return list, nil
}

// gpu asks for everything that there is to know of a device.
func (d *driver) gpu(ordinal int) (GPU, error) {
	g := GPU{Ordinal: ordinal, Driver: d.version()}
	var device int32
	if r := d.DeviceGet(&device, int32(ordinal)); r != 0 {
		return g, d.fail(r, "cuDeviceGet", "the GPU %d cannot be found", ordinal)
	}
	var text [256]byte
	if r := d.DeviceName(&text[0], int32(len(text)), device); r != 0 {
		return g, d.fail(r, "cuDeviceGetName", "the GPU %d does not say its name", ordinal)
	}
	g.Name = unix.ByteSliceToString(text[:])
	var bytes uint64
	if r := d.TotalMem(&bytes, device); r != 0 {
		return g, d.fail(r, "cuDeviceTotalMem", "the GPU %d does not say what memory it has", ordinal)
	}
	g.Memory = int64(bytes)
	var first error
	ask := func(which int32) int64 {
		var v int32
		if r := d.Attribute(&v, which, device); r != 0 && first == nil {
			first = d.fail(r, "cuDeviceGetAttribute", "the GPU %d does not tell its attribute %d", ordinal, which)
		}
		return int64(v)
	}
	g.Major, g.Minor = int(ask(capabilityMajor)), int(ask(capabilityMinor))
	g.Multiprocessors = int(ask(multiprocessors))
	g.L2 = ask(l2Bytes)
	l := &g.Limits
	l.Threads, l.Shared, l.Warp = ask(maxThreadsPerBlock), ask(sharedPerBlockAtMost), int(ask(warpSize))
	for i := range int32(3) {
		l.Block[i], l.Grid[i] = ask(maxBlockX+i), ask(maxGridX+i)
	}
	l.ThreadsOfMulti, l.SharedOfMulti, l.RegistersOfMulti = ask(threadsPerMultiprocessor), ask(sharedPerMultiprocessor),
		ask(registersPerMultiprocessor)
	const prohibited = 2
	g.Prohibited = ask(computeMode) == prohibited
	if first != nil {
		return g, first
	}
	// Later drivers may forget these, and earlier ones do not know them.
	l.BlocksOfMulti, l.BusBits, l.Texels = ask(blocksPerMultiprocessor), ask(memoryBusBits), ask(linearTexels)
	l.Cooperative, l.Clusters = ask(cooperativeLaunch) != 0, ask(clusterLaunch) != 0
	g.Clock, g.MemoryClock = int(ask(clockKHz)/1000), int(ask(memoryClockKHz)/1000)
	if d.PCIBusID(&text[0], int32(len(text)), device) == 0 {
		g.Bus = unix.ByteSliceToString(text[:])
	}
	return g, nil
}

// version is the driver's own version, if it tells it, and CUDA's.
func (d *driver) version() string {
	var v int32
	cuda := "CUDA"
	if d.DriverVersion(&v) == 0 {
		cuda = fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10)
	}
	if m, err := openManagement(); err == nil {
		var text [96]byte
		if m.DriverVersion(&text[0], uint32(len(text))) == 0 {
			return fmt.Sprintf("%s (%s)", unix.ByteSliceToString(text[:]), cuda)
		}
	}
	return cuda
}

// ID is what --device calls the GPU of that number.
func ID(ordinal int) string { return fmt.Sprintf("cuda:%d", ordinal) }

// Describe returns the descriptions of all GPUs, or a single one that says why
// there is none.
func Describe() []device.Info {
	gpus, err := GPUs()
	if err != nil {
		return []device.Info{{ID: "cuda", Name: "NVIDIA GPUs", Unusable: err.Error()}}
	}
	var list []device.Info
	for _, g := range gpus {
		list = append(list, g.describe())
	}
	return list
}

func (g *GPU) describe() device.Info {
	l := &g.Limits
	info := device.Info{
		ID: ID(g.Ordinal), Memory: g.Memory,
		Name: fmt.Sprintf("%s, compute capability %d.%d, %d multiprocessors", g.Name, g.Major, g.Minor,
			g.Multiprocessors),
		Notes: []string{
			"driver " + g.Driver,
			fmt.Sprintf("%s of memory, %s of cache", memory.Size(g.Memory), memory.Size(g.L2)),
			fmt.Sprintf(
				"blocks of %d threads and %s of shared memory at most; a multiprocessor holds %d threads, %d "+
					"registers, %s of shared memory",
				l.Threads, memory.Size(l.Shared), l.ThreadsOfMulti, l.RegistersOfMulti, memory.Size(l.SharedOfMulti)),
		},
		Figures: g.figures(),
	}
	if g.Clock > 0 {
		info.Notes = append(info.Notes, fmt.Sprintf("highest clocks %d MHz, memory %d MHz", g.Clock, g.MemoryClock))
	}
	if c, err := g.condition(); err == nil {
		info.Notes = append(info.Notes, "now "+c.String())
		info.Figures = append(info.Figures, c.figures()...)
	} else {
		info.Notes = append(info.Notes, fmt.Sprintf("its clocks and power are not known: %v", err))
	}
	switch compiler, missing := FindCompiler(); {
	case g.Prohibited:
		info.Unusable = "its compute mode is Prohibited (nvidia-smi -q -d COMPUTE shows it)"
	case missing != nil:
		info.Unusable = missing.Error()
	default:
		info.Notes = append(info.Notes, fmt.Sprintf("compiled by NVRTC %s: %s", compiler.Version, compiler.Path))
		if _, err := compiler.target(g.Arch()); err != nil {
			info.Unusable = err.Error()
		}
	}
	return info
}

// figures lists the limits.
func (g *GPU) figures() []device.Figure {
	l := &g.Limits
	yes := map[bool]int64{true: 1}
	return known([]device.Figure{
		{Name: "compute_capability", Value: int64(g.Arch())},
		{Name: "multiprocessors", Value: int64(g.Multiprocessors)},
		{Name: "warp_threads", Value: int64(l.Warp)},
		{Name: "block_threads", Value: l.Threads},
		{Name: "block_threads_x", Value: l.Block[0]}, {Name: "block_threads_y", Value: l.Block[1]},
		{Name: "block_threads_z", Value: l.Block[2]},
		{Name: "grid_blocks_x", Value: l.Grid[0]}, {Name: "grid_blocks_y", Value: l.Grid[1]},
		{Name: "grid_blocks_z", Value: l.Grid[2]},
		{Name: "block_shared_bytes", Value: l.Shared},
		{Name: "multiprocessor_threads", Value: l.ThreadsOfMulti},
		{Name: "multiprocessor_blocks", Value: l.BlocksOfMulti},
		{Name: "multiprocessor_registers", Value: l.RegistersOfMulti},
		{Name: "multiprocessor_shared_bytes", Value: l.SharedOfMulti},
		{Name: "cache_bytes", Value: g.L2},
		{Name: "memory_bus_bits", Value: l.BusBits},
		{Name: "image_texels", Value: l.Texels},
		{Name: "clock_mhz", Value: int64(g.Clock)}, {Name: "memory_clock_mhz", Value: int64(g.MemoryClock)},
		{Name: "cooperative_launch", Value: yes[l.Cooperative]}, {Name: "clusters", Value: yes[l.Clusters]},
	})
}

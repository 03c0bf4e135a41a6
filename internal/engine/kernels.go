package engine

import (
	"slices"

	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// KernelUse is what a kernel takes of a GPU.
type KernelUse struct {
	Name      string  `json:"name"`
	Threads   int64   `json:"threads_per_block"`
	Registers int     `json:"registers"`
	Local     int     `json:"local_bytes"` // a thread: spilled registers, arrays
	Spills    int     `json:"spill_bytes"` // stored and loaded, a thread
	Shared    int     `json:"shared_bytes"`
	Blocks    int     `json:"blocks_per_multiprocessor"`
	Occupancy float64 `json:"occupancy"` // of the threads that a multiprocessor can hold
}

// kernelUses brings together what the device and the compiler tell of kernels.
func kernelUses(used []exec.KernelUsage, reports []device.KernelReport, d *Device) []KernelUse {
	var list []KernelUse
	for _, u := range used {
		k := KernelUse{
			Name: u.Kernel, Threads: u.Threads, Registers: u.Registers,
			Local: u.Local, Shared: u.Shared, Blocks: u.Blocks,
		}
		if d.ThreadsOfMulti > 0 {
			k.Occupancy = float64(int64(u.Blocks)*u.Threads) / float64(d.ThreadsOfMulti)
		}
		symbol := d.Dialect.Symbol(u.Kernel)
		if at := slices.IndexFunc(reports, func(r device.KernelReport) bool { return r.Kernel == symbol }); at >= 0 {
			k.Spills = reports[at].SpillStores + reports[at].SpillLoads
		}
		list = append(list, k)
	}
	return list
}

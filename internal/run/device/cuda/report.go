package cuda

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
)

var (
	reportKernel = regexp.MustCompile(`Compiling entry function '([^']+)'`)
	reportFrame  = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads`)
	reportUsed   = regexp.MustCompile(`Used (\d+) registers`)
	reportShared = regexp.MustCompile(`(\d+) bytes smem`)
)

// Reports reads a log of the compiler with the option Verbose, kernels in its
// order.
func Reports(log string) []device.KernelReport {
	var list []device.KernelReport
	number := func(text string) int {
		n, _ := strconv.Atoi(text) // the pattern is of digits
		return n
	}
	for line := range strings.Lines(log) {
		if m := reportKernel.FindStringSubmatch(line); m != nil {
			list = append(list, device.KernelReport{Kernel: m[1]})
			continue
		}
		if len(list) == 0 {
			continue
		}
		r := &list[len(list)-1]
		if m := reportFrame.FindStringSubmatch(line); m != nil {
			r.Stack, r.SpillStores, r.SpillLoads = number(m[1]), number(m[2]), number(m[3])
		}
		if m := reportUsed.FindStringSubmatch(line); m != nil {
			r.Registers = number(m[1])
			if m := reportShared.FindStringSubmatch(line); m != nil {
				r.Shared = number(m[1])
			}
		}
	}
	return list
}

// Occupancy returns how many blocks of a kernel a multiprocessor holds at once,
// as the limits tell it without a GPU: registers come in units of 256 a warp,
// shared memory in units of 128 bytes and 1 KiB more for each block.
func (l *Limits) Occupancy(r device.KernelReport, g kernel.Geometry) int {
	const registerUnit, sharedUnit, sharedExtra = 256, 128, 1024
	threads := g.Threads[0] * g.Threads[1] * g.Threads[2]
	warp := int64(max(1, l.Warp))
	warps := (threads + warp - 1) / warp
	if warps == 0 || threads > l.Threads {
		return 0
	}
	blocks := l.ThreadsOfMulti / (warps * warp)
	if l.BlocksOfMulti > 0 {
		blocks = min(blocks, l.BlocksOfMulti)
	}
	if r.Registers > 0 {
		each := roundUp(int64(r.Registers)*warp, registerUnit)
		blocks = min(blocks, l.RegistersOfMulti/each/warps)
	}
	if shared := int64(r.Shared) + g.Shared; shared > l.Shared {
		return 0
	} else if l.SharedOfMulti > 0 {
		blocks = min(blocks, l.SharedOfMulti/(roundUp(shared, sharedUnit)+sharedExtra))
	}
	return int(blocks)
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

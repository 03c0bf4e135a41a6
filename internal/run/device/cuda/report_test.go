package cuda

import (
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/run/device"
)

func TestReports(t *testing.T) {
	const log = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'heat' for 'sm_90'
ptxas info    : Function properties for heat
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compile time = 8.303 ms
ptxas info    : Compiling entry function 'norm' for 'sm_90'
ptxas info    : Function properties for norm
    48 bytes stack frame, 44 bytes spill stores, 52 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size, 2296 bytes smem, 400 bytes cmem[0]
`
	want := []device.KernelReport{{Kernel: "heat", Registers: 40}, {Kernel: "norm", Registers: 255, Stack: 48,
		SpillStores: 44, SpillLoads: 52, Shared: 2296}}
	if got := Reports(log); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := Reports(
		"warning: the loop was not unrolled\n" +
			"    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"); got != nil {
		t.Errorf("%+v", got)
	}
}

// The numbers of an H200.
func TestOccupancy(t *testing.T) {
	h200 := Limits{Warp: 32, Threads: 1024, Shared: 227 << 10, ThreadsOfMulti: 2048, SharedOfMulti: 228 << 10,
		RegistersOfMulti: 65536, BlocksOfMulti: 32}
	for _, test := range []struct {
		registers    int
		static       int
		threads, dyn int64
		want         int
	}{
		{32, 0, 256, 0, 8},
		{32, 0, 1024, 0, 2},
		{33, 0, 256, 0, 6}, // 40 registers a thread, really
		{128, 0, 256, 0, 2},
		{255, 0, 256, 0, 1},
		{255, 0, 384, 0, 0},
		{16, 0, 32, 0, 32},
		{32, 48 << 10, 128, 0, 4},
		{32, 0, 128, 227 << 10, 1},
		{32, 1 << 10, 128, 227 << 10, 0},
		{32, 0, 2048, 0, 0},
		{0, 0, 100, 0, 16},
	} {
		g := kernel.Geometry{Blocks: [3]int64{1, 1, 1}, Threads: [3]int64{test.threads, 1, 1}, Shared: test.dyn}
		if got := h200.Occupancy(device.KernelReport{Registers: test.registers, Shared: test.static},
			g); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
}

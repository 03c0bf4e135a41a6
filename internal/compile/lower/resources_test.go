package lower_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
)

// spatial lowers a case of the benchmark at its own size, for double or float.
func spatial(t *testing.T, name, dtype string, o lower.Options) (*lower.Estimate, error) {
	t.Helper()
	p := spatialProgram(t, name, dtype)
	o.Target, o.Bound, o.Sized = lower.GPU, bind(t, p, ""), true
	m, err := lower.Program(p, o)
	if err != nil {
		return nil, err
	}
	e := lower.Resources(m.Kernels[0])
	return &e, nil
}

// spatialProgram reads a case of the suite "spatial".
func spatialProgram(t *testing.T, name, dtype string) *ir.Program {
	t.Helper()
	text, err := os.ReadFile("../../tune/eval/bench/cases/spatial/" + name + ".loom")
	if err != nil {
		t.Fatal(err)
	}
	return load(t, name, strings.NewReplacer("double", dtype, "float", dtype).Replace(string(text)))
}

// Registers are estimated to within what NVRTC 13.0 made of the same kernels for
// compute capability 9.0, none of which spilled.
func TestRegisters(t *testing.T) {
	for _, c := range []struct {
		name, dtype, plan string
		want              float64
	}{
		{"star7", "double", "family=cells", 26},
		{"box27", "double", "family=cells", 32},
		{"star7", "double", "family=tile,block=1x4x64,vec=2,rows=4x4,sizes=literals", 204},
		{"star5", "double", "family=tile,block=4x64,vec=2,rows=2,sizes=literals", 32},
		{"box9", "double", "family=tile,block=1x128,vec=2,rows=8,sizes=literals", 88},
		{"box25", "double", "family=tile,block=1x128,vec=2,rows=8,sizes=literals", 164},
		{"box25", "float", "family=tile,block=1x128,vec=4,rows=8,sizes=literals", 122},
		{"himeno", "float", "family=tile,block=1x2x64,vec=2,rows=4x1,store=streaming,sizes=literals", 96},
		{"grayscott", "double", "family=tile,block=1x4x32,vec=2,rows=2x4,sizes=literals", 236},
		{"hotspot", "float", "family=tile,block=4x64,vec=4,rows=2,shuffle=yes,sizes=literals", 40},
		{"hdiff", "double", "family=tile,block=1x4x64,vec=2,rows=1x2,sizes=literals,local=fused", 58},
	} {
		e, err := spatial(t, c.name, c.dtype, lower.Options{Plan: plan(t, c.plan)})
		if err != nil {
			t.Errorf("%s, %s: %v", c.name, c.plan, err)
			continue
		}
		if ratio := float64(e.Registers) / c.want; ratio < 0.7 || ratio > 1.65 {
			t.Errorf("%s %s, %s: %d registers, and the compiler took %v", c.name, c.dtype, c.plan, e.Registers, c.want)
		}
	}
}

// A thread can have as many registers as its block leaves it, in whole units of a warp. NVRTC 13.0 gave kernels of 8,
// 10, 12, 14 and 16 warps 255, 168, 168, 128 and 128.
func TestAvailableRegisters(t *testing.T) {
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ threads, most, want int64 }{
		{32, 0, 255}, {256, 0, 255}, {320, 0, 168}, {384, 0, 168}, {448, 0, 128}, {512, 0, 128}, {1024, 0, 64},
		{1000, 0, 64}, {256, 96, 96}, {512, 168, 128},
	} {
		e := lower.Estimate{Threads: c.threads, Most: c.most}
		if got := e.Available(m.GPU); got != c.want {
			t.Errorf("%d threads, at most %d: %d, not %d", c.threads, c.most, got, c.want)
		}
	}
}

// More cells of a thread take more registers, and a plane in shared memory
// takes what its cells do.
func TestResources(t *testing.T) {
	few, err := spatial(t, "star7", "double",
		lower.Options{Plan: plan(t, "family=planes,block=4x32,stages=1")})
	if err != nil {
		t.Fatal(err)
	}
	// Planes of 6 rows of 36 cells, in runs of 16 bytes: one that is read, and one under way.
	if few.Threads != 128 || few.Shared != 2*6*36*8 {
		t.Errorf("%d threads and %d bytes", few.Threads, few.Shared)
	}
	tile, err := spatial(t, "star7", "double", lower.Options{
		Plan: plan(t, "family=tile,block=1x4x32,vec=2,rows=2x1,stages=1"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if tile.Shared != 4*6*68*8 {
		t.Errorf("%d bytes for a tile", tile.Shared)
	}
	many, err := spatial(t, "star7", "double", lower.Options{
		Plan: plan(t, "family=tile,block=1x4x32,vec=2,rows=2x4,registers=96"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if many.Registers < few.Registers+40 || many.Most != 96 || many.Shared != 0 {
		t.Errorf("%+v after %+v", many, few)
	}
}

// What a machine cannot have is refused by name before it is compiled.
func TestResourceLimit(t *testing.T) {
	small := &machine.Machine{GPU: &machine.GPU{
		Warp: 32, Registers: 65536, RegistersPerThread: 255, SharedPerUnit: 64 << 10, SharedPerBlock: 48 << 10,
		ThreadsPerBlock: 512, ThreadsPerUnit: 1024, BlocksPerUnit: 16,
	}}
	for _, c := range []struct {
		name, plan string
		machine    *machine.Machine
		want       string
	}{
		{"star7", "family=tile,block=1x1x1024", nil, ""},
		{"star7", "family=tile,block=1x1x1024", small,
			"the kernel star7 takes 1024 threads a block, and a block has 512"},
		{"star7", "family=planes,block=8x64,vec=4,rows=2,stages=1", nil, ""},
		{"star7", "family=planes,block=8x64,vec=4,rows=2,stages=1", small,
			"the kernel star7 takes 76032 bytes of shared memory a block, and a block has 49152"},
		{"star25", "family=planes,block=4x32,vec=2,rows=2", nil, ""},
		// 735 registers, by estimate: the compiler decides.
		{"star25", "family=planes,block=4x32,vec=4,rows=8", nil, ""},
	} {
		_, err := spatial(t, c.name, "double", lower.Options{Plan: plan(t, c.plan), Machine: c.machine})
		got := ""
		if err != nil {
			got = err.Error()
			if resourceLimit := (*lower.ResourceLimit)(nil); !errors.As(err, &resourceLimit) {
				t.Errorf("%s, %s: %T", c.name, c.plan, err)
			}
		}
		if got != c.want {
			t.Errorf("%s, %s: %s\nwant %s", c.name, c.plan, got, c.want)
		}
	}
}

// Resident blocks are those that NVIDIA's occupancy calculator tells of compute
// capability 9.0.
func TestBlocksPerMultiprocessor(t *testing.T) {
	h200, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		e         lower.Estimate
		blocks    int64
		occupancy float64
	}{
		{lower.Estimate{Threads: 256, Registers: 32}, 8, 1},
		{lower.Estimate{Threads: 256, Registers: 33}, 6, 0.75}, // 40 registers
		{lower.Estimate{Threads: 256, Registers: 64}, 4, 0.5},
		{lower.Estimate{Threads: 128, Registers: 255}, 2, 0.125},
		{lower.Estimate{Threads: 1024, Registers: 64}, 1, 0.5},
		{lower.Estimate{Threads: 1024, Registers: 65}, 0, 0},
		{lower.Estimate{Threads: 1024, Registers: 168, Most: 64}, 1, 0.5},
		{lower.Estimate{Threads: 32, Registers: 16}, 32, 0.5},
		{lower.Estimate{Threads: 33, Registers: 16}, 32, 33.0 / 64},
		{lower.Estimate{Threads: 128, Registers: 16, Shared: 33 << 10}, 6, 0.375},
		{lower.Estimate{Threads: 128, Registers: 16, Shared: 227 << 10}, 1, 0.0625},
		{lower.Estimate{Threads: 128, Registers: 16, Shared: 227<<10 + 1}, 0, 0},
		{lower.Estimate{Threads: 1025, Registers: 16}, 0, 0},
	} {
		if b, o := c.e.BlocksPerMultiprocessor(h200.GPU), c.e.Occupancy(h200.GPU); b != c.blocks || o != c.occupancy {
			t.Errorf("%+v: %d blocks, %v of the threads; want %d, %v", c.e, b, o, c.blocks, c.occupancy)
		}
	}
}

package measure

import (
	"context"
	"runtime"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// Batches are so long at least, that the timer tells them apart within a part
// in a thousand: a device's own clock counts half microseconds, and a
// processor is disturbed for longer.
const (
	leastOnGPU = 3 * time.Millisecond
	leastOnCPU = 20 * time.Millisecond
)

// compileLimit is what compiling one variant may take.
const compileLimit = 30 * time.Second

// Compilers returns how variants are compiled for a target that is to be measured on:
// by so many workers, one a processor for 0.
func Compilers(cache *toolchain.Cache, workers int) device.CompilerOptions {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return device.CompilerOptions{Cache: cache, Workers: workers, Limit: compileLimit,
		Memory: compilerMemory(memory.System("/"))}
}

// mostCompilerMemory is the address space that a compiler may take for one
// variant. Kernels take a hundredth of that; a compiler that takes more would take all.
const mostCompilerMemory = 4 << 30

// compilerMemory is less on small machines, where the system would kill the
// compiler before it met the limit. It does not depend on what is free just now: whether
// a variant can be had must not.
func compilerMemory(s memory.System) int64 {
	if capacity, err := s.Capacity(); err == nil {
		return min(mostCompilerMemory, capacity/2)
	}
	return mostCompilerMemory
}

// Open returns a Lab on a target, which stays the caller's: whoever opened it with
// Compilers closes it after the Lab.
func Open(ctx context.Context, t *target.Target) (Lab, error) {
	if t.Reference() {
		return nil, errorf("nothing can be tuned on the reference executor")
	}
	c, err := t.Compiler(ctx)
	if err != nil {
		return nil, err
	}
	a := About{
		ID: t.ID, Device: DeviceOf(t), Driver: t.Driver, Compiler: c.Version(),
		Options:    strings.Join(c.Options(t.Arithmetic), " "),
		Arithmetic: t.Arithmetic.String(),
		Target:     t, Unfused: !c.Fused(),
		Shared: t.Shared, Workers: c.Workers(), Least: leastOnGPU, CacheBytes: t.CacheBytes,
	}
	a.Name, a.Device.Properties.Unfused = a.Device.String(), a.Unfused
	if t.Shared {
		a.Least = leastOnCPU
	}
	return &localLab{compiler: c, about: a}, nil
}

// Fits implements Lab. On devices that work in the host's memory, the memory of the
// whole program counts.
func (s *localLab) Fits(script *exec.Script) error {
	if s.about.Target.Kind() == lower.CPU {
		return memory.System("/").Check(script.Needs(s.about.ID, false))
	}
	return script.Fits(s.about.Target)
}

// Compile implements Lab.
func (s *localLab) Compile(ctx context.Context, t Text) (Compiled, error) {
	b, err := s.compiler.Compile(
		ctx,
		device.Source{Text: t.Source, Arithmetic: s.about.Target.Arithmetic, Plain: t.Plain},
	)
	c := Compiled{Image: b.Path, Cached: b.Cached, Took: b.Took}
	for _, k := range b.Kernels {
		c.Resources.Registers = max(c.Resources.Registers, k.Registers)
		c.Resources.Spills = max(c.Resources.Spills, k.SpillStores)
		c.Resources.Shared = max(c.Resources.Shared, k.Shared)
	}
	return c, err
}

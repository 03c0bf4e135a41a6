package measure

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/toolchain/pool"
)

// Options says where to measure.
type Options struct {
	Device     string // "cpu", "cuda:0", "opencl:0"
	Arithmetic arith.Mode
	Cache      *toolchain.Cache
	Workers    int           // that compile; 0 for one a processor
	Compile    time.Duration // limit of one compilation; 0 for half a minute
}

// Batches are so long at least, that the timer tells them apart within a part
// in a thousand: a device's own clock counts half microseconds, and a
// processor is disturbed for longer.
const (
	leastOnGPU = 3 * time.Millisecond
	leastOnCPU = 20 * time.Millisecond
)

// Open returns a Lab on a device of this machine.
func Open(ctx context.Context, o Options) (Lab, error) {
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Compile == 0 {
		o.Compile = 30 * time.Second
	}
	a := About{ID: o.Device, Arithmetic: o.Arithmetic.String(), Workers: o.Workers, Least: leastOnGPU}
	if o.Device == "cpu" {
		return openCPU(ctx, o, a)
	}
	a.Target = lower.GPU
	if n, ok := cuda.ParseID(o.Device); ok {
		return openCUDA(n, o, a)
	}
	if n, ok := opencl.ParseID(o.Device); ok {
		return openOpenCL(n, o, a)
	}
	return nil, errorf("nothing can be tuned on the device %s", o.Device)
}

// processor compiles C.
type processor struct {
	compiler *toolchain.Compiler
	opts     Options
}

func openCPU(ctx context.Context, o Options, a About) (Lab, error) {
	c, err := toolchain.Find(ctx, os.Getenv, o.Cache)
	if err != nil {
		return nil, err
	}
	c.Memory = compilerMemory(memory.System("/"))
	a.Name = Processor()
	a.Compiler, a.Dialect, a.Shared, a.Least = c.Version, emit.C, true, leastOnCPU
	a.CacheBytes, a.Unfused = cpu.CacheBytes(os.DirFS("/"), cpu.Threads()), !c.FMA
	return &localLab{compiler: &processor{c, o}, about: a}, nil
}

// mostCompilerMemory is the address space that a compiler may take for one
// variant, as much as NVRTC may. Kernels take a hundredth of that; a compiler that
// takes more would take all.
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

func (p *processor) fits(s *exec.Script) error {
	return memory.System("/").Check(s.Needs("cpu", false))
}
func (p *processor) close() {}

// Processor is the name of the processor as a device: what is measured on it
// depends on how many threads there are.
func Processor() string {
	return fmt.Sprintf("%s, %d threads", toolchain.ProcessorName(), cpu.Threads())
}

// plainFlags undo what a user who compiles by hand does not ask for.
var plainFlags = []string{"-march=x86-64"}

func (p *processor) compile(ctx context.Context, t Text) (Compiled, error) {
	start := time.Now()
	s := toolchain.Source{Text: []byte(t.Source), Arithmetic: p.opts.Arithmetic}
	if t.Plain && runtime.GOARCH == "amd64" {
		s.Extra = plainFlags
	}
	o, err := p.compiler.Build(ctx, p.opts.Cache, s, p.opts.Compile)
	return Compiled{Image: o.Path, Cached: o.Cached, Took: time.Since(start)}, err
}

// nvidia compiles CUDA.
type nvidia struct {
	gpu  cuda.GPU
	pool *pool.Pool
	opts Options
}

func openCUDA(n int, o Options, a About) (Lab, error) {
	gpus, err := cuda.GPUs()
	if err != nil {
		return nil, err
	}
	if n >= len(gpus) {
		return nil, errorf("the driver shows %d GPUs, and there is no %s", len(gpus), o.Device)
	}
	m := &nvidia{gpu: gpus[n], opts: o}
	if m.pool, err = pool.Open(pool.Options{Cache: o.Cache, Workers: o.Workers, Deadline: o.Compile}); err != nil {
		return nil, err
	}
	compiler, err := cuda.FindCompiler()
	if err != nil {
		return nil, err
	}
	a.Name, a.Driver, a.Compiler = m.gpu.Name, m.gpu.Driver, "NVRTC "+compiler.Version
	a.Dialect = emit.CUDA
	a.Machine, a.Lacks = a.Dialect.On(m.gpu.Machine())
	a.CacheBytes = m.gpu.L2
	return &localLab{compiler: m, about: a}, nil
}

func (m *nvidia) fits(s *exec.Script) error { return s.FitsGPU(&m.gpu) }
func (m *nvidia) close()                    { m.pool.Close() }

func (m *nvidia) compile(ctx context.Context, t Text) (Compiled, error) {
	r := m.pool.Compile(ctx, []pool.Source{{Text: []byte(t.Source), Arch: m.gpu.Arch(), Arithmetic: m.opts.Arithmetic}})[0]
	c := Compiled{Image: r.Image, Cached: r.Cached, Took: r.Took}
	for _, k := range r.Kernels {
		c.Resources.Registers = max(c.Resources.Registers, k.Registers)
		c.Resources.Spills = max(c.Resources.Spills, k.SpillStores)
		c.Resources.Shared = max(c.Resources.Shared, k.Shared)
	}
	return c, r.Err
}

// anyOpenCL compiles OpenCL C.
type anyOpenCL struct {
	device opencl.Properties
	pool   *pool.OpenCLPool
	opts   Options
}

func openOpenCL(n int, o Options, a About) (Lab, error) {
	p, err := opencl.Find(n)
	if err != nil {
		return nil, err
	}
	a.Name, a.Driver, a.Compiler = p.Name, p.Driver, p.Platform+" "+p.Release
	a.Dialect, a.Shared = emit.OpenCL, p.Unified
	a.Machine, a.Lacks = a.Dialect.On(p.Machine())
	if a.Shared {
		a.Least, a.CacheBytes = leastOnCPU, cpu.CacheBytes(os.DirFS("/"), cpu.Threads())
	}
	workers, err := pool.OpenOpenCL(pool.Options{Cache: o.Cache, Workers: o.Workers, Deadline: o.Compile}, n)
	if err != nil {
		return nil, err
	}
	a.Workers = workers.Workers()
	return &localLab{compiler: &anyOpenCL{p, workers, o}, about: a}, nil
}

func (m *anyOpenCL) fits(s *exec.Script) error { return s.FitsOpenCL(&m.device) }
func (m *anyOpenCL) close()                    { m.pool.Close() }

func (m *anyOpenCL) compile(ctx context.Context, t Text) (Compiled, error) {
	b, err := m.pool.Build(ctx, []byte(t.Source), m.opts.Arithmetic)
	return Compiled{Image: b.Path, Cached: b.Cached, Took: b.Took}, err
}

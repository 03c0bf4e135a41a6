package bench

import (
	"context"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
)

// gpuContext is a GPU with what every suite needs: tools, a compiler, a timer.
type gpuContext struct {
	ctx      context.Context
	dev      *cuda.Device
	compiler *cuda.Compiler
	timer    *cuda.Timer
	tools    *cuda.Library // copies, random values, comparison
	codes    map[string][]byte
}

func (b *gpuContext) start() error {
	var err error
	if b.compiler, err = cuda.FindCompiler(); err != nil {
		return err
	}
	if b.timer, err = b.dev.NewTimer(); err != nil {
		return err
	}
	// Compiling the first source of a process takes longer, so that it had
	// better be this one.
	b.tools, _, err = b.load(emit.CUDA.Prelude+toolSource, arith.Contract)
	return err
}

// load compiles a source, unless it did before, and loads it. It returns the
// seconds that the compiler took.
func (b *gpuContext) load(source string, a arith.Mode) (*cuda.Library, float64, error) {
	if b.ctx.Err() != nil {
		return nil, 0, context.Cause(b.ctx)
	}
	start := time.Now()
	key := a.String() + " " + source
	code, ok := b.codes[key]
	if !ok {
		var err error
		if code, err = b.compiler.Compile([]byte(source), b.dev.GPU.Arch(), a); err != nil {
			return nil, time.Since(start).Seconds(), err
		}
		if b.codes == nil {
			b.codes = map[string][]byte{}
		}
		b.codes[key] = code
	}
	took := time.Since(start).Seconds()
	l, err := b.dev.LoadCode(code)
	return l, took, err
}

// build lowers, prints, compiles and loads a program with one configuration.
func (b *gpuContext) build(bound *ir.Binding, cfg schedule.Config) (*kernel.Module, *cuda.Library, float64, error) {
	m, err := lower.Program(bound.Program, lower.Options{
		Target: lower.GPU, Plan: schedule.Plan{Every: cfg}, Bound: bound,
	})
	if err != nil {
		return nil, nil, 0, err
	}
	l, took, err := b.load(emit.Source(emit.CUDA, m), m.Program.Arithmetic)
	return m, l, took, err
}

// tool runs one of the suites' own kernels with so many threads or more.
func (b *gpuContext) runTool(name string, threads int64, bufs []*cuda.Buffer, values ...op.Value) error {
	var args []device.Arg
	for _, buf := range bufs {
		args = append(args, &device.Slot{Buffer: buf})
	}
	for _, v := range values {
		a := &device.Value{}
		a.Set(v)
		args = append(args, a)
	}
	c, err := b.tools.PrepareGrid(name, blocksOf(threads, toolThreads), args)
	if err != nil {
		return err
	}
	return c.Launch()
}

// batches returns the seconds that f takes in each of the timed batches, of
// which every one takes a certain time at least, and how often a batch repeats
// it.
func (b *gpuContext) batches(f func() error, count int, least time.Duration) ([]float64, int, error) {
	n := 1
	var times []float64
	for len(times) < count+1 { // the first is to warm up
		took, err := b.batch(f, n)
		if err != nil {
			return nil, 0, err
		}
		if took < least.Seconds() {
			n = max(n+1, int(1.2*float64(n)*least.Seconds()/max(took, 1e-6)))
			times = nil
			continue
		}
		times = append(times, took/float64(n))
	}
	return times[1:], n, nil
}

// batch returns the seconds that n calls of f take.
func (b *gpuContext) batch(f func() error, n int) (float64, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	took, err := b.timer.Time(func() error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	})
	return took.Seconds(), err
}

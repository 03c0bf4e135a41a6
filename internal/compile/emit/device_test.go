package emit_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/cuda/cudatest"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/verdict"
)

// thread is a thread of the operating system that devices are used on: they
// belong to the one that opened them, and every test within a test has a
// goroutine of its own, so a thread of its own too.
type thread chan func()

// startThread starts a thread that lasts as long as the test.
func startThread(t *testing.T) thread {
	work := make(thread)
	go func() {
		runtime.LockOSThread() // it ends with the goroutine
		for f := range work {
			f()
		}
	}()
	t.Cleanup(func() { close(work) })
	return work
}

// do calls f on the thread and fails the test with its error. Only a test's own
// goroutine can end the test, so f itself must not.
func (on thread) do(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	on <- func() { done <- f() }
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// target is an open device with a way to compile for it.
type target struct {
	*emit.Dialect
	device  device.Device
	builder device.Builder
	thread  thread
	lacks   []machine.Capability // that the dialect has words for, and the device has not
}

// lacksFor says why the device cannot run a kernel; nil if it can.
func (d *target) lacksFor(k *kernel.Kernel) error {
	for _, c := range emit.Needs(k) {
		if slices.Contains(d.lacks, c) {
			return errors.New("this device has no " + string(c))
		}
	}
	return d.Lacks(k)
}

// onDevices runs a test on the first device of each kind.
func onDevices(t *testing.T, test func(*testing.T, *target)) {
	for _, kind := range []struct {
		name    string
		dialect *emit.Dialect
		absent  func() error
		open    func(d *target, dir string) error
	}{
		{"opencl", emit.OpenCL, noOpenCL, openCL},
		{"cuda", emit.CUDA, noCUDA, openCUDA},
	} {
		t.Run(kind.name, func(t *testing.T) {
			if err := kind.absent(); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			d := &target{Dialect: kind.dialect, thread: startThread(t)}
			d.thread.do(t, func() error { return kind.open(d, dir) })
			t.Cleanup(func() { d.thread.do(t, d.device.Close) })
			test(t, d)
		})
	}
}

// ./test.sh installs PoCL, an OpenCL device on the processor.
func noOpenCL() error {
	_, err := opencl.Devices()
	return err
}

func openCL(d *target, dir string) error {
	cache, err := toolchain.OpenCache(dir)
	if err != nil {
		return err
	}
	d.builder = &opencl.Builder{Arithmetic: arith.Strict, Cache: cache}
	device, err := opencl.Open(0)
	if err == nil {
		d.device = device
		_, d.lacks = emit.OpenCL.On(device.Properties.Machine())
	}
	return err
}

// pretended is the GPU that there is where there is no real one, once a test
// asks for one: what removes it, or why it cannot be had.
var pretended struct {
	sync.Once
	remove func()
	err    error
}

func pretendGPU() {
	if _, err := os.Stat("/dev/nvidiactl"); err != nil {
		pretended.remove, pretended.err = cudatest.Install()
	}
}

func noCUDA() error {
	if pretended.Do(pretendGPU); pretended.err != nil {
		return pretended.err
	}
	if _, err := cuda.GPUs(); err != nil {
		return err
	}
	_, err := cuda.FindCompiler()
	return err
}

func openCUDA(d *target, dir string) error {
	if pretended.remove != nil {
		d.lacks = []machine.Capability{machine.Cluster, machine.GridBarrier}
	}
	c, err := cuda.FindCompiler()
	if err != nil {
		return err
	}
	gpu, err := cuda.Open(0)
	if err != nil {
		return err
	}
	d.device = gpu
	d.builder = &cuda.Builder{Compiler: c, Arch: gpu.GPU.Arch(), Arithmetic: arith.Strict, Dir: dir}
	return nil
}

// load compiles a module.
func (d *target) load(t *testing.T, m *kernel.Module) device.Gridded {
	t.Helper()
	image, err := d.builder.Build(context.Background(), []byte(emit.Source(d.Dialect, m)))
	if err != nil {
		t.Fatal(err)
	}
	var l device.Library
	d.thread.do(t, func() (err error) {
		l, err = d.device.Load(image)
		return err
	})
	return l.(device.Gridded)
}

// share returns memory of the host that the device has a copy of.
func (d *target) share(t *testing.T, bytes int64) ([]byte, device.Buffer) {
	t.Helper()
	region, err := memory.Anonymous(bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { region.Close() })
	var buffer device.Buffer
	d.thread.do(t, func() (err error) {
		buffer, err = d.device.Share(region.Bytes())
		return err
	})
	// The device may work in the host's memory, so it lets go of it first.
	t.Cleanup(func() { d.thread.do(t, buffer.(interface{ Free() error }).Free) })
	return region.Bytes()[:bytes], buffer
}

// launch runs a kernel once, on what the host has in the buffers and back. The
// launch asks for what the kernel needs, clusters and all blocks at once among
// it.
func (d *target) launch(t *testing.T, l device.Gridded, k *kernel.Kernel, env map[*kernel.Var]op.Value,
	args []device.Arg, buffers []device.Buffer) {
	t.Helper()
	geometry, err := kernel.LaunchGeometry(k, env)
	if err != nil {
		t.Fatal(err)
	}
	var beyond error // what the device has less of than the kernel takes
	defer func() {
		if beyond != nil {
			t.Skip(beyond)
		}
	}()
	d.thread.do(t, func() error {
		launch, err := l.PrepareGrid(k.Name, geometry, args)
		if verdict.Of(err) == verdict.Resources {
			beyond = err
			return nil
		}
		if err != nil {
			return err
		}
		for _, b := range buffers {
			if err := b.Push(); err != nil {
				return err
			}
		}
		if err := launch.Launch(); err != nil {
			return err
		}
		for _, b := range buffers {
			if err := b.Pull(); err != nil {
				return err
			}
		}
		return d.device.Sync()
	})
}

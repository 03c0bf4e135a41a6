package emit_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// nodeSizes are the values of N where it is no matter of taste.
var nodeSizes = map[string]int64{"vectors": 77, "ways": 509, "shared": 256, "groups": 11, "clusters": 3}

// target is an open device with a way to compile for it.
type target struct {
	*emit.Dialect
	device.Device
	builder device.Builder
}

// openCL is the first OpenCL device; ./test.sh installs PoCL, which is one.
func openCL(t *testing.T) target {
	t.Helper()
	if _, err := opencl.Devices(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	d, err := opencl.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	cache, err := toolchain.OpenCache(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return target{emit.OpenCL, d, &opencl.Builder{Arithmetic: toolchain.Strict, Cache: cache}}
}

// openCUDA is the first GPU of NVIDIA's, if there is one.
func openCUDA(t *testing.T) target {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	d, err := cuda.Open(0)
	if err != nil {
		t.Skip("there is no GPU: ", err)
	}
	t.Cleanup(func() { d.Close() })
	c, err := cuda.FindCompiler()
	if err != nil {
		t.Skip(err)
	}
	return target{emit.CUDA, d, &cuda.Builder{Compiler: c, Arch: d.GPU.Arch(), Arithmetic: toolchain.Strict, Dir: t.TempDir()}}
}

// load compiles a module.
func (d target) load(t *testing.T, m *kernel.Module) device.Gridded {
	t.Helper()
	image, err := d.builder.Build(context.Background(), []byte(emit.Source(d.Dialect, m)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.Load(image)
	if err != nil {
		t.Fatal(err)
	}
	return l.(device.Gridded)
}

// share returns memory of the host that the device has a copy of.
func (d target) share(t *testing.T, bytes int64) ([]byte, device.Buffer) {
	t.Helper()
	region, err := memory.Anonymous(bytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { region.Close() })
	buffer, err := d.Share(region.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return region.Bytes()[:bytes], buffer
}

// What devices make of the kernels is what the simulator does, to the last
// bit, and that finds nothing wrong with them.
func TestNodesRun(t *testing.T) {
	t.Run("simulator", func(t *testing.T) {
		all := nodes(t)
		for _, name := range sortedNames(all) {
			t.Run(name, func(t *testing.T) { simulate(t, all[name], nodeSizes[name]) })
		}
	})
	for _, open := range []struct {
		name string
		f    func(*testing.T) target
	}{{"opencl", openCL}, {"cuda", openCUDA}} {
		t.Run(open.name, func(t *testing.T) {
			d := open.f(t)
			all := nodes(t)
			for _, name := range sortedNames(all) {
				if d.Lacks(all[name]) == nil {
					t.Run(name, func(t *testing.T) { runNode(t, d, all[name], nodeSizes[name]) })
				}
			}
		})
	}
}

func sortedNames(all map[string]*kernel.Kernel) []string {
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// simulated is a kernel's arguments and what the simulator makes of them.
type simulated struct {
	env       map[*kernel.Var]op.Value
	in, out   [][]byte
	arguments []*device.Value
}

func simulate(t *testing.T, k *kernel.Kernel, size int64) simulated {
	t.Helper()
	s := simulated{env: map[*kernel.Var]op.Value{}}
	var on sim.Args
	for _, v := range k.Scalars {
		s.env[v] = op.Int(v.Type, size)
		if v.Type.IsFloat() {
			s.env[v] = op.Float(v.Type, 0.75)
		}
		on.Scalars = append(on.Scalars, s.env[v])
		value := &device.Value{}
		value.Set(s.env[v])
		s.arguments = append(s.arguments, value)
	}
	rng := rand.New(rand.NewPCG(1, uint64(size)))
	for _, b := range k.Buffers {
		data := make([]byte, kernel.Eval(b.Cells, s.env).I*int64(b.Elem.Size()))
		for i := 0; i < len(data); i += b.Elem.Size() {
			v := op.Int(b.Elem, rng.Int64N(200)-100)
			switch {
			case b.Elem == types.Bool:
				v = op.Int(b.Elem, rng.Int64N(2))
			case b.Elem.IsFloat():
				v = op.Float(b.Elem, rng.NormFloat64())
			}
			device.Encode(data[i:], v)
		}
		s.in, s.out = append(s.in, slices.Clone(data)), append(s.out, data)
		on.Buffers = append(on.Buffers, sim.View(b.Elem, data))
	}
	report, err := sim.Run(k, on, sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
	}
	return s
}

func runNode(t *testing.T, d target, k *kernel.Kernel, size int64) {
	runKernel(t, d, d.load(t, &kernel.Module{Kernels: []*kernel.Kernel{k}}), k, size)
}

// runKernel runs a kernel on a device and in the simulator and compares.
func runKernel(t *testing.T, d target, library device.Gridded, k *kernel.Kernel, size int64) {
	want := simulate(t, k, size)
	var got [][]byte
	var args []device.Arg
	var buffers []device.Buffer
	for i := range k.Buffers {
		shared, buffer := d.share(t, int64(len(want.in[i])))
		copy(shared, want.in[i])
		got, buffers, args = append(got, shared), append(buffers, buffer), append(args, &device.Slot{Buffer: buffer})
	}
	for _, v := range want.arguments {
		args = append(args, v)
	}
	d.launch(t, library, k, want.env, args, buffers)
	for i, b := range k.Buffers {
		for n := 0; n < len(want.out[i]); n += b.Elem.Size() {
			x, y := device.Decode(b.Elem, got[i][n:]), device.Decode(b.Elem, want.out[i][n:])
			if !x.Same(y) {
				t.Errorf("%s[%d] is %v, not %v", b.Name, n/b.Elem.Size(), x, y)
				break
			}
		}
	}
}

// launch runs a kernel once, on what the host has in the buffers and back.
func (d target) launch(t *testing.T, l device.Gridded, k *kernel.Kernel, env map[*kernel.Var]op.Value, args []device.Arg, buffers []device.Buffer) {
	t.Helper()
	geometry, err := kernel.LaunchGeometry(k, env)
	if err != nil {
		t.Fatal(err)
	}
	call, err := l.PrepareGrid(k.Name, geometry, args)
	if err != nil {
		t.Fatal(err)
	}
	do := func(f func() error) {
		t.Helper()
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range buffers {
		do(b.Push)
	}
	do(call.Launch)
	for _, b := range buffers {
		do(b.Pull)
	}
	do(d.Sync)
}

// What is printed for devices computes what the operators mean, down to the
// sign of a zero.
func TestDeviceExpressions(t *testing.T) {
	for _, open := range []struct {
		name string
		f    func(*testing.T) target
	}{{"opencl", openCL}, {"cuda", openCUDA}} {
		t.Run(open.name, func(t *testing.T) {
			d := open.f(t)
			const kernels, each, inputs = 4, 50, 8
			f := newForest(2)
			f.indices = true
			m, all := f.plant(kernels, each)
			library := d.load(t, m)
			var args []device.Arg
			var buffers []device.Buffer
			cells := map[types.Type][]byte{}
			for _, typ := range allTypes {
				shared, buffer := d.share(t, int64(each*typ.Size()))
				cells[typ], buffers, args = shared, append(buffers, buffer), append(args, &device.Slot{Buffer: buffer})
			}
			env := map[*kernel.Var]op.Value{}
			values := map[*kernel.Var]*device.Value{}
			for _, v := range f.vars {
				values[v] = &device.Value{}
				args = append(args, values[v])
			}
			wrong := 0
			for range inputs {
				for _, v := range f.vars {
					env[v] = f.value(v.Type)
					values[v].Set(env[v])
				}
				for i, p := range all {
					if i%each == 0 {
						d.launch(t, library, p.kernel, env, args, buffers)
					}
					typ := p.expr.Type()
					want, got := kernel.Eval(p.expr, env), device.Decode(typ, cells[typ][p.cell*typ.Size():])
					if !got.Same(want) && wrong < 10 {
						wrong++
						t.Errorf("%v, not %v, is %s", got, want, kernel.ExprText(p.expr))
					}
				}
			}
		})
	}
}

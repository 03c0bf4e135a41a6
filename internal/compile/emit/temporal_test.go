package emit_test

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/kerneltest"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// Kernels that take many steps in one launch compile, as written and
// simplified.
func TestTemporal(t *testing.T) {
	needClang(t)
	for _, e := range kerneltest.Temporals {
		for what, k := range map[string]*kernel.Kernel{
			"as written": e.Kernel(), "simplified": kernel.Apply(e.Kernel(), kernel.Asked{Indexing: true}, nil),
		} {
			t.Run(e.Name+"/"+what, func(t *testing.T) {
				t.Parallel()
				m := &kernel.Module{Kernels: []*kernel.Kernel{k}}
				ptx(t, emit.Source(emit.CUDA, m))
				if emit.OpenCL.Lacks(k) == nil {
					spir(t, emit.Source(emit.OpenCL, m))
				}
			})
		}
	}
}

// And devices compute with them what they should.
func TestTemporalRun(t *testing.T) {
	onDevices(t, func(t *testing.T, d *target) {
		for _, e := range kerneltest.Temporals {
			t.Run(e.Name, func(t *testing.T) { runTemporal(t, d, e) })
		}
	})
}

// What a launch has to ask for follows from the kernel: blocks that read each
// other's shared memory are a cluster, and those that wait for all others run
// at once.
func TestTemporalLaunches(t *testing.T) {
	for _, e := range kerneltest.Temporals {
		k := kernel.Apply(e.Kernel(), kernel.Asked{Indexing: true}, nil)
		for _, x := range e.Runs {
			env := map[*kernel.Var]op.Value{}
			for i, v := range e.Scalars(x) {
				env[k.Scalars[i]] = v
			}
			g, err := kernel.LaunchGeometry(k, env)
			if err != nil {
				t.Errorf("%s %+v: %v", e.Name, x, err)
				continue
			}
			want := [3]int64{}
			if e.Name == "faces" {
				want = [3]int64{4, 1, 1}
			}
			if g.Cluster != want || g.Cooperative != (e.Name == "resident" || e.Name == "neighbours") {
				t.Errorf("%s %+v: %+v", e.Name, x, g)
			}
		}
	}
}

func runTemporal(t *testing.T, d *target, e *kerneltest.Temporal) {
	k := kernel.Apply(e.Kernel(), kernel.Asked{Indexing: true}, nil)
	if err := d.lacksFor(k); err != nil {
		t.Skip(err)
	}
	library := d.load(t, &kernel.Module{Kernels: []*kernel.Kernel{k}})
	for _, x := range e.Runs {
		var args []device.Arg
		var buffers []device.Buffer
		var memory [][]byte
		for _, b := range k.Buffers {
			bytes := int64(8 * x.N * x.M)
			if n, fixed := b.Fixed(); fixed {
				bytes = n * int64(b.Elem.Size())
			}
			shared, buffer := d.share(t, bytes)
			memory, buffers, args = append(memory, shared), append(buffers, buffer),
				append(args, &device.Slot{Buffer: buffer})
		}
		for c, f := range e.Start(x) {
			device.Encode(memory[0][8*c:], op.Float(types.F64, f))
		}
		env := map[*kernel.Var]op.Value{}
		for i, v := range e.Scalars(x) {
			env[k.Scalars[i]] = v
			value := &device.Value{}
			value.Set(v)
			args = append(args, value)
		}
		d.launch(t, library, k, env, args, buffers)
		for c, want := range e.Want(x) {
			if got := device.Decode(types.F64, memory[e.Result(x)][8*c:]); got.F != want {
				t.Errorf("%+v: cell %d,%d is %v, not %v", x, c/x.M, c%x.M, got.F, want)
				break
			}
		}
	}
}

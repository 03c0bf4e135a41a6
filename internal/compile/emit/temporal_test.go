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
		for what, k := range map[string]*kernel.Kernel{"as written": e.Kernel(), "simplified": kernel.Simplify(e.Kernel())} {
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
	for _, open := range []struct {
		name string
		f    func(*testing.T) target
	}{{"opencl", openCL}, {"cuda", openCUDA}} {
		t.Run(open.name, func(t *testing.T) {
			d := open.f(t)
			for _, e := range kerneltest.Temporals {
				if d.Lacks(e.Kernel()) == nil {
					t.Run(e.Name, func(t *testing.T) { runTemporal(t, d, e) })
				}
			}
		})
	}
}

func runTemporal(t *testing.T, d target, e *kerneltest.Temporal) {
	k := kernel.Simplify(e.Kernel())
	library := d.load(t, &kernel.Module{Kernels: []*kernel.Kernel{k}})
	for _, x := range e.Runs {
		var args []device.Arg
		var buffers []device.Buffer
		var memory [][]byte
		for range k.Buffers {
			shared, buffer := d.share(t, int64(8*x.N*x.M))
			memory, buffers, args = append(memory, shared), append(buffers, buffer), append(args, &device.Slot{Buffer: buffer})
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

package emit_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
)

// nodeSizes are the values of N where it is no matter of taste.
var nodeSizes = map[string]int64{"vectors": 77, "ways": 509, "shared": 256, "groups": 11, "clusters": 3,
	"multicast": 3, "tensor": 5, "clamps": 41}

// What devices make of the kernels is what the simulator does, to the last
// bit, and that finds nothing wrong with them.
func TestNodesRun(t *testing.T) {
	t.Run("simulator", func(t *testing.T) {
		all := nodes(t)
		for _, name := range sortedNames(all) {
			t.Run(name, func(t *testing.T) { simulate(t, all[name], nodeSizes[name]) })
		}
	})
	onDevices(t, func(t *testing.T, d *target) {
		all := nodes(t)
		for _, name := range sortedNames(all) {
			t.Run(name, func(t *testing.T) { runNode(t, d, all[name], nodeSizes[name]) })
		}
	})
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

func runNode(t *testing.T, d *target, k *kernel.Kernel, size int64) {
	if err := d.lacksFor(k); err != nil {
		t.Skip(err)
	}
	runKernel(t, d, d.load(t, &kernel.Module{Kernels: []*kernel.Kernel{k}}), k, size)
}

// runKernel runs a kernel on a device and in the simulator and compares.
func runKernel(t *testing.T, d *target, library device.Gridded, k *kernel.Kernel, size int64) {
	want := simulate(t, k, size)
	var got [][]byte
	var args []device.Arg
	var buffers []device.Buffer
	for i, b := range k.Buffers {
		shared, buffer := d.share(t, int64(len(want.in[i])))
		copy(shared, want.in[i])
		got, buffers, args = append(got, shared), append(buffers, buffer),
			append(args, device.Argument(b, &device.Slot{Buffer: buffer}, want.env))
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

// What is printed for devices computes what the operators mean, down to the
// sign of a zero.
func TestDeviceExpressions(t *testing.T) {
	onDevices(t, func(t *testing.T, d *target) {
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

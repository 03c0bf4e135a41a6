package oclgrind

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/op"
	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/run/device"
	"github.com/gridloom/gridloom/internal/run/exec"
)

// Disagreement is what the simulator and Oclgrind see differently in a kernel,
// or what either finds wrong with it.
type Disagreement struct {
	Kernel *kernel.Kernel
	Text   string
}

// Error names the kernel and says what was seen.
func (d *Disagreement) Error() string { return fmt.Sprintf("the kernel %s: %s", d.Kernel.Name, d.Text) }

// CheckModule checks every kernel of a module, with the arguments of the first
// launch that uses it.
func CheckModule(ctx context.Context, m *kernel.Module, b *ir.Binding, seed uint64, limit time.Duration) error {
	script, err := exec.NewScript(m, b)
	if err != nil {
		return err
	}
	kernels := map[string]*kernel.Kernel{} // not checked yet, by name
	for _, k := range m.Kernels {
		kernels[k.Name] = k
	}
	for _, s := range script.Calls {
		for _, l := range s.Launches {
			k := kernels[script.Kernels[l.Kernel]]
			if k == nil {
				continue
			}
			delete(kernels, k.Name)
			var scalars []op.Value
			for i, v := range k.Scalars {
				scalars = append(scalars, device.Decode(v.Type, l.Args[len(k.Buffers)+i].Bits[:]))
			}
			if err := Check(ctx, k, scalars, seed, limit); err != nil {
				return err
			}
			seed++
		}
	}
	for _, span := range m.Spans {
		if span.Short(b.Params) != nil {
			continue
		}
		for _, l := range span.Launches {
			if kernels[l.Kernel.Name] == nil {
				continue
			}
			delete(kernels, l.Kernel.Name)
			if err := Check(ctx, l.Kernel, scalarsOf(l, b), seed, limit); err != nil {
				return err
			}
			seed++
		}
	}
	return nil
}

// scalarsOf returns the scalar arguments of a launch at the first step.
func scalarsOf(l *kernel.Launch, b *ir.Binding) []op.Value {
	var list []op.Value
	for _, a := range l.Args[len(l.Kernel.Buffers):] {
		switch a := a.(type) {
		case kernel.ScalarArg:
			list = append(list, b.Scalar(a.Scalar))
		case kernel.SizeArg:
			list = append(list, op.Int(types.I64, b.Params[a.Param]))
		case kernel.StepArg:
			list = append(list, op.Int(types.I32, 0))
		case kernel.RoundsArg:
			list = append(list, op.Int(types.I32, 1))
		}
	}
	return list
}

// Check runs a kernel in the simulator and under Oclgrind, on the same random
// data. The error is a *Disagreement if either reports a fault, or if they
// count different bytes of global or shared memory or threads at barriers.
func Check(ctx context.Context, k *kernel.Kernel, scalars []op.Value, seed uint64, limit time.Duration) error {
	simulated, checked, err := Both(ctx, k, scalars, seed, limit)
	if err != nil {
		return err
	}
	differ := func(format string, args ...any) error { return &Disagreement{k, fmt.Sprintf(format, args...)} }
	if err := simulated.Err(); err != nil {
		return differ("the simulator reports: %v", err)
	}
	if checked.Faults != nil {
		return differ("Oclgrind reports: %v", checked.Faults[0])
	}
	for _, s := range []kernel.Space{kernel.Global, kernel.Shared} {
		x, y := simulated.Space(s), checked.Space(s)
		loads := x.LoadedBytes == y.LoadedBytes
		if maySkip(k) {
			loads = x.LoadedBytes >= y.LoadedBytes
		}
		if !loads || x.StoredBytes != y.StoredBytes {
			return differ("%v memory: the simulator has counted %d bytes loaded and %d stored, Oclgrind %d and %d", s,
				x.LoadedBytes, x.StoredBytes, y.LoadedBytes, y.StoredBytes)
		}
	}
	g, err := geometry(k, scalars)
	if err != nil {
		return err
	}
	waited := simulated.Barriers[kernel.BlockScope] * g.Threads[0] * g.Threads[1] * g.Threads[2]
	if checked.Barriers != waited {
		return differ("%d threads have come to barriers in the simulator, under Oclgrind %d", waited, checked.Barriers)
	}
	return nil
}

// Both runs a kernel in the simulator and under Oclgrind, on the same random
// data: memory that it only writes starts unwritten.
func Both(ctx context.Context, k *kernel.Kernel, scalars []op.Value, seed uint64,
	limit time.Duration) (*sim.Report, *Report, error) {
	if err := emit.OpenCL.Lacks(k); err != nil {
		return nil, nil, err
	}
	if slices.Contains(emit.Needs(k), machine.Image) {
		return nil, nil, fmt.Errorf("the kernel %s reads memory as an image, and Oclgrind is given none", k.Name)
	}
	g, err := geometry(k, scalars)
	if err != nil {
		return nil, nil, err
	}
	j := Job{Source: emit.Source(emit.OpenCL, &kernel.Module{Kernels: []*kernel.Kernel{k}}),
		Kernel: emit.OpenCL.Symbol(k.Name), Geometry: g}
	args := sim.Args{Scalars: scalars}
	for i, b := range k.Buffers {
		cells := int(kernel.Eval(b.Cells, environment(k, scalars)).I)
		a, m := Arg{Bytes: int64(cells * b.Elem.Size())}, sim.New(b.Elem, cells)
		if b.Mode != kernel.Out {
			a.Data = gen.Input(b.Elem, cells, seed+uint64(i))
			m = sim.View(b.Elem, slices.Clone(a.Data))
		}
		j.Args, args.Buffers = append(j.Args, a), append(args.Buffers, m)
	}
	for _, v := range scalars {
		var a device.Value
		a.Set(v)
		j.Args = append(j.Args, Arg{Value: a.Bytes})
	}
	simulated, err := sim.Run(k, args, sim.Options{})
	if err != nil {
		return nil, nil, err
	}
	checked, err := Run(ctx, j, limit)
	return simulated, checked, err
}

func environment(k *kernel.Kernel, scalars []op.Value) map[*kernel.Var]op.Value {
	env := map[*kernel.Var]op.Value{}
	for i, v := range k.Scalars {
		env[v] = scalars[i]
	}
	return env
}

func geometry(k *kernel.Kernel, scalars []op.Value) (kernel.Geometry, error) {
	if len(scalars) != len(k.Scalars) {
		return kernel.Geometry{}, fmt.Errorf("the kernel %s takes %d scalars, not %d", k.Name, len(k.Scalars),
			len(scalars))
	}
	return kernel.LaunchGeometry(k, environment(k, scalars))
}

// maySkip reports whether the second operand of an "and" or "or" loads
// something: C leaves it out where the first decides, and the simulator
// evaluates both.
func maySkip(k *kernel.Kernel) bool {
	found := false
	kernel.WalkStmts(k.Body, nil, func(root kernel.Expr) {
		kernel.Walk(root, func(e kernel.Expr) {
			if b, ok := e.(*kernel.Binary); ok && (b.Op == op.LAnd || b.Op == op.LOr) {
				kernel.Walk(b.Y, func(e kernel.Expr) {
					_, load := e.(*kernel.Load)
					found = found || load
				})
			}
		})
	})
	return found
}

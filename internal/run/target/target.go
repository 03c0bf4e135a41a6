// Package target says what programs are compiled for: a device of this machine,
// the dialect that its kernels are written in, what is known of its limits, and the
// mode of arithmetic. The registry lists the kinds of devices; all that depends on one
// stands in its package below run/device.
package target

import (
	"context"
	"sync"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device"
)

// Target is a device as programs are compiled for it. Its methods may be called from
// any goroutine.
type Target struct {
	ID         string // what --device calls it: "cuda:0"
	API        string // the kind of device: "cuda"
	Arithmetic arith.Mode
	Dialect    *emit.Dialect // nil for the reference executor
	device.Properties
	// Machine, unlike that of the properties, has the limits that programs in the
	// dialect meet; nil if nothing is known of them. Lacks is what they cannot have.
	Machine *machine.Machine
	Lacks   []machine.Capability

	compilers *compilers
}

// compilers is what compiles for a device, in any arithmetic, once it is needed.
type compilers struct {
	options device.CompilerOptions
	mutex   sync.Mutex
	found   device.Compiler
}

// Options says how a target is used.
type Options struct {
	Arithmetic arith.Mode
	device.CompilerOptions
}

// Open finds the device that a text names. It opens neither the device nor what
// compiles for it. The error is an *Unknown if there is no such kind of device.
func Open(text string, o Options) (*Target, error) {
	k, ordinal, err := Parse(text)
	if err != nil {
		return nil, err
	}
	p, err := k.Find(ordinal)
	if err != nil {
		return nil, err
	}
	return Of(k, ordinal, p, o), nil
}

// Of returns the target of a device whose properties are known.
func Of(k *device.Kind, ordinal int, p device.Properties, o Options) *Target {
	t := &Target{
		ID: k.ID(ordinal), API: k.Name, Arithmetic: o.Arithmetic, Dialect: k.Dialect, Properties: p,
		Machine: p.Machine, compilers: &compilers{options: o.CompilerOptions},
	}
	if k.Dialect != nil {
		t.Machine, t.Lacks = k.Dialect.On(p.Machine)
	}
	return t
}

// OnPaper returns the target of a machine that is known by its description alone, or of any
// machine of the dialect's kind for nil. Code for it can be made, and not run.
func OnPaper(d *emit.Dialect, m *machine.Machine, a arith.Mode) *Target {
	t := &Target{Arithmetic: a, Dialect: d, Properties: device.Properties{Machine: m}, compilers: &compilers{}}
	t.Machine, t.Lacks = d.On(m)
	return t
}

// Reference reports whether the target is the reference executor, which runs
// programs without compiling them.
func (t *Target) Reference() bool { return t.Dialect == nil }

// Kind is the kind of machine that kernels are lowered to.
func (t *Target) Kind() lower.Target { return KindOf(t.Dialect) }

// KindOf is the kind of machine that kernels in a dialect are lowered to.
func KindOf(d *emit.Dialect) lower.Target {
	if d != nil && d.Threads != nil {
		return lower.GPU
	}
	return lower.CPU
}

// Lowering returns the options that lower a bound program for the target, with a
// plan. The initial block is left to whoever runs the program. On GPUs, kernels hold
// sizes as literals. Who wants it otherwise changes the options.
func (t *Target) Lowering(b *ir.Binding, plan schedule.Plan) lower.Options {
	return lower.Options{
		Target: t.Kind(), Plan: plan, Bound: b, NoInitial: true, Sized: t.Kind() == lower.GPU,
		Machine: t.Machine, Lacks: t.Lacks, AnyIntegers: plan.String() != "",
	}
}

// Cannot says which kernel of a module cannot be written in the dialect, and why; nil if
// all can.
func (t *Target) Cannot(m *kernel.Module) error {
	for _, k := range m.Kernels {
		if err := t.Dialect.Lacks(k); err != nil {
			return err
		}
	}
	return nil
}

// In returns the target in another arithmetic. Both share what compiles.
func (t *Target) In(a arith.Mode) *Target {
	other := *t
	other.Arithmetic = a
	return &other
}

// Compiler returns what compiles for the target, which is found at the first call. It
// must not be closed: Close does.
func (t *Target) Compiler(ctx context.Context) (device.Compiler, error) {
	c := t.compilers
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.found == nil {
		found, err := t.Properties.Compiler(ctx, c.options)
		if err != nil {
			return nil, err
		}
		c.found = found
	}
	return c.found, nil
}

// Fused reports whether code for the target has fused multiply-adds, as the reference
// executor has.
func (t *Target) Fused(ctx context.Context) (bool, error) {
	if t.Reference() {
		return true, nil
	}
	c, err := t.Compiler(ctx)
	return err == nil && c.Fused(), err
}

// Compile compiles kernels in the target's dialect and arithmetic.
func (t *Target) Compile(ctx context.Context, text string) (device.Binary, error) {
	c, err := t.Compiler(ctx)
	if err != nil {
		return device.Binary{}, err
	}
	return c.Compile(ctx, device.Source{Text: text, Arithmetic: t.Arithmetic})
}

// Close ends what compiles. The target can be used again, and finds it anew.
func (t *Target) Close() {
	c := t.compilers
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.found != nil {
		c.found.Close()
		c.found = nil
	}
}

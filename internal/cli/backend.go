package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/refusal"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/run/toolchain/pool"
)

const (
	compileLimit = 5 * time.Minute // for one call of a compiler
	cacheLimit   = 512 << 20       // bytes of compiled code that are kept
)

// backend is a kind of device that runs compiled kernels.
type backend interface {
	// language returns what programs are lowered to and printed in.
	language() (lower.Target, *emit.Dialect)
	// machine describes the device; nil if nothing is known of its limits.
	machine() *machine.Machine
	// fits reports why the device cannot run a script, as far as that is known
	// before anything is compiled.
	fits(*exec.Script) error
	// fused reports whether code for the device has fused multiply-adds.
	fused(context.Context) (bool, error)
	// build compiles a text.
	build(ctx context.Context, cache *toolchain.Cache, text string) (image, error)
}

// image is what kernels were compiled to.
type image struct {
	path    string
	kernels []cuda.Report // what they take, where the compiler tells it
	limits  *cuda.Limits  // that it is to be seen against
}

// program is a program that was compiled for a target, with memory.
type program struct {
	exec.Runner
	kernels []kernelResult
}

// lowered turns a program into the kernels that the target runs, and checks
// that there is memory for it: what cannot run is not compiled.
func (t target) lowered(b *ir.Binding) (*kernel.Module, error) {
	kind, dialect := t.backend.language()
	o := t.lowering(b, kind)
	o.Advise = true
	m, err := lower.Program(b.Program, o)
	if err != nil {
		reason := refusal.Constraint
		if _, excess := errors.AsType[*lower.Excess](err); excess {
			reason = refusal.Resources
		}
		return nil, refusal.For(reason, badPlan(t.plan, err))
	}
	for _, k := range m.Kernels {
		if err := dialect.Lacks(k); err != nil {
			return nil, refusal.For(refusal.Constraint, badPlan(t.plan, err))
		}
	}
	script, err := exec.NewScript(m, b)
	if err != nil {
		return nil, err
	}
	if err := t.backend.fits(script); err != nil {
		return nil, err
	}
	return m, memory.System("/").Check(script.Needs(t.device, false))
}

func (t target) lowering(b *ir.Binding, kind lower.Target) lower.Options {
	o := lower.Options{Target: kind, Plan: t.plan, Bound: b, NoInitial: true, Sized: kind == lower.GPU, Free: t.free, AnyIntegers: t.plan.String() != ""}
	_, dialect := t.backend.language()
	o.Machine, o.Lacks = dialect.On(t.backend.machine())
	return o
}

// fits reports whether the target can run a program, as far as that can be
// known in no time.
func (t target) fits(b *ir.Binding) error {
	if t.backend == nil {
		return nil // the reference allocates and begins at once, and checks that itself
	}
	_, err := t.lowered(b)
	return err
}

// open compiles a program for the target and gives it memory. note takes what
// the user should know.
func (t target) open(ctx context.Context, b *ir.Binding, progress func(exec.Progress), note func(string)) (*program, error) {
	if t.backend == nil {
		r, err := exec.OpenReference(b, exec.ReferenceOptions{Progress: progress})
		return &program{Runner: r}, err
	}
	m, err := t.lowered(b)
	if err != nil {
		return nil, err
	}
	cache, err := toolchain.OpenCache("")
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	if cache.Note != "" {
		note(cache.Note)
	}
	_, dialect := t.backend.language()
	image, err := t.backend.build(ctx, cache, emit.Source(dialect, m))
	if text := cache.Elsewhere(); text != "" {
		note(text)
	}
	if err != nil {
		return nil, err
	}
	r, err := exec.Open(ctx, m, b, exec.Options{Device: t.device, Image: image.path, Deadline: t.deadline, NoGraphs: t.noGraphs, Progress: progress})
	if err != nil {
		return nil, err
	}
	cache.Trim(cacheLimit) // what cannot be removed now will be another time
	return &program{r, image.results(r.Usage())}, nil
}

// planText returns the plan in full: every kernel with its configuration.
func (t target) planText(b *ir.Binding) string {
	if t.backend == nil {
		return ""
	}
	kind, _ := t.backend.language()
	p, err := lower.Plan(b.Program, t.lowering(b, kind))
	if err != nil {
		return "" // it would have been refused
	}
	return p.String()
}

// badPlan words an error of lowering, which only a plan can bring about.
func badPlan(plan schedule.Plan, err error) error {
	if plan.String() == "" {
		return err
	}
	return usage("--plan: %s", strings.TrimPrefix(err.Error(), "plan: "))
}

// processor is the cpu.
type processor struct {
	arithmetic arith.Mode
	compiler   *toolchain.Compiler // nil before it was looked for
}

func (p *processor) language() (lower.Target, *emit.Dialect) { return lower.CPU, emit.C }

func (p *processor) machine() *machine.Machine { return nil }

func (p *processor) fits(*exec.Script) error { return nil }

// find looks for a compiler, once.
func (p *processor) find(ctx context.Context, cache *toolchain.Cache) (err error) {
	if p.compiler == nil {
		p.compiler, err = toolchain.Find(ctx, os.Getenv, cache)
	}
	if err != nil {
		return noCompiler(err)
	}
	return nil
}

func (p *processor) fused(ctx context.Context) (bool, error) {
	if p.compiler == nil {
		cache, err := toolchain.OpenCache("")
		if err != nil {
			return false, err
		}
		defer cache.Close()
		if err := p.find(ctx, cache); err != nil {
			return false, err
		}
	}
	return p.compiler.FMA, nil
}

func (p *processor) build(ctx context.Context, cache *toolchain.Cache, text string) (image, error) {
	if err := p.find(ctx, cache); err != nil {
		return image{}, err
	}
	builder := &cpu.Builder{Compiler: p.compiler, Cache: cache, Arithmetic: p.arithmetic, Limit: compileLimit}
	path, err := builder.Build(ctx, []byte(text))
	return image{path: path}, err
}

// noCompiler says how to do without a C compiler.
func noCompiler(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	text, hint := split(err)
	if hint != "" {
		hint += "; "
	}
	return failf(exitDevice, "%s", text).hintf("%s--device ref needs none", hint)
}

// nvidia is a GPU that CUDA runs on.
type nvidia struct {
	gpu        cuda.GPU
	arithmetic arith.Mode
}

func newNvidia(ordinal int, a arith.Mode) (backend, error) {
	gpus, err := cuda.GPUs()
	switch {
	case err != nil:
		return nil, failf(exitDevice, "--device %s: %w", cuda.ID(ordinal), err).hintf("--device cpu needs no GPU")
	case ordinal >= len(gpus):
		return nil, failf(exitDevice, "--device %s: the driver shows %s, from %s on", cuda.ID(ordinal), count(len(gpus), "GPU"), cuda.ID(0)).
			hintf("gridloom devices lists what there is")
	}
	return &nvidia{gpus[ordinal], a}, nil
}

func (n *nvidia) language() (lower.Target, *emit.Dialect) { return lower.GPU, emit.CUDA }

func (n *nvidia) machine() *machine.Machine { return n.gpu.Machine() }

func (n *nvidia) fused(context.Context) (bool, error) { return true, nil }

func (n *nvidia) fits(s *exec.Script) error { return s.FitsGPU(&n.gpu) }

func (n *nvidia) build(ctx context.Context, cache *toolchain.Cache, text string) (image, error) {
	p, err := pool.Open(pool.Options{Cache: cache, Workers: 1, Deadline: compileLimit})
	if err != nil {
		return image{}, err
	}
	defer p.Close()
	r := p.Compile(ctx, []pool.Source{{Text: []byte(text), Arch: n.gpu.Arch(), Arithmetic: n.arithmetic}})[0]
	if refused, ok := errors.AsType[*cuda.CompileError](r.Err); ok {
		refused.Leave([]byte(text))
	}
	return image{r.Image, r.Kernels, &n.gpu.Limits}, r.Err
}

// openCL is any device that OpenCL shows.
type openCL struct {
	device     opencl.Properties
	arithmetic arith.Mode
}

func newOpenCL(ordinal int, a arith.Mode) (backend, error) {
	p, err := opencl.Find(ordinal)
	if err != nil {
		return nil, failf(exitDevice, "--device %s: %w", opencl.ID(ordinal), err).hintf("gridloom devices lists what there is")
	}
	return &openCL{p, a}, nil
}

func (o *openCL) language() (lower.Target, *emit.Dialect) { return lower.GPU, emit.OpenCL }

func (o *openCL) machine() *machine.Machine { return o.device.Machine() }

func (o *openCL) fused(context.Context) (bool, error) { return true, nil }

func (o *openCL) fits(s *exec.Script) error { return s.FitsOpenCL(&o.device) }

func (o *openCL) build(ctx context.Context, cache *toolchain.Cache, text string) (image, error) {
	path, err := pool.OpenCL(ctx, cache, o.device.Ordinal, o.arithmetic, []byte(text), compileLimit)
	return image{path: path}, err
}

// alternatives returns plans that are worth trying when one has failed that the
// user has not chosen: the usual plan, if it was one from the store, and on a GPU the
// plainest kernels, and those with smaller blocks. Each is another plan than the
// one that the target has, and than those before it. The plainest do not keep to
// what the source fixes.
func (t target) alternatives(b *ir.Binding) []schedule.Plan {
	if t.chosen || t.backend == nil {
		return nil
	}
	var texts []string
	seen := []string{t.planText(b)}
	if t.stored {
		usual := t
		usual.plan = schedule.Plan{}
		texts = append(texts, usual.planText(b))
	}
	if kind, _ := t.backend.language(); kind == lower.GPU {
		texts = append(texts, "family=cells", "family=cells,block=4x32", "family=cells,block=64")
	}
	t.free = true
	var list []schedule.Plan
	for _, text := range texts {
		p, err := schedule.ParsePlan(text)
		if err != nil {
			panic(err)
		}
		t.plan = p
		if full := t.planText(b); full != "" && !slices.Contains(seen, full) {
			seen = append(seen, full)
			list = append(list, p)
		}
	}
	return list
}

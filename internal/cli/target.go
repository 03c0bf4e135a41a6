package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/memory"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

const (
	compileLimit = 5 * time.Minute // for one call of the C compiler
	cacheLimit   = 512 << 20       // bytes of compiled code that are kept
)

// target says what to run a program on, and how.
type target struct {
	device     string
	plan       schedule.Plan
	arithmetic toolchain.Arithmetic
	deadline   time.Duration
}

// targetFlags are the options of commands that run programs.
type targetFlags struct {
	Device   string        `short:"d" group:"device" default:"cpu" help:"cpu, or ref for the reference executor. Default: cpu." placeholder:"DEVICE"`
	Plan     string        `group:"device" help:"Settings for the kernels, such as threads=2 or block=0x64x0." placeholder:"PLAN"`
	FP       string        `name:"fp" group:"device" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract lets a multiplication and an addition fuse, fast reorders too. Default: contract." placeholder:"MODE"`
	Deadline time.Duration `group:"device" help:"Stop a kernel that runs for longer than this, such as 30s." placeholder:"TIME"`
}

var deviceNames = []string{"cpu", "ref"}

func (f *targetFlags) target() (target, error) {
	t := target{device: f.Device, deadline: f.Deadline}
	var err error
	if t.plan, err = schedule.ParsePlan(f.Plan); err != nil {
		return t, misuse("--plan", err)
	}
	if t.arithmetic, err = toolchain.ParseArithmetic(f.FP); err != nil {
		return t, misuse("--fp", err)
	}
	switch {
	case f.Deadline < 0:
		return t, usage("--deadline %v: a time is positive", f.Deadline)
	case f.Device == "cpu":
		return t, nil
	case f.Device == "ref" && f.Plan != "":
		return t, usage("--plan has no meaning on the reference executor")
	case f.Device == "ref":
		return t, nil
	}
	bad := usage("--device %s: there is no such device", f.Device)
	if near := diag.Nearest(f.Device, deviceNames); near != "" {
		return t, bad.hintf("did you mean %s?", near)
	}
	return t, bad.hintf("gridloom devices lists what there is")
}

// lowered turns a program into the kernels that the target runs, and checks
// that there is memory for it: what cannot run is not compiled.
func (t target) lowered(b *ir.Binding) (*kernel.Module, error) {
	m, err := lower.Program(b.Program, lower.Options{
		Strict: t.arithmetic == toolchain.Strict, Plan: t.plan, Bound: b, NoInitial: true,
	})
	if err != nil {
		return nil, badPlan(t.plan, err)
	}
	script, err := exec.NewScript(m, b)
	if err != nil {
		return nil, err
	}
	return m, memory.System("/").Check(script.Needs(t.device, false))
}

// fits reports whether the target can run a program, as far as that can be
// known in no time.
func (t target) fits(b *ir.Binding) error {
	if t.device == "ref" {
		return nil // it allocates and begins at once, and checks that itself
	}
	_, err := t.lowered(b)
	return err
}

// open compiles a program for the target and gives it memory. note takes what
// the user should know.
func (t target) open(ctx context.Context, b *ir.Binding, progress func(exec.Progress), note func(string)) (exec.Runner, error) {
	if t.device == "ref" {
		return exec.OpenReference(b, exec.ReferenceOptions{Progress: progress})
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
	compiler, err := toolchain.Find(ctx, os.Getenv, cache)
	if err != nil {
		return nil, noCompiler(err)
	}
	builder := &cpu.Builder{Compiler: compiler, Cache: cache, Arithmetic: t.arithmetic, Limit: compileLimit}
	image, err := builder.Build(ctx, []byte(emit.Source(emit.C, m)))
	if err != nil {
		return nil, err
	}
	r, err := exec.Open(ctx, m, b, exec.Options{Device: "cpu", Image: image, Deadline: t.deadline, Progress: progress})
	if err != nil {
		return nil, err
	}
	cache.Trim(cacheLimit) // what cannot be removed now will be another time
	return r, nil
}

// badPlan words an error of lowering, which only a plan can bring about.
func badPlan(plan schedule.Plan, err error) error {
	if plan.String() == "" {
		return err
	}
	return usage("--plan: %s", strings.TrimPrefix(err.Error(), "plan: "))
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

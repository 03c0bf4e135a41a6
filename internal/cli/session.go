package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cpu"
	"github.com/gridloom/gridloom/internal/run/exec"
	"github.com/gridloom/gridloom/internal/run/toolchain"
)

// compileLimit bounds one call of the C compiler.
const compileLimit = 5 * time.Minute

// target says what to run a program on, and how.
type target struct {
	device     string
	plan       schedule.Plan
	arithmetic toolchain.Arithmetic
	deadline   time.Duration
	private    bool
}

// targetFlags are the options of commands that run programs.
type targetFlags struct {
	Device   string        `short:"d" default:"cpu" help:"Device: cpu, or ref for the reference executor." placeholder:"D"`
	Plan     string        `help:"Settings for the kernels, such as threads=2 or block=0x64x0." placeholder:"PLAN"`
	FP       string        `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract lets multiply and add fuse, fast reorders too. Default: contract."`
	Deadline time.Duration `help:"Stop a kernel that runs for longer than this." placeholder:"DURATION"`
}

func (f *targetFlags) target() (target, error) {
	t := target{device: f.Device, deadline: f.Deadline}
	var err error
	if t.plan, err = schedule.ParsePlan(f.Plan); err != nil {
		return t, usage("--plan: %v", err)
	}
	if t.arithmetic, err = toolchain.ParseArithmetic(f.FP); err != nil {
		return t, usage("--fp: %v", err)
	}
	known := []string{"cpu", "ref"}
	switch f.Device {
	case "cpu":
	case "ref":
		if f.Plan != "" {
			return t, usage("--plan has no meaning on the reference executor")
		}
	default:
		if near := diag.Nearest(f.Device, known); near != "" {
			return t, usage("there is no device %s; did you mean %s?", f.Device, near)
		}
		return t, usage("there is no device %s; gridloom devices lists what there is", f.Device)
	}
	return t, nil
}

// bounds returns the mode in which the reference executor bounds what a device
// may compute under this arithmetic.
func (t target) bounds() interp.Mode {
	switch t.arithmetic {
	case toolchain.Contract:
		return interp.Contract
	case toolchain.Fast:
		return interp.Fast
	}
	return interp.NoBounds
}

// open compiles a program for the target and gives it memory.
func (t target) open(ctx context.Context, b *ir.Binding, progress func(exec.Progress)) (exec.Runner, error) {
	if t.device == "ref" {
		return exec.OpenReference(b, exec.ReferenceOptions{Progress: progress})
	}
	m, err := lower.Program(b.Program, lower.Options{Strict: t.arithmetic == toolchain.Strict, Plan: t.plan, Bound: b, NoInitial: true})
	if err != nil {
		return nil, usage("%v", err)
	}
	cache, err := toolchain.OpenCache("")
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	compiler, err := toolchain.Find(ctx, os.Getenv, cache)
	if err != nil {
		return nil, fmt.Errorf("%w\nwithout a C compiler, --device ref still works", err)
	}
	builder := &cpu.Builder{Compiler: compiler, Cache: cache, Arithmetic: t.arithmetic, Limit: compileLimit}
	image, err := builder.Build(ctx, []byte(emit.Source(emit.C, m)))
	if err != nil {
		return nil, err
	}
	return exec.Open(ctx, m, b, exec.Options{
		Device: "cpu", Image: image, Deadline: t.deadline, Private: t.private, Progress: progress,
	})
}

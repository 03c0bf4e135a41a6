package cli

import (
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/device/cuda"
	"github.com/gridloom/gridloom/internal/run/device/opencl"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// target says what to run a program on, and how.
type target struct {
	device     string // as users call it
	backend    backend
	plan       schedule.Plan
	chosen     bool // the plan is the user's
	stored     bool // the plan is from the store
	free       bool // the plan need not keep to what the source fixes
	arithmetic arith.Mode
	deadline   time.Duration
	noGraphs   bool
}

// targetFlags are the options of commands that run programs.
type targetFlags struct {
	Device   string        `short:"d" group:"device" default:"cpu" help:"cpu, cuda:0, opencl:0 and so on; auto for the first NVIDIA GPU, or else the cpu; or ref for the reference executor. Default: cpu." placeholder:"DEVICE"`
	Plan     string        `group:"device" help:"Settings for the kernels, such as threads=2 or block=0x64x0; @FILE reads them from a file." placeholder:"PLAN"`
	FP       string        `name:"fp" group:"device" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract fuses the products that sums take in, fast reorders too. Default: contract." placeholder:"MODE"`
	Deadline time.Duration `group:"device" help:"Stop a kernel that runs for longer than this, such as 30s." placeholder:"TIME"`
	NoGraph  bool          `name:"no-graph" group:"device" help:"Start every kernel by itself on a GPU, also where many short ones could start together."`
}

var deviceNames = []string{"cpu", "cuda", "opencl", "ref", "auto"}

// target checks the options. What auto stands for takes its place.
func (f *targetFlags) target() (target, error) {
	t := target{deadline: f.Deadline, chosen: f.Plan != "", noGraphs: f.NoGraph}
	var err error
	if t.plan, err = readPlan(f.Plan); err != nil {
		return t, err
	}
	if t.arithmetic, err = arith.Parse(f.FP); err != nil {
		return t, misuse("--fp", err)
	}
	if f.Deadline < 0 {
		return t, usage("--deadline %v: a time is positive", f.Deadline)
	}
	if f.Device == "auto" {
		f.Device = automatic()
	}
	if t.backend, err = f.backend(t.arithmetic); err != nil {
		return t, err
	}
	t.device = f.Device
	if t.backend == nil && f.Plan != "" {
		return t, usage("--plan has no meaning on the reference executor")
	}
	return t, nil
}

// readPlan reads a plan's text, or the file that it names.
func readPlan(text string) (schedule.Plan, error) {
	if path, ok := strings.CutPrefix(text, "@"); ok {
		if path == "" {
			return schedule.Plan{}, usage("--plan @: no file is named: write --plan @FILE, or the plan itself")
		}
		contents, err := gridio.ReadSmall(path, maxSmall)
		if err != nil {
			return schedule.Plan{}, gridio.Named(path, err)
		}
		text = strings.TrimSpace(string(contents))
	}
	p, err := schedule.ParsePlan(text)
	return p, misuse("--plan", err)
}

// backend returns the kind of device that is named; nil is the reference
// executor.
func (f *targetFlags) backend(a arith.Mode) (backend, error) {
	switch f.Device {
	case "cpu":
		return &processor{arithmetic: a}, nil
	case "ref":
		return nil, nil
	}
	if ordinal, ok := cuda.ParseID(f.Device); ok {
		f.Device = cuda.ID(ordinal)
		return newNvidia(ordinal, a)
	}
	if ordinal, ok := opencl.ParseID(f.Device); ok {
		f.Device = opencl.ID(ordinal)
		return newOpenCL(ordinal, a)
	}
	bad := usage("--device %s: there is no such device", f.Device)
	if near := diag.Nearest(f.Device, deviceNames); near != "" {
		return nil, bad.hintf("did you mean %s?", near)
	}
	return nil, bad.hintf("gridloom devices lists what there is")
}

// automatic returns the first NVIDIA GPU that can be used, or else the cpu.
// OpenCL is not asked: its devices are the same GPUs, or the same processor.
func automatic() string {
	for _, d := range cuda.Describe() {
		if d.Unusable == "" {
			return d.ID
		}
	}
	return "cpu"
}

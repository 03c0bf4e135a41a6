package cli

import (
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
)

// targetFlags are the options of commands that run programs.
type targetFlags struct {
	Device   string        `short:"d" group:"device" default:"cpu" help:"cpu, cuda:0, opencl:0 and so on; auto for the first NVIDIA GPU, or else the cpu; or ref for the reference executor. Default: cpu." placeholder:"DEVICE"`
	Plan     string        `group:"device" help:"Settings for the kernels, such as threads=2 or block=0x64x0; @FILE reads them from a file." placeholder:"PLAN"`
	FP       string        `name:"fp" group:"device" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract fuses the products that sums take in, fast reorders too. Default: contract." placeholder:"MODE"`
	Deadline time.Duration `group:"device" help:"Stop a kernel that runs for longer than this, such as 30s." placeholder:"TIME"`
	NoGraph  bool          `name:"no-graph" group:"device" help:"Start every kernel by itself on a GPU, also where many short ones could start together."`
}

// job checks the options, and finds the device. The program is bound later. The caller
// closes the device.
func (f *targetFlags) job() (engine.Job, error) {
	j := engine.Job{Deadline: f.Deadline, NoGraphs: f.NoGraph}
	var err error
	if j.Plan, err = readPlan(f.Plan); err != nil {
		return j, err
	}
	if f.Plan != "" {
		j.Origin = engine.Chosen
	}
	mode, err := arith.Parse(f.FP)
	if err != nil {
		return j, misuse("--fp", err)
	}
	if f.Deadline < 0 {
		return j, usage("--deadline %v: a time is positive", f.Deadline)
	}
	if j.Device, err = engine.Open(engine.DeviceRequest{ID: f.Device, Arithmetic: mode}); err != nil {
		return j, err
	}
	if j.Device.Reference() && f.Plan != "" {
		return j, usage("--plan has no meaning on the reference executor")
	}
	return j, nil
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

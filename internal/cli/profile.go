package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/serve/report"
	"github.com/gridloom/gridloom/internal/tune/profile"
)

type profileCmd struct {
	File   string        `arg:"" help:"Source file; - reads standard input."`
	Set    []string      `short:"D" help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	JSON   bool          `name:"json" help:"Print as JSON; docs/cli.md describes it."`
	Budget time.Duration `help:"Time each kernel and its variants for about so long. Default: 6s." placeholder:"TIME"`
	Follow bool          `help:"Time the plans that hints suggest beside the plan: the measured gain beside the predicted one."`
	SVG    string        `name:"svg" help:"Draw the roofline with all levels of memory." placeholder:"FILE"`
	Quiet  bool          `short:"q" help:"No progress and no notes."`

	Device     string `short:"d" group:"device" default:"cpu" help:"cpu, cuda:0, opencl:0 and so on; auto for the first NVIDIA GPU, or else the cpu. Default: cpu." placeholder:"DEVICE"`
	Plan       string `group:"device" help:"Settings for the kernels, such as block=8x32; @FILE reads them from a file." placeholder:"PLAN"`
	FP         string `name:"fp" group:"device" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict rounds every operation on its own, contract fuses the products that sums take in, fast reorders too. Default: contract." placeholder:"MODE"`
	NoCounters bool   `group:"device" help:"Do not ask NVIDIA's profiler (ncu) for the counters of the hardware."`
	storeFlag  `embed:"" group:"device"`
	NoStore    bool `name:"no-store" group:"device" help:"Take the usual plan, not the one that tune has found and the store holds."`
}

func (c *profileCmd) Help() string {
	return `Says what binds each kernel of a plan: the bandwidth of a level of memory, the arithmetic, or waiting. It times each kernel beside variants in which one cost vanishes, on grids of its own, and compares what the kernel does with what the device can do. Then it says what to change, and what that may gain.

Examples:

	gridloom profile examples/smooth7.loom -D L=256 -D M=256 -D N=256
	gridloom profile examples/hypterm.loom --device cuda:0 --svg roof.svg
	gridloom profile examples/heat3d.loom --device cuda:0 --plan family=tile,vec=2 --json`
}

func (c *profileCmd) Run(a *app) error {
	if c.Budget < 0 {
		return usage("--budget %v: a time is positive", c.Budget)
	}
	mode, err := arith.Parse(c.FP)
	if err != nil {
		return misuse("--fp", err)
	}
	src, p, err := a.load(c.File, mode)
	if err != nil {
		return err
	}
	j := &job{runCmd: &runCmd{Quiet: c.Quiet || c.JSON, storeFlag: c.storeFlag, NoStore: c.NoStore}, app: a, program: p}
	if j.Plan, err = readPlan(c.Plan); err != nil {
		return err
	}
	if c.Plan != "" {
		j.Origin = engine.Chosen
	}
	j.Device, err = engine.Open(engine.DeviceRequest{ID: c.Device, Arithmetic: mode, Purpose: engine.ToTune})
	if err != nil {
		return err
	}
	defer j.Device.Close()
	if src, _, err = j.takeVersion(src, c.Set); err != nil {
		return err
	}
	if src, p, err = j.lookUpVersion(src, c.Set); err != nil {
		return err
	}
	if j.Bound, err = a.bind(src, p, c.Set); err != nil {
		return err
	}
	if !c.Quiet && !j.Device.Reference() {
		a.hints(src, p, j.Lowering())
	}
	j.lookUp()
	show := newMeter(a, 0, c.Quiet)
	r := engine.ProfileRequest{Job: j.Job, Source: src, Budget: c.Budget, NoCounters: c.NoCounters, Follow: c.Follow,
		Progress: show.text}
	found, err := engine.Profile(a.ctx, r)
	show.clear()
	if err != nil {
		return err
	}
	if c.SVG != "" {
		if err := gridio.WriteFile(c.SVG, func(w io.Writer) error { return report.Roofline(w, found) }); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(found)
	}
	printProfile(a, found)
	return nil
}

// printProfile prints a profile for readers.
func printProfile(a *app, p *profile.Profile) {
	a.row("%s on %s (%s)", p.Program, p.Device.ID, p.Device.Name)
	a.row("plan: %s", p.Plan)
	for _, s := range p.Roof.Peaks {
		a.row("%s: %s Gflop/s (%s)", s.Type, quantity.Digits(s.GFlops, 3), s.From)
	}
	for _, s := range p.Roof.Levels {
		a.row("%s: %s GB/s (%s)", s.Level, quantity.Digits(s.GBs, 3), s.From)
	}
	if p.NoCounters != "" {
		a.row("by code differencing alone: %s", p.NoCounters)
	}
	for _, k := range p.Kernels {
		printKernel(a, k)
	}
	for _, text := range p.Notes {
		a.row("note: %s", text)
	}
}

func printKernel(a *app, k *profile.Kernel) {
	a.row("")
	a.row("%s%s: %s", k.Name, inParens(k.Part), k.Class)
	for _, text := range k.Evidence {
		a.row("  %s", text)
	}
	a.row("  %s, %s; %s of the arithmetic", quantity.Time(k.Seconds), count(k.Rounds, "round"), orUnknown(k.Peak))
	if r := k.Resources; r.Registers > 0 {
		a.row("  %d threads a block, %d registers, %d bytes spilled, %d bytes shared, occupancy %s", r.Threads,
			r.Registers, r.Spills, r.Shared, quantity.Percent(r.Occupancy))
	}
	if k.Uncounted != "" {
		a.row("  %s", k.Uncounted)
	}
	for _, l := range k.Levels {
		ridge := ""
		if l.Ridge > 0 {
			ridge = fmt.Sprintf(", ridge %s: %s", quantity.Digits(l.Ridge, 3), l.Place)
		}
		a.row("  %-10s %s flops a byte%s; %s of the bandwidth (%s)", l.Level, quantity.Digits(l.Intensity, 3), ridge,
			orUnknown(l.Share), l.From)
	}
	for _, v := range k.Variants {
		if v.Absent != "" {
			a.row("  without %-10s none: %s", v.Without, v.Absent)
			continue
		}
		a.row("  without %-10s %s, %.3f (%s) times as fast; %s of the time", v.Without, quantity.Time(v.Seconds),
			v.Gain,
			v.Interval, quantity.Percent(v.Share))
	}
	if h := k.Counters; h != nil {
		a.row("  counters: %s; dram %.0f %%, l2 %.0f %%, l1 and shared %.0f %%, issue %.0f %%, fp64 %.0f %%, "+
			"fp32 %.0f %%", h.Class, h.DRAM, h.L2, h.L1, h.Issue, h.FP64, h.FP32)
	}
	for _, h := range k.Hints {
		printHint(a, &h)
	}
}

func printHint(a *app, h *profile.Hint) {
	gain := "gain " + h.Predicted
	if h.Gain > 1 {
		gain = fmt.Sprintf("%.2f times as fast %s", h.Gain, h.Predicted)
	}
	a.row("%s %s", h.Code, h.Text)
	a.row("    %s", gain)
	switch c := h.Change; {
	case c.Plan != "":
		a.row("    --plan '%s'", c.Plan)
	case c.Option != "":
		a.row("    %s", c.Option)
	case c.Command != "":
		a.row("    %s", c.Command)
	default:
		a.row("    %s", c.Edit)
	}
	if m := h.Measured; m != nil {
		a.row("    measured: %.2f (%s) times as fast", m.Ratio, m.Interval)
	}
	if h.Failed != "" {
		a.row("    not measured: %s", h.Failed)
	}
	if h.Forbidden != "" {
		a.row("    not as the source is: %s", h.Forbidden)
	}
}

func inParens(text string) string {
	if text == "" {
		return ""
	}
	return " (" + strings.TrimSpace(text) + ")"
}

func orUnknown(share float64) string {
	if share == 0 {
		return "an unknown part"
	}
	return quantity.Percent(share)
}

package cli

import (
	"fmt"
	"strings"

	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/quantity"
	"github.com/gridloom/gridloom/internal/tune/predict"
	"github.com/gridloom/gridloom/internal/tune/tuner"
)

type predictCmd struct {
	File    string   `arg:"" help:"Source file; - reads standard input."`
	Set     []string `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Device  string   `short:"d" help:"A device of this machine: cuda:0 and so on." placeholder:"DEVICE" xor:"for"`
	Machine string   `help:"A machine that need not be here: a built-in one (${machines}) or a JSON file. Default: h200." placeholder:"NAME|FILE.json" xor:"for"`
	Target  string   `default:"cuda" enum:"cuda,opencl" help:"What kernels for a GPU are written in: cuda or opencl. Default: cuda." placeholder:"LANGUAGE"`
	Model   string   `help:"The file of a model, as gridloom learn writes it. Default: the one of the device that comes with gridloom." placeholder:"FILE"`
	Plan    string   `help:"Settings that stay as they are, such as local=fused; @FILE reads them from a file." placeholder:"PLAN"`
	FP      string   `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic: strict, contract or fast. Default: contract." placeholder:"MODE"`
	Top     int      `default:"5" help:"Show so many configurations of each kernel. Default: 5." placeholder:"N"`
	Lower   int      `default:"200" help:"Lower so many candidates of each kernel, its first ones and some of each form, and rank them again by what is counted on them, if the model has a second level; 0 lowers none. Default: 200." placeholder:"N"`
	Depths  bool     `help:"In the place of rankings: what the cost model predicts for kernels of several iterations of each loop."`
	JSON    bool     `name:"json" help:"Print as JSON."`
}

func (c *predictCmd) Help() string {
	return `Ranks the configurations of a program's kernels by what a model expects of them. Nothing is compiled or measured. It says what the prediction rests on: the programs that are most like this one among those that the model has learned from, what moves the prediction most, and what other forms of the kernel would have.

Examples:

	gridloom predict examples/heat3d.loom
	gridloom predict examples/heat3d.loom --device cuda:0 --top 10
	gridloom predict examples/heat3d.loom --lower 200
	gridloom predict examples/heat3d.loom --depths --set L=512 --set M=512 --set N=512
	gridloom predict examples/heat3d.loom --model mine.json.gz --json`
}

// reasons is how many reasons the first configuration is shown with.
const reasons = 6

func (c *predictCmd) Run(a *app) error {
	if c.Top < 1 {
		return usage("--top %d: at least one configuration is shown", c.Top)
	}
	if c.Depths && c.Model != "" {
		return usage("--model %s: depths are predicted by the cost model, and by no other", c.Model)
	}
	if c.Lower < 0 {
		return usage("--lower %d: a number of candidates is 0 or more", c.Lower)
	}
	v, b, err := a.version(c.File, c.FP, c.Plan, c.Set)
	if err != nil {
		return err
	}
	t, err := paperTarget(c.Device, c.Machine, c.Target, b.Program.Arithmetic)
	if err != nil {
		return err
	}
	if c.Depths {
		return c.depths(a, b, t, v.Plan)
	}
	list, err := engine.Predict(a.ctx, engine.PredictRequest{
		Bound: b, Target: t, Plan: v.Plan, Model: c.Model, Top: c.Top, Why: reasons, Lower: c.Lower,
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.row("there is nothing to rank: no kernel of the program has a choice")
		return nil
	}
	a.row("for %s, by %s", list[0].Device, list[0].Model)
	if list[0].Locals != nil {
		a.row("%s", localsText(list[0].Locals))
	}
	for i := range list {
		printPredicted(a, &list[i])
	}
	return nil
}

func printPredicted(a *app, p *engine.Predicted) {
	a.row("%s: %d candidates in %.0f ms", p.Kernel, p.Candidates, 1e3*p.Seconds)
	if p.Lowered > 0 {
		a.row("  %d of them ranked again by their lowered kernels in %.1f s", p.Lowered, p.LoweredSeconds)
	}
	for i, x := range p.Top {
		a.row("  %d. %.2f of the best  %s%s%s", i+1, x.Fraction, x.Config, needsText(x.Needs),
			placeText(&x))
	}
	if len(p.Top) > 0 && len(p.Top[0].Reasons) > 0 {
		var parts []string
		for _, r := range p.Top[0].Reasons {
			parts = append(parts, fmt.Sprintf("%s=%.4g %+.2f", r.Feature, r.Value, r.Effect))
		}
		a.row("  why the first: %s", strings.Join(parts, ", "))
	}
	for _, f := range p.Forms {
		a.row("  form %s: %.2f at best, %s", f.Form, f.Fraction, f.Config)
	}
	var near []string
	for _, n := range p.Nearest {
		near = append(near, fmt.Sprintf("%s (%.2f)", n.Name, n.Distance))
	}
	a.row("  most like it: %s", strings.Join(near, ", "))
	if p.Far {
		a.row("  warning: it is unlike all that the model has learned from; gridloom tune measures")
	}
	a.row("  first picks like this one have %s%s", expectationText(p.Expected, p.Far), learnedOnText(p.LearnedOn))
}

// farText words that kernels are unlike all that a model has learned from.
func farText(p *engine.Prediction) string {
	if p.Kept == 0 {
		return "unlike all that the model has learned from: " + count(p.Far, "kernel")
	}
	return "not predicted, since the model has learned from nothing like it: " + count(p.Kept, "kernel")
}

// localsText words what is predicted for local grids.
func localsText(p *tuner.PredictedLocals) string {
	ways := [2]string{"stored between kernels", "computed where they are read"}
	seconds := [2]float64{p.Stored, p.Fused}
	if p.Fuse() {
		ways[0], ways[1], seconds[0], seconds[1] = ways[1], ways[0], seconds[1], seconds[0]
	}
	return fmt.Sprintf("local grids are %s: that is predicted to take %s at least, and %s if they are %s",
		ways[0], quantity.Time(seconds[0]), quantity.Time(seconds[1]), ways[1])
}

// expectationText words an expected fraction. Of a program that is far from all it is what the furthest of those that
// were left out came to.
func expectationText(e predict.Expectation, far bool) string {
	text := fmt.Sprintf("%.2f of the best speed, 90 %% of them %.2f or more", e.Mean, e.Low)
	if far {
		text += " (where programs were the furthest from what was learned from; this one is further, and may have less)"
	}
	return text
}

// learnedOnText words that a model has not seen this machine; "" if it has.
func learnedOnText(processors []string) string {
	if len(processors) == 0 {
		return ""
	}
	return ", on what the model has learned from: " + strings.Join(processors, "; ")
}

// placeText says why a configuration stands at its place; "" if by what is predicted.
func placeText(x *engine.PredictedConfig) string {
	switch {
	case x.Usual:
		return "  (the usual one)"
	case x.FastestOf != "":
		return fmt.Sprintf("  (the fastest for %s)", x.FastestOf)
	}
	return ""
}

// needsText words what a configuration is predicted to take; "" if that is not known.
func needsText(n *predict.Needs) string {
	switch {
	case n == nil:
		return ""
	case n.MaySpill():
		return fmt.Sprintf("  (%.0f registers, may spill)", n.Registers)
	}
	return fmt.Sprintf("  (%.0f registers)", n.Registers)
}

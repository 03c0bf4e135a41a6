package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/gridloom/gridloom/internal/run/child"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/tune/eval/bench"
)

type benchCmd struct {
	CPU           benchCPU           `cmd:"" name:"cpu" help:"Generated C against hand-written OpenMP C, in interleaved pairs."`
	Cells         benchCells         `cmd:"" name:"cells" help:"The plainest GPU kernels with every block shape, against the GPU's copies."`
	Spatial       benchSpatial       `cmd:"" name:"spatial" help:"One step by the best GPU kernels, against the GPU's copies and other programs."`
	Temporal      benchTemporal      `cmd:"" name:"temporal" help:"Time loops in which several iterations share a GPU kernel."`
	Deep          benchDeep          `cmd:"" name:"deep" help:"What tune finds for the time loops of bench temporal, against the best plans that are known."`
	Depths        benchDepths        `cmd:"" name:"depths" help:"How many iterations share a kernel in the plans that tune finds, what that gains, and why not more."`
	Complex       benchComplex       `cmd:"" name:"complex" help:"The eleven complex stencils of Rawat et al. 2019: what tune finds for them."`
	Profile       benchProfile       `cmd:"" name:"profile" help:"What binds kernels by code differencing, beside what the counters of the hardware say."`
	Compile       benchCompile       `cmd:"" name:"compile" help:"How fast the suite's GPU kernels compile, in one process and in many."`
	Tuner         benchTuner         `cmd:"" name:"tuner" help:"The search for the best kernels, live on whole spaces and replayed on recorded parts of them."`
	OnCPU         benchTunerCPU      `cmd:"" name:"tuner-cpu" help:"What the search finds on the processor, and how long it takes, against plain C."`
	Garvey        benchGarvey        `cmd:"" name:"garvey" help:"Grouped searches against random sampling and an expert, on recorded spaces of synthetic kernels."`
	Classes       benchClasses       `cmd:"" name:"classes" help:"What it saves to try only what is promising for kernels of a class, replayed on recorded spaces."`
	Learning      benchLearning      `cmd:"" help:"Models that pick configurations for stencils that they have not seen, on recordings."`
	LearningPlots benchLearningPlots `cmd:"" help:"Pictures of how well models predict for stencils that they have not seen."`
	Picks         benchPicks         `cmd:"" help:"What models pick for kernels that they have not learned from, measured on a device."`
	Ranking       benchRanking       `cmd:"" help:"How long it takes a core to rank the configurations of kernels."`
	Lift          benchLift          `cmd:"" help:"Which variants of Lift's programs are run first, by models of the others, before anything is compiled."`
	OmniTune      benchOmniTune      `cmd:"" name:"omnitune" help:"Models that pick work-group sizes, on scenarios measured for Cummins et al. 2018."`
	Proof         benchProof         `cmd:"" name:"proof" help:"Random programs on the reference executor and on the CPU, every cell compared."`
}

func (c *benchCmd) Help() string {
	return `Examples:

	gridloom bench cpu --json bench/results/cpu-spatial.json
	gridloom bench proof --programs 100`
}

// record is the option of suites whose rows are kept.
type record struct {
	JSON string `name:"json" help:"Also write the rows to a file." placeholder:"FILE"`
}

// check reports whether the rows can be kept, before they are measured.
func (r *record) check() error {
	if r.JSON == "" {
		return nil
	}
	return gridio.CheckFile(r.JSON)
}

// keep writes the rows, if the user wants them kept.
func (r *record) keep(rows any) error {
	if r.JSON == "" {
		return nil
	}
	text, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return gridio.WriteFile(r.JSON, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n", text)
		return err
	})
}

type benchCPU struct {
	record `embed:""`
	Case   string `help:"Only this case: star7, box27, star5 or himeno, or as results call it."`
	Pairs  int    `default:"15" help:"Interleaved measurements of each case; at least 9."`
}

func (c *benchCPU) Help() string {
	return `Each case runs generated code and a hand-written loop nest in turn, each the best of its
variants, with copies between; the ratio is the median over the pairs.

Examples:

	gridloom bench cpu
	gridloom bench cpu --case himeno
	gridloom bench cpu --json bench/results/cpu-spatial.json`
}

func (c *benchCPU) Run(a *app) error {
	if c.Pairs < 9 {
		return usage("--pairs %d: at least 9 are needed", c.Pairs)
	}
	if c.Case != "" && !bench.HasCPUCase(c.Case) {
		return usage("--case %s: there are only %s", c.Case, strings.Join(bench.CPUCases(), ", "))
	}
	if err := c.check(); err != nil {
		return err
	}
	rows, err := bench.CPU(a.ctx, bench.CPUOptions{Case: c.Case, Pairs: c.Pairs, Commit: a.commit(), Log: a.stderr})
	if err != nil {
		return err
	}
	for _, r := range rows {
		fmt.Fprintf(a.stdout, "%-16s %-7s %-13s %8.3f GStencil/s  %5.1f %% of copy  %.3f of OpenMP (%.3f to %.3f)\n",
			r.Case, r.DType, r.Grid, r.GStencils, 100*r.FractionOfCopy, r.Ratio, r.RatioLow, r.RatioHigh)
	}
	return c.keep(rows)
}

// commit names the source that this binary was built from: what Go noted, or
// the working tree's commit if it runs in one.
func (a *app) commit() string {
	if rev := revision(); rev != "" {
		return rev
	}
	var out strings.Builder
	git, err := exec.LookPath("git")
	if err == nil {
		describe := []string{"describe", "--always", "--dirty=+changes", "--abbrev=12", "--exclude=*"}
		_, err = child.Program{Path: git, Args: describe, Stdout: &out}.Run(a.ctx)
	}
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(out.String())
}

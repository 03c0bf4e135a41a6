package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/run/gridio"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/eval/proof"
	"github.com/gridloom/gridloom/internal/tune/versions"
)

type benchProof struct {
	record   `embed:""`
	Target   string        `default:"cpu" enum:"cpu,gpu" help:"What kernels are for: cpu runs them, gpu simulates them. Default: cpu." placeholder:"KIND"`
	Programs int           `default:"1000" help:"How many random programs, on the CPU."`
	Pairs    int           `default:"1000" help:"How many random programs with a random plan each, for GPUs."`
	Spans    bool          `help:"Programs of time loops, with kernels of several of their iterations."`
	DAGs     bool          `name:"dags" help:"Programs of calls whose statements are graphs, with random fissions and random sets of calls in kernels."`
	Fission  string        `default:"" enum:",maxfuse,trivial,recompute,statements,cire,inline,retime" help:"With --dags: this version of all programs, and not a random one." placeholder:"VERSION"`
	Seed     uint64        `default:"1" help:"Seed of the first program; the others follow."`
	Device   string        `help:"Run plans of the examples on this GPU: cuda:0, opencl:0 and so on." placeholder:"DEVICE"`
	Plans    int           `default:"200" help:"How many random plans of each example, on a device."`
	Examples string        `default:"examples" help:"The folder of the examples." placeholder:"DIR"`
	Cells    int64         `default:"268435456" help:"How many cells grids have, about, with --device and --spans." placeholder:"COUNT"`
	Sanitize int           `default:"24" help:"How many plans compute-sanitizer watches on a GPU, if it is installed."`
	Jobs     int           `help:"How many at a time; as many as processors if it is not given." placeholder:"COUNT"`
	Budget   time.Duration `help:"Stop after this long." placeholder:"DURATION"`
	GoOn     bool          `help:"Go on where the proof that --json has kept ended, and add to it: after --budget, or for GPUs after Ctrl-C, too."`
	Every    int           `default:"50" help:"One pair of so many also runs on PoCL and under Oclgrind, and its CUDA is compiled by clang; 0 for none."`
}

func (c *benchProof) Help() string {
	return `Random programs over the whole language run on the reference executor and on the CPU, at many
sizes, and every cell is compared: bit for bit under strict arithmetic, else within bounds that
the reference executor derives.

With --target gpu each program has a random plan for GPUs and runs in a simulator, which reports
races and accesses outside of arrays, too. An interrupt keeps what was done; the last line says
the seed to go on with.

With --spans the programs are time loops, and random plans have kernels of several iterations;
those for the CPU run in the simulator as well.

With --dags the programs have 10 to 60 statements in several calls, that pass grids on to each
other. Random fissions split and join their stencils, and random sets of calls share kernels, with
gaps and without. They run in the simulator, and every cell is the same to the bit as in the
program as it was.

With --device random plans of the examples run on a GPU; with --spans, random time loops on grids
of --cells cells, whose spans have to leave the bits that single iterations leave.

Examples:

	gridloom bench proof --programs 10000 --json bench/results/proof.json
	gridloom bench proof --target gpu --pairs 20000 --budget 1h
	gridloom bench proof --target gpu --spans --pairs 10000 --json bench/results/proof-spans.json
	gridloom bench proof --spans --programs 1000 --json bench/results/proof-spans-cpu.json
	gridloom bench proof --dags --pairs 5000 --json bench/results/proof-dags.json
	gridloom bench proof --device cuda:0 --plans 200 --json bench/results/proof-gpu.json
	gridloom bench proof --device cuda:0 --spans --pairs 200 --json bench/results/proof-spans-gpu.json`
}

func (c *benchProof) Run(a *app) error {
	collectLess()
	if err := c.check(); err != nil {
		return err
	}
	if c.GoOn && c.JSON == "" {
		return usage("--go-on takes up a proof that --json FILE has kept")
	}
	if c.Jobs == 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	switch {
	case c.DAGs:
		return c.dags(a)
	case c.Device != "" && c.Spans:
		return c.deviceSpans(a)
	case c.Device != "":
		return c.device(a)
	case c.Target == "gpu":
		return c.gpu(a)
	}
	return c.cpu(a)
}

// cpu proves the kernels for the processor.
func (c *benchProof) cpu(a *app) error {
	var earlier proof.Result
	if err := c.takeUp(&earlier); err != nil {
		return err
	}
	if c.GoOn {
		if earlier.NextSeed == 0 {
			return usage("--go-on: %s does not say where it ended: prove anew", c.JSON)
		}
		c.Programs -= int(earlier.NextSeed - earlier.FirstSeed)
		c.Seed = earlier.NextSeed
		if c.Programs <= 0 {
			return usage("--go-on: %s has %d programs already", c.JSON, earlier.Programs)
		}
	}
	r, err := proof.CPU(a.ctx, proof.Options{
		Programs: c.Programs, Seed: c.Seed, Budget: c.Budget, Workers: c.Jobs, Log: a.stderr,
		Spans: c.Spans,
	})
	if err != nil {
		return err
	}
	r.Commit = proof.Names{a.commit()}
	if c.GoOn {
		if err := r.After(&earlier); err != nil {
			return usage("--go-on: %v", err)
		}
	}
	fmt.Fprintf(a.stdout, "%d programs, %d runs, %d kernels, %d cells compared: "+
		"%d runs equal bit for bit, %d within their bounds, %d failures\n",
		r.Programs, r.Runs, r.Kernels, r.Cells, r.Strict, r.Bounded, len(r.Failures))
	c.showSpans(a, r.Spans)
	if err := c.keep(r); err != nil {
		return err
	}
	for _, f := range r.Failures {
		fmt.Fprintf(a.stderr, "seed %d (--fp %s, plan %s, %v): %s\n", f.Seed, f.Mode, f.Plan, f.Set, f.Reason)
	}
	return a.verdict(len(r.Failures))
}

// verdict turns failures, which have been shown, into an exit status.
func (a *app) verdict(failures int) error {
	switch {
	case failures > 0:
		return failf(exitCheck, "the proof failed")
	case a.ctx.Err() != nil:
		return failf(exitInterrupted, "interrupted")
	}
	return nil
}

// gpu proves the kernels for GPUs in the simulator.
func (c *benchProof) gpu(a *app) error {
	var earlier proof.GPUResult
	if err := c.takeUp(&earlier); err != nil {
		return err
	}
	if c.GoOn {
		again, err := earlier.Again(a.ctx)
		if err != nil {
			return err
		}
		c.Pairs -= int(earlier.NextSeed - earlier.FirstSeed)
		c.Seed = earlier.NextSeed
		if c.Pairs <= 0 && again == 0 {
			return usage("--go-on: %s has %d pairs already", c.JSON, earlier.Pairs)
		}
	}
	r, err := proof.GPU(a.ctx, proof.GPUOptions{
		Pairs: max(0, c.Pairs), Seed: c.Seed, Budget: c.Budget, Every: c.Every, Workers: c.Jobs, Log: a.stderr,
		Spans: c.Spans,
	})
	if err != nil {
		return err
	}
	r.Commit = proof.Names{a.commit()}
	if c.GoOn {
		if err := r.After(&earlier); err != nil {
			return usage("--go-on: %v", err)
		}
		c.Pairs += int(earlier.NextSeed - earlier.FirstSeed)
		c.Seed = earlier.FirstSeed
	}
	fmt.Fprintf(a.stdout, "%d pairs, %d runs (%d of three tiles on every axis), "+
		"%d kernels, %d cells compared: %d runs equal bit for bit, %d within their bounds\n",
		r.Pairs, r.Runs, r.Tiled, r.Kernels, r.Cells, r.Strict, r.Bounded)
	fmt.Fprintf(a.stdout, "%d runs on PoCL (and %d given up), %d programs under Oclgrind, "+
		"%d CUDA kernels compiled by clang; %d failures\n",
		r.PoCL, r.Slow, r.Oclgrind, r.Clang, len(r.Failures))
	c.showSpans(a, r.Spans)
	for _, f := range slices.Concat(r.PoCLFaults, r.OclgrindCrashes) {
		fmt.Fprintf(a.stdout, "seed %d: no failure, but a mistake of who judged it: %s\n", f.Seed, f.Said)
	}
	for _, m := range r.Missing {
		fmt.Fprintf(a.stdout, "without %s\n", m)
	}
	if r.Pairs < c.Pairs {
		fmt.Fprintf(a.stdout, "to go on: --seed %d --pairs %d\n", r.NextSeed, c.Pairs-int(r.NextSeed-c.Seed))
	}
	if err := c.keep(r); err != nil {
		return err
	}
	return a.verdict(len(r.Failures))
}

// showSpans says what was proven of spans, if they were asked for.
func (c *benchProof) showSpans(a *app, s *proof.SpanResult) {
	if s != nil {
		fmt.Fprintf(a.stdout, "%d pairs with spans, %d runs that carried out all of a plan, %d spans carried out\n",
			s.Pairs, s.Runs, s.Carried)
	}
}

// takeUp reads the proof to go on with, if there is to be one.
func (c *benchProof) takeUp(earlier any) error {
	if !c.GoOn {
		return nil
	}
	text, err := gridio.ReadSmall(c.JSON, maxStory)
	if err != nil {
		return gridio.Named(c.JSON, err)
	}
	if err := json.Unmarshal(text, earlier); err != nil {
		return usage("--go-on: %s is not the result of a proof: %v", c.JSON, err)
	}
	var under versions.Set
	if err := json.Unmarshal(text, &under); err != nil {
		return usage("--go-on: %s is not the result of a proof: %v", c.JSON, err)
	}
	if under = under.Complete(); !under.IsCurrent() {
		return usage("--go-on: %s was made under %s, and this Gridloom has %s", c.JSON, under.Definitions(),
			versions.Current().Definitions()).hintf("prove anew, without --go-on")
	}
	return nil
}

// deviceOfGPUs refuses devices whose kernels are not those for GPUs.
func (c *benchProof) deviceOfGPUs() error {
	if kind, _, err := target.Parse(c.Device); err != nil || target.KindOf(kind.Dialect) != lower.GPU {
		return usage("--device %s: kernels for GPUs run on cuda:0, opencl:0 and so on", c.Device)
	}
	return nil
}

// deviceSpans proves kernels of several iterations on a GPU.
func (c *benchProof) deviceSpans(a *app) error {
	if err := c.deviceOfGPUs(); err != nil {
		return err
	}
	var earlier proof.DeviceSpanResult
	if err := c.takeUp(&earlier); err != nil {
		return err
	}
	if c.GoOn {
		c.Pairs -= int(earlier.NextSeed - earlier.FirstSeed)
		c.Seed = earlier.NextSeed
		if c.Pairs <= 0 {
			return usage("--go-on: %s has %d pairs already", c.JSON, earlier.Pairs)
		}
	}
	r, err := proof.DeviceSpans(a.ctx, proof.DeviceSpanOptions{
		Device: c.Device, Pairs: c.Pairs, Seed: c.Seed, Cells: c.Cells, Workers: c.Jobs, Budget: c.Budget,
		Sanitize: c.Sanitize, Log: a.stderr,
	})
	if err != nil {
		return failf(exitDevice, "%w", err)
	}
	r.Commit = proof.Names{a.commit()}
	if c.GoOn {
		if err := r.After(&earlier); err != nil {
			return usage("--go-on: %v", err)
		}
	}
	fmt.Fprintf(a.stdout, "%s (%s): %d pairs (%d refused), grids of up to %d cells, %d cells equal bit for bit; "+
		"%d failures\n", r.Device, r.Name, r.Pairs, r.Refused, r.Largest, r.Cells, len(r.Failures))
	c.showSpans(a, r.Spans)
	switch {
	case r.Missing != "":
		fmt.Fprintf(a.stdout, "not done: %s\n", r.Missing)
	case r.Sanitized > 0:
		fmt.Fprintf(a.stdout, "%s under compute-sanitizer\n", count(r.Sanitized, "run"))
	}
	if err := c.keep(r); err != nil {
		return err
	}
	return a.verdict(len(r.Failures))
}

// device proves the kernels of the examples on a GPU.
func (c *benchProof) device(a *app) error {
	if err := c.deviceOfGPUs(); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(c.Examples, "*.loom"))
	if err != nil || len(files) == 0 {
		return usage("--examples %s: the folder has no .loom files", c.Examples)
	}
	var earlier proof.DeviceResult
	if err := c.takeUp(&earlier); err != nil {
		return err
	}
	if c.GoOn {
		c.Plans -= int(earlier.NextSeed - earlier.FirstSeed)
		c.Seed = earlier.NextSeed
		if c.Plans <= 0 {
			return usage("--go-on: %s has %d plans of %d programs already", c.JSON, earlier.Plans, earlier.Programs)
		}
	}
	o := proof.DeviceOptions{
		Device: c.Device, Plans: c.Plans, Seed: c.Seed,
		Workers: c.Jobs, Budget: c.Budget, Sanitize: c.Sanitize, Log: a.stderr,
	}
	for _, f := range files {
		text, err := gridio.ReadSmall(f, maxStory)
		if err != nil {
			return gridio.Named(f, err)
		}
		o.Sources = append(o.Sources, diag.NewSource(f, string(text)))
	}
	r, err := proof.Device(a.ctx, o)
	if err != nil {
		return failf(exitDevice, "%w", err)
	}
	r.Commit = proof.Names{a.commit()}
	if c.GoOn {
		if err := r.After(&earlier); err != nil {
			return usage("--go-on: %v", err)
		}
	}
	fmt.Fprintf(a.stdout, "%s (%s): %d programs, %d plans (%d refused), "+
		"%d runs (%d of three tiles on every axis), %d kernels, %d cells compared: "+
		"%d runs equal bit for bit, %d within their bounds\n",
		r.Device, r.Name, r.Programs, r.Plans, r.Refused, r.Runs, r.Tiled, r.Kernels, r.Cells, r.Strict, r.Bounded)
	fmt.Fprintf(a.stdout, "%d runs under compute-sanitizer; %d failures\n", r.Sanitized, len(r.Failures))
	for _, m := range r.Missing {
		fmt.Fprintf(a.stdout, "without %s\n", m)
	}
	if err := c.keep(r); err != nil {
		return err
	}
	return a.verdict(len(r.Failures))
}

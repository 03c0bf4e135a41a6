package cli

import (
	"fmt"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/tune/proof"
)

type benchProof struct {
	record   `embed:""`
	Target   string        `default:"cpu" enum:"cpu,gpu" help:"What kernels are for: cpu runs them, gpu simulates them. Default: cpu." placeholder:"KIND"`
	Programs int           `default:"1000" help:"How many random programs, on the CPU."`
	Pairs    int           `default:"1000" help:"How many random programs with a random plan each, for GPUs."`
	Seed     uint64        `default:"1" help:"Seed of the first program; the others follow."`
	Budget   time.Duration `help:"Stop after this long." placeholder:"DURATION"`
	Every    int           `default:"50" help:"One pair of so many also runs on PoCL and under Oclgrind, and its CUDA is compiled by clang; 0 for none."`
}

func (c *benchProof) Help() string {
	return `Random programs over the whole language run on the reference executor and on the CPU, at many
sizes, and every cell is compared: bit for bit under strict arithmetic, else within bounds that
the reference executor derives.

With --target gpu each program has a random plan for GPUs and runs in a simulator, which reports
races and accesses outside of arrays, too. An interrupt keeps what was done; the last line says
the seed to go on with.

Examples:

	gridloom bench proof --programs 10000 --json bench/results/proof.json
	gridloom bench proof --target gpu --pairs 20000 --budget 1h`
}

func (c *benchProof) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Target == "gpu" {
		return c.gpu(a)
	}
	r, err := proof.CPU(a.ctx, proof.Options{
		Programs: c.Programs, Seed: c.Seed, Budget: c.Budget, Workers: runtime.GOMAXPROCS(0), Log: a.stderr,
	})
	if err != nil {
		return err
	}
	r.Commit = a.commit()
	fmt.Fprintf(a.stdout, "%d programs, %d runs, %d kernels, %d cells compared: %d runs equal bit for bit, %d within their bounds, %d failures\n",
		r.Programs, r.Runs, r.Kernels, r.Cells, r.Strict, r.Bounded, len(r.Failures))
	if err := c.keep(r); err != nil {
		return err
	}
	for _, f := range r.Failures {
		fmt.Fprintf(a.stderr, "seed %d (--fp %s, plan %s, %v): %s\n", f.Seed, f.Mode, f.Plan, f.Set, f.Reason)
	}
	return verdict(len(r.Failures))
}

// verdict turns failures, which have been shown, into an exit status.
func verdict(failures int) error {
	if failures > 0 {
		return failf(exitCheck, "the proof failed")
	}
	return nil
}

// gpu proves the kernels for GPUs in the simulator.
func (c *benchProof) gpu(a *app) error {
	r, err := proof.GPU(a.ctx, proof.GPUOptions{
		Pairs: c.Pairs, Seed: c.Seed, Budget: c.Budget, Every: c.Every, Workers: runtime.GOMAXPROCS(0), Log: a.stderr,
	})
	if err != nil {
		return err
	}
	r.Commit = a.commit()
	fmt.Fprintf(a.stdout, "%d pairs, %d runs (%d of three tiles on every axis), %d kernels, %d cells compared: %d runs equal bit for bit, %d within their bounds\n",
		r.Pairs, r.Runs, r.Tiled, r.Kernels, r.Cells, r.Strict, r.Bounded)
	fmt.Fprintf(a.stdout, "%d runs on PoCL (and %d given up), %d programs under Oclgrind, %d CUDA kernels compiled by clang; %d failures\n",
		r.PoCL, r.Slow, r.Oclgrind, r.Clang, len(r.Failures))
	for _, m := range r.Missing {
		fmt.Fprintf(a.stdout, "without %s\n", m)
	}
	if r.Pairs < c.Pairs {
		fmt.Fprintf(a.stdout, "to go on: --seed %d --pairs %d\n", r.NextSeed, c.Pairs-int(r.NextSeed-c.Seed))
	}
	if err := c.keep(r); err != nil {
		return err
	}
	return verdict(len(r.Failures))
}

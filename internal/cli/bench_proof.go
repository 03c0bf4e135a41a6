package cli

import (
	"fmt"
	"runtime"
	"time"

	"github.com/gridloom/gridloom/internal/tune/proof"
)

type benchProof struct {
	record   `embed:""`
	Programs int           `default:"1000" help:"How many random programs."`
	Seed     uint64        `default:"1" help:"Seed of the first program; the others follow."`
	Budget   time.Duration `help:"Stop after this long." placeholder:"DURATION"`
}

func (c *benchProof) Help() string {
	return `Random programs over the whole language run on the reference executor and on the CPU, at many
sizes, and every cell is compared: bit for bit under strict arithmetic, else within bounds that
the reference executor derives.

Examples:

	gridloom bench proof --programs 10000 --json bench/results/proof.json`
}

func (c *benchProof) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
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
	if len(r.Failures) > 0 {
		return failf(exitCheck, "the proof failed")
	}
	return nil
}

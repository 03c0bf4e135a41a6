package cli

import (
	"fmt"

	"github.com/gridloom/gridloom/internal/tune/eval/proof"
)

// dags proves fusion and fission of random graphs of statements.
func (c *benchProof) dags(a *app) error {
	if c.Spans || c.Device != "" {
		return usage("--dags is a proof of its own, in the simulator: leave --spans and --device out")
	}
	var earlier proof.DAGResult
	if err := c.takeUp(&earlier); err != nil {
		return err
	}
	if c.GoOn {
		c.Pairs -= int(earlier.NextSeed - earlier.FirstSeed)
		c.Seed = earlier.NextSeed
		if c.Pairs <= 0 {
			return usage("--go-on: %s has %d programs already", c.JSON, earlier.NextSeed-earlier.FirstSeed)
		}
	}
	r := proof.DAGs(a.ctx, proof.DAGOptions{
		Pairs: c.Pairs, Seed: c.Seed, Budget: c.Budget, Workers: c.Jobs, Log: a.stderr,
		Fission: c.Fission,
	})
	r.Commit = proof.Names{a.commit()}
	if c.GoOn {
		if err := r.After(&earlier); err != nil {
			return usage("--go-on: %v", err)
		}
	}
	refused := 0
	for _, x := range r.Refused {
		refused += x.Times
	}
	fmt.Fprintf(a.stdout, "%d pairs (and %d refused), %d kernels, %d spans carried out, %d cells equal bit for bit; "+
		"%d failures\n", r.Pairs, refused, r.Kernels, r.Carried, r.Cells, len(r.Failures))
	for _, k := range r.Kinds.Values {
		fmt.Fprintf(a.stdout, "  %d of %s\n", k.Times, k.Value)
	}
	if err := c.keep(r); err != nil {
		return err
	}
	return a.verdict(len(r.Failures))
}

package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
)

type benchComplex struct {
	record      `embed:""`
	searchFlags `embed:""`
	Case        []string `help:"Only these cases: names of examples." placeholder:"NAME"`
	Size        int64    `help:"The size of every axis, in place of the cases'." placeholder:"N"`
}

func (c *benchComplex) Help() string {
	return `Tunes the eleven complex stencils of Rawat et al. 2019 and Chebyshev's iteration as tune does where nothing is
known, and tells for each how many points a second its best plan computes, and by which kernels. The search of a case
takes 180 s if neither --budget nor --trials is given. Cases that the file of --json has from this commit are left out.

Examples:

	gridloom bench complex --within 9m --json bench/results/complex-h200.json
	gridloom bench complex --case hypterm --budget 60s
	gridloom bench complex --json bench/results/complex-h200.json --table`
}

// complexBudget is what the search of a case may take if nobody says otherwise.
const complexBudget = 180 * time.Second

func (c *benchComplex) Run(a *app) error {
	collectLess()
	search, err := c.search(a, c.JSON, complexBudget)
	if err != nil {
		return err
	}
	var have []contest.ComplexRow
	if c.JSON != "" {
		if have, err = contest.ReadComplex(c.JSON); err != nil {
			return err
		}
	}
	if c.Table {
		contest.WriteComplex(a.stdout, have)
		contest.WriteShortComplex(a.stdout, have)
		return nil
	}
	if c.Size < 0 {
		return usage("--size %d: a size is positive", c.Size)
	}
	cases := slices.DeleteFunc(slices.Clone(contest.ComplexCases), func(x contest.ComplexCase) bool {
		return len(c.Case) > 0 && !slices.Contains(c.Case, x.Name)
	})
	if len(cases) == 0 {
		return usage("--case %s: there is no such case", strings.Join(c.Case, ", "))
	}
	if err := c.check(); err != nil {
		return err
	}
	rows, err := contest.Complex(a.ctx, contest.ComplexOptions{
		Search: search, Sources: examples.FS, Cases: cases, Size: c.Size, Have: have,
		Each: func(r contest.ComplexRow) error {
			if c.JSON == "" {
				return nil
			}
			return contest.MergeComplex(c.JSON, r)
		},
	})
	if len(rows) > 0 {
		contest.WriteComplex(a.stdout, rows)
		contest.WriteShortComplex(a.stdout, rows)
	}
	return err
}

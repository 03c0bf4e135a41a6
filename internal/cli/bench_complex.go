package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/tune/eval/contest"
	tunesearch "github.com/gridloom/gridloom/internal/tune/search"
)

type benchComplex struct {
	record      `embed:""`
	searchFlags `embed:""`
	Case        []string `help:"Only these cases: names of examples." placeholder:"NAME"`
	Size        int64    `help:"The size of every axis, in place of the cases'." placeholder:"N"`
	Strategy    string   `help:"Another strategy than tune takes: hierarchical tries only what is promising." placeholder:"NAME"`
	Versions    bool     `help:"Measure versions of each case, with and without shared memory and optimisations (figures 5 and 6, table III), each for 15 s if nobody says otherwise."`
	Version     []string `help:"With --versions: only these: global-base, global-block, global-unroll, global, global-stream, shared-base, shared-block, shared-unroll, shared, cire, inline, tuned." placeholder:"NAME"`
}

func (c *benchComplex) Help() string {
	return `Tunes the eleven complex stencils of Rawat et al. 2019 and Chebyshev's iteration as tune does where nothing is
known, and tells for each how many points a second its best plan computes, and by which kernels. The search of a case
takes 180 s if neither --budget nor --trials is given. Cases that the file of --json has from this commit are left out.

Examples:

	gridloom bench complex --within 9m --json bench/results/complex-h200.json
	gridloom bench complex --case hypterm --budget 60s
	gridloom bench complex --json bench/results/complex-h200.json --table
	gridloom bench complex --strategy hierarchical --budget 60s --json bench/results/complex-hierarchical-h200.json
	gridloom bench complex --versions --within 8m --json bench/results/complex-versions-h200.json`
}

// versionBudget is the same of a version.
const versionBudget = 15 * time.Second

// complexBudget is what the search of a case may take if nobody says otherwise.
const complexBudget = 180 * time.Second

func (c *benchComplex) Run(a *app) error {
	collectLess()
	usual := complexBudget
	if c.Versions {
		usual = versionBudget
	} else if len(c.Version) > 0 {
		return usage("--version is for --versions")
	}
	search, err := c.search(a, c.JSON, usual)
	if err != nil {
		return err
	}
	if search.Strategy = c.Strategy; c.Strategy != "" {
		if err := tunesearch.Check(c.Strategy); err != nil {
			return usage("--strategy %s: %v", c.Strategy, err)
		}
	}
	if c.Versions {
		return c.versions(a, search)
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
	cases, err := c.cases()
	if err != nil {
		return err
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

// cases returns those that the flags name.
func (c *benchComplex) cases() ([]contest.ComplexCase, error) {
	if c.Size < 0 {
		return nil, usage("--size %d: a size is positive", c.Size)
	}
	cases := slices.DeleteFunc(slices.Clone(contest.ComplexCases), func(x contest.ComplexCase) bool {
		return len(c.Case) > 0 && !slices.Contains(c.Case, x.Name)
	})
	if len(cases) == 0 {
		return nil, usage("--case %s: there is no such case", strings.Join(c.Case, ", "))
	}
	return cases, nil
}

// versions measures the versions of the cases, row by row.
func (c *benchComplex) versions(a *app, search contest.Search) error {
	var have []contest.ComplexVersionRow
	var err error
	if c.JSON != "" {
		if have, err = contest.ReadComplexVersions(c.JSON); err != nil {
			return err
		}
	}
	if c.Table {
		contest.WriteComplexVersions(a.stdout, have)
		return nil
	}
	cases, err := c.cases()
	if err != nil {
		return err
	}
	for _, name := range c.Version {
		of := func(v contest.ComplexVersion) bool { return v.Name == name }
		if !slices.ContainsFunc(contest.ComplexVersions, of) {
			return usage("--version %s: there is no such version", name)
		}
	}
	if err := c.check(); err != nil {
		return err
	}
	rows, err := contest.Versions(a.ctx, contest.ComplexVersionsOptions{
		ComplexOptions: contest.ComplexOptions{Search: search, Sources: examples.FS, Cases: cases, Size: c.Size},
		Versions:       c.Version, Rows: have,
		Keep: func(r contest.ComplexVersionRow) error {
			if c.JSON == "" {
				return nil
			}
			return contest.MergeComplexVersions(c.JSON, r)
		},
	})
	if len(rows) > 0 {
		contest.WriteComplexVersions(a.stdout, rows)
	}
	return err
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/types"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/tune/eval/learning"
	"github.com/gridloom/gridloom/internal/tune/predict"
)

type benchLift struct {
	record     `embed:""`
	Recordings string   `required:"" help:"The folder of the recordings of the programs: gridloom record lift makes them." placeholder:"DIR"`
	Device     string   `help:"Only what was measured on this device: a part of its name." placeholder:"NAME"`
	Program    []string `help:"Only these programs. Models learn from no others." placeholder:"NAME"`
	Size       string   `help:"Only programs of this size: cells on each axis, or on all axes, outermost first." placeholder:"N[xN...]"`
	Type       string   `help:"Only programs whose grids are all of this type." placeholder:"TYPE"`
}

func (c *benchLift) Help() string {
	return `Repeats what Remmelg et al. 2020 report, on recordings of their programs: a model of the other programs ranks the variants of each, by what is counted on the kernels before they are compiled; how many are run until one has 0.9, 0.95 and 0.99 of the best, how long that takes, and what the best has after some runs, against random orders; and how much each feature tells of the speed. Beside it are one that knows nothing, a table of each configuration's mean over the other programs, neighbours without components, and boosted trees, of the same features and of those of program and configuration. Intervals are of programs drawn anew.

Examples:

	gridloom record lift --recordings bench/recordings --size 4096
	gridloom bench lift --recordings bench/recordings/lift --json bench/results/lift-h200.json
	gridloom bench lift --recordings bench/recordings/lift --size 4096 --type float`
}

func (c *benchLift) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	list, err := engine.Recordings(a.ctx, c.Recordings, c.Device)
	if err != nil {
		return err
	}
	if list, err = c.wanted(list); err != nil {
		return err
	}
	r, err := learning.Lift(a.ctx, list, a.commit(), a.stderr)
	if err != nil {
		return err
	}
	if err := learning.WriteLift(a.stdout, r); err != nil {
		return err
	}
	return c.keep(r)
}

// wanted returns those of some kernels that are asked for.
func (c *benchLift) wanted(list []*predict.Recorded) ([]*predict.Recorded, error) {
	var there []string
	for _, r := range list {
		there = append(there, fmt.Sprintf("%s %s %s", r.Name, r.Types(), r.Sizes()))
	}
	for _, name := range c.Program {
		if !slices.ContainsFunc(list, func(r *predict.Recorded) bool { return r.Name == name }) {
			return nil, usage("--program %s: no kernel of this name was recorded", name).
				hintf("there is %s", strings.Join(there, ", "))
		}
	}
	var sizes []int
	if c.Size != "" {
		var err error
		if sizes, err = parseSize(c.Size); err != nil {
			return nil, err
		}
	}
	typ, ok := types.FromWord(c.Type)
	if c.Type != "" && !ok {
		return nil, usage("--type %s: no type is called that", c.Type)
	}
	list = slices.DeleteFunc(slices.Clone(list), func(r *predict.Recorded) bool {
		return len(c.Program) > 0 && !slices.Contains(c.Program, r.Name) ||
			sizes != nil && !isOfSize(r.Bound.Params, sizes) || c.Type != "" && r.Types() != typ.String()
	})
	if len(list) == 0 {
		return nil, usage("no program of this name, size and type was recorded").
			hintf("there is %s", strings.Join(there, ", "))
	}
	return list, nil
}

// isOfSize reports whether a program's parameters are some sizes, or all the only one.
func isOfSize(params []int64, sizes []int) bool {
	if len(sizes) == 1 {
		return !slices.ContainsFunc(params, func(n int64) bool { return n != int64(sizes[0]) })
	}
	return slices.EqualFunc(params, sizes, func(n int64, size int) bool { return n == int64(size) })
}

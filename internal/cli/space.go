package cli

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/quantity"
)

type spaceCmd struct {
	File    string   `arg:"" help:"Source file; - reads standard input."`
	Set     []string `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Device  string   `short:"d" help:"Kernels for a device of this machine: cpu, cuda:0, opencl:0 and so on." placeholder:"DEVICE" xor:"for"`
	Machine string   `help:"Kernels for a machine that need not be here: a built-in one (${machines}) or a JSON file. Default: h200." placeholder:"NAME|FILE.json" xor:"for"`
	Target  string   `default:"cuda" enum:"cuda,opencl" help:"What kernels for a GPU are written in: cuda or opencl. Default: cuda." placeholder:"LANGUAGE"`
	Plan    string   `help:"Settings that stay as they are, such as local=fused." placeholder:"PLAN"`
	FP      string   `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic that the kernels may use: strict, contract or fast. Default: contract." placeholder:"MODE"`
	Count   bool     `help:"Print the number of configurations alone."`
	Sample  int      `help:"Print so many plans, drawn with equal chance." placeholder:"N"`
	Seed    uint64   `default:"1" help:"Draw other plans. Default: 1." placeholder:"N"`
	JSON    bool     `name:"json" help:"Print as JSON."`

	spaceFlags `embed:""`
}

func (c *spaceCmd) Help() string {
	return `Shows the kernels of a program, the configurations that each may have, and how many of them every constraint leaves out. What the source fixes is not counted.

Examples:

	gridloom space examples/heat3d.loom
	gridloom space examples/heat3d.loom --fix family=planes --limit vec<=4 --count
	gridloom space examples/heat3d.loom --sample 10 --seed 7
	gridloom space examples/heat3d.loom --device cpu`
}

func (c *spaceCmd) Run(a *app) error {
	if c.Sample < 0 {
		return usage("--sample %d: a number of plans is positive", c.Sample)
	}
	v, b, err := a.version(c.File, c.FP, c.Plan, c.Set)
	if err != nil {
		return err
	}
	src, p := v.Source, v.Program
	o, err := c.options(b, v.Plan)
	if err != nil {
		return err
	}
	choices, err := lower.Choices(p, o)
	if err != nil {
		return engine.BadPlan(o.Plan, err)
	}
	a.hints(src, p, o)
	notes, err := c.restrict(o.Plan, choices)
	if err != nil {
		return err
	}
	for _, text := range notes {
		fmt.Fprintf(a.stderr, "note: %s\n", text)
	}
	switch {
	case c.Sample > 0:
		return c.sample(a, choices, v.Name)
	case c.JSON:
		return a.printJSON(newSpaces(choices))
	case c.Count:
		fmt.Fprintln(a.stdout, plans(choices))
	default:
		return printSpaces(a, choices)
	}
	return nil
}

// options returns how the program is lowered.
func (c *spaceCmd) options(b *ir.Binding, plan schedule.Plan) (lower.Options, error) {
	t, err := paperTarget(c.Device, c.Machine, c.Target, b.Program.Arithmetic)
	if err != nil {
		return lower.Options{}, err
	}
	o := t.Lowering(b, plan)
	o.Free, o.AnyIntegers = c.Free, c.AnyIntegers
	return o, nil
}

// hints warns of what the source asks of kernels and cannot have.
func (a *app) hints(src *diag.Source, p *ir.Program, o lower.Options) {
	if list, err := lower.Hints(p, o); err == nil {
		a.show(src, list)
	}
}

// plans returns the number of ways to choose a configuration for every kernel.
func plans(choices []lower.Choice) *big.Int {
	n := big.NewInt(1)
	for _, c := range choices {
		n.Mul(n, c.Space.Count())
	}
	return n
}

// sample prints plans, which name a version of the source. They may come up twice in small spaces.
func (c *spaceCmd) sample(a *app, choices []lower.Choice, version string) error {
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	var each []*schedule.Counter
	for _, k := range choices {
		each = append(each, k.Space.Counter())
	}
	list := []string{}
	for range c.Sample {
		var p schedule.Plan
		for i, k := range choices {
			k.Config = each[i].Draw(rng)
			p.Kernels = append(p.Kernels, k.Kernel)
		}
		list = append(list, p.WithFission(version).String())
	}
	if c.JSON {
		return a.printJSON(list)
	}
	for _, text := range list {
		fmt.Fprintln(a.stdout, text)
	}
	return nil
}

// spaces is what --json prints.
type spaces struct {
	Plans   *big.Int      `json:"plans"`
	Kernels []kernelSpace `json:"kernels"`
}

type kernelSpace struct {
	Kernel   string        `json:"kernel"`
	Count    *big.Int      `json:"configurations"`
	Default  string        `json:"default"`
	Families []familySpace `json:"families"`
}

type familySpace struct {
	Name        string            `json:"family"`
	Doc         string            `json:"doc"`
	Count       *big.Int          `json:"configurations"`
	Params      []paramSpace      `json:"parameters"`
	Constraints []constraintSpace `json:"constraints"`
}

type paramSpace struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Source  string   `json:"source,omitempty"`
	Values  []string `json:"values"`
	Default string   `json:"default"`
}

type constraintSpace struct {
	Name   string   `json:"name"`
	Doc    string   `json:"doc"`
	Params []string `json:"parameters"`
	Out    *big.Int `json:"leaves_out"`
}

func newSpaces(choices []lower.Choice) spaces {
	out := spaces{Plans: plans(choices), Kernels: []kernelSpace{}}
	for _, c := range choices {
		k := kernelSpace{
			Kernel: c.Name(), Count: c.Space.Count(), Default: c.Space.Default("").String(),
			Families: []familySpace{},
		}
		for i := range c.Space.Families {
			f := &c.Space.Families[i]
			fs := familySpace{
				Name: f.Name, Doc: f.Doc, Count: f.Count(),
				Params: []paramSpace{}, Constraints: []constraintSpace{},
			}
			for _, p := range f.Params {
				ps := paramSpace{p.Name, p.Doc, p.Source, nil, p.Default.String()}
				for _, v := range p.Values {
					ps.Values = append(ps.Values, v.String())
				}
				fs.Params = append(fs.Params, ps)
			}
			for _, cost := range f.ConstraintCosts() {
				t := cost.Constraint
				fs.Constraints = append(fs.Constraints, constraintSpace{t.Name, t.Doc, t.Params, cost.Out})
			}
			k.Families = append(k.Families, fs)
		}
		out.Kernels = append(out.Kernels, k)
	}
	return out
}

// printSpaces prints the spaces for people.
func printSpaces(a *app, choices []lower.Choice) error {
	s := newSpaces(choices)
	for _, k := range s.Kernels {
		fmt.Fprintf(a.stdout, "%s: %s\n", k.Kernel, configurations(k.Count))
		for _, f := range k.Families {
			fmt.Fprintf(a.stdout, "  family=%s: %s, %s\n", f.Name, configurations(f.Count), f.Doc)
			t := newTable(a, column{head: "    parameter"}, column{head: "values"})
			for _, p := range f.Params {
				if err := t.row("    "+p.Name, few(p.Values)); err != nil {
					return err
				}
			}
			if err := t.end(); err != nil {
				return err
			}
			for _, c := range f.Constraints {
				fmt.Fprintf(a.stdout, "    %s (%s) leaves out %s: %s\n",
					c.Name, strings.Join(c.Params, ", "), quantity.Big(c.Out), c.Doc)
			}
		}
	}
	fmt.Fprintf(a.stdout, "%s plans of %s\n", quantity.Big(s.Plans), count(len(s.Kernels), "kernel"))
	return nil
}

func configurations(n *big.Int) string {
	if n.Cmp(big.NewInt(1)) == 0 {
		return "1 configuration"
	}
	return quantity.Big(n) + " configurations"
}

// few names at most ten values.
func few(values []string) string {
	const most = 10
	if len(values) <= most {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(values[:most], ", "), len(values)-most)
}

package cli

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/engine"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/run/toolchain"
	"github.com/gridloom/gridloom/internal/tune/learn/features"
)

type featuresCmd struct {
	File     string   `arg:"" help:"Source file; - reads standard input."`
	Set      []string `help:"Give a size or a scalar its value (repeatable)." placeholder:"NAME=VALUE" sep:"none"`
	Device   string   `short:"d" help:"Kernels for a device of this machine: cpu, cuda:0, opencl:0 and so on." placeholder:"DEVICE" xor:"for"`
	Machine  string   `help:"Kernels for a machine that need not be here: a built-in one (${machines}) or a JSON file. Default: h200." placeholder:"NAME|FILE.json" xor:"for"`
	Target   string   `default:"cuda" enum:"cuda,opencl" help:"What kernels for a GPU are written in: cuda or opencl. Default: cuda." placeholder:"LANGUAGE"`
	Plan     string   `help:"Settings for the kernels, such as family=tile,vec=2; @FILE reads them from a file." placeholder:"PLAN"`
	FP       string   `name:"fp" default:"contract" enum:"strict,contract,fast" help:"Arithmetic that the kernels may use: strict, contract or fast. Default: contract." placeholder:"MODE"`
	OmniTune bool     `name:"omnitune" help:"Also print the features of OmniTune (Cummins et al. 2018) for each call: of the dataset, the kernel's instructions and the device. clang counts the instructions if it is installed."`
	JSON     bool     `name:"json" help:"Print as JSON."`
}

func (c *featuresCmd) Help() string {
	return `Prints the numbers by which learners know a program's kernels, as a plan makes them: of the program and of each configuration, which models predict from, and of the kernels, on which they are counted. Nothing is compiled, unless --omnitune asks clang. Every number stands with its unit and its meaning.

Examples:

	gridloom features examples/heat3d.loom
	gridloom features examples/heat3d.loom --plan family=tile,staging=all --json
	gridloom features examples/heat3d.loom --set N=512 --machine a100
	gridloom features examples/heat3d.loom --target opencl --plan family=cells --omnitune`
}

func (c *featuresCmd) Run(a *app) error {
	v, b, err := a.version(c.File, c.FP, c.Plan, c.Set)
	if err != nil {
		return err
	}
	t, err := paperTarget(c.Device, c.Machine, c.Target, b.Program.Arithmetic)
	if err != nil {
		return err
	}
	o := t.Lowering(b, v.Plan)
	o.AnyIntegers = false
	m, err := lower.Program(v.Program, o)
	if err != nil {
		return engine.BadPlan(o.Plan, err)
	}
	groups, err := paperFeatures(b, o)
	if err != nil {
		return engine.BadPlan(o.Plan, err)
	}
	variants, err := variantFeatures(m, b, o.Machine)
	if err != nil {
		return err
	}
	groups = append(groups, variants...)
	if c.OmniTune {
		more, err := omniTuneFeatures(a.ctx, m, b, t)
		if err != nil {
			return err
		}
		groups = append(groups, more...)
	}
	if c.JSON {
		return a.printJSON(groups)
	}
	return printFeatures(a, groups)
}

// featureGroup is what --json prints: the features of one thing of a kind.
type featureGroup struct {
	Group    string         `json:"group"`             // what is described: a program, a configuration, a variant
	Part     string         `json:"part,omitempty"`    // the kernel of the plan
	Kernel   string         `json:"kernel,omitempty"`  // the kernel that one of its launches runs
	Counted  string         `json:"counted,omitempty"` // who has counted the instructions of OmniTune's features
	Features []featureValue `json:"features"`
}

type featureValue struct {
	Name    string   `json:"feature"`
	Value   *float64 `json:"value"` // nil if it is not known
	Unit    string   `json:"unit"`
	Doc     string   `json:"doc"`
	Example string   `json:"example"`
	Source  string   `json:"source"`
}

// newFeatureGroup puts numbers to their features.
func newFeatureGroup(group string, of []features.Feature, values []float64) featureGroup {
	g := featureGroup{Group: group}
	for i, f := range of {
		v := &values[i]
		if math.IsNaN(*v) {
			v = nil
		}
		g.Features = append(g.Features, featureValue{f.Name, v, f.Unit, f.Doc, f.Example, f.Source})
	}
	return g
}

// paperFeatures describes the call of each kernel of the plan, and the kernel's configuration: what is known before
// anything is lowered.
func paperFeatures(b *ir.Binding, o lower.Options) ([]featureGroup, error) {
	choices, err := lower.Choices(b.Program, o)
	if err != nil {
		return nil, err
	}
	list := []featureGroup{}
	for _, c := range choices {
		i := slices.IndexFunc(b.Program.Calls, func(s *ir.Call) bool { return s.Name == c.Call })
		if i < 0 || c.Depth > 1 {
			continue // several iterations
		}
		call := b.Program.Calls[i]
		program, of := features.Describe(b, call, o.Machine, c.Space)
		g := newFeatureGroup("program", features.OfProgram, program)
		g.Part = c.ID()
		list = append(list, g)
		g = newFeatureGroup("configuration", of.Features(), of.Of(c.Config))
		g.Part = c.ID()
		list = append(list, g)
	}
	return list, nil
}

// variantFeatures describes every launch of a lowered program: on GPUs with all that the second level of a model
// learns from. That counts by the cells of a call, which launches of several iterations do not have.
func variantFeatures(m *kernel.Module, b *ir.Binding, on *machine.Machine) ([]featureGroup, error) {
	list := []featureGroup{}
	add := func(launches []*kernel.Launch, call *ir.Call) error {
		for _, x := range launches {
			var values []float64
			var err error
			of := features.OfLowered
			if call != nil && on != nil && on.GPU != nil {
				of = slices.Concat(of, features.OfVariant)
				values, err = features.Variant(x, b, call, on)
			} else {
				values, err = features.Lowered(x, b)
			}
			if err != nil {
				return err
			}
			g := newFeatureGroup("variant", of, values)
			g.Part, g.Kernel = x.Part, x.Kernel.Name
			list = append(list, g)
		}
		return nil
	}
	for _, call := range m.Program.Calls {
		if err := add(m.Calls[call], call); err != nil {
			return nil, err
		}
	}
	for _, s := range m.Spans {
		if err := add(s.Launches, nil); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// omniTuneFeatures describes each call with the launches that carry it out.
func omniTuneFeatures(ctx context.Context, m *kernel.Module, b *ir.Binding, on *target.Target,
) ([]featureGroup, error) {
	clang, missing := toolchain.FindClang()
	list := []featureGroup{}
	for _, call := range m.Program.Calls {
		if len(m.Calls[call]) == 0 {
			continue
		}
		n, err := features.InstructionsOf(ctx, clang, m.Calls[call])
		if err != nil {
			return nil, err
		}
		g := newFeatureGroup("omnitune", features.OfOmniTune, features.OmniTune(b, call, n, on.Machine, on.Told))
		g.Part = call.Name
		switch {
		case n.Clang:
			if g.Counted, err = clang.Version(ctx); err != nil {
				return nil, err
			}
		case missing != nil:
			g.Counted = "the kernel IR: " + missing.Error()
		default:
			g.Counted = "the kernel IR: the kernel cannot be written in OpenCL"
		}
		list = append(list, g)
	}
	return list, nil
}

// printFeatures prints groups for people.
func printFeatures(a *app, groups []featureGroup) error {
	for _, g := range groups {
		head := g.Group + " " + g.Part
		if g.Kernel != "" {
			head += ", kernel " + g.Kernel
		}
		if g.Counted != "" {
			head += ", instructions counted by " + g.Counted
		}
		a.row("%s", head)
		t := newTable(a, column{head: "  feature"}, column{head: "value", right: true}, column{head: "unit"},
			column{head: "meaning"})
		for _, f := range g.Features {
			value := "unknown"
			if f.Value != nil {
				value = strconv.FormatFloat(*f.Value, 'g', 6, 64)
			}
			if err := t.row("  "+f.Name, value, f.Unit, f.Doc); err != nil {
				return err
			}
		}
		if err := t.end(); err != nil {
			return err
		}
	}
	return nil
}

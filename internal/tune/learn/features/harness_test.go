package features

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/examples"
	"github.com/gridloom/gridloom/internal/compile/arith"
	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lang"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// example binds one of the examples to the values of a text like "M=5 N=7".
func example(t testing.TB, name, values string) *ir.Binding {
	t.Helper()
	text, err := examples.FS.ReadFile(name + ".loom")
	if err != nil {
		t.Fatal(err)
	}
	return bound(t, string(text), values)
}

// bound binds a program to the values of such a text.
func bound(t testing.TB, text, values string) *ir.Binding {
	t.Helper()
	src := diag.NewSource("test.loom", text)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	set := map[string]string{}
	for pair := range strings.FieldsSeq(values) {
		name, value, _ := strings.Cut(pair, "=")
		set[name] = value
	}
	b, list := p.Bind(set)
	if list.HasErrors() {
		t.Fatal(list[0].Message)
	}
	return b.In(arith.Contract)
}

// gpu returns how programs are lowered for a GPU with two multiprocessors.
func gpu(t testing.TB, b *ir.Binding) lower.Options {
	t.Helper()
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	m.Units = 2
	return lower.Options{Target: lower.GPU, Bound: b, Machine: m, Sized: true, AnyIntegers: true}
}

// drawer draws variants of a program.
type drawer struct {
	o       lower.Options
	choices []lower.Choice
	rng     *rand.Rand
	drawn   map[string]int // how often a family was
}

func newDrawer(t testing.TB, b *ir.Binding, seed uint64) *drawer {
	t.Helper()
	d := &drawer{o: gpu(t, b), rng: rand.New(rand.NewPCG(seed, 3)), drawn: map[string]int{}}
	var err error
	if d.choices, err = lower.Choices(b.Program, d.o); err != nil {
		t.Fatal(err)
	}
	return d
}

// config draws a configuration of a random family.
func (d *drawer) config(s schedule.Space) schedule.Config {
	f := &s.Families[d.rng.IntN(len(s.Families))]
	for {
		c := f.Choose(func(p *schedule.Param) schedule.Value { return p.Values[d.rng.IntN(len(p.Values))] })
		if s.Has(c) {
			return c
		}
	}
}

// draw lowers the program by a random configuration of a random family for each of its kernels.
func (d *drawer) draw(t testing.TB) (*kernel.Module, schedule.Plan) {
	t.Helper()
	for range 100 {
		d.o.Plan = schedule.Plan{}
		for _, c := range d.choices {
			c.Config = d.config(c.Space)
			d.o.Plan.Kernels = append(d.o.Plan.Kernels, c.Kernel)
		}
		m, err := lower.Program(d.o.Bound.Program, d.o)
		if err == nil {
			for _, k := range d.o.Plan.Kernels {
				d.drawn[k.Config.Family]++
			}
			return m, d.o.Plan
		}
		if _, tooMuch := errors.AsType[*lower.ResourceLimit](err); !tooMuch {
			t.Fatalf("%v: %v", d.o.Plan, err)
		}
	}
	t.Fatal("nothing fits")
	return nil, d.o.Plan
}

// simulated is a launch with what the simulator counts.
type simulated struct {
	*kernel.Launch
	report *sim.Report
}

// simulate runs a module, and returns the launches of which the simulator tells what they did: kernels that have
// different arguments in different launches are left out.
func simulate(t testing.TB, m *kernel.Module, b *ir.Binding) []simulated {
	t.Helper()
	data := map[*ir.Grid][]byte{}
	for i, g := range b.Program.Grids {
		if g.CopyIn || g.Constant {
			n := 1
			for _, extent := range b.Shape(g.Dims) {
				n *= extent
			}
			data[g] = gen.Input(g.Type, n, uint64(i))
		}
	}
	s, err := sim.NewState(m, b, data, sim.Options{})
	if err == nil {
		err = s.Initialise(nil)
	}
	if err == nil {
		err = s.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	launches := map[*kernel.Kernel][]*kernel.Launch{}
	for _, x := range launchesOf(m) {
		launches[x.Kernel] = append(launches[x.Kernel], x)
	}
	var out []simulated
	for _, k := range m.Kernels {
		list := launches[k]
		report := s.Report(k)
		if len(list) == 0 || report == nil {
			continue
		}
		args := arguments(list[0], b)
		if !slices.ContainsFunc(list[1:], func(x *kernel.Launch) bool { return !maps.Equal(args, arguments(x, b)) }) {
			out = append(out, simulated{list[0], report})
		}
	}
	return out
}

// launchesOf lists all launches of a module.
func launchesOf(m *kernel.Module) []*kernel.Launch {
	var list []*kernel.Launch
	if m.Program.Initial != nil {
		list = append(list, m.Calls[m.Program.Initial]...)
	}
	for _, call := range m.Program.Calls {
		list = append(list, m.Calls[call]...)
	}
	for _, s := range m.Spans {
		list = append(append(list, s.Prepare...), s.Launches...)
	}
	return list
}

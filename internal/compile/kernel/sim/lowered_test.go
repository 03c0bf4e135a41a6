package sim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

var (
	seeds     = flag.Uint64("seeds", 12, "how many random programs to run")
	firstSeed = flag.Uint64("first-seed", 0, "the first of them")
)

// variant is one way to lower a program.
type variant struct {
	name     string
	target   lower.Target
	simplify bool
}

var variants = []variant{
	{"cpu", lower.CPU, false},
	{"cpu, simplified", lower.CPU, true},
	{"gpu", lower.GPU, false},
	{"gpu, simplified", lower.GPU, true},
}

// Whatever lowering makes of a program computes what the program means, at
// every cell, and does nothing that a machine would not forgive.
func TestLoweredProgramsAgreeWithTheReference(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { agree(t, seed) })
	}
}

func agree(t *testing.T, seed uint64) {
	c, err := gen.Make(seed, gen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 7))
	for _, set := range c.Sets[:min(3, len(c.Sets))] {
		b, errs := c.Program.Bind(set)
		if errs != nil {
			t.Fatal(errs[0].Message)
		}
		want, err := interp.New(b, interp.Options{Workers: 1})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		given, data := give(want, seed)
		want.RunInitial(given)
		if err := want.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, v := range variants {
			m := lowered(t, c, b, v, rng)
			got, err := sim.NewState(m, b, data, sim.Options{})
			if err == nil {
				err = got.Initialise(given)
			}
			if err == nil {
				err = got.Run()
			}
			if err != nil {
				t.Fatalf("seed %d, %v, %s: %v\n%s", seed, set, v.name, err, c.Source)
			}
			compare(t, c, set, v.name, got, want)
		}
	}
}

// give fills the grids that are copied in, of the reference and in a copy.
func give(s *interp.State, seed uint64) (map[*ir.Grid]bool, map[*ir.Grid][]byte) {
	given, data := map[*ir.Grid]bool{}, map[*ir.Grid][]byte{}
	for k, g := range s.Program().Grids {
		if g.CopyIn || g.Constant {
			a := s.Grid(g.Name)
			data[g] = gen.Input(a.Type, a.Len(), seed+uint64(k))
			copy(a.Data, data[g])
			given[g] = true
		}
	}
	return given, data
}

// lowered lowers a program with a random configuration of a random family, and checks the kernels.
func lowered(t *testing.T, c *gen.Case, b *ir.Binding, v variant, rng *rand.Rand) *kernel.Module {
	t.Helper()
	o := lower.Options{Target: v.target, Bound: b}
	plan, families := o, lower.Space(v.target, c.Program.Axes).Families
	var m *kernel.Module
	err := errors.New("nothing was drawn")
	for tried := 0; tried < 4 && err != nil; tried++ { // no kernel may have all the axes, or be of the family
		f := families[rng.IntN(len(families))]
		plan.Plan = schedule.Plan{Every: schedule.Space{Families: []schedule.Family{f}}.Counter().Draw(rng)}
		m, err = lower.Program(c.Program, plan)
	}
	if err != nil {
		m, err = lower.Program(c.Program, o)
	}
	if err != nil {
		t.Fatalf("seed %d, %s: %v\n%s", c.Seed, v.name, err, c.Source)
	}
	for i, k := range m.Kernels {
		if v.simplify {
			simple := kernel.Apply(k, kernel.Asked{Indexing: true}, nil)
			for _, launches := range m.Calls {
				for _, l := range launches {
					if l.Kernel == k {
						l.Kernel = simple
					}
				}
			}
			m.Kernels[i], k = simple, simple
		}
		if err := kernel.Verify(k); err != nil {
			t.Fatalf("seed %d, %s: %v\n%s\n%s", c.Seed, v.name, err, c.Source, kernel.Text(k))
		}
		if err := kernel.CheckInterior(k); err != nil {
			t.Errorf("seed %d, %s: %v\n%s\n%s", c.Seed, v.name, err, c.Source, kernel.Text(k))
		}
		back, err := kernel.ParseText(kernel.Text(k))
		if err != nil || kernel.Text(back) != kernel.Text(k) {
			t.Errorf("seed %d, %s: reads back wrong: %v\n%s", c.Seed, v.name, err, kernel.Text(k))
		}
	}
	return m
}

func compare(t *testing.T, c *gen.Case, set map[string]string, name string, got *sim.State, want *interp.State) {
	t.Helper()
	for _, g := range c.Program.Grids {
		a, m := want.Grid(g.Name), got.Grid(g)
		for n := range a.Len() {
			x, y := m.At(n).AsFloat(), a.At(n)
			if math.Float64bits(x) != math.Float64bits(y) && (x == x || y == y) {
				t.Fatalf("seed %d, %v, %s: %s cell %d is %v, want %v\n%s", c.Seed, set, name, g.Name, n, x, y, c.Source)
			}
		}
	}
	for _, x := range c.Program.Scalars {
		if v, _ := want.Scalar(x); !got.Scalar(x).Same(v) {
			t.Fatalf("seed %d, %v, %s: %s is %v, want %v\n%s", c.Seed, set, name, x.Name, got.Scalar(x), v, c.Source)
		}
	}
}

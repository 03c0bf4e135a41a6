package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// What the passes for a kind of machine make of lowered programs computes what
// the programs mean, whether the sizes are known or only about.
func TestOptimisedProgramsAgreeWithTheReference(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+max(1, *seeds/6); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { optimised(t, seed) })
	}
}

func optimised(t *testing.T, seed uint64) {
	c, err := gen.Make(seed, gen.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	for _, set := range c.Sets[:1] {
		b, errs := c.Program.Bind(set)
		if errs != nil {
			t.Fatal(errs[0].Message)
		}
		want, err := interp.New(b, interp.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		given, data := give(want, seed)
		want.RunInitial(given)
		if err := want.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, v := range []variant{{"cpu", lower.CPU, false}, {"gpu", lower.GPU, false}} {
			for _, slack := range []int64{0, 9, 1 << 33} {
				name := fmt.Sprintf("%s, sizes to within %d", v.name, slack)
				m := lowered(t, c, b, v, rng)
				applyAll(m, func(p int) kernel.Interval {
					return kernel.Interval{Lo: max(1, b.Params[p]-slack), Hi: b.Params[p] + slack}
				})
				sound(t, c, name, m)
				got, err := sim.NewState(m, b, data, sim.Options{})
				if err == nil {
					err = got.Initialise(given)
				}
				if err == nil {
					err = got.Run()
				}
				if err != nil {
					t.Fatalf("seed %d, %v, %s: %v\n%s", seed, set, name, err, c.Source)
				}
				compare(t, c, set, name, got, want)
			}
		}
	}
}

// applyAll applies all passes to a module's kernels, which are told what the
// program's parameters may be.
func applyAll(m *kernel.Module, size func(param int) kernel.Interval) {
	for i, k := range m.Kernels {
		known := kernel.Ranges{}
		for _, launches := range m.Calls {
			for _, l := range launches {
				if l.Kernel != k {
					continue
				}
				for j, v := range k.Scalars {
					if a, ok := l.Args[len(k.Buffers)+j].(kernel.SizeArg); ok {
						now := size(a.Param)
						if was, ok := known[v]; ok { // launches may differ
							now = kernel.Interval{Lo: min(was.Lo, now.Lo), Hi: max(was.Hi, now.Hi)}
						}
						known[v] = now
					}
				}
			}
		}
		next := kernel.Apply(k, kernel.Asked{GPU: true, Indexing: true, Known: true, Arguments: known}, nil)
		m.Kernels[i] = next
		for _, launches := range m.Calls {
			for _, l := range launches {
				if l.Kernel == k {
					l.Kernel = next
				}
			}
		}
	}
}

// sound checks kernels, their launches included.
func sound(t *testing.T, c *gen.Case, name string, m *kernel.Module) {
	t.Helper()
	known := map[*kernel.Kernel]bool{}
	for _, k := range m.Kernels {
		known[k] = true
		if err := kernel.Verify(k); err != nil {
			t.Fatalf("seed %d, %s: %v\n%s\n%s", c.Seed, name, err, c.Source, kernel.Text(k))
		}
		if err := kernel.CheckInterior(k); err != nil {
			t.Errorf("seed %d, %s: %v\n%s\n%s", c.Seed, name, err, c.Source, kernel.Text(k))
		}
	}
	for s, launches := range m.Calls {
		for _, l := range launches {
			if !known[l.Kernel] {
				t.Errorf("seed %d, %s: %s launches a kernel that is not in the module", c.Seed, name, s.Name)
			}
		}
	}
}

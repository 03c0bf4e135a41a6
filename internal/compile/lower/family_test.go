package lower_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/analysis"
	"github.com/gridloom/gridloom/internal/compile/emit"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/estimate"
	"github.com/gridloom/gridloom/internal/tune/search"
)

const combed = `
parameter M = 130, N = 517;
iterator j, i;
double u[M,N], next[M,N];
copyin u;
%s
stencil five (out, in) { out[j][i] = 0.25*(in[j][i-1] + in[j][i+1] + in[j-1][i] + in[j+1][i]); }
iterate 2 { five (next, u); swap (next, u); }
copyout u;
`

// toy returns the space of a kernel that is a comb.
func toy(t *testing.T, pragma string) (*ir.Binding, lower.Options, lower.Choice) {
	t.Helper()
	p := load(t, "combed", fmt.Sprintf(combed, pragma))
	b := bind(t, p, "")
	m, err := machine.Builtin("h200")
	if err != nil {
		t.Fatal(err)
	}
	o := lower.Options{Target: lower.GPU, Bound: b, Sized: true, Machine: m, Plan: plan(t, "family=comb")}
	choices, err := lower.Choices(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return b, o, choices[0]
}

// A family that is declared in one file is searched, fitted, hinted, estimated,
// checked and printed as the others are: nobody asks for it or for its parameters by
// their names.
func TestFamilyInOneFile(t *testing.T) {
	lower.RegisterToy(t)
	b, o, choice := toy(t, "")
	space, err := choice.Space.Fix(schedule.FamilyName, schedule.Word("comb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("space", func(t *testing.T) {
		if err := choice.Space.Verify(); err != nil {
			t.Error(err)
		}
		var names []string
		for _, f := range choice.Space.Families {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, []string{"tile", "cells", "comb", "planes"}) {
			t.Errorf("%v", names)
		}
		const pairs = 5*3 - 2 // of teeth and strokes; 4096 has one
		if n := space.Counter().Count().Int64(); n != pairs*3*2 {
			t.Errorf("%d configurations", n)
		}
		finer := o
		finer.AnyIntegers = true
		more, err := lower.Choices(b.Program, finer)
		if err != nil {
			t.Fatal(err)
		}
		if v := more[0].Space.Family("comb").For(schedule.Threads).Values; !slices.ContainsFunc(
			v, schedule.Int(96).Equal) {
			t.Errorf("no values in between: %v", v)
		}
		if p, ok := lower.Declared("teeth"); !ok || p.Role != schedule.Threads {
			t.Errorf("teeth are %v, %v", p.Role, ok)
		}
	})
	t.Run("search", func(t *testing.T) {
		k := search.Of(space)
		at := slices.IndexFunc(k.Params(), func(p search.Param) bool { return p.Role == schedule.Threads })
		if p := k.Params()[at]; p.Name != "teeth" || p.Axis != "x" {
			t.Errorf("%+v", p)
		}
		for _, name := range []string{"auto", "hierarchical", "genetic", "dimension"} {
			s, err := search.New(name, search.Problem{Space: k, Seed: 1, Budget: 40})
			if err != nil {
				t.Fatal(err)
			}
			best := 1.0
			for range 40 {
				points := s.Ask(1)
				if len(points) == 0 {
					break
				}
				c, err := k.Config(points[0])
				if err != nil {
					t.Fatal(err)
				}
				set := lower.ByRole(c)
				seconds := 1 / float64(set.Int(schedule.Threads, 0)) / float64(set.Int(schedule.CyclicUnroll, 0))
				best = min(best, seconds)
				s.Tell(search.Trial{Point: points[0], Seconds: seconds, Registers: 20})
			}
			if best > 1.0/4096 {
				t.Errorf("%s: the best has %g", name, best)
			}
		}
	})
	t.Run("seeds", func(t *testing.T) {
		seeds := space.Seeds()
		if !slices.Equal(seeds, []string{"family=comb,teeth=128,strokes=2,extents=literals"}) {
			t.Fatalf("%q", seeds)
		}
		c, err := schedule.ParseConfig(seeds[0])
		if err == nil {
			_, err = space.Complete(c)
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("fit", func(t *testing.T) {
		p, err := lower.Plan(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		if set := lower.ByRole(p.Kernels[0].Config); set.Int(schedule.Threads, 0) != 256 {
			t.Errorf("the default of 4096 threads has become %s", p)
		}
		much := o
		much.Plan, much.Advise = plan(t, "family=comb,teeth=4096"), true
		_, err = lower.Program(b.Program, much)
		if _, resourceLimit := errors.AsType[*lower.ResourceLimit](err); !resourceLimit ||
			!strings.Contains(err.Error(), "a plan that fits is family=comb,teeth=256") {
			t.Errorf("%v", err)
		}
	})
	t.Run("hints", func(t *testing.T) {
		_, _, c := toy(t, "#pragma block (64) unroll i=2 occupancy 0.25")
		comb := c.Space.Family("comb")
		if v := comb.For(schedule.Threads).Values; len(v) != 1 || !v[0].Equal(schedule.Int(64)) {
			t.Errorf("block (64) leaves %v", v)
		}
		if v := comb.For(schedule.CyclicUnroll).Values; len(v) != 1 || !v[0].Equal(schedule.Int(2)) {
			t.Errorf("unroll i=2 leaves %v", v)
		}
	})
	t.Run("estimate", func(t *testing.T) {
		call := b.Program.Calls[0]
		m := estimate.New(analysis.Analyze(b.Program, b).Call(call), b, call, o.Machine, space)
		m.Fit(func(c schedule.Config) (float64, bool) {
			with := o
			with.Plan = schedule.Plan{Every: c}
			built, err := lower.Program(b.Program, with)
			if err != nil {
				return 0, false
			}
			return float64(lower.Resources(built.Kernels[0]).Least), true
		})
		time := func(text string) float64 {
			c, err := schedule.ParseConfig(text)
			if err == nil {
				c, err = space.Complete(c)
			}
			if err != nil {
				t.Fatal(err)
			}
			seconds, soon := m.Estimate(c)
			if soon != (lower.ByRole(c).Int(schedule.Threads, 0) <= 1024) {
				t.Errorf("%s: soon %v", text, soon)
			}
			return seconds
		}
		if full, part := time("teeth=256"), time("teeth=32"); full >= part {
			t.Errorf("blocks of one warp, which cannot fill a multiprocessor, are no slower: %g, %g", full, part)
		}
		time("teeth=4096")
	})
	t.Run("semantics", func(t *testing.T) {
		combs := 0
		for seed := uint64(1); seed <= 60; seed++ {
			c, err := gen.Make(seed, gen.Options{Size: 3 + int(seed%8)})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(seed, 1))
			b := shaped(c, 1, rng)
			if b == nil {
				continue
			}
			w := way{target: lower.GPU, strict: seed%2 == 0}
			b = b.In(w.mode())
			o := lower.Options{Target: lower.GPU, Bound: b, Sized: true}
			choices, err := lower.Choices(b.Program, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, choice := range choices {
				k := choice.Kernel
				if f := choice.Space.Family("comb"); f != nil {
					only, err := schedule.Space{Families: []schedule.Family{*f}}.On(schedule.Threads).Limit("few",
						func(v schedule.Value) bool { return v.Ints()[0] < 1024 })
					if err != nil {
						t.Fatal(err)
					}
					k.Config = only.Sample(rng, 1)[0]
					combs++
				}
				w.plan.Kernels = append(w.plan.Kernels, k)
			}
			if err := check(b, w, seed); err != nil {
				t.Errorf("seed %d: %v\n%s", seed, err, c.Source)
			}
		}
		if combs < 50 {
			t.Errorf("only %d kernels were combs", combs)
		}
	})
	t.Run("emit", func(t *testing.T) {
		m, err := lowered(b.Program, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []*emit.Dialect{emit.CUDA, emit.OpenCL} {
			if text := emit.Source(d, m); !strings.Contains(text, "i_tooth") {
				t.Errorf("%s has no teeth", text)
			}
		}
		for _, l := range m.Calls[b.Program.Calls[0]] {
			if l.Part != "five[0:1]" {
				t.Errorf("a launch is of %q", l.Part)
			}
		}
	})
}

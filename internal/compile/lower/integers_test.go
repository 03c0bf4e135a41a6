package lower_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/lower"
)

// Kernels with any integers in their configurations are right, too, and one
// that a plan names is taken only where any integers are.
func TestAnyIntegers(t *testing.T) {
	t.Parallel()
	ran, odd := 0, 0
	for seed := uint64(7000); seed < 7003; seed++ {
		c, err := gen.Make(seed, gen.Options{Size: 3 + int(seed%5)})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		b := shaped(c, 1, rng)
		if b == nil {
			continue
		}
		for _, target := range []lower.Target{lower.CPU, lower.GPU} {
			o := lower.Options{Target: target, Bound: b, Sized: true, AnyIntegers: true}
			choices, err := lower.Choices(b.Program, o)
			if err != nil {
				t.Fatal(err)
			}
			plans := plansOf(choices)
			for range 3 {
				o.Plan = plans.draw(rng)
				m, err := lowered(b.Program, o)
				if tooMuch(m, err) {
					continue
				}
				if err != nil {
					t.Fatalf("seed %d: %s: %v", seed, o.Plan, err)
				}
				want, err := expect(b, interp.NoBounds, seed)
				if err != nil {
					t.Fatal(err)
				}
				got, err := want.simulate(m, b)
				if err == nil {
					err = want.compare(b.Program, got)
				}
				if err != nil {
					t.Errorf("seed %d: %s: %v\n%s", seed, o.Plan, err, c.Source)
				}
				ran++
				usual := o
				usual.AnyIntegers = false
				if _, err := lower.Program(b.Program, usual); err != nil {
					odd++
				}
			}
		}
	}
	if ran < 7 || odd < ran/4 {
		t.Errorf("%d ran, %d of them with values that are no powers of two", ran, odd)
	}
}

// Threads may have three cells on an axis, where a source or a plan says so.
func TestOddUnrolling(t *testing.T) {
	text := hinted("#pragma stream k unroll j=3", "")
	_, k, warnings := choice(t, text, lower.Options{AnyIntegers: true})
	if warnings != "" {
		t.Error(warnings)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for _, c := range k.Space.Sample(rng, 200) {
		if c.Int("rows") != 3 {
			t.Errorf("%s has not three rows a thread", c)
		}
	}
	text = hinted("#pragma unroll j=5", "")
	if _, _, warnings := choice(t, text, lower.Options{}); !strings.Contains(
		warnings, "unroll j=5 is not followed: threads can have 1, 2, 3, 4, 6, 8, ") {
		t.Errorf("without any integers: %q", warnings)
	}
	p := load(t, "hinted", hinted("", ""))
	b := bind(t, p, "")
	want, err := expect(b, interp.NoBounds, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"family=planes,stream=k,block=4x32,rows=3,vec=2,chunk=8",
		"family=planes,stream=k,block=4x32,rows=1,vec=1,chunk=9,unroll=3",
		"family=tile,block=1x4x32,rows=3x1,repeat=1x3x1,vec=2,stages=1",
		"family=tile,block=1x4x32,rows=1x5,vec=1,repeat=1x1x3",
	} {
		m, err := lowered(p, lower.Options{
			Target: lower.GPU, Bound: b, Sized: true, AnyIntegers: true, Plan: plan(t, text),
		})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := want.simulate(m, b)
		if err == nil {
			err = want.compare(b.Program, got)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

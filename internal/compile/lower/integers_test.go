package lower_test

import (
	"math/rand/v2"
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
	for seed := uint64(7000); seed < 7006; seed++ {
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
			o := lower.Options{Target: target, Strict: true, Bound: b, Sized: true, AnyIntegers: true}
			choices, err := lower.Choices(b.Program, o)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				o.Plan = draw(choices, rng)
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
	if ran < 15 || odd < ran/4 {
		t.Errorf("%d ran, %d of them with values that are no powers of two", ran, odd)
	}
}

package search

import (
	"context"
	"testing"
)

// TestStrategiesEndWithTheirContext ends the context in the middle of a computation, by
// an estimate: each strategy stops soon, which is counted in estimates, and asks for
// nothing any more.
func TestStrategiesEndWithTheirContext(t *testing.T) {
	const after = 1000 // estimates
	for _, name := range makersSorted() {
		for _, cancelAt := range []int{0, 5, 700, 3000} {
			ctx, cancel := context.WithCancel(t.Context())
			estimates := 0
			if cancelAt == 0 {
				cancel()
			}
			s, err := New(name, Problem{Context: ctx, Space: hugeSpace(), Seed: 1,
				Estimate: func(p Point) (float64, bool) {
					if estimates++; estimates == cancelAt {
						cancel()
					}
					return 1 + float64(p[1]), true
				}})
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				asked := s.Ask(1)
				if ctx.Err() != nil {
					if len(asked) > 0 || len(s.Ask(3)) > 0 || len(s.Likely(3)) > 0 {
						t.Errorf("%s asks for more though its context ended", name)
					}
					break
				}
				if len(asked) == 0 {
					break
				}
				s.Tell(Trial{Point: asked[0], Seconds: 1e-3 * float64(2+asked[0][2]), Cost: 1})
			}
			if ctx.Err() != nil && estimates > cancelAt+after {
				t.Errorf("%s makes %d estimates after its context ended", name, estimates-cancelAt)
			}
			cancel()
		}
	}
}

// A context that ends between the results of two points: the second is told to no method any more, and nothing is asked
// for that would need it.
func TestContextEndsBeforeResults(t *testing.T) {
	for _, name := range makersSorted() {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := New(name, Problem{Context: ctx, Space: hugeSpace(), Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			asked := s.Ask(2)
			if len(asked) == 0 {
				break
			}
			for i, p := range asked {
				if n >= 20 && i == 1 {
					cancel()
				}
				s.Tell(Trial{Point: p, Seconds: 1e-3 * float64(2+p[2]), Cost: 1})
			}
			if n >= 20 && (len(s.Ask(1)) > 0 || len(s.Likely(1)) > 0) {
				t.Errorf("%s asks for more though its context ended", name)
			}
		}
		cancel()
	}
}

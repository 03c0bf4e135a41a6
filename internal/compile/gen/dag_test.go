package gen

import (
	"testing"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// Programs of graphs have 10 statements to 60 in several calls; temporary grids, updates in place, coefficients with
// fewer axes, loops and each rank are among them. A seed always makes the same.
func TestDAGs(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		c, err := MakeDAG(seed)
		if err != nil {
			t.Fatal(err)
		}
		again, err := MakeDAG(seed)
		if err != nil || again.Source != c.Source {
			t.Fatalf("seed %d makes two programs: %v", seed, err)
		}
		for _, call := range c.Program.Calls {
			for _, st := range call.Body {
				if st.Array == nil {
					continue
				}
				ir.Walk(st.Value, func(e ir.Expr) {
					if a, ok := e.(*ir.Access); ok && a.Array == st.Array {
						seen["in place"]++
					}
					if a, ok := e.(*ir.Access); ok && len(a.Array.Dims) < len(c.Program.Axes) {
						seen["fewer axes"]++
					}
				})
			}
		}
		if statements := statementsOf(c.Program); statements < 10 || statements > 60 || len(c.Program.Calls) < 2 {
			t.Errorf("seed %d: %d statements in %d calls", seed, statements, len(c.Program.Calls))
		}
		it := c.Program.Body[0].(*ir.Iterate)
		if !it.Sequence {
			seen["loops"]++
		}
		if len(it.Temporary) > 0 {
			seen["temporary"]++
		}
		seen[[]string{"", "1 axis", "2 axes", "3 axes"}[len(c.Program.Axes)]]++
	}
	for _, what := range []string{"in place", "fewer axes", "loops", "temporary", "1 axis", "2 axes", "3 axes"} {
		if seen[what] < 5 {
			t.Errorf("%s: %d", what, seen[what])
		}
	}
}

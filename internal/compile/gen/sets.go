package gen

import (
	"fmt"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/ir"
)

// sets returns the values with which p binds, out of small sizes, primes, and
// in the end three tiles of 16 and a remainder.
func (m *maker) sets(p *ir.Program) []map[string]string {
	var out []map[string]string
	for _, n := range []int{1, 2, 3, 5, 7, 13, 29, 51} {
		if n == 51 && len(p.Axes) == 3 {
			n = 37 // two tiles and a remainder: cubes grow fast
		}
		set := map[string]string{}
		for k, q := range p.Params {
			if q.Default != nil && !constant(q.Default) {
				continue // it follows from the others
			}
			if slices.Contains(m.counts, q.Name) {
				continue // it is no size
			}
			// Unlike sizes on unlike axes.
			set[q.Name] = fmt.Sprint(max(1, n+k*m.IntN(3)))
		}
		for _, s := range m.scalars {
			if s.given != "" && slices.ContainsFunc(p.Scalars,
				func(x *ir.Scalar) bool { return x.Name == s.name && x.Used }) {
				set[s.name] = s.given
			}
		}
		if _, errs := p.Bind(set); errs == nil {
			out = append(out, set)
		}
	}
	return out
}

func constant(e ir.Expr) bool {
	_, ok := e.(ir.Const)
	return ok
}

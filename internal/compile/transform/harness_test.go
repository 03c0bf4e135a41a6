package transform_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gridloom/gridloom/internal/compile/diag"
	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lang"
)

// load checks a source text.
func load(t testing.TB, text string) *ir.Program {
	t.Helper()
	src := diag.NewSource("test.loom", text)
	p, list := lang.Load(src)
	if list.HasErrors() {
		t.Fatal(diag.Render(src, list, diag.Style{}))
	}
	return p
}

// statements prints a call's body as mathematics, a line each.
func statements(p *ir.Program, s *ir.Call) string {
	var lines []string
	for _, st := range s.Body {
		lines = append(lines, p.Infix(st))
	}
	return strings.Join(lines, "\n")
}

// run executes a program on the reference executor, from inputs that follow
// from a seed, with bounds if the mode asks for them.
func run(p *ir.Program, params []int64, b *ir.Binding, mode interp.Mode, seed uint64) (*interp.State, error) {
	bound := *b
	bound.Program, bound.Params = p, params
	s, err := interp.New(&bound, interp.Options{Workers: 1, Bounds: mode})
	if err != nil {
		return nil, err
	}
	given := map[*ir.Grid]bool{}
	for i, g := range p.Grids {
		if g.CopyIn || g.Constant {
			a := s.Grid(g.Name)
			copy(a.Data, gen.Input(g.Type, a.Len(), seed+uint64(i)))
			given[g] = seed%2 == 0
		}
	}
	s.RunInitial(given)
	return s, s.Run(context.Background())
}

// compare returns an error if two executions differ in a grid or a scalar by a
// bit, or where want keeps bounds by more than these.
func compare(p *ir.Program, want, got *interp.State) error {
	agree := func(x, y, bound float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y || bound > 0 && (math.Abs(x-y) <= bound ||
			math.IsInf(bound, 1))
	}
	for _, g := range p.Grids {
		w, h := want.Grid(g.Name), got.Grid(g.Name)
		for n := range w.Len() {
			bound := 0.0
			if w.Bound != nil {
				bound = w.Bound[n]
			}
			if !agree(w.At(n), h.At(n), bound) {
				return fmt.Errorf("%s: cell %d is %v, not %v within %v", g.Name, n, h.At(n), w.At(n), bound)
			}
		}
	}
	for _, x := range p.Scalars {
		w, bound := want.Scalar(x)
		h, _ := got.Scalar(x)
		if !agree(w.AsFloat(), h.AsFloat(), bound) {
			return fmt.Errorf("%s is %v, not %v within %v", x.Name, h, w, bound)
		}
	}
	return nil
}

package proof

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/run/compare"
)

// expected is what the reference executor makes of a program, from contents
// that are random in every grid: what a kernel forgets to write is wrong.
type expected struct {
	*interp.State
	bounded bool
	given   map[*ir.Grid]bool
	data    map[*ir.Grid][]byte
}

// expect runs a program on the reference executor as far as some leaves, all
// for 0. The initial block leaves the given grids alone.
func expect(ctx context.Context, b *ir.Binding, mode interp.Mode, seed uint64, given map[*ir.Grid]bool,
	leaves int64) (*expected, error) {
	s, err := interp.New(b, interp.Options{Bounds: mode, Workers: 1})
	if err != nil {
		return nil, err
	}
	e := &expected{State: s, bounded: mode != interp.NoBounds, given: given, data: map[*ir.Grid][]byte{}}
	for i, g := range b.Program.Grids {
		a := s.Grid(g.Name)
		e.data[g] = gen.Input(g.Type, a.Len(), seed+uint64(i))
		copy(a.Data, e.data[g])
	}
	s.RunInitial(given)
	if leaves == 0 {
		return e, s.Run(ctx)
	}
	var c ir.Cursor
	for n := int64(0); n < leaves && s.Step(&c); n++ {
	}
	return e, ctx.Err()
}

// expect runs a pair's program at some sizes. The formulas of grids that are
// copied in run for every second strict pair, and every second other one.
func (p *pair) expect(ctx context.Context, b *ir.Binding) (*expected, error) {
	given := map[*ir.Grid]bool{}
	for _, g := range b.Program.Grids {
		given[g] = (g.CopyIn || g.Constant) && p.seed%4 < 2
	}
	return expect(ctx, b, interp.ModeOf(b.Program, true), p.seed, given, 0)
}

// steps bounds what one kernel may do in the simulator, lest it go on for ever.
const steps = 4_000_000_000

// run runs a module in the simulator.
func (e *expected) run(m *kernel.Module, b *ir.Binding) (*sim.State, error) {
	s, err := sim.NewState(m, b, e.data, sim.Options{Steps: steps})
	if err != nil {
		return nil, err
	}
	if err := s.Initialise(e.given); err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	if err := s.Run(); err != nil {
		return nil, fmt.Errorf("simulator: %w", err)
	}
	return s, nil
}

// compare returns how the simulator's results of a module differ from what is expected.
func (e *expected) compare(s *sim.State, m *kernel.Module, b *ir.Binding) (cells int64, reason string) {
	for _, g := range kept(m, b) {
		want, have := e.Grid(g.Name), s.Grid(g)
		bound := 0.0
		for n := range want.Len() {
			if want.Bound != nil {
				bound = want.Bound[n]
			}
			if x, y := have.At(n).AsFloat(), want.At(n); !agree(x, y, bound, want.Bound != nil) {
				return cells, fmt.Sprintf("%s differs: cell %d is %v, should be %v within %.3g", g.Name, n, x, y,
					bound)
			}
			if y := want.At(n); y == y { // else neither is a number, which proves nothing
				cells++
			}
		}
	}
	for _, x := range b.Program.Scalars {
		want, bound := e.Scalar(x)
		if have := s.Scalar(x); !agree(have.AsFloat(), want.AsFloat(), bound, e.bounded) {
			return cells, fmt.Sprintf("%s is %v, should be %v within %.3g", x.Name, have, want, bound)
		}
	}
	return cells, ""
}

// kept returns the grids that a module leaves with the values of the program.
func kept(m *kernel.Module, b *ir.Binding) []*ir.Grid {
	dropped := func(g *ir.Grid) bool { return slices.Contains(m.Dropped(), g) }
	return slices.DeleteFunc(slices.Clone(b.Program.Grids), dropped)
}

// numbers counts the cells that comparisons can say something of.
func (e *expected) numbers(p *ir.Program) int64 {
	n := int64(0)
	for _, g := range p.Grids {
		n += compare.Numbers(g.Type, e.Grid(g.Name).Data)
	}
	return n
}

// agree reports whether x is y, bit for bit but for the kinds of NaN, or where
// there are bounds within the bound.
func agree(x, y, bound float64, bounded bool) bool {
	if math.Float64bits(x) == math.Float64bits(y) || x != x && y != y {
		return true
	}
	return bounded && (math.Abs(x-y) <= bound || math.IsInf(bound, 1))
}

package proof

import (
	"context"
	"fmt"
	"math"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/kernel"
	"github.com/gridloom/gridloom/internal/compile/kernel/sim"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// expected is what the reference executor makes of a program, from contents
// that are random in every grid: what a kernel forgets to write is wrong.
type expected struct {
	*interp.State
	bounded bool
	given   map[*ir.Grid]bool
	data    map[*ir.Grid][]byte
}

// expect runs a program on the reference executor. The formulas of grids that
// are copied in run for every second seed.
func expect(ctx context.Context, b *ir.Binding, strict bool, seed uint64) (*expected, error) {
	mode := interp.Contract
	if strict {
		mode = interp.NoBounds
	}
	s, err := interp.New(b, interp.Options{Bounds: mode, Workers: 1})
	if err != nil {
		return nil, err
	}
	e := &expected{State: s, bounded: !strict, given: map[*ir.Grid]bool{}, data: map[*ir.Grid][]byte{}}
	for i, g := range b.Program.Grids {
		a := s.Grid(g.Name)
		e.data[g] = gen.Input(g.Type, a.Len(), seed+uint64(i))
		copy(a.Data, e.data[g])
		e.given[g] = (g.CopyIn || g.Constant) && seed%2 == 0
	}
	s.RunInitial(e.given)
	return e, s.Run(ctx)
}

// lowerGPU lowers a program for GPUs and holds its kernels to what kernels
// promise.
func lowerGPU(b *ir.Binding, strict, sized bool, plan schedule.Plan) (*kernel.Module, error) {
	m, err := lower.Program(b.Program, lower.Options{Target: lower.GPU, Strict: strict, Plan: plan, Bound: b, Sized: sized})
	if err != nil {
		return nil, err
	}
	for _, k := range m.Kernels {
		if err := kernel.Verify(k); err != nil {
			return nil, fmt.Errorf("verifier: %w", err)
		}
		if err := kernel.CheckInterior(k); err != nil {
			return nil, fmt.Errorf("interior: %w", err)
		}
	}
	return m, nil
}

// steps bounds what one kernel may do in the simulator, lest it go on for ever.
const steps = 4_000_000_000

// simulate runs a module in the simulator, and returns how it differs from what
// is expected; "" if it does not.
func (e *expected) simulate(m *kernel.Module, b *ir.Binding) (cells int64, reason string, err error) {
	s, err := sim.NewState(m, b, e.data, sim.Options{Steps: steps})
	if err != nil {
		return 0, "", err
	}
	if err := s.Initialise(e.given); err != nil {
		return 0, "", fmt.Errorf("simulator: %w", err)
	}
	if err := s.Run(); err != nil {
		return 0, "", fmt.Errorf("simulator: %w", err)
	}
	for _, g := range b.Program.Grids {
		want, have := e.Grid(g.Name), s.Grid(g)
		bound := 0.0
		for n := range want.Len() {
			if want.Bound != nil {
				bound = want.Bound[n]
			}
			if x, y := have.At(n).AsFloat(), want.At(n); !agree(x, y, bound, want.Bound != nil) {
				return cells, fmt.Sprintf("%s differs: cell %d is %v, should be %v within %.3g", g.Name, n, x, y, bound), nil
			}
			cells++
		}
	}
	for _, x := range b.Program.Scalars {
		want, bound := e.Scalar(x)
		if have := s.Scalar(x); !agree(have.AsFloat(), want.AsFloat(), bound, e.bounded) {
			return cells, fmt.Sprintf("%s is %v, should be %v within %.3g", x.Name, have, want, bound), nil
		}
	}
	return cells, "", nil
}

// agree reports whether x is y, bit for bit but for the kinds of NaN, or where
// there are bounds within the bound.
func agree(x, y, bound float64, bounded bool) bool {
	if math.Float64bits(x) == math.Float64bits(y) || x != x && y != y {
		return true
	}
	return bounded && (math.Abs(x-y) <= bound || math.IsInf(bound, 1))
}

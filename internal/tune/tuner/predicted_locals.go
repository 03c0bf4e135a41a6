package tuner

import (
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/machine"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/run/target"
	"github.com/gridloom/gridloom/internal/tune/costmodel"
	"github.com/gridloom/gridloom/internal/tune/measure"
)

// PredictedLocals is what the cost model predicts for the two ways to carry out a program that has local grids. Nothing
// of it was measured.
type PredictedLocals struct {
	// Stored are the seconds that all runs of its calls take at least with local grids stored between kernels, and
	// Fused those with each of their cells computed where it is read (costmodel.Least).
	Stored float64 `json:"stored_seconds"`
	Fused  float64 `json:"fused_seconds"`
}

// fusedPart is the part of the time with stored local grids that the fused ones may take to be chosen without a
// measurement: both times are the least that there can be, and kernels of more statements stay farther from it.
const fusedPart = 0.6

// Fuse reports whether local grids should be computed where they are read.
func (p *PredictedLocals) Fuse() bool { return p != nil && p.Fused < fusedPart*p.Stored }

// PredictLocals predicts both ways with the usual kernels of a plan. It returns nil where there is no choice: the plan
// says what becomes of local grids, or names kernels; the program has none that could be fused; nothing is known of
// how fast the target is, or its kernels cannot be counted; or the last cache keeps all grids, of which the cost model
// knows nothing.
func PredictLocals(b *ir.Binding, t *target.Target, plan schedule.Plan) *PredictedLocals {
	if _, said := lower.LocalGrids(plan); said || len(plan.Kernels) > 0 {
		return nil
	}
	s, m := countable(b, t)
	if s == nil {
		return nil
	}
	stored, fused := t.Lowering(b, lower.WithLocalGrids(plan, lower.StoredGrids)),
		t.Lowering(b, lower.WithLocalGrids(plan, lower.FusedGrids))
	one, err := lower.Plan(b.Program, stored)
	if err != nil {
		return nil // there are no local grids
	}
	other, err := lower.Plan(b.Program, fused)
	if err != nil || one.String() == other.String() {
		return nil // none can be fused
	}
	p := &PredictedLocals{}
	if p.Stored, err = leastOf(b, stored, m); err != nil {
		return nil
	}
	if p.Fused, err = leastOf(b, fused, m); err != nil {
		return nil
	}
	return p
}

// countable returns a program as it is tuned on a GPU, and the GPU's description, where the cost model tells how long
// the program takes at least: nil where it is not known how fast the device is, and where the last cache keeps all
// grids, of which the model knows nothing.
func countable(b *ir.Binding, t *target.Target) (*subject, *machine.Machine) {
	m := machine.Described(t.Machine)
	if t.Kind() != lower.GPU || m == nil || m.GPU == nil || m.Memory.Bandwidth == 0 || m.Peak.F32 == 0 {
		return nil, nil
	}
	s, err := splitSubject(b, measure.About{Target: t}, false)
	if err != nil || m.Holding(s.workingSet(s.calls)) != nil {
		return nil, nil
	}
	return s, m
}

// leastOf returns the seconds that all runs of a program's calls take at least.
func leastOf(b *ir.Binding, o lower.Options, m *machine.Machine) (float64, error) {
	module, err := lower.Program(b.Program, o)
	if err != nil {
		return 0, err
	}
	runs := runsOf(b)
	sum := 0.0
	for _, call := range b.Program.Calls {
		if runs[call] == 0 {
			continue
		}
		s, err := costmodel.Least(module.Calls[call], b, m)
		if err != nil {
			return 0, err
		}
		sum += runs[call] * s
	}
	return sum, nil
}

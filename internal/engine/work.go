package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/run/memory"
)

const (
	// checkBudget is the number of operations that a check's reference run may
	// take: a few seconds on two processors. With bounds each takes fourfold.
	checkBudget = 4e8
	// statementCost is what a statement costs besides its cells.
	statementCost = 2000
	// checkMemory bounds what the reference executor takes, half of what is
	// free apart.
	checkMemory = 4 << 30
	// fewest iterations are worth a check at smaller sizes.
	fewest = 3
)

// allowance is what a check may run.
type allowance struct {
	bound       *ir.Binding
	mode        interp.Mode
	iterations  int64
	leaves      int64 // 0 for any number
	conditional bool  // some loop's end depends on results
}

// affordable returns what the reference executor can run within its budget: at
// the job's own sizes if possible.
func (r *CheckRequest) affordable(ctx context.Context) (allowance, error) {
	fused, err := r.Job.Device.Fused(ctx)
	if err != nil {
		return allowance{}, err
	}
	program, params := r.Job.Bound.Program, r.Job.Bound.Params
	a := allowance{bound: r.Job.Bound, mode: interp.ModeOf(program, fused)}
	if a.within(1) {
		return a, nil
	}
	sizes := gridParams(program)
	for shrink := int64(2); shrink <= 1<<20; shrink *= 2 {
		smaller := maps.Clone(r.Set)
		if smaller == nil {
			smaller = map[string]string{}
		}
		for i, q := range program.Params {
			if sizes[i] {
				smaller[q.Name] = fmt.Sprint(max(params[i]/shrink, min(params[i], 17)))
			}
		}
		b, list := program.Bind(smaller)
		if list.HasErrors() {
			continue
		}
		if a.bound = b; a.within(fewest) {
			return a, nil
		}
	}
	return a, errors.New("the reference executor cannot afford to check this program at any size")
}

// gridParams marks the parameters that sizes of grids depend on.
func gridParams(p *ir.Program) map[int]bool {
	used := map[int]bool{}
	for _, g := range p.Grids {
		for _, d := range g.Dims {
			for _, a := range []ir.Affine{d.Lo, d.Hi} {
				for _, t := range a.Terms {
					used[t.Param] = true
				}
			}
		}
	}
	return used
}

// within sets how far the budget goes, and reports whether that is at least so
// many iterations, or the whole program.
func (a *allowance) within(iterations int64) bool {
	bytes, err := interp.Bytes(a.bound, interp.Options{Bounds: a.mode})
	if err != nil || bytes > checkMemory {
		return false
	}
	if free, err := memory.System("/").Available(); err == nil && bytes > free/2 {
		return false
	}
	budget := float64(checkBudget)
	if a.mode != interp.NoBounds {
		budget /= 4
	}
	var once, each work
	for _, o := range a.bound.Program.Body {
		w := workOf(a.bound, []ir.Op{o})
		it, ok := o.(*ir.Iterate)
		if !ok || it.Sequence {
			once.add(w, 1)
			continue
		}
		inner := workOf(a.bound, it.Body)
		a.conditional = a.conditional || w.conditional
		if each.cost < inner.cost {
			each = inner
		}
	}
	a.iterations, a.leaves = math.MaxInt32, 0
	if each.cost == 0 {
		return once.cost <= budget
	}
	a.iterations = int64(min((budget-once.cost)/each.cost, math.MaxInt32))
	if each.conditional {
		// Nobody knows how long an iteration is: the budget is counted in leaves.
		a.iterations = math.MaxInt32
		a.leaves = int64(max(0, (budget-once.cost)/each.cost*each.leaves))
		return a.leaves >= int64(each.leaves)
	}
	return a.iterations >= iterations
}

// work is what executing a body takes.
type work struct {
	cost        float64 // operations
	leaves      float64
	conditional bool // loops whose end depends on results count as one iteration
}

func (w *work) add(x work, times float64) {
	w.cost += times * x.cost
	w.leaves += times * x.leaves
	w.conditional = w.conditional || x.conditional
}

func workOf(b *ir.Binding, body []ir.Op) work {
	var sum work
	for _, o := range body {
		switch o := o.(type) {
		case *ir.Run:
			sum.add(work{cost: callCost(b, o.Call), leaves: 1}, 1)
		case *ir.Rotate:
			sum.leaves++
		case *ir.Iterate:
			inner := workOf(b, o.Body)
			if !counted(o) {
				inner.conditional = true
				sum.add(inner, 1)
				continue
			}
			sum.add(inner, float64(max(0, b.Eval(o.Count, 0).I)))
		}
	}
	return sum
}

// callCost counts the operations of a call.
func callCost(b *ir.Binding, s *ir.Call) float64 {
	sum := 0.0
	for _, st := range s.Body {
		cells := 1.0
		for _, axis := range st.Axes {
			cells *= float64(b.Range(st.Domain[axis]).Len())
		}
		if st.Temp != nil { // evaluated wherever it is needed
			for _, a := range s.Arrays {
				n := 1.0
				for _, d := range a.Dims {
					n *= float64(b.Extent(d).Len())
				}
				cells = max(cells, n)
			}
		}
		nodes := 0
		ir.Walk(st.Value, func(ir.Expr) { nodes++ })
		sum += cells*float64(nodes) + statementCost
	}
	return sum
}

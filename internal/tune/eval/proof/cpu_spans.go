package proof

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/gridloom/gridloom/internal/compile/gen"
	"github.com/gridloom/gridloom/internal/compile/graph"
	"github.com/gridloom/gridloom/internal/compile/interp"
	"github.com/gridloom/gridloom/internal/compile/ir"
	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// Kernels of several iterations on the processor: compiled code carries out the time loops of
// random programs, by spans where they fit.

// spanCase makes a program in which iterations of a loop may share a kernel.
func spanCase(seed uint64, o gen.Options) (c *gen.Case, refusals []*graph.Refusal, err error) {
	o.Spans = true
	const tries = 40
	for try := uint64(0); ; try++ {
		if c, err = gen.Make(seed+try<<40, o); err != nil {
			return nil, nil, err
		}
		allowed := false
		for _, l := range graph.Loops(c.Program) {
			_, err := lower.SpanChoice(c.Program, lower.Options{}, l, usualDepth(l))
			if r, ok := errors.AsType[*graph.Refusal](err); ok {
				refusals = append(refusals, r)
			}
			allowed = allowed || err == nil
		}
		if allowed || try == tries {
			return c, refusals, nil
		}
	}
}

// addSpans adds kernels of several iterations to a plan, for all loops that allow it, with
// blocks that small grids have several of.
func addSpans(seed uint64, p *ir.Program, plan *schedule.Plan) []spanned {
	rng := rand.New(rand.NewPCG(seed, 71))
	var list []spanned
	for _, l := range graph.Loops(p) {
		depth := drawDepth(l, rng)
		choice, err := lower.SpanChoice(p, lower.Options{AnyIntegers: true}, l, depth)
		if err != nil { // an exchange may make some depths impossible
			depth++
			choice, err = lower.SpanChoice(p, lower.Options{AnyIntegers: true}, l, depth)
		}
		if err != nil || depth*len(l.Iterate.Body) > mostStatements {
			continue
		}
		span, err := graph.NewSpan(p, l, int64(depth))
		if err != nil {
			continue
		}
		k := choice.Kernel
		for counter := choice.Space.Counter(); ; {
			k.Config = counter.Draw(rng)
			if cells := lower.ByRole(k.Config).Ints(schedule.CacheBlock); rng.IntN(8) == 0 || largestOf(cells) <= 64 {
				break
			}
		}
		plan.Kernels = append(plan.Kernels, k)
		list = append(list, spanned{loop: l, depth: int64(depth), after: span.After})
	}
	return list
}

func largestOf(list []int64) int64 {
	most := int64(0)
	for _, n := range list {
		most = max(most, n)
	}
	return most
}

// withIterations gives the loops of a program's sets as many iterations as make spans fit
// once or twice, or leave some over.
func withIterations(seed uint64, c *gen.Case, loops []spanned) error {
	rng := rand.New(rand.NewPCG(seed, 72))
	for i, set := range c.Sets {
		s := newSizing(c.Program, set)
		if s == nil {
			continue // it does not bind, which is found elsewhere
		}
		for _, x := range loops {
			if x.loop.Iterate.Sequence {
				continue
			}
			n := x.depth + x.after + rng.Int64N(2*x.depth+2) - 1
			if i == len(c.Sets)-1 {
				n = max(n, x.depth+x.after)
			}
			more, b, err := s.withCount(set, x.loop.Iterate, max(2, n))
			if err != nil {
				return err
			}
			set, s.bound = more, b
		}
		c.Sets[i] = set
	}
	return nil
}

// countRun adds what a run of a plan's spans has carried out, as the numbers of iterations say.
func (s *SpanResult) countRun(b *ir.Binding, loops []spanned) {
	carried, after := 0, int64(0)
	for _, x := range loops {
		n := b.Eval(x.loop.Iterate.Count, 0).I - x.after
		if n < x.depth {
			s.Idle++
			return
		}
		carried += int(n / x.depth)
		after += x.after
	}
	if carried == 0 {
		return
	}
	s.Runs++
	s.Carried += carried
	if after > 0 {
		s.After++
	}
}

// countPlan adds the kernels of several iterations of a plan that a run has carried out.
func (s *SpanResult) countPlan(plan schedule.Plan, refusals []*graph.Refusal, carried bool) {
	for _, x := range refusals {
		s.Refused.add(x.Rule)
	}
	if !carried {
		return
	}
	s.Pairs++
	for _, k := range plan.Kernels {
		if graph.IsLoopName(k.Call) {
			s.Depths.add(strconv.Itoa(k.Depth))
			s.Families.add(k.Config.Family)
		}
	}
}

// simulate runs a program with a plan in the simulator, which finds races and accesses outside of
// arrays.
func simulate(ctx context.Context, b *ir.Binding, plan schedule.Plan, seed uint64) (string, error) {
	m, err := lower.Program(b.Program, lower.Options{Plan: plan, Bound: b, AnyIntegers: true})
	if err != nil {
		return "", err
	}
	want, err := expect(ctx, b, interp.ModeOf(b.Program, true), seed, map[*ir.Grid]bool{}, 0)
	if err != nil {
		return "", err
	}
	s, err := want.run(m, b)
	if err != nil {
		return err.Error(), nil
	}
	_, reason := want.compare(s, m, b)
	return reason, nil
}

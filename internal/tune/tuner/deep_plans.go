package tuner

import (
	"context"
	"slices"

	"github.com/gridloom/gridloom/internal/compile/lower"
	"github.com/gridloom/gridloom/internal/compile/pipeline"
	"github.com/gridloom/gridloom/internal/compile/schedule"
	"github.com/gridloom/gridloom/internal/tune/deep"
)

// searches returns those of all kernels, of several iterations, too.
func (t *tuning) searches() []*kernelSearch {
	list := slices.Clone(t.kernels)
	for _, l := range t.loops {
		list = append(list, l.spans...)
	}
	return list
}

// ofLoop reports whether a kernel of a plan has whole iterations of a loop.
func (s *subject) ofLoop(k schedule.Kernel) bool {
	return lower.OfLoop(s.bound.Program, k)
}

// spansOf returns the kernels of a plan that have whole iterations.
func (s *subject) spansOf(p schedule.Plan) []schedule.Kernel {
	return slices.DeleteFunc(slices.Clone(p.Kernels), func(k schedule.Kernel) bool { return !s.ofLoop(k) })
}

// HasSpans reports whether some kernel of a contender's plan has whole iterations of a loop.
func (r *Result) HasSpans(c *Contender) bool {
	p, err := schedule.ParsePlan(c.Plan)
	return err == nil && slices.ContainsFunc(p.Kernels, func(k schedule.Kernel) bool {
		return slices.ContainsFunc(r.Loops, func(l LoopResult) bool { return l.Loop == k.Name() })
	})
}

func hasKernel(p schedule.Plan, id string) bool {
	return slices.ContainsFunc(p.Kernels, func(k schedule.Kernel) bool { return k.ID() == id })
}

// withKernel returns a plan with a kernel in the place of that with its ID, or besides the others.
func withKernel(p schedule.Plan, k schedule.Kernel) schedule.Plan {
	p.Kernels = slices.Clone(p.Kernels)
	if i := slices.IndexFunc(p.Kernels, func(x schedule.Kernel) bool { return x.ID() == k.ID() }); i >= 0 {
		p.Kernels[i] = k
		return p
	}
	p.Kernels = append(p.Kernels, k)
	return p
}

// parts returns what of a plan is compiled and measured by itself: all calls, and those kernels of several
// iterations that are ever carried out.
func (t *tuning) parts(ctx context.Context, p schedule.Plan) ([]*tunedCall, error) {
	parts := slices.Clone(t.calls)
	for _, k := range t.subject.spansOf(p) {
		call, err := t.iterationsOf(ctx, k)
		if err != nil {
			return nil, err
		}
		if call != nil {
			parts = append(parts, call)
		}
	}
	return parts, nil
}

// iterationsOf returns the iterations that a kernel holds, ready to be compared with; nil if they never fit.
func (t *tuning) iterationsOf(ctx context.Context, k schedule.Kernel) (*tunedCall, error) {
	if call, ok := t.iterations[k.ID()]; ok {
		return call, nil
	}
	loop := t.subject.loopOf(k)
	if loop == nil {
		return nil, nil // the loop never runs
	}
	after, err := loop.after(int64(k.Depth))
	if err != nil {
		return nil, nil
	}
	call := loop.span(t.subject, int64(k.Depth), after)
	if lower.Repeats(k.Config.Family) {
		call.iterations.repeat()
	}
	if err := t.prepareIterations(ctx, call); err != nil {
		return nil, err
	}
	t.iterations[k.ID()] = call
	return call, nil
}

// saved returns the seconds that kernels of several iterations, and of sets of calls, save, for one run of the call
// that runs most often. The seconds are by part.
func (l *tunedLoop) saved(seconds map[*tunedCall]float64) float64 {
	single, bySets := 0.0, 0.0
	for _, call := range l.calls {
		single += seconds[call]
	}
	for _, set := range l.sets {
		bySets += set.saved(seconds)
	}
	if l.executions*float64(l.count) == 0 {
		return bySets
	}
	versions := []deep.Version{{Depth: 1, Seconds: single - bySets/(l.executions*float64(l.count))}}
	for call, s := range seconds {
		if n := call.iterations; n != nil && n.tunedLoop == l {
			versions = append(versions, n.version(s))
		}
	}
	return bySets + l.savedBy(versions)
}

// savedBy returns the seconds that versions save, as the loop is carried out. The first is plain.
func (l *tunedLoop) savedBy(versions []deep.Version) float64 {
	_, seconds := deep.Greedy(l.count, versions)
	return l.executions * (float64(l.count)*versions[0].Seconds - seconds)
}

// bytesSavedBy returns the bytes that the versions need not move, as the loop is carried out. The first is plain.
func (l *tunedLoop) bytesSavedBy(versions []deep.Version) float64 {
	moved := slices.Clone(versions)
	moved[0].Seconds = 0
	for _, call := range l.calls {
		moved[0].Seconds += float64(call.points) * call.bytes
	}
	for i, v := range moved[1:] {
		bytes, err := l.bytes(v.Depth)
		if err != nil {
			return 0
		}
		moved[i+1].Seconds = bytes
	}
	return l.savedBy(moved)
}

// bytes returns what a kernel of so many iterations moves: every grid that they read or leave once.
func (l *tunedLoop) bytes(depth int64) (float64, error) {
	cell, err := pipeline.Bytes(l.program, l.Loop, depth)
	points := int64(0)
	for _, call := range l.calls {
		points = max(points, call.points)
	}
	return cell * float64(points), err
}

// in returns those of the versions that a plan has, and the plain one.
func (l *loopSearch) in(p schedule.Plan) []deep.Version {
	return slices.DeleteFunc(l.versions(), func(v deep.Version) bool {
		return !v.Plain() && !hasKernel(p, l.loop.id(v.Depth))
	})
}

// withNamed returns a plan with the best configurations of the kernels of several iterations that the user's
// plan names, or with others that come next, and whether it names any.
func (t *tuning) withNamed(p schedule.Plan, alternative int) (plan schedule.Plan, some bool) {
	for _, l := range t.loops {
		for _, k := range l.spans {
			if l.named != nil && len(k.leaders) > 0 {
				p, some = k.in(p, k.leaders[min(alternative, len(k.leaders)-1)].config), true
			}
		}
	}
	return p, some
}

// Plans with kernels of several iterations that are timed side by side at the end.
const mostSpanPlans = 4

// spanPlans returns the best kernels of single iterations together with those of several that pay, and those of sets of
// calls, the likely best first. The others have the next best configurations of the depth that matters most, and the
// next best depth. A loop whose spans the user's plan names has these.
func (t *tuning) spanPlans() []schedule.Plan {
	var plans []schedule.Plan
	for n := range mostSpanPlans {
		for second := range max(1, 2-n) { // the other way is tried once
			plan, some := t.withNamed(t.base(), n)
			other := false
			for _, whole := range t.subject.loops {
				ways := t.ways(whole, n)
				if len(ways) > second {
					other = true
				}
				if len(ways) == 0 {
					continue
				}
				for _, k := range ways[min(second, len(ways)-1)] {
					plan, some = withKernel(plan, k), true
				}
			}
			same := func(p schedule.Plan) bool { return p.String() == plan.String() }
			if some && (second == 0 || other) && !slices.ContainsFunc(plans, same) {
				plans = append(plans, plan)
			}
		}
	}
	return plans
}

// ways returns how a loop may be carried out by kernels of several calls or iterations: by those of whole iterations,
// or by those of sets of its calls; the way that saves more comes first.
func (t *tuning) ways(whole *tunedLoop, alternative int) [][]schedule.Kernel {
	var ways [2][]schedule.Kernel
	var saved [2]float64
	for _, l := range t.loops {
		if l.named != nil || l.loop.Iterate != whole.Iterate {
			continue
		}
		way := 0
		if l.loop.Set != nil {
			way = 1
		}
		kernels := l.choose(alternative)
		if len(kernels) == 0 {
			continue
		}
		ways[way] = append(ways[way], kernels...)
		saved[way] += l.loop.savedBy(l.versions())
	}
	if saved[1] > saved[0] {
		ways[0], ways[1] = ways[1], ways[0]
	}
	return slices.DeleteFunc(ways[:], func(w []schedule.Kernel) bool { return len(w) == 0 })
}

// base returns the default plan with the best kernels of single iterations.
func (t *tuning) base() schedule.Plan {
	plan := t.defaultPlan
	for _, k := range t.kernels {
		if len(k.leaders) > 0 {
			plan = k.in(plan, k.leaders[0].config)
		}
	}
	return plan
}

// choose returns kernels of several iterations that pay. The first alternatives differ in the configuration of
// the depth that is fastest per iteration, the last one leaves it out.
func (l *loopSearch) choose(alternative int) []schedule.Kernel {
	versions := l.versions()
	main := versions[0]
	for _, v := range versions {
		if v.PerIteration() < main.PerIteration() {
			main = v
		}
	}
	if alternative == mostSpanPlans-1 && !main.Plain() {
		versions = slices.DeleteFunc(versions, func(v deep.Version) bool { return v == main })
	}
	var list []schedule.Kernel
	for _, v := range deep.Choose(l.loop.count, versions) {
		if v.Plain() {
			continue
		}
		k := l.spans[slices.IndexFunc(l.spans, func(k *kernelSearch) bool {
			return k.call.iterations.depth == v.Depth
		})]
		leader := 0
		if v == main {
			leader = min(alternative, len(k.leaders)-1)
		}
		list = append(list, l.loop.kernel(v.Depth, k.leaders[leader].config))
	}
	return list
}

package tuner

import (
	"errors"
	"slices"
	"time"

	"github.com/gridloom/gridloom/internal/compile/schedule"
)

// A budget covers all that the user waits for: the preparations, the search, the comparison of the finalists
// and the library. The search leaves finalPart of the budget for what follows, or the time that this is
// likely to take, judging by trials and compilations so far, but at most mostFinal.
const (
	finalPart = 0.12
	mostFinal = 0.4
)

// interruptGrace is how long an interrupted search may take to time the best plans once more.
const interruptGrace = 3 * time.Second

// errNoTime is why a plan is not among the finalists.
var errNoTime = errors.New("there was no time left to time it")

// end returns when the budget is over; the zero time is never. The time of the session that is resumed
// counts.
func end(start time.Time, o Options) time.Time {
	if o.Budget == 0 {
		return time.Time{}
	}
	before := 0.0
	for _, r := range o.Resume {
		before = max(before, r.At)
	}
	return start.Add(o.Budget - time.Duration(before*float64(time.Second)))
}

// until returns when the search has to stop; the zero time is never.
func (t *tuning) until() time.Time {
	if t.end.IsZero() {
		return t.end
	}
	part := t.finalTime()
	if t.opts.yield > 0 && !t.clock().Before(t.yieldsAt()) && t.triedTogether() {
		t.opts.yield = 0 // it is asked once
		if t.givesWay() {
			t.end = t.clock().Add(part)
		}
	}
	return t.end.Add(-part)
}

// finalTime is how much of the budget is left for what follows the search.
func (t *tuning) finalTime() time.Duration {
	whole := float64(t.opts.Budget)
	return time.Duration(min(max(finalPart*whole, float64(t.finalCost())), mostFinal*whole))
}

// yieldsAt returns when the search is likely to end because versions of the source come next.
func (t *tuning) yieldsAt() time.Time {
	return t.started.Add(time.Duration(t.opts.yield * float64(t.opts.Budget))).Add(-t.finalTime())
}

// givesWay reports whether versions of the source are likely to be faster: kernels spill, or none works, or operations
// bind them that a version saves.
func (t *tuning) givesWay() bool {
	p := t.likely()
	return t.spilled(p) > 0 || t.unfit() || t.opts.unspilled && !t.atBound(p, t.seconds(p))
}

// fewTogether is how many kernels of all statements of an iteration are tried before they count as tried.
const fewTogether = 24

// triedTogether reports whether kernels of all statements of an iteration were tried, where there may be some.
func (t *tuning) triedTogether() bool {
	tried := func(k *kernelSearch) bool {
		return k.call.iterations.depth == 1 && (len(k.list) >= fewTogether || k.runs > 0)
	}
	return !slices.ContainsFunc(t.loops, func(l *loopSearch) bool {
		return l.loop.Set == nil && l.loop.Assignments() > 1 && !slices.ContainsFunc(l.spans, tried)
	})
}

// likely returns the plan that is likely to be the best so far.
func (t *tuning) likely() schedule.Plan {
	if plans := t.spanPlans(); len(plans) > 0 {
		return plans[0]
	}
	return t.base()
}

// spilled returns how many bytes of a thread the kernels of a plan spill at the most, as far as the search has compiled
// them. Kernels of single calls do not count where one of several calls takes their place.
func (t *tuning) spilled(p schedule.Plan) int {
	replaced := map[string]bool{}
	for _, k := range t.subject.spansOf(p) {
		if l := t.subject.loopOf(k); l != nil {
			for _, call := range l.calls {
				replaced[call.name] = true
			}
		}
	}
	most := 0
	for _, k := range t.searches() {
		for _, x := range p.Kernels {
			if x.ID() == k.name && !replaced[x.Call] {
				most = max(most, k.spilledBy(x.Config))
			}
		}
	}
	return most
}

// spilledBy returns how many bytes of a thread a configuration spills, as the device or the compiler has told; 0 if it
// is not known.
func (k *kernelSearch) spilledBy(c schedule.Config) int {
	if i := slices.IndexFunc(k.list, func(o *Outcome) bool { return o.Config == c.String() }); i >= 0 {
		return k.list[i].Spills
	}
	if k.defaultTask == nil || !c.Equal(k.kernel.Config) {
		return 0
	}
	select {
	case <-k.defaultTask.done:
		return k.defaultTask.made.Resources.Spills
	default:
		return 0
	}
}

// unfit reports whether kernels of all statements of an iteration were tried, and none works.
func (t *tuning) unfit() bool {
	return slices.ContainsFunc(t.loops, func(l *loopSearch) bool {
		return l.loop.Set == nil && slices.ContainsFunc(l.spans, func(k *kernelSearch) bool {
			return k.call.iterations.depth == 1 && len(k.list) > 0 && k.best == nil
		})
	})
}

// nearBound is the part of the copy bound from which memory binds a program: fewer operations would not help it.
const nearBound = 0.8

// atBound reports whether a plan that takes so many seconds, for one run of the call that runs most often, moves
// what its kernels have to nearly as fast as a copy does. Nothing is known where the grids fit in a cache.
func (t *tuning) atBound(p schedule.Plan, seconds float64) bool {
	bytes := t.traffic()
	for _, l := range t.loops {
		bytes -= l.loop.bytesSavedBy(l.in(p))
	}
	return t.bound > 0 && seconds > 0 && bytes >= nearBound*seconds*1e9*t.result.Bound.CopyGBs
}

// finalCost is the likely time of what follows the search.
func (t *tuning) finalCost() time.Duration {
	plans, compiled := 3, 3 // the default, an expert's, and plain code or that for all sizes
	switch {
	case t.goesOn():
		plans, compiled = 1, 1 // the default
	case len(t.kernels) == 1:
		plans += maxFinalists
	default:
		plans++
	}
	plans, compiled = plans+len(t.opts.Others), compiled+len(t.opts.Others)
	cost := t.compileCost(compiled*len(t.calls)) + time.Duration(plans*len(t.calls))*t.tryCost()
	if len(t.loops) > 0 {
		plans += mostSpanPlans
		cost += time.Duration(mostSpanPlans*(len(t.calls)+len(t.loops))) * t.tryCost()
	}
	cost += fewestRounds * t.roundCost(plans)
	if t.opts.Library {
		cost += time.Duration(libraryVariants) * t.queue.meanLowering()
	}
	return cost
}

// libraryVariants is about how many variants are lowered for a library.
const libraryVariants = 4

// compileCost is the likely time of compiling so many variants.
func (t *tuning) compileCost(variants int) time.Duration {
	n := t.queue.stats.Processes
	return time.Duration((variants+n-1)/n) * t.queue.typicalTime()
}

// tryCost is the mean time of a trial so far.
func (t *tuning) tryCost() time.Duration {
	if t.tries == 0 {
		return 0
	}
	return t.tried / time.Duration(t.tries)
}

// roundCost is the likely time of a round of so many plans.
func (t *tuning) roundCost(plans int) time.Duration {
	if t.batches == 0 {
		return time.Duration(plans*len(t.calls)) * 2 * t.longer()
	}
	return time.Duration(plans*len(t.calls)) * (t.batched / time.Duration(t.batches))
}

// lacksTime reports whether the budget is over before something that takes so long.
func (t *tuning) lacksTime(cost time.Duration) bool {
	return !t.end.IsZero() && t.clock().Add(cost).After(t.end)
}

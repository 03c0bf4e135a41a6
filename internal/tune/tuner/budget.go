package tuner

import (
	"errors"
	"time"
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
	whole := float64(t.opts.Budget)
	part := min(max(finalPart*whole, float64(t.finalCost())), mostFinal*whole)
	return t.end.Add(-time.Duration(part))
}

// finalCost is the likely time of what follows the search.
func (t *tuning) finalCost() time.Duration {
	plans := len(t.opts.Others) + 3 // the default, an expert's, and plain code or that for all sizes
	if len(t.kernels) == 1 {
		plans += maxFinalists
	} else {
		plans++
	}
	cost := t.compileCost(3*len(t.calls)) + time.Duration(plans*len(t.calls))*t.tryCost()
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

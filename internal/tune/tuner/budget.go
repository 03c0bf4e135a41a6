package tuner

import (
	"errors"
	"time"
)

// A budget is for all that the user waits for: the preparations, the search, the
// finalists side by side, and what is written of them. The search leaves for what
// comes after it finalPart of the budget, or as much as that is likely to take by
// what trials and compilations have taken so far, but no more than mostFinal.
const (
	finalPart = 0.12
	mostFinal = 0.4
)

// graceful is how long an interrupted search may take to time what it has found.
const graceful = 3 * time.Second

// errNoTime is why a plan is not among the finalists.
var errNoTime = errors.New("there was no time left to time it")

// end returns when the budget is over; the zero time is never. What an earlier
// search has taken is counted.
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

// finalCost is how long what follows the search is likely to take.
func (t *tuning) finalCost() time.Duration {
	plans := len(t.opts.Others) + 3 // the default, an expert's, and plain code or that for all sizes
	if len(t.kernels) == 1 {
		plans += finalists
	} else {
		plans++
	}
	cost := t.compileCost(3*len(t.stages)) + time.Duration(plans*len(t.stages))*t.tryCost() + fewestRounds*t.roundCost(plans)
	if t.opts.Library {
		cost += time.Duration(libraryVariants) * t.works.lowering()
	}
	return cost
}

// libraryVariants is how many variants are about lowered to write a library.
const libraryVariants = 4

// compileCost is how long it takes to compile so many variants.
func (t *tuning) compileCost(variants int) time.Duration {
	n := t.works.made.Processes
	return time.Duration((variants+n-1)/n) * t.works.usualTime()
}

// tryCost is how long it takes to check a variant.
func (t *tuning) tryCost() time.Duration {
	if t.tries == 0 {
		return 0
	}
	return t.tried / time.Duration(t.tries)
}

// roundCost is how long a round of so many plans takes.
func (t *tuning) roundCost(plans int) time.Duration {
	if t.batches == 0 {
		return time.Duration(plans*len(t.stages)) * 2 * t.longer()
	}
	return time.Duration(plans*len(t.stages)) * (t.batched / time.Duration(t.batches))
}

// short reports whether there is no time for something that takes so long.
func (t *tuning) short(cost time.Duration) bool {
	return !t.end.IsZero() && t.clock().Add(cost).After(t.end)
}

package measure

import (
	"math"
	"time"
)

// Rule says how to time a variant.
type Rule struct {
	Least   time.Duration // of a batch: long enough for the timer
	Batches int           // the most
	// Best is the incumbent's interval in seconds; zero if there is none. A variant that is clearly slower is
	// timed no further.
	Best Interval
}

const (
	// abandonFactor: no batch is timed of a variant whose runs are so many times as slow as the incumbent.
	abandonFactor = 4
	// coldMost is what a first run may take beside its own time, at the most: code is loaded, caches are cold, and the
	// host that should launch it is busy with compiling. On an H200 it is 50 microseconds to 6 milliseconds for one
	// kernel of 20. So a slow first run says nothing of kernels that are shorter than that.
	coldMost = 0.05
	// settled are the seconds of further runs after which a variant is as slow as it seems.
	settled = 0.002
	// loserFactor: a variant whose first batch is so many times as slow as the incumbent loses, whatever the
	// scatter.
	loserFactor = 1.25
	// fewestBatches are needed to know the scatter.
	fewestBatches = 3
)

// Sample is the result of timing a variant.
type Sample struct {
	Times    []float64 `json:"times"` // seconds of one run, by batch
	Launches int       `json:"runs"`  // in a batch
	Early    bool      `json:"early,omitempty"`
}

// take times batches by the rule. first is the time of the first run; batch returns the time of n runs. Times are
// those of one of the equal parts of a run.
func (r Rule) take(first, parts float64, batch func(n int) (float64, error)) (Sample, error) {
	var s Sample
	best := r.Best.Middle()
	hopeless := func() bool { return best > 0 && first/parts > abandonFactor*best }
	spent := 0.0
	for n := 1; hopeless() && (first-coldMost)/parts <= abandonFactor*best && spent < settled; n *= 2 {
		took, err := batch(n)
		if err != nil {
			return s, err
		}
		first, spent = min(first, took/float64(n)), spent+took
	}
	if hopeless() {
		return Sample{Times: []float64{first / parts}, Launches: 1, Early: true}, nil
	}
	least := r.Least.Seconds()
	s.Launches = max(1, int(math.Ceil(1.1*least/max(first, 1e-7))))
	for len(s.Times) < max(1, r.Batches) {
		took, err := batch(s.Launches)
		if err != nil {
			return s, err
		}
		if took < least && len(s.Times) == 0 {
			s.Launches = max(s.Launches+1, int(1.2*float64(s.Launches)*least/max(took, 1e-7)))
			continue
		}
		s.Times = append(s.Times, took/float64(s.Launches)/parts)
		if r.decided(s.Times) {
			s.Early = len(s.Times) < r.Batches
			break
		}
	}
	return s, nil
}

// decided reports whether the variant has lost: clearly by its first batch, or after some batches by an
// interval apart from the incumbent's.
func (r Rule) decided(times []float64) bool {
	best := r.Best.Middle()
	if best <= 0 {
		return false
	}
	if times[0] > loserFactor*best {
		return true
	}
	_, interval := Typical(times)
	return len(times) >= fewestBatches && interval[0] > r.Best[1]
}

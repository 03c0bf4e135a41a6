package measure

import (
	"math"
	"time"
)

// Rule says how to time a variant.
type Rule struct {
	Least   time.Duration // of a batch: long enough for the timer
	Batches int           // the most
	// Best is the interval of the fastest variant so far, in seconds; zero if
	// there is none. A variant that is clearly slower is timed no further.
	Best Interval
}

const (
	// hopeless is how many times as slow as the best a variant's very first run
	// is when not even a batch of it is timed.
	hopeless = 4
	// slower is how many times as slow as the best a variant's first batch is
	// when it is clear that it loses, whatever the scatter.
	slower = 1.25
	// fewest batches tell how much times scatter.
	fewest = 3
)

// Sample is what timing has come to.
type Sample struct {
	Times    []float64 `json:"times"` // seconds of one run, by batch
	Launches int       `json:"runs"`  // in a batch
	Early    bool      `json:"early,omitempty"`
}

// take times batches as a rule says. first is how long the first run took,
// and batch how long so many runs take.
func (r Rule) take(first float64, batch func(n int) (float64, error)) (Sample, error) {
	var s Sample
	best := r.Best.Middle()
	if best > 0 && first > hopeless*best {
		return Sample{Times: []float64{first}, Launches: 1, Early: true}, nil
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
		s.Times = append(s.Times, took/float64(s.Launches))
		if r.decided(s.Times) {
			s.Early = len(s.Times) < r.Batches
			break
		}
	}
	return s, nil
}

// decided reports whether more batches would change nothing: the variant loses
// to the best clearly, or after some batches by intervals that are apart.
func (r Rule) decided(times []float64) bool {
	best := r.Best.Middle()
	if best <= 0 {
		return false
	}
	if times[0] > slower*best {
		return true
	}
	_, interval := Typical(times)
	return len(times) >= fewest && interval[0] > r.Best[1]
}

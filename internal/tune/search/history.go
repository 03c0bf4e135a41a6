package search

import (
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/gridloom/gridloom/internal/run/verdict"
)

// history holds what every strategy keeps: the points that it has asked for, those in flight, and the results
// of the others.
type history struct {
	Problem
	params []Param
	rng    *rand.Rand
	count  *big.Int
	empty  bool

	status   map[string]status // of all points that may not be asked for again
	inFlight []Point           // asked for and not told yet, in that order
	trials   []Trial           // told, in that order
	index    map[string]int    // index of a point in trials
	best     int               // index in trials; -1 while none is Good

	undrawn  []Point // points that draw can still return, once the space is listed
	listed   bool
	deferred []Point // drawn, and deferred by their estimates
}

// status says why a point may not be asked for.
type status uint8

const (
	// reserved is a point that waits in a queue.
	reserved status = iota + 1
	underWay
	told
)

func newHistory(p Problem) *history {
	count := p.Space.Count()
	if p.Estimate != nil {
		p.Estimate = memoized(p.Estimate)
	}
	return &history{
		Problem: p,
		params:  p.Space.Params(),
		rng:     rand.New(rand.NewPCG(p.Seed, 0x5eed)),
		count:   count,
		empty:   count.Sign() == 0,
		status:  map[string]status{},
		index:   map[string]int{},
		best:    -1,
	}
}

// ended reports whether the search has been ended from outside. Long computations check it and stop halfway:
// nothing is asked for after that.
func (p *Problem) ended() bool { return p.Context != nil && p.Context.Err() != nil }

// memoized computes the estimate of each point once.
func memoized(estimate func(Point) (float64, bool)) func(Point) (float64, bool) {
	type answer struct {
		time float64
		runs bool
	}
	known := map[string]answer{}
	return func(p Point) (float64, bool) {
		key := p.Key()
		a, ok := known[key]
		if !ok {
			a.time, a.runs = estimate(p)
			known[key] = a
		}
		return a.time, a.runs
	}
}

// fresh reports whether p may still be asked for.
func (m *history) fresh(p Point) bool { return m.status[p.Key()] == 0 }

// reserve keeps a point from being drawn until it is asked for.
func (m *history) reserve(p Point) { m.status[p.Key()] = reserved }

// ask marks a point as in flight.
func (m *history) ask(p Point) {
	m.status[p.Key()] = underWay
	m.inFlight = append(m.inFlight, p)
}

// record adds a trial. A trial that was not asked for, from elsewhere, counts like any other.
func (m *history) record(t Trial) {
	key := t.Point.Key()
	if m.status[key] == underWay {
		i := slices.IndexFunc(m.inFlight, func(p Point) bool { return slices.Equal(p, t.Point) })
		m.inFlight = slices.Delete(m.inFlight, i, i+1)
	}
	m.status[key] = told
	m.index[key] = len(m.trials)
	m.trials = append(m.trials, t)
	if t.Verdict == verdict.OK && (m.best < 0 || t.Seconds < m.trials[m.best].Seconds) {
		m.best = len(m.trials) - 1
	}
}

// result returns the trial of a point; false if there is none.
func (m *history) result(p Point) (Trial, bool) {
	i, ok := m.index[p.Key()]
	if !ok {
		return Trial{}, false
	}
	return m.trials[i], true
}

// top returns the n fastest trials so far, the best first.
func (m *history) top(n int) []Trial {
	var good []Trial
	for _, t := range m.trials {
		if t.Verdict == verdict.OK {
			good = append(good, t)
		}
	}
	slices.SortStableFunc(good, bySeconds)
	return good[:min(n, len(good))]
}

func bySeconds(a, b Trial) int {
	switch {
	case a.Seconds < b.Seconds:
		return -1
	case a.Seconds > b.Seconds:
		return 1
	}
	return 0
}

// maxMissedDraws is the number of draws in a row of points that are taken, after which the space is listed:
// most of it is then likely used up.
const maxMissedDraws = 16

// small is the number of points up to which a space is listed at once.
var small = big.NewInt(512)

// draw returns a fresh point, each with equal chance; false if there is none. A large space is drawn from until
// hits become rare, and only then listed. So spaces of any size are drawn to their last point.
func (m *history) draw() (Point, bool) {
	if m.empty {
		return nil, false
	}
	if !m.listed && m.count.Cmp(small) > 0 {
		for range maxMissedDraws {
			if p := m.Space.Draw(m.rng); m.fresh(p) {
				return p, true
			}
		}
	}
	if !m.listed {
		m.listed = true
		for p := range m.Space.All() {
			if m.fresh(p) {
				m.undrawn = append(m.undrawn, slices.Clone(p))
			}
		}
	}
	for len(m.undrawn) > 0 {
		i, last := m.rng.IntN(len(m.undrawn)), len(m.undrawn)-1
		p := m.undrawn[i]
		m.undrawn[i] = m.undrawn[last]
		m.undrawn = m.undrawn[:last]
		if m.fresh(p) {
			return p, true
		}
	}
	return nil, false
}

// deferredTime is an estimated time greater than all others.
const deferredTime = 1e300

// maxDeferred is the number of points in a row that are deferred by their estimates, after which one of them is
// asked for.
const maxDeferred = 64

// pick draws a point that its estimate does not defer. Deferred points come when there seem to be no others.
func (m *history) pick() (Point, bool) {
	for range maxDeferred {
		p, ok := m.draw()
		if !ok {
			break
		}
		if m.worthTrying(p) {
			return p, true
		}
		m.reserve(p)
		m.deferred = append(m.deferred, p)
	}
	for len(m.deferred) > 0 {
		p := m.deferred[0]
		m.deferred = m.deferred[1:]
		if m.status[p.Key()] == reserved {
			delete(m.status, p.Key())
			return p, true
		}
	}
	return nil, false
}

// worthTrying reports whether the estimate, if there is one, does not defer p.
func (m *history) worthTrying(p Point) bool {
	if m.Estimate == nil {
		return true
	}
	_, ok := m.Estimate(p)
	return ok
}

package search

import (
	"math/big"
	"math/rand/v2"
	"slices"
)

// memory is what every strategy keeps: the points that it has asked for, those
// that are under way, and what became of the others.
type memory struct {
	Problem
	params []Param
	rng    *rand.Rand
	count  *big.Int
	empty  bool

	status map[string]status // of all points that may not be asked for any more
	under  []Point           // asked for and not yet told, in that order
	trials []Trial           // told, in that order
	at     map[string]int    // where a point stands in trials
	best   int               // in trials; -1 while none is Good

	left     []Point // what draw has left to draw from, once it had to list the space
	list     bool
	doubtful []Point // drawn, and left for last
}

// status says why a point is not to be asked for.
type status uint8

const (
	// reserved is a point that will be asked for as soon as it is its turn.
	reserved status = iota + 1
	underWay
	told
)

func newMemory(p Problem) *memory {
	count := p.Space.Count()
	if p.Estimate != nil {
		p.Estimate = remembered(p.Estimate)
	}
	return &memory{
		Problem: p,
		params:  p.Space.Params(),
		rng:     rand.New(rand.NewPCG(p.Seed, 0x5eed)),
		count:   count,
		empty:   count.Sign() == 0,
		status:  map[string]status{},
		at:      map[string]int{},
		best:    -1,
	}
}

// over reports whether the search has been ended from outside. Whatever may take
// long looks at it, and leaves its work half done: nobody asks again.
func (m *memory) over() bool { return m.Context != nil && m.Context.Err() != nil }

// remembered asks for the estimate of a point once: it may have to lower a kernel.
func remembered(estimate func(Point) (float64, bool)) func(Point) (float64, bool) {
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
func (m *memory) fresh(p Point) bool { return m.status[p.Key()] == 0 }

// reserve keeps a point from being drawn until it is asked for.
func (m *memory) reserve(p Point) { m.status[p.Key()] = reserved }

// ask notes that a point is under way.
func (m *memory) ask(p Point) {
	m.status[p.Key()] = underWay
	m.under = append(m.under, p)
}

// note takes in a trial. One that was not asked for is knowledge from
// elsewhere and as good as any.
func (m *memory) note(t Trial) {
	key := t.Point.Key()
	if m.status[key] == underWay {
		i := slices.IndexFunc(m.under, func(p Point) bool { return slices.Equal(p, t.Point) })
		m.under = slices.Delete(m.under, i, i+1)
	}
	m.status[key] = told
	m.at[key] = len(m.trials)
	m.trials = append(m.trials, t)
	if t.Verdict == Good && (m.best < 0 || t.Seconds < m.trials[m.best].Seconds) {
		m.best = len(m.trials) - 1
	}
}

// result returns what became of a point; false if nobody knows.
func (m *memory) result(p Point) (Trial, bool) {
	i, ok := m.at[p.Key()]
	if !ok {
		return Trial{}, false
	}
	return m.trials[i], true
}

// top returns the n fastest trials so far, the best first.
func (m *memory) top(n int) []Trial {
	var good []Trial
	for _, t := range m.trials {
		if t.Verdict == Good {
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

// misses is how many draws in a row may be of points that are taken before the
// space is listed. Most of it is then likely gone.
const misses = 16

// small is the number of points up to which a space is listed at once.
var small = big.NewInt(512)

// draw returns a point that is fresh, each with equal chance; false if there is
// none. Large spaces are drawn from until hits become rare, and only then
// listed, so that a space of any size is drawn to its last point.
func (m *memory) draw() (Point, bool) {
	if m.empty {
		return nil, false
	}
	if !m.list && m.count.Cmp(small) > 0 {
		for range misses {
			if p := m.Space.Draw(m.rng); m.fresh(p) {
				return p, true
			}
		}
	}
	if !m.list {
		m.list = true
		for p := range m.Space.All() {
			if m.fresh(p) {
				m.left = append(m.left, slices.Clone(p))
			}
		}
	}
	for len(m.left) > 0 {
		i, last := m.rng.IntN(len(m.left)), len(m.left)-1
		p := m.left[i]
		m.left[i] = m.left[last]
		m.left = m.left[:last]
		if m.fresh(p) {
			return p, true
		}
	}
	return nil, false
}

// putOff is an estimated time beyond all others.
const putOff = 1e300

// doubts is how many points in a row that cannot run, by their estimate, are
// put off before one of them is asked for all the same.
const doubts = 64

// pick draws a point that can run as far as the estimate tells. Others come
// when there seem to be no such points any more.
func (m *memory) pick() (Point, bool) {
	for range doubts {
		p, ok := m.draw()
		if !ok {
			break
		}
		if m.sensible(p) {
			return p, true
		}
		m.reserve(p)
		m.doubtful = append(m.doubtful, p)
	}
	for len(m.doubtful) > 0 {
		p := m.doubtful[0]
		m.doubtful = m.doubtful[1:]
		if m.status[p.Key()] == reserved {
			delete(m.status, p.Key())
			return p, true
		}
	}
	return nil, false
}

// sensible reports whether the estimate, if there is one, does not put p off.
func (m *memory) sensible(p Point) bool {
	if m.Estimate == nil {
		return true
	}
	_, ok := m.Estimate(p)
	return ok
}

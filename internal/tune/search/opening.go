package search

import "slices"

// poolPerPoint is the number of points that are estimated for each one that is chosen by its estimate.
const poolPerPoint = 8

// openings returns points to begin with: those that were good elsewhere, and up to n others, 0 for none. The others are
// defaults, the best estimated of a random pool, and random points, in case the estimate is wrong.
func (m *history) openings(n int) []Point {
	q := queue{history: m}
	add := func(list []Point, most int) {
		for _, p := range list {
			if most > 0 && m.Space.Legal(p) && m.worthTrying(p) && q.add(p) {
				most--
			}
		}
	}
	add(m.Good, len(m.Good))
	if n > 0 {
		n += len(q.waiting)
		add(m.Space.Starts(), max(n/4, 1))
		if m.Estimate != nil && !m.empty {
			add(m.estimated(poolPerPoint*n), (n-len(q.waiting)+1)/2)
		}
	}
	for len(q.waiting) < n {
		p, ok := m.pick()
		if !ok {
			break
		}
		q.add(p)
	}
	for _, p := range q.waiting {
		delete(m.status, p.Key()) // the caller decides
	}
	return q.waiting
}

// estimated draws n points and returns them by their estimates, the best first, deferred points last.
func (m *history) estimated(n int) []Point {
	type candidate struct {
		p    Point
		time float64
		soon bool
	}
	var list []candidate
	for range n {
		p := m.Space.Draw(m.rng)
		if t, soon := m.Estimate(p); m.fresh(p) {
			list = append(list, candidate{p, t, soon})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		switch {
		case a.soon == b.soon:
			return bySeconds(Trial{Seconds: a.time}, Trial{Seconds: b.time})
		case a.soon:
			return -1
		}
		return 1
	})
	var points []Point
	for _, c := range list {
		points = append(points, c.p)
	}
	return points
}

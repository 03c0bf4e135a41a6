package search

import "slices"

// poolPerPoint is how many points are estimated for each one that is chosen by
// its estimate.
const poolPerPoint = 8

// openings returns points to begin with: those that were good elsewhere, and up
// to n others: what users get without a search, the best estimated of a random
// pool, and, so that a wrong estimate does not blind the search, random ones.
func (m *memory) openings(n int) []Point {
	q := queue{memory: m}
	add := func(list []Point, most int) {
		for _, p := range list {
			if most > 0 && m.Space.Legal(p) && m.sensible(p) && q.add(p) {
				most--
			}
		}
	}
	add(m.Good, len(m.Good))
	n += len(q.waiting)
	add(m.Space.Starts(), max(n/4, 1))
	if m.Estimate != nil && !m.empty {
		add(m.estimated(poolPerPoint*n), (n-len(q.waiting)+1)/2)
	}
	for len(q.waiting) < n {
		p, ok := m.pick()
		if !ok {
			break
		}
		q.add(p)
	}
	for _, p := range q.waiting {
		delete(m.status, p.Key()) // whoever asked for openings decides
	}
	return q.waiting
}

// estimated draws n points and returns them, the best first, and those that are to
// be put off last.
func (m *memory) estimated(n int) []Point {
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

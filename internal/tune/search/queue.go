package search

import "slices"

// queue holds points to ask for, in order. They are reserved in the history while they wait.
type queue struct {
	*history
	waiting []Point
}

// add appends a point if it is fresh, and reports whether it was.
func (q *queue) add(p Point) bool {
	if !q.fresh(p) {
		return false
	}
	q.reserve(p)
	q.waiting = append(q.waiting, p)
	return true
}

// take returns the first point that was not told meanwhile.
func (q *queue) take() (Point, bool) {
	for len(q.waiting) > 0 {
		p := q.waiting[0]
		q.waiting = q.waiting[1:]
		if q.status[p.Key()] == reserved {
			return p, true
		}
	}
	return nil, false
}

// peek returns up to n waiting points.
func (q *queue) peek(n int) []Point {
	return slices.Clone(q.waiting[:min(n, len(q.waiting))])
}

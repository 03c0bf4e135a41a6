package search

import "slices"

// queue holds points that are to be asked for in their order. They are reserved
// in the memory as long as they wait.
type queue struct {
	*memory
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

// take returns the first point that nobody has told of meanwhile.
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

// peek returns up to n of the points that wait.
func (q *queue) peek(n int) []Point {
	return slices.Clone(q.waiting[:min(n, len(q.waiting))])
}

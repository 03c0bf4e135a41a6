package search

import (
	"runtime"
	"slices"
)

// exhaustive asks for every point, in the space's order.
type exhaustive struct {
	queue
	pull func() (Point, bool)
}

func newExhaustive(p Problem, _ string) (Strategy, error) {
	m := newHistory(p)
	e := &exhaustive{queue: queue{history: m}}
	next, stop := pull(p.Space.All())
	e.pull = next
	runtime.AddCleanup(e, func(stop func()) { stop() }, stop) // a search may be dropped halfway
	return &methodStrategy{m, e}, nil
}

// fill makes n points wait, if there are so many.
func (e *exhaustive) fill(n int) {
	for len(e.waiting) < n {
		p, ok := e.pull()
		if !ok {
			return
		}
		e.add(slices.Clone(p))
	}
}

func (e *exhaustive) next() (Point, bool) {
	for {
		e.fill(1)
		if len(e.waiting) == 0 {
			return nil, false
		}
		if p, ok := e.take(); ok {
			return p, true
		}
	}
}

func (e *exhaustive) told(Trial) {}

func (e *exhaustive) likely(n int) []Point {
	e.fill(n)
	return e.peek(n)
}

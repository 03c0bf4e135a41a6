package search

import "slices"

// first returns the points of First that are not known, each once.
func (p *Problem) first() []Point {
	seen := map[string]bool{}
	for _, t := range p.Known {
		seen[t.Point.Key()] = true
	}
	var list []Point
	for _, x := range p.First {
		if key := x.Key(); !seen[key] {
			seen[key] = true
			list = append(list, slices.Clone(x))
		}
	}
	return list
}

// preceded is a strategy that a list of points comes before. It is told their results.
type preceded struct {
	Strategy
	problem Problem
	list    []Point // that were not asked for yet
	untold  int     // points of the list without a result
}

// Ask implements Strategy. The other strategy is not asked before it knows all of the list: it might ask for a point
// that is in flight.
func (a *preceded) Ask(n int) []Point {
	if a.untold == 0 || a.problem.ended() {
		return a.Strategy.Ask(n)
	}
	n = min(n, len(a.list))
	asked := a.list[:n:n]
	a.list = a.list[n:]
	return asked
}

// Tell implements Strategy.
func (a *preceded) Tell(t Trial) {
	if a.untold > 0 {
		a.untold--
	}
	a.Strategy.Tell(t)
}

// Likely implements Strategy.
func (a *preceded) Likely(n int) []Point {
	if a.untold == 0 || a.problem.ended() {
		return a.Strategy.Likely(n)
	}
	return slices.Clone(a.list[:min(n, len(a.list))])
}

package search

import "slices"

// After returns a strategy that first asks for the points of a list, each once, and then goes on as another, which is
// told their results.
func After(list []Point, s Strategy) Strategy {
	a := &after{Strategy: s}
	seen := map[string]bool{}
	for _, p := range list {
		if key := p.Key(); !seen[key] {
			seen[key] = true
			a.list = append(a.list, slices.Clone(p))
		}
	}
	a.untold = len(a.list)
	return a
}

// after is a list of points before another strategy.
type after struct {
	Strategy
	list   []Point // that were not asked for yet
	untold int     // points of the list without a result
}

// Ask implements Strategy. The other strategy is not asked before it knows all of the list: it might ask for a point
// that is in flight.
func (a *after) Ask(n int) []Point {
	if a.untold == 0 {
		return a.Strategy.Ask(n)
	}
	n = min(n, len(a.list))
	asked := a.list[:n:n]
	a.list = a.list[n:]
	return asked
}

// Tell implements Strategy.
func (a *after) Tell(t Trial) {
	if a.untold > 0 {
		a.untold--
	}
	a.Strategy.Tell(t)
}

// Likely implements Strategy.
func (a *after) Likely(n int) []Point {
	if a.untold == 0 {
		return a.Strategy.Likely(n)
	}
	return slices.Clone(a.list[:min(n, len(a.list))])
}

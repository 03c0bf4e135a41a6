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

// before is how many trials there are before a strategy's own: those that are known, and those that come before.
func (p *Problem) before() int {
	n := len(p.Known) + len(p.First)
	if p.Expected != nil {
		n += p.Expected.Most
	}
	return n
}

// preceded is a strategy that a list of points comes before, and after them some of those that are expected to be fast.
// It is told their results.
type preceded struct {
	Strategy
	problem    Problem
	list       []Point     // that were not asked for yet
	untold     int         // points of the list, and of those that followed it, without a result
	correction *correction // chooses what follows the list; nil if nothing does
}

// newPreceded returns a strategy that first asks for First and Expected of a problem, if it has them. With those that
// are known, First was all of first.
func newPreceded(s Strategy, p Problem, first []Point) Strategy {
	if len(p.First) == 0 && p.Expected == nil {
		return s
	}
	a := &preceded{Strategy: s, problem: p, list: p.First, untold: len(p.First)}
	if p.Expected != nil {
		a.correction = newCorrection(&p, first)
	}
	return a
}

// Ask implements Strategy. The other strategy is not asked before it knows all that comes before it: it might ask for
// a point that is in flight.
func (a *preceded) Ask(n int) []Point {
	if a.problem.ended() {
		return a.Strategy.Ask(n)
	}
	if a.untold == 0 && n > 0 {
		p, ok := a.follow()
		if !ok {
			return a.Strategy.Ask(n)
		}
		a.list, a.untold = []Point{p}, 1
	}
	n = min(n, len(a.list))
	asked := a.list[:n:n]
	a.list = a.list[n:]
	return asked
}

// follow returns a point that is expected to be fast, once all that were asked for are known.
func (a *preceded) follow() (Point, bool) {
	if a.correction == nil {
		return nil, false
	}
	return a.correction.next()
}

// Tell implements Strategy.
func (a *preceded) Tell(t Trial) {
	if a.untold > 0 {
		a.untold--
	}
	if a.correction != nil {
		a.correction.told(t)
	}
	a.Strategy.Tell(t)
}

// Likely implements Strategy.
func (a *preceded) Likely(n int) []Point {
	if a.problem.ended() || a.untold == 0 && a.correction == nil {
		return a.Strategy.Likely(n)
	}
	list := slices.Clone(a.list[:min(n, len(a.list))])
	if a.correction == nil {
		return list
	}
	list = append(list, a.correction.likely(n-len(list))...)
	if len(list) < n && a.untold == 0 {
		list = append(list, a.Strategy.Likely(n-len(list))...)
	}
	return list
}

package search

import (
	"slices"
)

// program is a specification that was checked against a space.
type program struct {
	limits []formula
	body   []statement
}

// allows reports whether all limits hold at p.
func (g *program) allows(p Point) bool {
	return !slices.ContainsFunc(g.limits, func(f formula) bool { return f.eval(&evalContext{point: p, best: p}) == 0 })
}

// statement runs until all its points have been told; false if the search was
// dropped.
type statement interface {
	run(h *heuristic, scope []fixed, yield func(Point) bool) bool
}

type repeatStatement struct {
	times int
	body  []statement
}

func (s *repeatStatement) run(h *heuristic, scope []fixed, yield func(Point) bool) bool {
	for range s.times {
		before := h.found
		if !h.block(s.body, scope, yield) {
			return false
		}
		if h.found == before {
			break // a local minimum: the next time would bring nothing, either
		}
	}
	return true
}

type eachStatement struct {
	at   int
	body []statement
}

func (s *eachStatement) run(h *heuristic, scope []fixed, yield func(Point) bool) bool {
	type way struct {
		to   int
		time float64
	}
	var ways []way
	for v := range h.history.params[s.at].Values {
		if h.over() {
			return false
		}
		base, ok := h.base(append(slices.Clone(scope), fixed{s.at, v}))
		if !ok {
			continue
		}
		w := way{to: v}
		if h.Estimate != nil {
			t, soon := h.Estimate(base)
			if !soon {
				t = deferredTime
			}
			w.time = t
		}
		ways = append(ways, w)
	}
	// The most promising value comes first, should there not be time for all.
	slices.SortStableFunc(ways, func(a, b way) int { return bySeconds(Trial{Seconds: a.time}, Trial{Seconds: b.time}) })
	for _, w := range ways {
		if !h.block(s.body, append(slices.Clone(scope), fixed{s.at, w.to}), yield) {
			return false
		}
	}
	return true
}

// stepStatement tries combinations of values.
type stepStatement struct {
	items []stepItem // each after those that its values depend on
	where []formula  // that all hold
	early [][]formula
}

// stepItem is one coordinate and what it may be.
type stepItem struct {
	at     int
	values choices
}

func (s *stepStatement) run(h *heuristic, scope []fixed, yield func(Point) bool) bool {
	base, ok := h.base(scope)
	if !ok {
		return true
	}
	sc := &evalContext{point: slices.Clone(base), best: base, rng: h.rng}
	h.misses = 0
	return s.combine(h, base, sc, 0, nil, yield) && h.wait(yield)
}

// combine gives the items from number n on all their values.
func (s *stepStatement) combine(h *heuristic, base Point, sc *evalContext, n int, set []change,
	yield func(Point) bool) bool {
	if n == len(s.items) {
		return s.try(h, base, set, yield)
	}
	at := s.items[n].at
	// A parameter that does not exist beside what is already set has no values.
	if shaped := h.shape(sc.point); shaped[at] == Absent {
		was := sc.point[at]
		sc.point[at] = Absent
		ok := s.combine(h, base, sc, n+1, set, yield)
		sc.point[at] = was
		return ok
	}
	was := sc.point[at]
	defer func() { sc.point[at] = was }()
	for _, v := range s.items[n].values(sc, at) {
		if h.over() {
			return false
		}
		if h.misses++; h.misses > maxMisses {
			return true
		}
		if h.over() {
			return false
		}
		sc.point[at] = v
		if slices.ContainsFunc(s.early[n], func(f formula) bool { return f.eval(sc) == 0 }) {
			continue
		}
		if !s.combine(h, base, sc, n+1, append(set, change{at, v}), yield) {
			return false
		}
	}
	return true
}

// maxMisses is how many combinations in a row a step looks at that make no new
// point. Then it ends, lest a condition that nothing meets go through 10^9 of them.
const maxMisses = 100_000

// try yields a combination if it makes a point that is allowed and fresh.
func (s *stepStatement) try(h *heuristic, base Point, set []change, yield func(Point) bool) bool {
	p, ok := h.fit(base, set)
	if !ok || !h.fresh(p) || !h.program.allows(p) {
		return true
	}
	sc := &evalContext{point: p, best: base, rng: h.rng}
	if slices.ContainsFunc(s.where, func(f formula) bool { return f.eval(sc) == 0 }) {
		return true
	}
	h.pending[p.Key()] = true
	h.found++
	h.misses, h.idle = 0, 0
	return yield(p)
}
